"""The one Unicode table behind scopes, the analyser and the fence.

Python's own tables differ between versions, so the sets that decide identity are written out here
and never read from the interpreter: the derived property Default_Ignorable_Code_Point of Unicode
17.0 (4,174 code points), the C0 and C1 controls, and the surrogates.
"""

from __future__ import annotations

import re
from typing import Final

UNICODE_VERSION: Final = "17.0"

DEFAULT_IGNORABLE: Final = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
CONTROL: Final = ((0x0000, 0x001F), (0x007F, 0x009F))
SURROGATE: Final = ((0xD800, 0xDFFF),)
SPACE: Final = (
    (0x0009, 0x000D),
    (0x0020, 0x0020),
    (0x0085, 0x0085),
    (0x00A0, 0x00A0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
# Not Default_Ignorable, and yet nothing to see, or a new line where none was written.
UNSEEN: Final = ((0x2028, 0x2029), (0xFFF9, 0xFFFB))


def character_class(*ranges: tuple[tuple[int, int], ...]) -> str:
    """Return the ranges as the inside of a regular-expression character class."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for table in ranges for first, last in table)


_UNSTORABLE = re.compile("[\\x00" + character_class(SURROGATE) + "]")
_UNIDENTIFYING = re.compile("[" + character_class(DEFAULT_IGNORABLE, CONTROL, SURROGATE) + "]")
_SPACES = "[" + character_class(SPACE) + "]"
_EDGE_SPACE = re.compile(f"^{_SPACES}|{_SPACES}$")


def is_storable(text: str) -> bool:
    """Say whether every database can hold the text: no NUL and no lone surrogate."""
    return _UNSTORABLE.search(text) is None


def is_identifier_safe(text: str) -> bool:
    """Say whether the text shows everything it holds.

    False for control, default-ignorable and surrogate characters, and for spaces at either end.
    """
    return _UNIDENTIFYING.search(text) is None and _EDGE_SPACE.search(text) is None
