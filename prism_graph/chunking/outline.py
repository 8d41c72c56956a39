"""Find the top-level blocks of a Markdown text with the block rules of markdown-it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from prism_graph.chunking.block_rules import block_parser
from prism_graph.chunking.blocks import Kind
from prism_graph.chunking.lines import LINE_END

WINDOW: Final = 65_536
_PARSER: Final = block_parser()
_KINDS: Final = {
    "heading_open": Kind.HEADING,
    "paragraph_open": Kind.PROSE,
    "bullet_list_open": Kind.LIST,
    "ordered_list_open": Kind.LIST,
}


class MarkdownParserError(Exception):
    """The parser failed on this text."""


@dataclass(slots=True)
class Mark:
    """Where a block starts: 0-based line, heading level and source, lines of a list's items."""

    line: int
    kind: Kind
    level: int = 0
    title: str = ""
    items: array[int] = field(default_factory=lambda: array("I"))


def outline(text: str, starts: Sequence[int], line: int, window: int = WINDOW) -> Iterator[Mark]:
    """Return the top-level blocks of the text from a 0-based line on, in order.

    starts are the offsets of its lines. The text is read window by window, at least `window` code
    points each, so that memory follows the window; the last block of a window is read again in the
    next, and one that fills the window is read again in one four times the size. What the parser
    fails on raises MarkdownParserError.
    """
    size = window
    while line < len(starts):
        end = max(line + 1, bisect_left(starts, starts[line] + size, line))
        is_last = end >= len(starts)
        marks = _parse(text[starts[line] : None if is_last else starts[end]], line)
        if is_last or not marks:
            yield from marks
            line = end
        elif len(marks) == 1:
            size *= 4
        else:
            yield from marks[:-1]
            line, size = marks[-1].line, window


def _parse(source: str, line: int) -> list[Mark]:
    if line == 0:
        source = source.removeprefix("\ufeff")
    try:
        state = _MarkingState(LINE_END.sub("\n", source), line)
        _PARSER.block.tokenize(state, 0, state.lineMax)
    except MemoryError:
        raise
    except Exception as error:
        raise MarkdownParserError from error
    state.settle()
    return state.marks


class _MarkingState(StateBlock):
    """A parser state that keeps marks and no tokens, which take hundreds of times their text."""

    def __init__(self, source: str, line: int) -> None:
        super().__init__(source, _PARSER, {}, [])
        self.marks: list[Mark] = []
        self._line = line
        self._last: Token | None = None
        self._ignored = Token("", "", 0)

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """Return the token for the rule to fill in: read at the next push, or never."""
        self.settle()
        level = self.level + min(nesting, 0)
        self.level += nesting
        is_block = level == 0 and nesting >= 0
        if is_block or (level == 1 and ttype in ("list_item_open", "inline")):
            self._last = Token(ttype, tag, nesting)
            return self._last
        return self._ignored

    def settle(self) -> None:
        """Mark what the last token says, now that its rule has filled it in."""
        token, self._last = self._last, None
        if token is None or token.map is None:
            return
        line = self._line + token.map[0]
        if token.type == "list_item_open":
            self.marks[-1].items.append(line)
        elif token.type != "inline":
            # A rule may read a block again, further.
            if self.marks and self.marks[-1].line == line:
                return
            kind = _KINDS.get(token.type, Kind.LINES)
            self.marks.append(Mark(line, kind, int(token.tag[1]) if kind is Kind.HEADING else 0))
        elif self.marks[-1].kind is Kind.HEADING:
            self.marks[-1].title = token.content
