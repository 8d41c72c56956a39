"""The block rules of markdown-it, arranged so that no text costs more than its length.

Only where top-level blocks start is of interest. That allows short cuts: a rule is tried where the
line starts with a character of its own, tables have no cells, links are not resolved, and what is
nested deep is not looked into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import (
    StateBlock,
    blockquote,
    fence,
    heading,
    hr,
    html_block,
    lheading,
    list_block,
    paragraph,
    table,
)

from prism_graph.chunking.quotes import read_quote

Rule = Callable[[StateBlock, int, int, bool], bool]
Rules = dict[str, tuple[Rule, ...]]

# Every list is two levels. An item still deeper is read as a paragraph, which cannot end the list
# around it.
_MAX_LIST_LEVEL: Final = 10


def block_parser() -> MarkdownIt:
    """Return a parser of CommonMark blocks and tables, to share between threads.

    A link definition is a paragraph, a table one token. Inline markup is left alone.
    """
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    rules = parser.block.ruler
    rules.enableOnly(["code"])
    rules.push("interrupt_paragraph", _interrupt_paragraph, {"alt": ["paragraph"]})
    rules.push("interrupt_quote", _interrupt_quote, {"alt": ["blockquote"]})
    rules.push("interrupt_list", _interrupt_list, {"alt": ["list"]})
    rules.push("block", _block, {"alt": []})
    # The first look-up fills the cache of rules, which two threads must not do at once.
    rules.getRules("")
    return parser


def _blockquote(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return blockquote(state, line, end, True) if silent else read_quote(state, line, end)


def _list(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return (silent or state.level < _MAX_LIST_LEVEL) and list_block(state, line, end, silent)


# In the order of markdown-it: a line of "- - -" is a thematic break before it is a list.
_RULES: Final[Rules] = {
    "`": (fence,),
    "~": (fence,),
    ">": (_blockquote,),
    "-": (hr, _list),
    "*": (hr, _list),
    "_": (hr,),
    "+": (_list,),
    **dict.fromkeys("0123456789", (_list,)),
    "<": (html_block,),
    "#": (heading,),
}
_LIST_INTERRUPTERS: Final[Rules] = {
    first: tuple(rule for rule in rules if rule in (fence, _blockquote, hr))
    for first, rules in _RULES.items()
}


def _first(state: StateBlock, line: int) -> str:
    offset = state.bMarks[line] + state.tShift[line]
    return state.src[offset : offset + 1]


def _block(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    if _table(state, line, end, silent):
        return True
    for rule in _RULES.get(_first(state, line), ()):
        if rule(state, line, end, silent):
            return True
    return lheading(state, line, end, silent) or paragraph(state, line, end, silent)


def _interrupt_paragraph(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return _interrupt_quote(state, line, end, silent) or (silent and _table(state, line, end, True))


def _interrupt_quote(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return silent and _begins(_RULES, state, line, end)


def _interrupt_list(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return silent and _begins(_LIST_INTERRUPTERS, state, line, end)


def _begins(rules: Rules, state: StateBlock, line: int, end: int) -> bool:
    candidates = rules.get(_first(state, line))
    return candidates is not None and any(rule(state, line, end, True) for rule in candidates)


def _table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    # Under the header comes a line of these.
    if line + 1 >= end or _first(state, line + 1) not in ("|", "-", ":"):
        return False
    if not table(state, line, end, True):
        return False
    if not silent:
        _read_table(state, line, end)
    return True


def _read_table(state: StateBlock, line: int, end: int) -> None:
    """Go past a table. Its cells are left out: the rule adds missing ones, up to 370 a byte."""
    parent, state.parentType = state.parentType, "table"
    row = line + 2
    while row < end and _is_row(state, row, end):
        row += 1
    state.parentType = parent
    state.push("table", "table", 0).map = [line, row]
    state.line = row


def _is_row(state: StateBlock, line: int, end: int) -> bool:
    if state.isEmpty(line) or state.sCount[line] < state.blkIndent or state.is_code_block(line):
        return False
    return not _begins(_RULES, state, line, end)
