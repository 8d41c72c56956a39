"""Folding: one spelling for what people take to be the same text.

NFKC, case folding, accents and ligatures of Latin and Greek, digits of every common script; what is
invisible is dropped. Letters that only look like an accented one (й, ї) stay apart.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import regex

from prism_graph.analysis.pinned import UNSTABLE
from prism_graph.codepoints import DEFAULT_IGNORABLE, SURROGATE, character_class

_LAST_OF_PLANE_0 = 0xFFFF
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def _class(*tables: tuple[tuple[int, int], ...], astral: bool) -> re.Pattern[str]:
    """Compile a class; without the astral ranges, which `re` tries one by one, it is far faster."""
    kept = tuple(r for table in tables for r in table if astral or r[1] <= _LAST_OF_PLANE_0)
    return re.compile("[" + character_class(kept) + "]")


_DROPPED = {astral: _class(DEFAULT_IGNORABLE, SURROGATE, astral=astral) for astral in (False, True)}
_UNSTABLE = {astral: _class(UNSTABLE, astral=astral) for astral in (False, True)}
# A longer run is no text, and would be sorted in quadratic time (UAX 15, stream-safe text).
_MARK_RUN = regex.compile(r"(\p{M}{30})\p{M}+")
_LONG = 1_000
_ACCENTS = regex.compile("[\u0300-\u036f]+")
_PLAIN_LETTERS: Final = {
    "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h",
    "ŧ": "t", "ı": "i", "ĸ": "k", "ŋ": "n", "ə": "e", "ё": "е", "ς": "σ", "ँ": "ं",
}  # fmt: skip
_DIGIT_ZEROS: Final = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
    0x0D66, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810,
)  # fmt: skip
_DIGITS: Final = {zero + value: str(value) for zero in _DIGIT_ZEROS for value in range(10)}
_DIGIT = re.compile("[" + "".join(map(chr, _DIGITS)) + "]")
_LETTERS: Final = str.maketrans(_PLAIN_LETTERS)
_DECOMPOSED = regex.compile(r"[\p{Latin}\p{Greek}]")


def normalised(text: str) -> str:
    """Return the text in NFKC, without invisible characters, its digits as 0-9; case is kept."""
    if text.isascii():
        return text
    astral = _ASTRAL.search(text) is not None
    visible = _DROPPED[astral].sub("", _UNSTABLE[astral].sub(" ", text))
    if len(visible) > _LONG:
        visible = _MARK_RUN.sub(r"\1", visible)
    plain = unicodedata.normalize("NFKC", visible)
    return plain.translate(_DIGITS) if _DIGIT.search(plain) else plain


def cased(word: str) -> str:
    """Return a normalised word in one case, its accents kept."""
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word.casefold())


def folded(word: str) -> str:
    """Return a normalised word in one case, without the accents of Latin and Greek letters."""
    lower = cased(word)
    if lower.isascii():
        return lower
    if _DECOMPOSED.search(lower):
        lower = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", lower)))
    else:
        lower = _ACCENTS.sub("", lower)
    return lower.translate(_LETTERS)


def fold(text: str) -> str:
    """Return the text as phrases are compared: normalised, in one case, without accents."""
    return folded(normalised(text))
