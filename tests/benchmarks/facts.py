"""Reading and erasing facts against bare SQL: `python -m tests.benchmarks.facts sqlite|postgresql [part …]`.

Parts: read, flat, erase. Ratios are of interleaved calls within one run, medians of rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from tests.benchmarks import corpus, measuring
from tests.benchmarks.speed import fill, settle

ROUNDS: Final = 3
KEYS_PER_SUBJECT: Final = 10
VERSIONS: Final = 5
START: Final = datetime(2020, 1, 1, tzinfo=UTC)

_PLACE: Final = "tenant = %s AND owner = %s AND agent = '' AND thread = ''"
# The same question put by hand, to one scope: what holds now, and the ids of what it cites.
_BARE_FACTS: Final = (
    "WITH stood AS (SELECT v.tenant, v.owner, v.agent, v.thread, v.fact_number, v.number, v.subject, "
    "v.predicate, v.value, v.valid_from, v.valid_to, s.status, s.since, lead(v.valid_from) OVER "
    "(PARTITION BY v.fact_number ORDER BY v.valid_from, v.number) AS next_from "
    "FROM prism_graph_factversion v JOIN prism_graph_standing s ON s.tenant = v.tenant "
    "AND s.owner = v.owner AND s.agent = v.agent AND s.thread = v.thread "
    "AND s.fact_number = v.fact_number AND s.version = v.number "
    "WHERE v.subject_digest = %s AND v.tenant = %s AND v.owner = %s AND v.agent = '' "
    "AND v.thread = '' AND s.until IS NULL AND s.status = 'accepted') "
    "SELECT h.*, c.id, c.trust FROM stood h JOIN prism_graph_citation e ON e.tenant = h.tenant "
    "AND e.owner = h.owner AND e.agent = h.agent AND e.thread = h.thread "
    "AND e.fact_number = h.fact_number AND e.version = h.number "
    "JOIN prism_graph_chunk c ON c.tenant = e.tenant AND c.owner = e.cited_owner "
    "AND c.agent = e.cited_agent AND c.thread = e.cited_thread AND c.number = e.cited_number{}"
)
_NOW: Final = (
    " WHERE h.valid_from <= %s AND (h.valid_to IS NULL OR h.valid_to > %s) "
    "AND (h.next_from IS NULL OR h.next_from > %s)"
)


def state(using: str, scope: Any, versions: int) -> list[str]:
    """Store that many versions, five a key and ten keys a subject, as tuples; return the subjects."""
    from django.db import connections

    from prism_graph.bases.rows import random_id
    from prism_graph.fulltext import engine
    from prism_graph.models import Chunk, Citation, Fact, FactVersion, Standing
    from prism_graph.scope import COLUMNS
    from prism_graph.writing import digest

    fill(using, scope, iter(corpus.passages()), 1)
    chunk = Chunk.objects.db_manager(using).at(scope).values_list("number", flat=True)[0]
    adapt = connections[using].ops.adapt_datetimefield_value
    parts = tuple(map(str, scope.parts))
    keys = versions // VERSIONS
    subjects = [f"subject {at}" for at in range(max(keys // KEYS_PER_SUBJECT, 1))]
    when = [adapt(START + timedelta(days=at)) for at in range(VERSIONS)]

    def each() -> Iterator[tuple[int, int]]:
        return ((key, number) for key in range(1, keys + 1) for number in range(1, VERSIONS + 1))

    insert = engine(connections[using]).insert
    insert(
        Fact,
        ("id", *COLUMNS, "number", "key", "key_digest", "last_version"),
        (
            (random_id(), *parts, key, f"key {key}", digest(f"key {key}"), VERSIONS)
            for key in range(1, keys + 1)
        ),
    )
    insert(
        FactVersion,
        (
            *("id", *COLUMNS, "fact_number", "number", "subject", "subject_digest", "predicate"),
            *("value", "valid_from", "valid_to", "recorded_at", "contests", "weakened_at"),
        ),
        (
            (
                *(random_id(), *parts, key, number, subjects[key % len(subjects)]),
                *(digest(subjects[key % len(subjects)]), "is", f"value {number} of {key}"),
                *(when[number - 1], None, when[number - 1], None, None),
            )
            for key, number in each()
        ),
    )
    insert(
        Standing,
        (
            *("id", *COLUMNS, "fact_number", "version", "status", "since", "until"),
            *("decided_by", "reason", "policy"),
        ),
        (
            (random_id(), *parts, key, number, "accepted", when[number - 1], None, "", "", "p")
            for key, number in each()
        ),
    )
    insert(
        Citation,
        (
            *("id", *COLUMNS, "fact_number", "version"),
            *("cited_owner", "cited_agent", "cited_thread", "cited_number"),
        ),
        ((random_id(), *parts, key, number, *parts[1:], chunk) for key, number in each()),
    )
    return subjects


def by_hand(scope: Any, where: str) -> Callable[[str], Any]:
    """Return the bare statement as a call."""
    from django.db import connection

    from prism_graph.writing import digest

    def ask(subject: str) -> Any:
        now = connection.ops.adapt_datetimefield_value(datetime.now(UTC))
        parameters = [digest(subject), scope.tenant, scope.owner, *([now] * where.count("%s"))]
        with connection.cursor() as cursor:
            cursor.execute(_BARE_FACTS.format(where), parameters)
            return cursor.fetchall()

    return ask


def read(vendor: str) -> None:
    """Compare facts() and timeline() over 100,000 versions of 20,000 keys with the bare statement."""
    from prism_graph import Memory, Scope

    scope = Scope("facts").for_owner("reader")
    subjects = state("default", scope, 100_000)[:150]
    settle("default", vendor)
    memory = Memory(scope)
    calls: dict[str, Callable[[str], Any]] = {
        "facts": memory.facts,
        "bare facts": by_hand(scope, _NOW),
        "timeline": memory.timeline,
        "bare timeline": by_hand(scope, ""),
    }
    for call in calls.values():
        for subject in subjects[:20]:
            call(subject)
    times = measuring.interleaved(calls, subjects, ROUNDS)
    figures = {
        name: tuple(measuring.median_of_rounds(times[name], share) for share in (0.5, 0.95))
        for name in calls
    }
    rows = [(name, *each) for name, each in figures.items()]
    for name in ("facts", "timeline"):
        pairs = zip(figures[name], figures[f"bare {name}"], strict=True)
        rows.append((f"{name} / bare", *(ours / bare for ours, bare in pairs)))
    measuring.table(f"Facts of a subject, 100k versions, {vendor}, ms", ("", "p50", "p95"), rows)


def flat(vendor: str) -> None:
    """Compare one reader's 2,000 versions beside 2,000 and beside 200,000 of others'."""
    from prism_graph import Memory, Scope

    reader = Scope("tenant-0").for_owner("reader")
    for using, others in (("small", 2_000), ("default", 200_000)):
        subjects = state(using, reader, 2_000)
        for place in range(10):
            state(using, Scope(f"tenant-{place}").for_owner("other"), others // 10)
        settle(using, vendor)
    for method in ("facts", "timeline"):
        calls = {using: getattr(Memory(reader, using), method) for using in ("small", "default")}
        times = measuring.interleaved(calls, subjects * 4, ROUNDS)
        rows = [
            (name, *(measuring.median_of_rounds(times[using], share) for share in (0.5, 0.95)))
            for name, using in (("others 2k", "small"), ("others 200k", "default"))
        ]
        rows.append(("ratio", rows[1][1] / rows[0][1], rows[1][2] / rows[0][2]))
        title = f"{method}(), 2k versions visible, {vendor}, ms"
        measuring.table(title, ("beside", "p50", "p95"), rows)


def erase(vendor: str) -> None:
    """Compare erase_everything() of 100,000 chunks with bare DELETEs of the same rows."""
    from django.db import connection, transaction

    from prism_graph import Memory, Scope

    texts = corpus.endless()
    rows = []
    for place in range(ROUNDS):
        ours, bare = (Scope("erase").for_owner(f"{name}-{place}") for name in ("ours", "bare"))
        for scope in (ours, bare):
            fill("default", scope, iter(list(islice(texts, 100_000))), 100_000)
        settle("default", vendor)
        began = time.perf_counter()
        Memory(ours).erase_everything()
        spent = time.perf_counter() - began
        began = time.perf_counter()
        with transaction.atomic(), connection.cursor() as cursor:
            for table in ("derivation", "chunktext", "chunk", "source", "scopeclock"):
                cursor.execute(
                    f"DELETE FROM prism_graph_{table} WHERE {_PLACE}", [bare.tenant, bare.owner]
                )
        other = time.perf_counter() - began
        rows.append((place + 1, spent, other, spent / other))
    measuring.table(
        f"Erasing 100k chunks, {vendor}, seconds", ("round", "ours", "bare", "ours / bare"), rows
    )


PARTS: Final = {"read": read, "flat": flat, "erase": erase}

if __name__ == "__main__":
    measuring.run(PARTS)
