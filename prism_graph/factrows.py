"""Reading facts: which version holds when, as known when, and what it cites, in one statement.

In force is computed, never stored: of a fact's accepted versions, ordered by (valid_from, number), each
holds until its stated end or the next one's start, whichever comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from django.db import connections

from prism_graph import clock
from prism_graph.fulltext import engine
from prism_graph.intervals import earliest
from prism_graph.policy import CLOSED, FactStatus
from prism_graph.records import Cited, FactView
from prism_graph.scope import COLUMNS, Scope
from prism_graph.tables import named
from prism_graph.trust import Trust
from prism_graph.writing import digest


def _chain(table: str) -> str:
    levels = (f"{table}.{name} IN (%s, '')" for name in COLUMNS[1:])
    return " AND ".join([f"{table}.tenant = %s", *levels])


def _beside(left: str, right: str, **pairs: str) -> str:
    """Return the condition that two rows stand in one scope and agree; the tenant is bound, not joined."""
    columns = {name: name for name in COLUMNS[1:]} | pairs
    same = (f"{left}.{mine} = {right}.{theirs}" for mine, theirs in columns.items())
    return " AND ".join([f"{left}.tenant = %s", *same])


_FACT: Final = "PARTITION BY v.owner, v.agent, v.thread, v.fact_number"
_LAST: Final = f"max(v.recorded_at) OVER ({_FACT})"
_AT: Final = "%s"
# A version without a stated start holds from its recorded instant, which can be ahead of the clock.
_NOW: Final = f"CASE WHEN {_LAST} > %s THEN {_LAST} ELSE %s END"
_STOOD: Final = (
    "WITH stood AS (SELECT f.key, v.owner, v.agent, v.thread, v.fact_number, v.number, v.id, v.subject, "
    "v.predicate, v.value, v.valid_from, v.valid_to, v.recorded_at, v.contests, s.status, s.since, "
    "s.decided_by, s.reason, s.policy, "
    f"lead(v.valid_from) OVER ({_FACT}, s.status = 'accepted' ORDER BY v.valid_from, v.number) "
    "AS next_from, {at} AS asked_at FROM "
)
_CHAIN_OF_FACT: Final = _chain("f")
_FACTS: Final = f"(SELECT * FROM $fact f WHERE {_CHAIN_OF_FACT}{{of_key}}) f "
_OF_KEY: Final = " AND f.key_digest = %s"
_CHAIN_OF_VERSION: Final = _chain("w")
_KEYS: Final = (
    "(SELECT DISTINCT g.key_digest FROM (SELECT * FROM $factversion w "
    f"WHERE {_CHAIN_OF_VERSION} AND w.subject_digest = %s) w {{facts_of_versions}}) k "
)
# What is joined to what, each a table, its alias and the condition.
_FACTS_OF_VERSIONS: Final = ("$fact", "g", _beside("g", "w", number="fact_number"))
# Every level's facts under the keys that the subject's versions have: the nearer one casts the shadow.
_FACTS_OF_KEYS: Final = ("$fact", "f", f"f.key_digest = k.key_digest AND {_chain('f')}")
_VERSIONS: Final = ("$factversion", "v", _beside("v", "f", fact_number="number"))
_STANDING: Final = _beside("s", "v", fact_number="fact_number", version="number")
_OPEN: Final = ("$standing", "s", f"{_STANDING} AND s.until IS NULL")
_OPEN_THEN: Final = (
    *("$standing", "s"),
    f"{_STANDING} AND s.since <= %s AND (s.until IS NULL OR s.until > %s)",
)
_CITED: Final = ") SELECT h.*, c.id, c.trust, c.retired_at FROM stood h "
# A version always cites something: one whose evidence was deleted past Memory is not told.
_CITATIONS: Final = (
    *("$citation", "e"),
    _beside("e", "h", fact_number="fact_number", version="number"),
)
_CHUNKS: Final = (
    *("$chunk", "c"),
    (
        "c.tenant = %s AND c.owner = e.cited_owner AND c.agent = e.cited_agent "
        "AND c.thread = e.cited_thread AND c.number = e.cited_number"
    ),
)
_HOLDS: Final = (
    "WHERE h.valid_from <= h.asked_at AND (h.valid_to IS NULL OR h.valid_to > h.asked_at) AND "
    "((h.status = 'accepted' AND (h.next_from IS NULL OR h.next_from > h.asked_at)){or_undecided}) "
)
_UNDECIDED: Final = " OR h.status IN ('belief', 'proposal')"
_ORDER: Final = "ORDER BY h.key, h.owner, h.agent, h.thread, h.number, e.cited_number"

# Which column names the version.
_ID: Final = 6


@dataclass(frozen=True, slots=True)
class Question:
    """Which facts are asked for, and as known at which instant (None is now)."""

    key: str | None = None
    subject: str | None = None
    known_at: datetime | None = None


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
    connection = connections[using]
    statement, parameters = _statement(scope, using, question, at, where)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    chain, zone = scope.chain, connection.timezone or UTC
    levels = {tuple(map(str, level.parts[1:])): place for place, level in enumerate(chain)}
    found = []
    for _, group in groupby(rows, key=itemgetter(_ID)):
        cited = list(group)
        depth = levels[cited[0][1:4]]
        view = _view(cited, chain[depth], question.known_at, zone)
        found.append((depth, view.key, view.version, view))
    found.sort(key=itemgetter(0, 1, 2))
    return [view for *_, view in found]


def _statement(
    scope: Scope, using: str, question: Question, at: datetime | None, where: str
) -> tuple[str, list[Any]]:
    """Return the statement and its parameters, in the order in which it names them."""
    bound = connections[using].ops.adapt_datetimefield_value
    join = engine(connections[using]).nested_join
    chain, tenant = list(map(str, scope.parts)), scope.tenant
    asked_at = [clock.now()] * 2 if at is None else [at]
    parameters = [*map(bound, asked_at), *chain]
    statement = _STOOD.format(at=_NOW if at is None else _AT)
    if question.subject is not None:
        statement += _KEYS.format(facts_of_versions=join(*_FACTS_OF_VERSIONS))
        statement += join(*_FACTS_OF_KEYS)
        parameters += [digest(question.subject), tenant, *chain]
    elif question.key is not None:
        statement += _FACTS.format(of_key=_OF_KEY)
        parameters.append(digest(question.key))
    else:
        statement += _FACTS.format(of_key="")
    statement += join(*_VERSIONS)
    parameters += [tenant, tenant]
    if question.known_at is None:
        statement += join(*_OPEN)
    else:
        statement += join(*_OPEN_THEN)
        parameters += [bound(question.known_at)] * 2
    statement += _CITED + join(*_CITATIONS) + join(*_CHUNKS) + where + _ORDER
    return named(statement), [*parameters, tenant, tenant]


def _view(cited: Sequence[Any], scope: Scope, known_at: datetime | None, zone: tzinfo) -> FactView:
    """Return the view of one version, from a row for each chunk that it cites."""
    key, _, _, _, _, number, name, subject, predicate, value, *rest = cited[0]
    start, end, recorded_at, contests, label, since, decided_by, reason, policy, following = rest[
        :10
    ]
    start, end, since = _instant(start, zone), _instant(end, zone), _instant(since, zone)
    status = FactStatus.named(label)
    accepted = status is FactStatus.ACCEPTED
    retired = [_instant(row[-1], zone) for row in cited if row[-1] is not None]
    return FactView(
        id=name,
        key=key,
        version=number,
        scope=scope,
        status=status,
        subject=subject,
        predicate=predicate,
        value=value,
        valid_from=start,
        valid_to=earliest(end, _instant(following, zone)) if accepted else end,
        stated_valid_to=end,
        recorded_from=_instant(recorded_at, zone),
        recorded_to=since if status in CLOSED else None,
        evidence=tuple([Cited(row[-3], Trust.from_code(row[-2])) for row in cited]),
        contests=contests,
        stale=any(known_at is None or at <= known_at for at in retired),
        shadowed=False,
        decided_by=decided_by,
        decided_at=since,
        reason=reason,
        policy=policy,
    )


def _instant(value: Any, zone: tzinfo) -> Any:
    """Return an aware instant in UTC from what a statement returned; None for None."""
    if value is None:
        return None
    if isinstance(value, str):
        # SQLite's text, which has no offset; reading one is quicker than setting it afterwards.
        value = datetime.fromisoformat(value + "+00:00" if zone is UTC else value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    return value if value.tzinfo is UTC else value.astimezone(UTC)
