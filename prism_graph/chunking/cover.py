"""Run any chunker and hold it to its promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prism_graph.chunking.base import Chunker, Piece
from prism_graph.chunking.limits import MAX_PIECE_BYTES, is_small_enough
from prism_graph.errors import InvalidChunking, LimitExceeded

SplitFunction = Callable[[str], Iterable[Piece | str]]


def pieces_of(chunker: Chunker | SplitFunction, text: str) -> list[Piece]:
    """Return the pieces of the text that a chunker, or a function in its place, cuts.

    Pieces that are empty, leave a gap, overlap or do not cover the text raise InvalidChunking; one
    over 65,536 bytes of UTF-8 raises LimitExceeded. What the chunker raises is passed on.
    """
    pieces: list[Piece] = []
    end = 0
    for item in _items(chunker, text):
        piece = _piece(item, text, end)
        if not is_small_enough(text, piece.start, piece.end):
            raise LimitExceeded(
                f"A piece is over {MAX_PIECE_BYTES:,} bytes of UTF-8: have the chunker cut it."
            )
        pieces.append(piece)
        end = piece.end
    if end != len(text):
        raise InvalidChunking("The pieces end before the text does: return every part of it.")
    return pieces


def _items(chunker: Chunker | SplitFunction, text: str) -> Iterable[object]:
    split = getattr(chunker, "split", chunker)
    if not callable(split):
        raise InvalidChunking("A chunker needs a split(text) method, or to be a function itself.")
    items: object = split(text)
    # The characters of a text would pass for its pieces.
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InvalidChunking("A chunker must return the pieces of the text as an iterable.")
    return items


def _piece(item: object, text: str, start: int) -> Piece:
    """Return the item as the piece that starts where the one before it ended."""
    if isinstance(item, str):
        if not item or not text.startswith(item, start):
            raise InvalidChunking("A piece given as text must be the next slice, and not empty.")
        return Piece(start, start + len(item))
    if not isinstance(item, Piece):
        raise InvalidChunking("A piece must be a Piece or the slice of the text itself.")
    if not (_is_offset(item.start) and _is_offset(item.end) and isinstance(item.heading, str)):
        raise InvalidChunking("A piece needs int offsets and a heading of text.")
    if item.start != start or not start < item.end <= len(text):
        raise InvalidChunking(
            "A piece must start where the one before it ended, hold something and end in the text."
        )
    return item


def _is_offset(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
