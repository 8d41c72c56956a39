"""Spans: where a verbatim text holds sought words, so that a reader can be shown them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import regex

from prism_graph.analysis.folding import normalised
from prism_graph.analysis.query import PREFIX, query_terms
from prism_graph.analysis.tokens import LETTER, PAIRS, TRIPLES, tokens
from prism_graph.analysis.words import words_of
from prism_graph.codepoints import DEFAULT_IGNORABLE, character_class

# Beginnings of four letters find candidates; shown as matches they would puzzle.
_LEAST_WEIGHT: Final = 0.5
_INVISIBLE: Final = character_class(DEFAULT_IGNORABLE)
# What may be one token once it is normalised, as it stands in the text.
_RUN = regex.compile(
    rf"(?V1)(?:[{PAIRS}{TRIPLES}]|[{_INVISIBLE}])+"
    rf"|{LETTER}(?:[[{LETTER}{_INVISIBLE}]--[{PAIRS}{TRIPLES}]]|[-./@'+:&_,’‐‑ʼ#](?={LETTER}))*"
)
_PAIRED = regex.compile(f"[{PAIRS}]")
_UNSPACED = regex.compile(f"[{PAIRS}{TRIPLES}]")


def sought(text: str) -> frozenset[str]:
    """Return the words that a claim or a query looks for; one ending in `*` is a beginning."""
    terms = [term for segment in query_terms(text).segments for term in segment.terms]
    return frozenset(term.word for term in terms if term.weight >= _LEAST_WEIGHT)


def spans(text: str, words: Collection[str]) -> list[tuple[int, int]]:
    """Return [start, end) of every run in a text that holds one of these words, in order, apart.

    Offsets count characters of the text as it was stored. Scripts without spaces are marked by piece.
    """
    exact = {word for word in words if not word.endswith(PREFIX)}
    begin = tuple(word.removesuffix(PREFIX) for word in words if word.endswith(PREFIX))
    known: dict[str, bool] = {}
    found: list[tuple[int, int]] = []
    for match in _RUN.finditer(text):
        for start, end in _parts(match[0], match.start()):
            part = text[start:end]
            if part not in known:
                known[part] = _holds(part, exact, begin)
            if known[part]:
                found.append((start, end))
    return _joined(found)


def _parts(run: str, offset: int) -> Iterator[tuple[int, int]]:
    """Yield a run whole; one of a script without spaces in overlapping pieces."""
    if not _UNSPACED.search(run):
        yield offset, offset + len(run)
        return
    size = 2 if _PAIRED.search(run) else 3
    for at in range(max(len(run) - size, 0) + 1):
        yield offset + at, offset + min(at + size, len(run))


def _holds(part: str, exact: Collection[str], begin: tuple[str, ...]) -> bool:
    terms = {word.term for token in tokens(normalised(part)) for word in words_of(token)}
    return not terms.isdisjoint(exact) or any(term.startswith(begin) for term in terms if begin)


def _joined(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
