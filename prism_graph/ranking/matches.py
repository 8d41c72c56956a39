"""Where the words of a query are, how often, and how rare they are among what is seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from prism_graph.analysis import PREFIX
from prism_graph.ranking.directory import Directory, Floats, Integers

Lookup = Callable[[Sequence[str]], Sequence[ArrayLike]]


@dataclass(frozen=True, eq=False)
class TermMatch:
    """Where one word of the query was found: positions, counts there (1–4), idf."""

    positions: Integers
    counts: Integers
    idf: float

    def own(self, directory: Directory) -> Floats:
        """Return the BM25 part of each position: idf·tf·(k1 + 1)/(tf + norm)."""
        gain, norms = directory.saturation
        at = self.positions
        return np.asarray(self.idf * self.counts * gain[at] / (self.counts + norms[at]))


def inverse_frequency(total: int, found: int) -> float:
    """Return BM25's idf, never negative: ln(1 + (N − df + ½)/(df + ½)) (Lucene)."""
    return math.log(1.0 + (total - found + 0.5) / (found + 0.5))


def match(directory: Directory, words: Sequence[str], lookup: Lookup) -> dict[str, TermMatch]:
    """Look up the words and how often each occurs, in at most three calls."""
    found = _locate(directory, words, lookup)
    exact = [word for word in words if len(found[word]) and not word.endswith(PREFIX)]
    marked = _locate(directory, [word + "²" for word in exact], lookup)
    often = [word for word in exact if len(marked[word + "²"])]
    marked |= _locate(directory, [word + mark for word in often for mark in "³⁴"], lookup)
    counts = np.zeros(len(directory), dtype=np.int64)
    matches = {}
    for word, positions in found.items():
        counts[positions] = 1
        for mark in "²³⁴":
            more = marked.get(word + mark)
            if more is not None:
                counts[more] += 1
        idf = inverse_frequency(len(directory), len(positions))
        matches[word] = TermMatch(positions, counts[positions], idf)
    return matches


def _locate(directory: Directory, words: Sequence[str], lookup: Lookup) -> dict[str, Integers]:
    if not words:
        return {}
    return {w: directory.locate(n) for w, n in zip(words, lookup(words), strict=True)}
