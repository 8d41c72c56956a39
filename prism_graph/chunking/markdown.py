"""Cut Markdown along its blocks and sections."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from prism_graph.chunking.base import Piece
from prism_graph.chunking.blocks import Block, Kind
from prism_graph.chunking.headings import HeadingPath, plain_title
from prism_graph.chunking.limits import DEFAULT_CHARS, check_max_chars
from prism_graph.chunking.lines import LineIndex
from prism_graph.chunking.outline import Mark, MarkdownParserError, outline
from prism_graph.chunking.pack import pack
from prism_graph.chunking.plain import PlainTextChunker

# YAML or TOML; a blank line after the first fence makes it a thematic break, as in Pandoc.
_FRONT_MATTER: Final = re.compile(
    r"\ufeff?(?P<fence>---|\+\+\+)[ \t]*+(?=[\r\n])(?!(?>\r\n?|\n)[ \t]*+(?:[\r\n]|\Z))"
)
_CLOSING: Final = {
    "---": re.compile(r"[\r\n](?:---|\.\.\.)[ \t]*+(?:\r\n?|\n|\Z)"),
    "+++": re.compile(r"[\r\n]\+\+\+[ \t]*+(?:\r\n?|\n|\Z)"),
}


@dataclass(frozen=True, slots=True)
class MarkdownChunker:
    """Cut Markdown into pieces of at most max_chars code points, each of one section.

    The blocks of a section are packed together and kept whole where they fit. A longer paragraph is
    cut after sentences, a list before items, anything else after lines; failing that after a word,
    or at max_chars. A max_chars that is not an int from 1 to 16,000 raises InvalidInput.
    """

    max_chars: int = DEFAULT_CHARS

    def __post_init__(self) -> None:
        check_max_chars(self.max_chars)

    def split(self, text: str) -> list[Piece]:
        """Return the pieces, each under the path of headings that enclose it, outermost first.

        A text that the parser fails on is cut as plain text.
        """
        try:
            return list(pack(text, _blocks(text), self.max_chars))
        except MarkdownParserError:
            return PlainTextChunker(self.max_chars).split(text)


def _blocks(text: str) -> Iterator[Block]:
    starts = LineIndex(text).starts
    path = HeadingPath()
    heading = ""
    block: Block | None = None
    for mark in _marks(text, starts):
        offset = starts[mark.line]
        if block:
            yield block._replace(end=offset)
        if mark.kind is Kind.HEADING:
            heading = path.enter(mark.level, plain_title(mark.title))
        items = [starts[line] for line in mark.items]
        block = Block(offset if block else 0, offset, mark.kind, heading, items)
    if block:
        yield block._replace(end=len(text))
    elif text:
        yield Block(0, len(text), Kind.LINES)


def _marks(text: str, starts: Sequence[int]) -> Iterator[Mark]:
    line = 0
    end = _front_matter_end(text)
    if end:
        yield Mark(0, Kind.LINES)
        line = bisect_left(starts, end)
    yield from outline(text, starts, line)


def _front_matter_end(text: str) -> int:
    """Return the offset of the line after the front matter, 0 without one."""
    opening = _FRONT_MATTER.match(text)
    if not opening:
        return 0
    closing = _CLOSING[opening["fence"]].search(text, opening.end())
    return closing.end() if closing else 0
