"""History: what memory held of a subject over both clocks, as areas of valid and recorded time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from prism_graph import reading
from prism_graph.intervals import Stated, held
from prism_graph.models import FactVersion, Standing
from prism_graph.policy import UNDECIDED, FactStatus
from prism_graph.scope import COLUMNS, Scope
from prism_graph.writing import digest

# Facts and standings that one page draws, at most.
MAX_FACTS: Final = 20
MAX_STANDINGS: Final = 2000


@dataclass(frozen=True, slots=True)
class Area:
    """One version over [valid_from, valid_to) as memory held it over [known_from, known_to); None is open.

    `status` is accepted where it held, else that of a claim which waited.
    """

    version: int
    status: FactStatus
    valid_from: datetime
    valid_to: datetime | None
    known_from: datetime
    known_to: datetime | None


@dataclass(frozen=True, slots=True)
class Stood:
    """A version's status over [since, until)."""

    id: str
    stated: Stated
    since: datetime
    until: datetime | None
    subject: str = field(repr=False)
    predicate: str = field(repr=False)
    value: str = field(repr=False)
    decided_by: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FactHistory:
    """One fact of one scope: every standing of every version, oldest first."""

    scope: Scope
    key: str = field(repr=False)
    stood: tuple[Stood, ...]

    def areas(self) -> list[Area]:
        """Return what was in force and what waited: areas apart, in order of recorded time.

        Between two recorded instants nothing changes, so each such span is computed as any moment of it
        is, and equal neighbours are joined.
        """
        return _joined(area for span in self._spans() for area in self._during(*span))

    def _spans(self) -> Iterator[tuple[datetime, datetime | None]]:
        instants = {each.since for each in self.stood}
        instants |= {each.until for each in self.stood if each.until is not None}
        yield from pairwise([*sorted(instants), None])

    def _during(self, start: datetime, end: datetime | None) -> Iterator[Area]:
        standing = [
            each.stated
            for each in self.stood
            if each.since <= start and (each.until is None or start < each.until)
        ]
        for one in held(standing):
            yield Area(one.number, FactStatus.ACCEPTED, one.start, one.end, start, end)
        for claim in standing:
            if claim.status in UNDECIDED:
                yield Area(claim.number, claim.status, claim.valid_from, claim.valid_to, start, end)


def _joined(areas: Iterator[Area]) -> list[Area]:
    joined: list[Area] = []
    open_areas: dict[tuple[Any, ...], int] = {}
    for area in areas:
        same = (area.version, area.status, area.valid_from, area.valid_to)
        place = open_areas.get(same)
        if place is not None and joined[place].known_to == area.known_from:
            joined[place] = replace(joined[place], known_to=area.known_to)
        else:
            open_areas[same] = len(joined)
            joined.append(area)
    return joined


def histories(scope: Scope, using: str, subject: str, limit: int = MAX_FACTS) -> list[FactHistory]:
    """Return the facts about a subject that a reader at a scope sees, nearest scope first, then by key.

    Of their standings the newest 2,000, in two statements.
    """
    versions = FactVersion.objects.db_manager(using).visible_to(scope)
    about = versions.filter(subject_digest=digest(subject), subject=subject)
    depth = {level.parts: place for place, level in enumerate(scope.chain)}
    places = about.values_list(*COLUMNS, "fact_number", "fact__key").distinct()
    named = sorted(places, key=lambda row: (depth[row[:4]], row[5]))[:limit]
    if not named:
        return []
    rows = _standings(scope, using, named)
    return [
        FactHistory(
            Scope.from_columns(*parts),
            key,
            tuple(_stood(row) for row in rows if row[:5] == (*parts, number)),
        )
        for *parts, number, key in named
    ]


def _standings(scope: Scope, using: str, named: Sequence[Any]) -> list[Any]:
    wanted = reading.any_of(
        {**dict(zip(COLUMNS, parts, strict=True)), "fact_number": number}
        for *parts, number, _ in named
    )
    standings = Standing.objects.db_manager(using).visible_to(scope).filter(wanted)
    newest = list(
        standings.order_by("-since", "-version").values_list(
            *(*COLUMNS, "fact_number", "version", "stated__valid_from", "stated__valid_to"),
            *("status", "since", "until", "stated__id", "stated__subject", "stated__predicate"),
            *("stated__value", "decided_by"),
        )[:MAX_STANDINGS]
    )
    return newest[::-1]


def _stood(row: Sequence[Any]) -> Stood:
    number, start, end, status, since, until, name, subject, predicate, value, by = row[5:]
    return Stood(
        id=name,
        stated=Stated(number, start, end, status),
        since=since,
        until=until,
        subject=subject,
        predicate=predicate,
        value=value,
        decided_by=by,
    )
