"""Tokens: the runs of a text that hold words, identifiers in one piece."""

from __future__ import annotations

import re
from typing import Final

import regex

PAIRS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\u3005\u3006\u3007\u30fc"
TRIPLES: Final = (
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}"
    r"\p{Ahom}\p{Javanese}\p{Balinese}"
)
UNSPACED: Final = regex.compile(f"[{PAIRS}{TRIPLES}]")
ENDINGS: Final = {"++": "⁺⁺", "#": "♯"}
JOINERS: Final = re.compile(r"[-./@'+:&_,’‐‑ʼ#]+")

_JOINER = r"(?:[-./@'+:&]|_+|,(?=[0-9]))"
_ENDING = r"(?:\+\+|#)?"
_ASCII = re.compile(rf"[A-Za-z0-9]+(?:{_JOINER}[A-Za-z0-9]+)*{_ENDING}")
# One picture is one token: blocks fixed for symbols, so that a new emoji changes nothing.
_PICTURE = r"\u2600-\u27bf\U0001f000-\U0001faff"
# An unassigned character counts as a letter: it may be one under a later Unicode.
LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}\p{{Cn}}\p{{Co}}]--[{_PICTURE}ʼ]]"
_ANY = regex.compile(rf"(?V1){LETTER}+(?:(?:{_JOINER}|[’‐‑ʼ]){LETTER}+)*{_ENDING}|[{_PICTURE}]")


def tokens(text: str) -> list[str]:
    """Return the tokens of a normalised text, in order."""
    found: list[str] = _ASCII.findall(text) if text.isascii() else _ANY.findall(text)
    return found
