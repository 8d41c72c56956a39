"""Stems by script: Snowball where a stemmer of the script's main language exists."""

from __future__ import annotations

import threading
from enum import Enum

import regex
import Stemmer


class Script(Enum):
    """Scripts with a Snowball stemmer: the letters that tell them, the algorithm."""

    CYRILLIC = (r"\p{Cyrillic}", "russian")
    GREEK = (r"\p{Greek}", "greek")
    ARABIC = (r"\p{Arabic}", "arabic")
    DEVANAGARI = (r"\p{Devanagari}", "hindi")
    TAMIL = (r"\p{Tamil}", "tamil")
    ARMENIAN = (r"\p{Armenian}", "armenian")

    def __init__(self, letters: str, algorithm: str) -> None:
        self.first_letter = regex.compile(letters)
        self.algorithm = algorithm


_MARKS_AFTER = regex.compile(r"[\u064b-\u065f\u0670\u0640\u0591-\u05c7\u093c\u09bc\u0a3c]+")


class _Stemmers(threading.local):
    """One set of stemmers per thread: a Snowball stemmer keeps its buffer between calls."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0)
        self.scripts = [(s.first_letter, Stemmer.Stemmer(s.algorithm, 0)) for s in Script]


_stemmers = _Stemmers()


def stem(word: str) -> str:
    """Return the stem of a folded word by the script of its first letter; the word if none fits."""
    if word.isascii():
        return str(_stemmers.english.stemWord(word)) if word.isalpha() else word
    for first_letter, stemmer in _stemmers.scripts:
        if first_letter.match(word):
            word = str(stemmer.stemWord(word))
            break
    else:
        if word.isalpha():
            word = str(_stemmers.english.stemWord(word))
    return _MARKS_AFTER.sub("", word)
