"""The blocks of a text: what a piece keeps whole where it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple


class Kind(Enum):
    """What a block is, as far as cutting it goes."""

    HEADING = "heading"
    PROSE = "prose"
    LIST = "list"
    LINES = "lines"  # code, tables, quotes, HTML, front matter: cut at line ends


class Block(NamedTuple):
    """The code points [start, end) of a text, up to the next block.

    heading is the path of the section; items are the offsets where the items of a list start.
    """

    start: int
    end: int
    kind: Kind
    heading: str = ""
    items: Sequence[int] = ()


# Atomic, so that one CR LF is never read as two line ends.
_BLANK_LINES: Final = re.compile(r"(?>\r\n?|\n)(?:[^\S\r\n]*+(?>\r\n?|\n))++")


def paragraphs(text: str) -> Iterator[Block]:
    """Return the paragraphs between blank lines; blank lines at the start go with the first."""
    start = 0
    leading = len(text) - len(text.lstrip())
    for match in _BLANK_LINES.finditer(text, leading):
        yield Block(start, match.end(), Kind.PROSE)
        start = match.end()
    if start < len(text):
        yield Block(start, len(text), Kind.PROSE)
