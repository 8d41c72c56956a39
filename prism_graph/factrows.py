"""Reading facts: which version holds when, as known when, and what it cites, in one statement.

In force is computed, never stored: of a fact's accepted versions, ordered by (valid_from, number), each
holds until its stated end or the next one's start, whichever comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from django.db import connections
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from prism_graph import clock
from prism_graph.intervals import earliest
from prism_graph.policy import CLOSED, FactStatus
from prism_graph.records import Cited, FactView
from prism_graph.scope import COLUMNS, Scope
from prism_graph.trust import Trust
from prism_graph.writing import digest


def _chain(table: str) -> str:
    levels = (f"{table}.{name} IN (%s, '')" for name in COLUMNS[1:])
    return " AND ".join([f"{table}.tenant = %s", *levels])


def _same(left: str, right: str, **pairs: str) -> str:
    columns = {name: name for name in COLUMNS} | pairs
    return " AND ".join(f"{left}.{mine} = {right}.{theirs}" for mine, theirs in columns.items())


_CHAIN_OF_FACT: Final = _chain("f")
_CHAIN_OF_VERSION: Final = _chain("w")
_FACT_OF_VERSION: Final = _same("g", "w", number="fact_number")
_VERSION_OF_FACT: Final = _same("v", "f", fact_number="number")
_STANDING_OF_VERSION: Final = _same("s", "v", fact_number="fact_number", version="number")

_FACT: Final = "PARTITION BY v.owner, v.agent, v.thread, v.fact_number"
_LAST: Final = f"max(v.recorded_at) OVER ({_FACT})"
_AT: Final = "%s"
# A version without a stated start holds from its recorded instant, which can be ahead of the clock.
_NOW: Final = f"CASE WHEN {_LAST} > %s THEN {_LAST} ELSE %s END"
_OPEN: Final = "s.until IS NULL"
_OPEN_THEN: Final = "s.since <= %s AND (s.until IS NULL OR s.until > %s)"
_OF_KEY: Final = "f.key_digest = %s"
# Every level's facts under the keys that the subject's versions have: the nearer one casts the shadow.
_OF_SUBJECT: Final = (
    "f.key_digest IN (SELECT g.key_digest FROM prism_graph_factversion w JOIN prism_graph_fact g "
    f"ON {_FACT_OF_VERSION} WHERE {_CHAIN_OF_VERSION} AND w.subject_digest = %s)"
)
_OF_ALL: Final = "1 = 1"
_STOOD: Final = (
    "WITH stood AS (SELECT f.key, v.tenant, v.owner, v.agent, v.thread, v.fact_number, v.number, v.id, "
    "v.subject, v.predicate, v.value, v.valid_from, v.valid_to, v.recorded_at, v.contests, s.status, "
    "s.since, s.decided_by, s.reason, s.policy, "
    f"lead(v.valid_from) OVER ({_FACT}, s.status = 'accepted' ORDER BY v.valid_from, v.number) "
    "AS next_from, {at} AS asked_at FROM prism_graph_fact f "
    f"JOIN prism_graph_factversion v ON {_VERSION_OF_FACT} "
    f"JOIN prism_graph_standing s ON {_STANDING_OF_VERSION} "
    f"WHERE {_CHAIN_OF_FACT} AND {{facts}} AND {{standing}}) "
)
# A version always cites something: one whose evidence was deleted past Memory is not told.
_CITED: Final = (
    "SELECT h.*, c.id, c.trust, c.retired_at FROM stood h "
    "JOIN prism_graph_citation e ON e.tenant = %s AND e.owner = h.owner AND e.agent = h.agent "
    "AND e.thread = h.thread AND e.fact_number = h.fact_number AND e.version = h.number "
    "JOIN prism_graph_chunk c ON c.tenant = %s AND c.owner = e.cited_owner "
    "AND c.agent = e.cited_agent AND c.thread = e.cited_thread AND c.number = e.cited_number "
)
_HOLDS: Final = (
    "WHERE h.valid_from <= h.asked_at AND (h.valid_to IS NULL OR h.valid_to > h.asked_at) AND "
    "((h.status = 'accepted' AND (h.next_from IS NULL OR h.next_from > h.asked_at)){or_undecided}) "
)
_UNDECIDED: Final = " OR h.status IN ('belief', 'proposal')"
_ORDER: Final = "ORDER BY h.key, h.owner, h.agent, h.thread, h.number, e.cited_number"

# How many columns of a row are the version's; the cited chunk's follow.
_WIDTH: Final = 22
_ID: Final = 7


@dataclass(frozen=True, slots=True)
class Question:
    """Which facts are asked for, and as known at which instant (None is now)."""

    key: str | None = None
    subject: str | None = None
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Instants:
    """How one connection writes instants and gives them back."""

    connection: Any = field(repr=False)

    def bound(self, value: datetime) -> Any:
        """Return what to bind."""
        return self.connection.ops.adapt_datetimefield_value(value)

    def read(self, value: Any) -> Any:
        """Return an aware instant in UTC from what a statement returned; None for None."""
        if isinstance(value, str):
            value = parse_datetime(value)
        if value is not None and timezone.is_naive(value):
            value = timezone.make_aware(value, self.connection.timezone)
        return None if value is None else value.astimezone(UTC)


def holding(
    scope: Scope, using: str, question: Question, at: datetime | None, undecided: bool
) -> list[FactView]:
    """Return what holds at an instant (None is now) at each visible level, nearest first, then by key.

    With `undecided` also the beliefs and proposals whose stated interval contains the instant.
    """
    where = _HOLDS.format(or_undecided=_UNDECIDED if undecided else "")
    return _views(scope, using, question, at, where)


def standing(scope: Scope, using: str, question: Question) -> list[FactView]:
    """Return every version asked for, whatever its status, nearest first, then by key and number."""
    return _views(scope, using, question, None, "")


def _views(
    scope: Scope, using: str, question: Question, at: datetime | None, where: str
) -> list[FactView]:
    instants = Instants(connections[using])
    statement, parameters = _statement(scope, question, at, where, instants)
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    depth = {level: place for place, level in enumerate(scope.chain)}
    found = [
        _view(cited[0], [row[_WIDTH:] for row in cited], question, instants)
        for _, group in groupby(rows, key=lambda row: row[_ID])
        for cited in [list(group)]
    ]
    found.sort(key=lambda view: (depth[view.scope], view.key, view.version))
    return found


def _statement(
    scope: Scope, question: Question, at: datetime | None, where: str, instants: Instants
) -> tuple[str, list[Any]]:
    """Return the statement and its parameters, in the order in which it names them."""
    parts = list(map(str, scope.parts))
    parameters: list[Any] = []
    if at is not None:
        asked, parameters = _AT, [instants.bound(at)]
    else:
        asked, parameters = _NOW, [instants.bound(clock.now())] * 2
    parameters += parts
    facts = _OF_ALL
    if question.key is not None:
        facts = _OF_KEY
        parameters.append(digest(question.key))
    elif question.subject is not None:
        facts = _OF_SUBJECT
        parameters += [*parts, digest(question.subject)]
    stood = _OPEN
    if question.known_at is not None:
        stood = _OPEN_THEN
        parameters += [instants.bound(question.known_at)] * 2
    statement = _STOOD.format(at=asked, facts=facts, standing=stood)
    return statement + _CITED + where + _ORDER, [*parameters, scope.tenant, scope.tenant]


def _view(
    version: Sequence[Any], cited: Sequence[Any], question: Question, instants: Instants
) -> FactView:
    key, *parts = version[:5]
    number, name, subject, predicate, value = version[6:11]
    valid_from, valid_to, recorded_at = map(instants.read, version[11:14])
    contests, label = version[14:16]
    since = instants.read(version[16])
    decided_by, reason, policy = version[17:20]
    status = FactStatus.named(label)
    accepted = status is FactStatus.ACCEPTED
    retired = [instants.read(at) for _, _, at in cited if at is not None]
    known_at = question.known_at
    return FactView(
        id=name,
        key=key,
        version=number,
        scope=Scope.from_columns(*parts),
        status=status,
        subject=subject,
        predicate=predicate,
        value=value,
        valid_from=valid_from,
        valid_to=earliest(valid_to, instants.read(version[20])) if accepted else valid_to,
        stated_valid_to=valid_to,
        recorded_from=recorded_at,
        recorded_to=since if status in CLOSED else None,
        evidence=tuple(Cited(name, Trust.from_code(code)) for name, code, _ in cited),
        contests=contests,
        stale=any(known_at is None or at <= known_at for at in retired),
        shadowed=False,
        decided_by=decided_by,
        decided_at=since,
        reason=reason,
        policy=policy,
    )
