"""Which facts have moved on from a passage: versions that took the place of those it is evidence for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections
from django.db.models import Q

from prism_graph import clock
from prism_graph.fulltext import engine
from prism_graph.intervals import Stated, held, in_force
from prism_graph.models import Citation, Standing
from prism_graph.policy import FactStatus
from prism_graph.records import FactRef
from prism_graph.scope import COLUMNS, Scope

# Where a fact stands, and its number there.
Place = tuple[Scope, int]


@dataclass(slots=True)
class Succession:
    """One fact's accepted versions, and which of them cite which chunks."""

    key: str = ""
    stated: list[Stated] = field(default_factory=list)
    recorded_at: datetime = clock.EPOCH
    cited: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def moved_on(self, at: datetime) -> Iterator[tuple[int, int]]:
        """Yield a chunk's number and the version in force that took the place of one that cites it."""
        current = in_force(held(self.stated), max(at, self.recorded_at))
        if current is None:
            return
        order = {each.number: (each.valid_from, each.number) for each in self.stated}
        earlier = {number for number, place in order.items() if place < order[current]}
        for number, versions in self.cited.items():
            if current not in versions and earlier.intersection(versions):
                yield number, current


def successors(
    scope: Scope, using: str, numbers: Iterable[int], known_at: datetime | None
) -> dict[int, tuple[FactRef, ...]]:
    """Return, by chunk, the versions in force that took the place of accepted ones citing it.

    Nearest scope first, then by key. One statement where no fact cites any of the chunks.
    """
    among = engine(connections[using]).among
    found: dict[Place, Succession] = defaultdict(Succession)
    citations = Citation.objects.db_manager(using).visible_to(scope)
    rows = citations.filter(among("cited_number", numbers))
    for *parts, fact, version, number in rows.values_list(
        *COLUMNS, "fact_number", "version", "cited_number"
    ):
        found[Scope.from_columns(*parts), fact].cited[number].add(version)
    if not found:
        return {}
    for row in _accepted(scope, using, {fact for _, fact in found}, known_at):
        *parts, fact, version, start, end, recorded_at, key = row
        # Facts of other levels may have the same number.
        if (succession := found.get((Scope.from_columns(*parts), fact))) is not None:
            succession.key = key
            succession.recorded_at = max(succession.recorded_at, recorded_at)
            succession.stated.append(Stated(version, start, end, FactStatus.ACCEPTED))
    depth = {level: place for place, level in enumerate(scope.chain)}
    named: dict[int, list[FactRef]] = defaultdict(list)
    for (where, _), succession in found.items():
        for number, version in succession.moved_on(known_at or clock.now()):
            named[number].append(FactRef(succession.key, version, where))
    return {
        number: tuple(sorted(refs, key=lambda ref: (depth[ref.scope], ref.key)))
        for number, refs in named.items()
    }


def _accepted(scope: Scope, using: str, facts: set[int], known_at: datetime | None) -> Any:
    stood = Q(until=None)
    if known_at is not None:
        stood = Q(since__lte=known_at) & (Q(until=None) | Q(until__gt=known_at))
    standings = Standing.objects.db_manager(using).visible_to(scope)
    among = engine(connections[using]).among("fact_number", facts)
    return standings.filter(among, stood, status=FactStatus.ACCEPTED).values_list(
        *(*COLUMNS, "fact_number", "version", "stated__valid_from", "stated__valid_to"),
        *("stated__recorded_at", "stated__fact__key"),
    )
