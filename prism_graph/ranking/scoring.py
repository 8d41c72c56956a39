"""The ranking of everything seen, and its explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from prism_graph.analysis import Query
from prism_graph.ranking.directory import DECIMALS, Directory, Floats
from prism_graph.ranking.matches import Lookup, TermMatch, match
from prism_graph.ranking.segments import SUMMED, score_segment, segment_scales


class TermPart(TypedDict):
    """What one term gave one chunk: `contribution` = `own` + `lent` by neighbours."""

    word: str
    weight: float
    idf: float
    count: int
    own: float
    lent: float
    contribution: float


class Explanation(TypedDict):
    """The score of one chunk: `scale` · Σ weight·contribution, rounded to 9 decimals."""

    segment: int
    scale: float
    terms: list[TermPart]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores aligned to the directory, and what they were made of."""

    directory: Directory
    query: Query
    matches: Mapping[str, TermMatch]
    scales: tuple[float, ...]
    scores: Floats

    def explain(self, position: int) -> Explanation:
        """Return how the score at a position of the directory comes about."""
        givers = [
            (share, int(giver[0]))
            for share, takers in self.directory.takers
            if len(giver := np.flatnonzero(takers == position))
        ]
        parts = [
            [self._part(t.word, t.weight, position, givers) for t in segment.terms]
            for segment in self.query.segments
        ]
        totals = [
            scale * sum(part["weight"] * part["contribution"] for part in terms)
            for scale, terms in zip(self.scales, parts, strict=True)
        ]
        if not totals:
            return Explanation(segment=0, scale=1.0, terms=[])
        best = totals.index(max(totals))
        return Explanation(segment=best, scale=self.scales[best], terms=parts[best])

    def _part(
        self, word: str, weight: float, position: int, givers: Sequence[tuple[float, int]]
    ) -> TermPart:
        found = self.matches[word]
        wanted = [position, *(giver for _, giver in givers)]
        near = np.isin(found.positions, wanted)
        there = TermMatch(found.positions[near], found.counts[near], found.idf)
        at = dict(zip(there.positions.tolist(), there.own(self.directory).tolist(), strict=True))
        own = at.get(position, 0.0)
        lent = [share * at.get(giver, 0.0) for share, giver in givers]
        total = (1.0 - SUMMED) * max([own, *lent]) + SUMMED * (own + sum(lent))
        count = int(found.counts[found.positions == position].sum())
        return TermPart(
            word=word,
            weight=weight,
            idf=found.idf,
            count=count,
            own=own,
            lent=total - own,
            contribution=total,
        )


def rank(directory: Directory, query: Query, lookup: Lookup) -> Ranking:
    """Score every chunk of the directory for the query.

    A long query takes the best of its segments: the most likely one keeps its own scores, each
    other is scaled to the same best score, times how likely it is beside that one. `lookup` is
    given words (one ending in `*` is a prefix) and returns row numbers for each.
    """
    matches = match(directory, query.words(), lookup)
    parts = [score_segment(directory, segment, matches) for segment in query.segments]
    scales = segment_scales(query.segments, parts, matches)
    scores = np.zeros(len(directory))
    for scale, part in zip(scales, parts, strict=True):
        scores = np.maximum(scores, scale * part)
    return Ranking(directory, query, matches, scales, np.round(scores, DECIMALS))
