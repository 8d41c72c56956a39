"""Ranking: BM25 over what the reader sees, neighbours' votes, and the fusion of arms.

Pure numpy. Scores depend on the query and the visible chunks, and on nothing else: each chunk's
score is summed in the order of the query's terms, so neither row numbers nor their order can change
a bit of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_graph.analysis import PREFIX, Query, Segment

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Lookup = Callable[[Sequence[str]], Sequence[ArrayLike]]

# Turns are short: their length says little, and a word repeated says little more.
TURN_K1, TURN_B = 0.7, 0.2
PASSAGE_K1, PASSAGE_B = 1.2, 0.75
# What a turn lends to the first, second, … turn after it, and to those before it.
FROM_EARLIER: Final = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
FROM_LATER: Final = (0.4, 0.3, 0.2, 0.1)
# Per word a chunk takes the best of its own and what is lent; this part is the sum instead.
SUMMED: Final = 0.15
# Log weights of a long query's sentences, beside those of their form (analysis.sentences).
QUOTED: Final = -2.0
BRIEF: Final = -1.5
ENOUGH: Final = 3.0
SHARPNESS: Final = 0.4
DECIMALS: Final = 9
RRF_K: Final = 60


@dataclass(frozen=True, eq=False)
class Directory:
    """The chunks a reader sees, as arrays of one length, in any order.

    `numbers` are distinct row numbers, `lengths` words, `sources` any integer per source,
    `ordinals` places within the source, `trust` levels (higher is more trusted), `votes` whether
    the chunk is a turn of a conversation. Raises ValueError when the arrays differ in length.
    """

    numbers: Integers
    lengths: Integers
    sources: Integers
    ordinals: Integers
    trust: Integers
    votes: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if len({len(getattr(self, field.name)) for field in fields(self)}) != 1:
            raise ValueError("A directory's arrays must have one length.")

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def _by_number(self) -> tuple[Integers, Integers]:
        order = np.argsort(self.numbers, kind="stable")
        return order, self.numbers[order]

    @cached_property
    def saturation(self) -> tuple[Floats, Floats]:
        """Return k1 + 1 and k1·(1 − b + b·length/average) of every chunk, by its kind."""
        k1 = np.where(self.votes, TURN_K1, PASSAGE_K1)
        b = np.where(self.votes, TURN_B, PASSAGE_B)
        average = np.ones(len(self))
        for kind in (self.votes, ~self.votes):
            if kind.any():
                average[kind] = max(int(self.lengths[kind].sum()) / int(kind.sum()), 1.0)
        return k1 + 1.0, k1 * (1.0 - b + b * self.lengths / average)

    @cached_property
    def takers(self) -> tuple[tuple[float, Integers], ...]:
        """Return, for each distance, the share lent over it and every chunk's taker (-1: none).

        A taker stands in the same conversation, exactly that many places on, and ranks no higher
        in trust than its giver.
        """
        turns = np.flatnonzero(self.votes)
        order = turns[np.lexsort((self.ordinals[turns], self.sources[turns]))]
        steps = [(share, at + 1) for at, share in enumerate(FROM_EARLIER)]
        steps += [(share, -at - 1) for at, share in enumerate(FROM_LATER)]
        lists = [
            (share, self._taker(order, step)) for share, step in steps if abs(step) < len(order)
        ]
        return tuple((share, taker) for share, taker in lists if taker.max() >= 0)

    def _taker(self, order: Integers, step: int) -> Integers:
        takers = np.full(len(self), -1, dtype=np.int64)
        earlier, later = order[: -abs(step)], order[abs(step) :]
        giver, taker = (earlier, later) if step > 0 else (later, earlier)
        fits = (
            (self.sources[giver] == self.sources[taker])
            & (self.ordinals[giver] + step == self.ordinals[taker])
            & (self.trust[giver] >= self.trust[taker])
        )
        takers[giver[fits]] = taker[fits]
        return takers

    def locate(self, numbers: ArrayLike) -> Integers:
        """Return the positions of those row numbers that are here; others fall away."""
        order, known = self._by_number
        wanted = np.asarray(numbers, dtype=np.int64)
        if not len(known) or not len(wanted):
            return np.empty(0, dtype=np.int64)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.asarray(order[at[known[at] == wanted]], dtype=np.int64)


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


@dataclass(frozen=True, slots=True)
class TermPart:
    """What one term gave one chunk: `contribution` = `own` + `lent` by neighbours."""

    word: str
    weight: float
    idf: float
    count: int
    own: float
    lent: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The score of one chunk: `scale` · Σ weight·contribution, rounded to 9 decimals."""

    segment: int
    scale: float
    terms: tuple[TermPart, ...]


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
            tuple(self._part(t.word, t.weight, position, givers) for t in segment.terms)
            for segment in self.query.segments
        ]
        totals = [
            scale * sum(part.weight * part.contribution for part in terms)
            for scale, terms in zip(self.scales, parts, strict=True)
        ]
        if not totals:
            return Explanation(0, 1.0, ())
        best = totals.index(max(totals))
        return Explanation(best, self.scales[best], parts[best])

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
        return TermPart(word, weight, found.idf, count, own, total - own, total)


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


def fuse_ranks(
    arms: Sequence[Sequence[str]], weights: Sequence[float] | None = None, k: int = RRF_K
) -> dict[str, float]:
    """Return Σ weight/(k + rank) of every id over arms given best first (reciprocal rank fusion).

    Ranks count from 1; without weights every arm counts 1 (Cormack, Clarke, Büttcher 2009).
    """
    fused: dict[str, float] = {}
    for weight, arm in zip(weights or [1.0] * len(arms), arms, strict=True):
        for rank_, id_ in enumerate(arm, start=1):
            fused[id_] = fused.get(id_, 0.0) + weight / (k + rank_)
    return fused


def fuse_scores(
    text: Mapping[str, float], vector: Mapping[str, float], share: float = 0.6
) -> dict[str, float]:
    """Return share · text/maximum + (1 − share) · vector brought to 0–1 by minimum and maximum.

    A missing id counts 0 in that arm; a vector arm whose scores are all equal counts 1.
    """
    top = max(text.values(), default=0.0)
    low, high = min(vector.values(), default=0.0), max(vector.values(), default=0.0)
    fused = {id_: share * score / top if top > 0 else 0.0 for id_, score in text.items()}
    for id_, score in vector.items():
        part = (score - low) / (high - low) if high > low else 1.0
        fused[id_] = fused.get(id_, 0.0) + (1.0 - share) * part
    return fused
