"""The score of one segment of a query, and how likely each is what is asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from prism_graph.analysis import Segment
from prism_graph.ranking.directory import Directory, Floats
from prism_graph.ranking.lending import spread
from prism_graph.ranking.matches import TermMatch

# Of a word said in several turns: said again, it tells little more (lending.spread).
SUMMED: Final = 0.15
# Log weights of a long query's sentences, beside those of their form (analysis.sentences).
COVERED: Final = 4.2
HELD: Final = -6.0
BRIEF: Final = -1.7
ENOUGH: Final = 4.0
SAME_CHUNK: Final = -2.1
WELL: Final = 0.65
SHARPNESS: Final = 0.4


def score_segment(
    directory: Directory, segment: Segment, matches: Mapping[str, TermMatch]
) -> Floats:
    """Return the score of every chunk for one segment, neighbours' votes included."""
    scores = np.zeros(len(directory))
    for term in segment.terms:
        found = matches[term.word]
        if len(found.positions):
            own = found.own(directory)
            scores += term.weight * spread(directory, found.positions, own, SUMMED)
    return scores


def segment_scales(
    segments: Sequence[Segment], parts: Sequence[Floats], matches: Mapping[str, TermMatch]
) -> tuple[float, ...]:
    """Return the factor of each segment's scores: 1 for the most likely one.

    Sentences that one and the same chunk answers well are prose about it, or out of it.
    """
    if len(segments) < 2:
        return (1.0,) * len(segments)
    tops = [float(part.max(initial=0.0)) for part in parts]
    answers = [int(part.argmax()) if top > 0 else -1 for part, top in zip(parts, tops, strict=True)]
    well = {
        (segment.terms, at)
        for segment, top, at in zip(segments, tops, answers, strict=True)
        if top >= WELL * _ideal(segment, matches)
    }
    uses = Counter(at for _, at in well)
    logs = [
        _likelihood(segment, top, at, matches)
        + SAME_CHUNK * ((segment.terms, at) in well and uses[at] > 1)
        if top > 0
        else -math.inf
        for segment, top, at in zip(segments, tops, answers, strict=True)
    ]
    most = max(logs)
    if most == -math.inf:
        return (1.0,) * len(logs)
    best = tops[logs.index(most)]
    return tuple(
        round(math.exp(SHARPNESS * (log - most)) * best / top, 6) if top > 0 else 0.0
        for log, top in zip(logs, tops, strict=True)
    )


def _likelihood(
    segment: Segment, top: float, answer: int, matches: Mapping[str, TermMatch]
) -> float:
    """Return the log weight of a segment: its form, and how its best chunk answers it.

    A chunk about what is asked holds some of its words, often. One that holds all of them is where
    the sentence was copied from; one that holds a few of many, once, is chance.
    """
    ideal = _ideal(segment, matches)
    held = sum(
        term.weight * matches[term.word].idf
        for term in segment.terms
        if bool((matches[term.word].positions == answer).any())
    )
    return (
        segment.weight
        + COVERED * math.log(min(top / ideal, 1.0) + 0.05)
        + HELD * held / ideal
        + BRIEF * (ENOUGH - min(math.log(ideal), ENOUGH))
    )


def _ideal(segment: Segment, matches: Mapping[str, TermMatch]) -> float:
    return sum(term.weight * matches[term.word].idf for term in segment.terms)
