"""Words: the terms that one token of a text stands for in the index.

Runs of letters, marks and digits by stem; two-character pieces of Han, Kana and Hangul and
three-character pieces of Thai and its like; identifiers whole (their parts joined by `·`), by
neighbouring pair and by part. No term holds a space, an ASCII capital or an ASCII mark: the
full-text index would split there.
"""

from __future__ import annotations

import hashlib
import re
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

import regex

from prism_graph.analysis.folding import cased, folded
from prism_graph.analysis.stems import stem
from prism_graph.analysis.tokens import ENDINGS, JOINERS, PAIRS, TRIPLES, UNSPACED

JOINT: Final = "·"
TAIL: Final = "¬"
TAIL_LETTERS: Final = 3
MAX_TERM_BYTES: Final = 64

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_APOSTROPHE = re.compile("['’ʼ]")
_POSSESSIVE = re.compile("['’ʼ][sS]$")
_RUN = regex.compile(rf"([{PAIRS}]+)|([{TRIPLES}]+)|[^{PAIRS}{TRIPLES}]+")
# Arabic and Hebrew write articles and prepositions onto the front of the word.
_PREFIXING = regex.compile(r"[\p{Arabic}\p{Hebrew}]")
_MARKS = regex.compile(r"\p{M}+")


class Kind(Enum):
    """What a term is of its token, and the weight it has in a query."""

    STEM = ("stem", 1.0)
    PIECE = ("piece", 1.0)
    REMAINDER = ("remainder", 1.0)
    WHOLE = ("whole", 1.0)
    ACCENTED = ("accented", 0.5)
    TAIL = ("tail", 0.3)

    def __init__(self, label: str, weight: float) -> None:
        self.label = label
        self.weight = weight


class Word(NamedTuple):
    """One term of a token."""

    term: str
    kind: Kind


def capped(term: str) -> str:
    """Return the term, or its beginning and a hash of the whole when it passes 64 bytes."""
    if len(term) * 4 <= MAX_TERM_BYTES or len(term.encode()) <= MAX_TERM_BYTES:
        return term
    digest = hashlib.blake2b(term.encode(), digest_size=8).hexdigest()
    return term.encode()[:40].decode(errors="ignore") + JOINT + digest


def _pieces(run: str, size: int) -> list[Word]:
    """Start a piece at every character, so that any shorter query is the beginning of one."""
    last = len(run) - size
    return [
        Word(run[at : at + size], Kind.PIECE if at <= last else Kind.REMAINDER)
        for at in range(len(run))
    ]


def _part(part: str) -> list[Word]:
    """Analyse a part without joiners: unspaced runs in pieces, everything else as one stem."""
    if part.isascii() or not UNSPACED.search(part):
        return _stemmed(part)
    words: list[Word] = []
    for match in _RUN.finditer(folded(part)):
        if match[1]:
            words += _pieces(match[1], 2)
        elif match[2]:
            words += _pieces(match[2], 3)
        else:
            words += _stemmed(match[0])
    return words


def _stemmed(part: str) -> list[Word]:
    plain = folded(part)
    term = stem(plain)
    if not term:
        return []
    words = [Word(capped(term), Kind.STEM)]
    if part.isascii():
        return words
    if (spelled := cased(part)) != plain:
        words.append(Word(capped(spelled), Kind.ACCENTED))
    if _PREFIXING.match(plain) and len(bare := _MARKS.sub("", plain)) >= TAIL_LETTERS:
        words.append(Word(TAIL + bare[-TAIL_LETTERS:], Kind.TAIL))
    return words


def _humps(part: str) -> list[Word]:
    """Analyse a part that may be camelCase: the whole, and its humps."""
    words = _part(part)
    if part.isascii() and not part.islower() and len(humps := _CAMEL.split(part)) > 1:
        words += [word for hump in humps if len(hump) > 1 for word in _part(hump)]
    return words


def _identifier(token: str) -> list[Word]:
    """Analyse a token with joiners: every part, every pair of three or more, the whole."""
    ending = next((mark for end, mark in ENDINGS.items() if token.endswith(end)), "")
    parts = [part for part in JOINERS.split(token) if part]
    least = 2 if _APOSTROPHE.search(token) else 1
    words = [word for part in parts if len(part) >= least for word in _humps(part)]
    names = [folded(part) for part in parts]
    wholes = [JOINT.join(names) + ending] if len(names) > 1 or ending else []
    if len(names) > 2:
        wholes += [a + JOINT + b for a, b in pairwise(names)]
    if "," in token:
        wholes.append("".join(names))
    return words + [Word(capped(whole), Kind.WHOLE) for whole in wholes]


def words_of(token: str) -> list[Word]:
    """Return the words of one token."""
    plain = token.isalpha() and (token.islower() or token.istitle())
    if plain or not (token.isascii() or JOINERS.search(token)):
        return _part(token)
    if token.isascii() and token.isalnum():
        return _humps(token)
    return _identifier(_POSSESSIVE.sub("", token))
