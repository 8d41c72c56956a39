"""Counters that lag behind what they count: numbers of versions, and the last recorded instant."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from django.db.models import Exists, Max, OuterRef

from prism_graph import clock, writing
from prism_graph.bases.rows import SCOPE_RULE
from prism_graph.doctor.check import Check, Finding, RowCheck
from prism_graph.doctor.place import Place, same
from prism_graph.models import Chunk, Fact, FactVersion, Receipt, ScopeClock, Source, Standing
from prism_graph.scope import COLUMNS, Scope
from prism_graph.transactions import write_block

RECORDED: Final[dict[Any, tuple[str, ...]]] = {
    Source: ("recorded_at", "retired_at"),
    Chunk: ("recorded_at", "retired_at"),
    FactVersion: ("recorded_at", "weakened_at"),
    Standing: ("since", "until"),
    Receipt: ("erased_at",),
}


class LastVersion(RowCheck):
    """Look for facts whose next version would take a number that is taken."""

    id = "last-version"
    model = Fact
    what = "fact: its last number is below a version's"
    fix = "counted again"

    def wrong(self, place: Place) -> Any:
        """Return the facts."""
        above = place.every(FactVersion).filter(
            **same(fact_number="number"), number__gt=OuterRef("last_version")
        )
        return place.rows(Fact).filter(SCOPE_RULE, Exists(above))

    def put_right(self, place: Place) -> None:
        """Count again."""

        def count(scope: Scope, at: datetime, rows: list[Any]) -> None:
            for _, number in rows:
                versions = place.at(FactVersion, scope).filter(fact_number=number)
                last = versions.aggregate(last=Max("number"))["last"]
                writing.count_versions(place.using, scope, number, last)

        place.by_scope(self.wrong(place), count, "number")


class ClockBehind(Check):
    """Look for scopes whose next recorded instant could be one that was recorded already."""

    id = "clock-behind"
    what = "scope clock: behind what its scope recorded"
    fix = "set to the newest recorded instant, unless that lies more than a day ahead"

    def examine(self, place: Place) -> Finding | None:
        """Compare each clock with its scope's rows, table by table."""
        return self.told({key for key, _ in _behind(place)})

    def put_right(self, place: Place) -> None:
        """Move the clocks on; the clock's row is the scope's lock."""
        # A clock so far ahead would take all that is written from now on with it.
        latest = clock.to_microseconds(clock.now() + timedelta(days=1))
        for key, newest in list(_behind(place)):
            if newest > latest:
                continue
            with write_block(place.using):
                clocks = place.rows(ScopeClock).filter(pk=key, last__lt=newest)
                clocks.update(last=newest)


def _behind(place: Place) -> Iterator[tuple[str, int]]:
    """Yield clocks with a later instant than theirs, in microseconds."""
    for model, names in RECORDED.items():
        newest = {f"newest_{name}": Max(name) for name in names}
        rows = place.rows(model).values_list(*COLUMNS).annotate(**newest).iterator()
        # Clocks are looked up beside the grouping: in it, PostgreSQL would do so for every row.
        while page := list(islice(rows, writing.BATCH)):
            clocks = _clocks(place, [row[: len(COLUMNS)] for row in page])
            for row in page:
                recorded = [each for each in row[len(COLUMNS) :] if each is not None]
                key, last = clocks.get(row[: len(COLUMNS)], ("", None))
                if last is not None and clock.to_microseconds(max(recorded)) > last:
                    yield key, clock.to_microseconds(max(recorded))


def _clocks(place: Place, scopes: list[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, int]]:
    """Return the id and last instant of these scopes' clocks, and of some others."""
    parts = zip(COLUMNS, zip(*scopes, strict=True), strict=True)
    among = {f"{name}__in": set(values) for name, values in parts}
    rows = place.every(ScopeClock).filter(**among).values_list(*COLUMNS, "pk", "last")
    return {tuple(columns): (key, last) for *columns, key, last in rows}
