"""The score of one segment of a query, and how likely each is what is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from prism_graph.analysis import Segment
from prism_graph.ranking.directory import Directory, Floats
from prism_graph.ranking.matches import TermMatch

# Per word a chunk takes the best of its own and what is lent; this part is the sum instead.
SUMMED: Final = 0.15
# Log weights of a long query's sentences, beside those of their form (analysis.sentences).
QUOTED: Final = -2.0
BRIEF: Final = -1.5
ENOUGH: Final = 3.0
SHARPNESS: Final = 0.4


def score_segment(
    directory: Directory, segment: Segment, matches: Mapping[str, TermMatch]
) -> Floats:
    """Return the score of every chunk for one segment, neighbours' votes included."""
    scores = np.zeros(len(directory))
    for term in segment.terms:
        found = matches[term.word]
        if len(found.positions):
            scores += term.weight * _spread(directory, found)
    return scores


def _spread(directory: Directory, found: TermMatch) -> Floats:
    """Return what one term gives to every chunk: its own part, or the best share lent to it."""
    own = found.own(directory)
    best = np.zeros(len(directory))
    best[found.positions] = own
    if not directory.takers:
        return best
    total = best.copy()
    for share, takers in directory.takers:
        taker = takers[found.positions]
        takes = taker >= 0
        taker, lent = taker[takes], share * own[takes]
        best[taker] = np.maximum(best[taker], lent)
        total[taker] += lent
    return np.asarray((1.0 - SUMMED) * best + SUMMED * total)


def segment_scales(
    segments: Sequence[Segment], parts: Sequence[Floats], matches: Mapping[str, TermMatch]
) -> tuple[float, ...]:
    """Return the factor of each segment's scores: 1 for the most likely one."""
    tops = [float(part.max(initial=0.0)) for part in parts]
    logs = [
        _likelihood(segment, top, matches) if top > 0 else -math.inf
        for segment, top in zip(segments, tops, strict=True)
    ]
    most = max(logs, default=-math.inf)
    if most == -math.inf:
        return (1.0,) * len(logs)
    best = tops[logs.index(most)]
    return tuple(
        round(math.exp(SHARPNESS * (log - most)) * best / top, 6) if top > 0 else 0.0
        for log, top in zip(logs, tops, strict=True)
    )


def _likelihood(segment: Segment, top: float, matches: Mapping[str, TermMatch]) -> float:
    """Return the log weight of a segment: its form, and how much of it one chunk can answer.

    A chunk that holds all of a sentence, and more than once, is where it was copied from.
    """
    ideal = sum(term.weight * matches[term.word].idf for term in segment.terms)
    coverage = top / ideal
    return (
        segment.weight
        + math.log(min(coverage, 1.0) + 0.05)
        + QUOTED * max(coverage - 1.0, 0.0)
        + BRIEF * (ENOUGH - min(math.log(ideal), ENOUGH))
    )
