"""What a chunker is: a text in, consecutive pieces out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Piece:
    """One slice of a text: code points [start, end), under a heading path (`Guide › Install`)."""

    start: int
    end: int
    heading: str = ""


class Chunker(Protocol):
    """Cut a text into pieces that cover it in order, without gaps or overlaps.

    A piece is a Piece, or simply the slice itself as text.
    """

    def split(self, text: str) -> Iterable[Piece | str]:
        """Return the pieces of the text; none for an empty one."""
        ...
