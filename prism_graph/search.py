"""Search: what the reader sees, ranked by words; nothing is read of a passage that is not returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db import connections
from numpy.typing import NDArray

from prism_graph import analysis, ranking, reading
from prism_graph.codepoints import is_storable
from prism_graph.errors import InvalidInput
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
from prism_graph.models import Chunk, ChunkText, Source
from prism_graph.options import Options
from prism_graph.ranking import Directory, Ranking
from prism_graph.records import ChunkView, Hit
from prism_graph.scope import Scope
from prism_graph.succession import successors
from prism_graph.trust import Trust
from prism_graph.writing import digest

# Texts read to verify phrases, at most; and their characters times the phrases' words.
PHRASE_WORK: Final = 2000
PHRASE_BATCH: Final = 200
PHRASE_EFFORT: Final = 4_000_000
TEXT: Final = "text"

_LEVELS: Final = np.array([Trust.from_code(code).level for code in range(len(Trust))])
_SCOPE_SHIFT: Final = 40

Mask = NDArray[np.bool_]


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
    if not asked.words():
        return []
    index = engine(connections[using])
    with index.reading():
        reader = _Reader(scope, using, index, index.directory(scope.chain, options.known_at))
        if not len(reader.directory):
            return []
        ranked = ranking.rank(reader.directory, asked, reader.postings)
        candidates = reader.mask(options)
        for phrase in phrases:
            candidates &= reader.holding(phrase.words)
        order = reader.best(ranked, candidates, options.limit, phrases)
        return reader.hits(ranked, order, options)


class _Reader:
    """One search of one reader: the passages in view, as arrays."""

    def __init__(self, scope: Scope, using: str, index: FullText, levels: Sequence[Level]) -> None:
        self.scope, self.using, self.index = scope, using, index
        self.chain = scope.chain
        self.directory = self._directory(levels)

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
            sources=(depth << _SCOPE_SHIFT) | (packed >> SOURCE_SHIFT),
            ordinals=(packed >> ORDINAL_SHIFT) & ORDINAL_LIMIT,
            trust=_LEVELS[(packed >> TRUST_SHIFT) & 7],
            votes=((packed >> KIND_SHIFT) & 1).astype(bool),
        )

    def postings(self, words: Sequence[str]) -> Sequence[Any]:
        return self.index.postings(self.chain, words)

    # what the options leave in

    def mask(self, options: Options) -> Mask:
        directory = self.directory
        mask = np.ones(len(directory), dtype=bool)
        if options.min_trust is not None:
            mask &= directory.trust >= options.min_trust.level
        if options.sources is not None:
            mask &= np.isin(directory.sources, self._sources_with_keys(options.sources))
        if options.metadata:
            mask &= np.isin(directory.sources, self._sources_with_metadata(options.metadata))
        if options.since is not None or options.until is not None:
            mask &= np.isin(directory.numbers, self._numbers_within(options))
        return mask

    def _visible(self, model: Any) -> Any:
        return model.objects.db_manager(self.using).visible_to(self.scope)

    def _named(self, rows: Iterable[Any]) -> list[int]:
        """Return sources as the directory names them."""
        depth = {level.parts: place for place, level in enumerate(self.chain)}
        return [(depth[tuple(parts)] << _SCOPE_SHIFT) | number for *parts, number in rows]

    def _sources_with_keys(self, keys: Iterable[str]) -> list[int]:
        digests = [digest(key) for key in keys if is_storable(key)]
        rows = self._visible(Source).filter(key_digest__in=digests)
        return self._named(rows.values_list("tenant", "owner", "agent", "thread", "number"))

    def _sources_with_metadata(self, wanted: Mapping[str, Any]) -> list[int]:
        rows = self._visible(Source).values_list(
            "metadata", "tenant", "owner", "agent", "thread", "number"
        )
        return self._named(row[1:] for row in rows.iterator() if _has_members(row[0], wanted))

    def _numbers_within(self, options: Options) -> Any:
        levels = self.index.directory(self.chain, options.known_at, options.since, options.until)
        return np.concatenate([level.numbers for level in levels])

    def holding(self, words: Sequence[str]) -> Mask:
        """Return which passages hold all of these words."""
        mask = np.ones(len(self.directory), dtype=bool)
        for numbers in self.postings(words):
            mask &= np.isin(self.directory.numbers, numbers)
        return mask

    # the best of them

    def best(self, ranked: Ranking, mask: Mask, limit: int, phrases: Sequence[Phrase]) -> list[int]:
        """Return positions in order: score, then recorded instant, source key and ordinal."""
        found = np.flatnonzero(mask & (ranked.scores > 0))
        if not phrases:
            return self._ordered(ranked, found, limit)[:limit]
        verified: list[int] = []
        for position in self._verified(ranked, found, phrases):
            verified.append(position)
            if len(verified) == limit:
                break
        return verified

    def _ordered(self, ranked: Ranking, found: Any, limit: int) -> list[int]:
        scores = ranked.scores[found]
        if len(found) > limit:
            least = np.partition(scores, len(found) - limit)[len(found) - limit]
            found = found[scores >= least]
        tied_numbers = self._tied(ranked.scores[found], self.directory.numbers[found])
        places = self._places(tied_numbers) if len(tied_numbers) else {}
        return sorted(
            map(int, found),
            key=lambda at: (-ranked.scores[at], places.get(int(self.directory.numbers[at]), ())),
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

    def _verified(self, ranked: Ranking, found: Any, phrases: Sequence[Phrase]) -> Iterator[int]:
        ordered = self._ordered(ranked, found, PHRASE_WORK)[:PHRASE_WORK]
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

    def hits(self, ranked: Ranking, order: Sequence[int], options: Options) -> list[Hit]:
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
            score = float(ranked.scores[at])
            hits.append(
                Hit(
                    chunk=views[number],
                    score=score,
                    method=TEXT,
                    explain=self._explained(ranked, at, place) if options.explain else None,
                    superseded_by=superseded.get(number, ()),
                    neighbours=tuple(
                        views[beside] for beside in around.get(at, ()) if beside in views
                    ),
                )
            )
        return hits

    def _views(self, numbers: Iterable[int]) -> dict[int, ChunkView]:
        return reading.views(self.scope, self.using, number__in=sorted(numbers))

    def _explained(self, ranked: Ranking, at: int, place: int) -> Mapping[str, Any]:
        score = float(ranked.scores[at])
        return {TEXT: {"rank": place, "score": score, **ranked.explain(at)}}

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


def _has_members(metadata: Any, wanted: Mapping[str, Any]) -> bool:
    return isinstance(metadata, dict) and all(
        name in metadata and _equals(metadata[name], value) for name, value in wanted.items()
    )


def _equals(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_same(stored, value) for value in wanted)
    return _same(stored, wanted)


def _same(stored: Any, wanted: Any) -> bool:
    # True is not 1: JSON tells them apart, Python's equality does not.
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return stored.keys() == wanted.keys() and all(
            _same(stored[name], wanted[name]) for name in stored
        )
    if isinstance(stored, list) and isinstance(wanted, list):
        return len(stored) == len(wanted) and all(map(_same, stored, wanted))
    return isinstance(stored, bool) == isinstance(wanted, bool) and bool(stored == wanted)
