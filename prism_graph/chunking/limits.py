"""How large a piece may be."""

from __future__ import annotations

from typing import Final

from prism_graph.errors import InvalidInput

MAX_PIECE_BYTES: Final = 65_536
MAX_CHARS: Final = 16_000  # at most four bytes each, so always under MAX_PIECE_BYTES
DEFAULT_CHARS: Final = 1_600


def check_max_chars(max_chars: object) -> None:
    """Refuse a piece length that is not an int from 1 to 16,000 code points with InvalidInput."""
    is_int = isinstance(max_chars, int) and not isinstance(max_chars, bool)
    if is_int and max_chars in range(1, MAX_CHARS + 1):
        return
    raise InvalidInput(f"max_chars must be an int from 1 to {MAX_CHARS:,}.")


def is_small_enough(text: str, start: int, end: int) -> bool:
    """Say whether the code points [start, end) of the text take at most 65,536 bytes of UTF-8."""
    if 4 * (end - start) <= MAX_PIECE_BYTES:
        return True
    if end - start > MAX_PIECE_BYTES:
        return False
    return len(text[start:end].encode("utf-8", "surrogatepass")) <= MAX_PIECE_BYTES
