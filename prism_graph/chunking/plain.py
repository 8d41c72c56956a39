"""Cut plain text at blank lines."""

from __future__ import annotations

from dataclasses import dataclass

from prism_graph.chunking.base import Piece
from prism_graph.chunking.blocks import paragraphs
from prism_graph.chunking.limits import DEFAULT_CHARS, check_max_chars
from prism_graph.chunking.pack import pack


@dataclass(frozen=True, slots=True)
class PlainTextChunker:
    """Cut a text into its paragraphs, packed together up to max_chars code points.

    A longer paragraph is cut after sentences, else after a line, a word, or at max_chars. A
    max_chars that is not an int from 1 to 16,000 raises InvalidInput.
    """

    max_chars: int = DEFAULT_CHARS

    def __post_init__(self) -> None:
        check_max_chars(self.max_chars)

    def split(self, text: str) -> list[Piece]:
        """Return pieces of at most max_chars code points, without a heading."""
        return list(pack(text, paragraphs(text), self.max_chars))
