"""Exact phrases: the words that find candidates, and the pattern that verifies one."""

from __future__ import annotations

from typing import Final

import regex

from prism_graph.analysis.folding import fold, normalised
from prism_graph.analysis.query import PREFIX
from prism_graph.analysis.tokens import LETTER, UNSPACED, tokens
from prism_graph.analysis.words import Kind, words_of

_RUN = regex.compile(rf"(?V1){LETTER}+")
_SOUGHT: Final = (Kind.STEM, Kind.PIECE)


def phrase_pattern(phrase: str) -> regex.Pattern[str]:
    """Return the pattern that finds the phrase in a text given by `fold`.

    Its words must follow each other with no other word between; case, accents and what stands
    between words do not count. A word is met whole, except in scripts without spaces. A phrase
    without words is met as it is written; one of nothing visible never.
    """
    plain = fold(phrase)
    runs = _RUN.findall(plain)
    if not runs:
        return regex.compile(regex.escape(plain.strip()) if plain.strip() else "(?!)")
    gap = rf"(?:(?!{LETTER}).)+"
    start = "" if UNSPACED.match(runs[0]) else rf"(?<!{LETTER})"
    end = "" if UNSPACED.match(runs[-1][-1]) else rf"(?!{LETTER})"
    return regex.compile(f"(?V1s){start}{gap.join(map(regex.escape, runs))}{end}")


def phrase_words(phrase: str) -> tuple[str, ...]:
    """Return the words that a chunk with the phrase holds, each once, function words too.

    One ending in `*` is a prefix. None for a phrase without words.
    """
    sought: dict[str, None] = {}
    for token in tokens(normalised(phrase)):
        words = words_of(token)
        sought |= dict.fromkeys(word.term for word in words if word.kind in _SOUGHT)
        if words and all(word.kind is Kind.REMAINDER for word in words):
            sought[words[0].term + PREFIX] = None
    return tuple(sought)
