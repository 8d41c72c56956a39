"""Keep a text in one piece."""

from __future__ import annotations

from dataclasses import dataclass

from prism_graph.chunking.base import Piece
from prism_graph.chunking.limits import MAX_PIECE_BYTES, check_max_chars, is_small_enough
from prism_graph.errors import LimitExceeded


@dataclass(frozen=True, slots=True)
class WholeChunker:
    """Keep a text in one piece of at most max_chars code points, or 65,536 bytes of UTF-8.

    A max_chars that is neither None nor an int from 1 to 16,000 raises InvalidInput.
    """

    max_chars: int | None = None

    def __post_init__(self) -> None:
        if self.max_chars is not None:
            check_max_chars(self.max_chars)

    def split(self, text: str) -> list[Piece]:
        """Return the text as one piece, none if it is empty; a longer text raises LimitExceeded."""
        if self.max_chars is not None and len(text) > self.max_chars:
            raise LimitExceeded(
                f"The text is over {self.max_chars:,} characters: use a chunker that cuts it."
            )
        if not is_small_enough(text, 0, len(text)):
            raise LimitExceeded(
                f"The text is over {MAX_PIECE_BYTES:,} bytes of UTF-8: use a chunker that cuts it."
            )
        return [Piece(0, len(text))] if text else []
