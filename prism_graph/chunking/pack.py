"""Fill pieces with the consecutive blocks of a section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from prism_graph.chunking.base import Piece
from prism_graph.chunking.blocks import Block, Kind
from prism_graph.chunking.seams import boundary, cut


class _Holds(Enum):
    SPACE = 0  # nothing, or white space that no longer fitted the piece before
    HEADING = 1
    TEXT = 2


def pack(text: str, blocks: Iterable[Block], max_chars: int) -> Iterator[Piece]:
    """Return pieces of at most max_chars code points that cover the text.

    The blocks must cover the text in order. A heading begins a piece; a block that fits max_chars
    without the white space after it is never cut; one that does not begins a piece of its own, or
    goes on after its heading.
    """
    return _Packer(text, max_chars).pieces(blocks)


class _Packer:
    """The piece being filled: it starts at _start and reaches to the block being added."""

    def __init__(self, text: str, max_chars: int) -> None:
        self._text = text
        self._max = max_chars
        self._start = 0
        self._heading = ""
        self._holds = _Holds.SPACE

    def pieces(self, blocks: Iterable[Block]) -> Iterator[Piece]:
        for block in blocks:
            content_end = self._content_end(block)
            if self._start < block.start and self._is_done_before(block, content_end):
                yield self._piece_to(block.start)
            self._heading = block.heading
            while block.end - self._start > self._max:
                yield self._piece_to(self._cut(block, content_end))
            self._add(block, content_end)
        if self._start < len(self._text):
            yield self._piece_to(len(self._text))

    def _content_end(self, block: Block) -> int:
        """Return where the white space after the block starts, if it matters to the open piece."""
        if block.end - self._start <= self._max:
            return block.end
        return block.start + len(self._text[block.start : block.end].rstrip())

    def _is_done_before(self, block: Block, content_end: int) -> bool:
        if block.kind is Kind.HEADING and self._holds is not _Holds.SPACE:
            return True
        if block.end - self._start <= self._max:
            return False
        if self._holds is _Holds.TEXT:
            return True
        if content_end - block.start <= self._max:
            return content_end - self._start > self._max
        # Too long in any case: its first part stays with the heading if that leaves it room.
        return block.start - self._start > self._max // 2

    def _cut(self, block: Block, content_end: int) -> int:
        limit = self._start + self._max
        if content_end <= limit:
            return boundary(self._text, self._start, limit)
        return cut(self._text, max(self._start, block.start), limit, block.kind, block.items)

    def _add(self, block: Block, content_end: int) -> None:
        if self._start >= content_end:
            return
        if block.kind is not Kind.HEADING:
            self._holds = _Holds.TEXT
        elif self._holds is _Holds.SPACE:
            self._holds = _Holds.HEADING

    def _piece_to(self, end: int) -> Piece:
        piece = Piece(self._start, end, self._heading)
        self._start = end
        self._holds = _Holds.SPACE
        return piece
