"""Search: what the reader sees, ranked by words; nothing is read of a passage that is not returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db import connections

from prism_graph import analysis, conf, nearness, ranking, reading
from prism_graph.errors import InvalidInput
from prism_graph.filters import SCOPE_SHIFT, Filter, Mask
from prism_graph.fulltext import FullText, engine
from prism_graph.fulltext.base import (
    KIND_SHIFT,
    LENGTH_LIMIT,
    ORDINAL_LIMIT,
    ORDINAL_SHIFT,
    SOURCE_SHIFT,
    TRUST_SHIFT,
    Level,
)
from prism_graph.indexing import spoken
from prism_graph.models import Chunk, ChunkText, Embedding
from prism_graph.nearness import NOTHING, Near
from prism_graph.options import Options
from prism_graph.ranking import Directory, Ranking
from prism_graph.records import ChunkView, Hit
from prism_graph.scope import Scope
from prism_graph.scored import Scored
from prism_graph.succession import successors
from prism_graph.trust import Trust
from prism_graph.writing import digest

# Texts read to verify phrases, at most; and their characters times the phrases' words.
PHRASE_WORK: Final = 2000
PHRASE_BATCH: Final = 200
PHRASE_EFFORT: Final = 4_000_000
# How often vectors that are not of their texts are left out before all are.
STALE_ROUNDS: Final = 3

_LEVELS: Final = np.array([Trust.from_code(code).level for code in range(len(Trust))])


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must stand side by side: what to look up, and what to check on the text."""

    text: str
    words: tuple[str, ...]
    pattern: Any

    @classmethod
    def of(cls, text: str) -> Phrase:
        """Return the phrase that a text spells."""
        return cls(text, tuple(analysis.phrase_words(text)), analysis.phrase_pattern(text))


def search(scope: Scope, using: str, query: str, options: Options) -> list[Hit]:
    """Return the best passages for a query. See Memory.search."""
    if not isinstance(query, str):
        raise InvalidInput("The query must be text.")
    # A phrase of nothing visible stands in every passage.
    phrases = [Phrase.of(text) for text in options.phrases if analysis.fold(text).strip()]
    asked = analysis.query_terms("\n".join((query, *(phrase.text for phrase in phrases))))
    meant = nearness.question(scope, using, query)
    if not asked.words() and meant is None:
        return []
    index = engine(connections[using])
    with index.reading():
        reader = _Reader(scope, using, index, index.directory(scope.chain, options.known_at))
        if not len(reader.directory):
            return []
        ranked = ranking.rank(reader.directory, asked, reader.postings)
        mask = Filter(scope, using, index, reader.directory).mask(options)
        for phrase in phrases:
            mask &= reader.holding(phrase.words)
        near = NOTHING if meant is None else meant.near(reader.directory, mask)
        scored, order = reader.ranked(ranked, near, mask, options.limit, phrases)
        return reader.hits(scored, order, options)


class _Reader:
    """One search of one reader: the passages in view, as arrays."""

    def __init__(self, scope: Scope, using: str, index: FullText, levels: Sequence[Level]) -> None:
        self.scope, self.using, self.index = scope, using, index
        self.chain = scope.chain
        self.directory = self._directory(levels)
        self._read: dict[int, ChunkView] = {}

    def _directory(self, levels: Sequence[Level]) -> Directory:
        none = np.empty(0, dtype=np.int64)
        numbers = np.concatenate([none, *(level.numbers for level in levels)])
        packed = np.concatenate([none, *(level.packed for level in levels)])
        depth = np.repeat(
            np.array([level.depth for level in levels], dtype=np.int64),
            [len(level.numbers) for level in levels],
        )
        return Directory(
            numbers=numbers,
            lengths=packed & LENGTH_LIMIT,
            sources=(depth << SCOPE_SHIFT) | (packed >> SOURCE_SHIFT),
            ordinals=(packed >> ORDINAL_SHIFT) & ORDINAL_LIMIT,
            trust=_LEVELS[(packed >> TRUST_SHIFT) & 7],
            votes=((packed >> KIND_SHIFT) & 1).astype(bool),
        )

    def postings(self, words: Sequence[str]) -> Sequence[Any]:
        return self.index.postings(self.chain, words)

    def holding(self, words: Sequence[str]) -> Mask:
        """Return which passages hold all of these words."""
        mask = np.ones(len(self.directory), dtype=bool)
        for numbers in self.postings(words):
            mask &= np.isin(self.directory.numbers, numbers)
        return mask

    # the best of them

    def ranked(
        self, text: Ranking, near: Near, mask: Mask, limit: int, phrases: Sequence[Phrase]
    ) -> tuple[Scored, list[int]]:
        """Return the candidates' scores, and the best ones' places in the directory, in order."""
        fusion = conf.fusion()
        for _ in range(STALE_ROUNDS):
            scored = Scored.of(text, near, mask, fusion)
            order = self.best(scored, limit, phrases)
            stale = self._stale(near, order)
            if not stale:
                return scored, order
            near = near.without(stale)
        scored = Scored.of(text, NOTHING, mask, fusion)
        return scored, self.best(scored, limit, phrases)

    def _stale(self, near: Near, order: Sequence[int]) -> set[int]:
        """Return which of these places hold a vector of a text that raw SQL has changed since."""
        places = {int(self.directory.numbers[at]): at for at in order if near.holds(at)}
        if not places:
            return set()
        rows = self._visible(Embedding).filter(number__in=list(places), space=near.space)
        made_of = dict(rows.values_list("number", "of"))
        views = self._views(places)
        return {
            at
            for number, at in places.items()
            if number not in views or made_of.get(number) != self._digest(views[number])
        }

    @staticmethod
    def _digest(view: ChunkView) -> str:
        return digest(spoken(view.text, view.speaker))

    def best(self, scored: Scored, limit: int, phrases: Sequence[Phrase]) -> list[int]:
        """Return positions in order: score, then recorded instant, source key and ordinal."""
        if not phrases:
            return self._ordered(scored, limit)[:limit]
        verified: list[int] = []
        for position in self._verified(scored, phrases):
            verified.append(position)
            if len(verified) == limit:
                break
        return verified

    def _ordered(self, scored: Scored, limit: int) -> list[int]:
        found = scored.positions
        scores = scored.scores[found]
        if len(found) > limit:
            least = np.partition(scores, len(found) - limit)[len(found) - limit]
            found = found[scores >= least]
        tied_numbers = self._tied(scored.scores[found], self.directory.numbers[found])
        places = self._places(tied_numbers) if len(tied_numbers) else {}
        return sorted(
            map(int, found),
            key=lambda at: (-scored.scores[at], places.get(int(self.directory.numbers[at]), ())),
        )

    def _tied(self, scores: Any, numbers: Any) -> Any:
        values, counts = np.unique(scores, return_counts=True)
        return numbers[np.isin(scores, values[counts > 1])]

    def _places(self, numbers: Any) -> dict[int, tuple[Any, ...]]:
        rows = (
            self._visible(Chunk)
            .filter(self.index.among("number", numbers.tolist()))
            .values_list("number", "recorded_at", "source__key", "ordinal")
        )
        return {number: tuple(place) for number, *place in rows}

    def _visible(self, model: Any) -> Any:
        return model.objects.db_manager(self.using).visible_to(self.scope)

    def _verified(self, scored: Scored, phrases: Sequence[Phrase]) -> Iterator[int]:
        ordered = self._ordered(scored, PHRASE_WORK)[:PHRASE_WORK]
        words = sum(len(phrase.text.split()) for phrase in phrases)
        left = PHRASE_EFFORT
        for start in range(0, len(ordered), PHRASE_BATCH):
            batch = ordered[start : start + PHRASE_BATCH]
            numbers = self.directory.numbers[batch].tolist()
            rows = self._visible(ChunkText).filter(number__in=numbers)
            folded = {
                number: analysis.fold(text)
                for number, text in rows.values_list("number", "text").iterator()
            }
            for position, number in zip(batch, numbers, strict=True):
                text = folded.get(number, "")
                left -= len(text) * words
                if left < 0:
                    return
                if all(phrase.pattern.search(text) for phrase in phrases):
                    yield position

    # what is returned

    def hits(self, scored: Scored, order: Sequence[int], options: Options) -> list[Hit]:
        around = self._around(order, options.neighbours)
        numbers = {int(self.directory.numbers[at]) for at in order}
        numbers.update(number for beside in around.values() for number in beside)
        views = self._views(numbers)
        found = [int(self.directory.numbers[at]) for at in order]
        superseded = successors(self.scope, self.using, found, options.known_at) if found else {}
        hits = []
        for place, at in enumerate(order, start=1):
            number = int(self.directory.numbers[at])
            # A passage erased by another transaction since it was ranked is simply not there.
            if number not in views:
                continue
            hits.append(
                Hit(
                    chunk=views[number],
                    score=float(scored.scores[at]),
                    method=scored.method(at),
                    explain=scored.explain(at, place) if options.explain else None,
                    superseded_by=superseded.get(number, ()),
                    neighbours=tuple(
                        views[beside] for beside in around.get(at, ()) if beside in views
                    ),
                )
            )
        return hits

    def _views(self, numbers: Iterable[int]) -> dict[int, ChunkView]:
        """Return passages by number, each read once."""
        if missing := sorted(set(numbers).difference(self._read)):
            self._read |= reading.views(self.scope, self.using, number__in=missing)
        return self._read

    def _around(self, order: Sequence[int], reach: int) -> dict[int, list[int]]:
        """Return, by position, the numbers of passages up to `reach` places before and after it."""
        if not reach:
            return {}
        directory = self.directory
        around = {}
        for at in order:
            distance = directory.ordinals - directory.ordinals[at]
            near = np.flatnonzero(
                (directory.sources == directory.sources[at])
                & (np.abs(distance) <= reach)
                & (distance != 0)
            )
            near = near[np.argsort(directory.ordinals[near], kind="stable")]
            around[at] = directory.numbers[near].tolist()
        return around
