"""Read a block quote of Markdown in time that follows its own length."""

from __future__ import annotations

from typing import Final

from markdown_it.rules_block import StateBlock, blockquote

_GROWTH: Final = 4
# Every quote around this one reads its lines again. A quote still deeper is read as a paragraph,
# which ends where the quote would.
_MAX_DEPTH: Final = 3


def read_quote(state: StateBlock, line: int, end: int) -> bool:
    """Read the quote that starts at the line as the rule of markdown-it does.

    The rule prepares every line up to where a paragraph in the quote could go on at the furthest.
    Without such a paragraph that is in vain, and the next quote does it again: the work grows with
    the square. So the rule is given a few lines, and again four times as many while it needs more.
    """
    depth = state.env.get("quotes", 0)
    if depth == _MAX_DEPTH:
        return False
    state.env["quotes"] = depth + 1
    line_max, runs, found = state.lineMax, 1, False
    while runs:
        last = _end_of_runs(state, line, end, runs)
        state.lineMax = last
        found = blockquote(state, line, last, False)
        goes_on = found and last <= state.line < end and _is_quoted(state, last)
        runs = runs * _GROWTH if goes_on else 0
        state.lineMax = line_max
    state.env["quotes"] = depth
    return found


def _end_of_runs(state: StateBlock, line: int, end: int, runs: int) -> int:
    """Return the line after so many runs of lines with ">" and lines that may go on below them."""
    parent, state.parentType = state.parentType, "blockquote"
    last = line + 1
    for _ in range(runs):
        while last < end and _is_quoted(state, last):
            last += 1
        while last < end and _may_go_on(state, last, end):
            last += 1
    state.parentType = parent
    return last


def _is_quoted(state: StateBlock, line: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.is_code_block(line):
        return False
    return state.src.startswith(">", state.bMarks[line] + state.tShift[line])


def _may_go_on(state: StateBlock, line: int, end: int) -> bool:
    if state.isEmpty(line) or _is_quoted(state, line):
        return False
    interrupters = state.md.block.ruler.getRules("blockquote")
    return not any(rule(state, line, end, True) for rule in interrupters)
