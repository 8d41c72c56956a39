"""Writers at once, and what must be true of the stored facts whatever they did to each other."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from django.db import DatabaseError, connections, transaction

from prism_graph.errors import PrismGraphError, WriteConflict
from tests.rawsql import TABLES, sql

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A writer that has not ended by then never will.
PATIENCE: Final = 60


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run every call in a thread with a connection of its own; return results or exceptions."""
    barrier, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(place: int) -> None:
        try:
            _find_deadlocks_soon()
            barrier.wait(30)
            results[place] = calls[place]()
        except BaseException as error:
            results[place] = error
        finally:
            connections["default"].close()

    threads = [
        threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(calls))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a writer never ended"
    return results


def _find_deadlocks_soon() -> None:
    """PostgreSQL looks for a deadlock after a second; who may not change that waits."""
    if connections["default"].vendor == "postgresql":
        with suppress(DatabaseError), connections["default"].wrap_database_errors:
            sql("SET deadlock_timeout = '20ms'")
    connections["default"].ensure_connection()


def raised(results: Sequence[Any]) -> list[Any]:
    """Return the exceptions among results."""
    return [each for each in results if isinstance(each, BaseException)]


def until_done(work: Callable[[], Any], times: int = 40) -> Any:
    """Run a whole transaction again for as long as another writer comes between, as the docs say."""
    for _ in range(times):
        try:
            with transaction.atomic():
                return work()
        except WriteConflict:
            continue
    raise AssertionError(f"{times} conflicts one after another")


# two writers, step by step (PostgreSQL)


@dataclass
class Met:
    """What came of two transactions of which the second ran while the first stood still."""

    first: Any
    second: Any
    # False when the first had no statement of that number.
    stopped: bool


class _Pause:
    """Where a transaction stands still, once, until it is told to go on."""

    def __init__(self, stop: int) -> None:
        self.left = iter(range(stop))
        self.there, self.go = threading.Event(), threading.Event()
        self.reached = False

    def __call__(self) -> None:
        if not self.reached and next(self.left, None) is None:
            self.reached = True
            self.there.set()
            self.go.wait(PATIENCE)

    def watch(self, execute: Any, statement: str, *arguments: Any) -> Any:
        if "prism_graph" in statement:
            self()
        return execute(statement, *arguments)


class _Writer(threading.Thread):
    """A transaction on a connection of its own."""

    def __init__(self, work: Callable[[], Any], pause: _Pause | None, isolation: str) -> None:
        super().__init__(daemon=True)
        self.work, self.pause, self.isolation = work, pause, isolation
        self.pid, self.result = 0, None

    def run(self) -> None:
        try:
            _find_deadlocks_soon()
            sql(f"SET default_transaction_isolation = '{self.isolation}'")
            self.pid = sql("SELECT pg_backend_pid()")[0][0]
            with transaction.atomic():
                self.result = self._pausing(self.pause) if self.pause else self.work()
        except BaseException as error:
            self.result = error
        finally:
            connections["default"].close()
            if self.pause:
                self.pause.there.set()

    def _pausing(self, pause: _Pause) -> Any:
        with connections["default"].execute_wrapper(pause.watch):
            found = self.work()
        pause()
        return found


def interleaved(
    first: Callable[[], Any], second: Callable[[], Any], stop: int, isolation: str
) -> Met:
    """Run one transaction up to a statement; there run another until it ends or waits; then go on.

    A statement's number counts those that touch our tables; the last stop is just before COMMIT.
    """
    pause = _Pause(stop)
    writers = _Writer(first, pause, isolation), _Writer(second, None, isolation)
    writers[0].start()
    pause.there.wait(PATIENCE)
    writers[1].start()
    while pause.reached and writers[1].is_alive() and not _waits(writers[1].pid, writers[0].pid):
        writers[1].join(0.002)
    pause.go.set()
    for writer in writers:
        writer.join(PATIENCE)
    assert not any(writer.is_alive() for writer in writers), "a writer never ended"
    return Met(writers[0].result, writers[1].result, pause.reached)


def _waits(pid: int, other: int) -> bool:
    return bool(pid) and bool(sql("SELECT %s = ANY(pg_blocking_pids(%s))", other, pid)[0][0])


# what must be true


_PARTS: Final = "tenant, owner, agent, thread"


def broken() -> list[str]:
    """Return a sentence for everything that is wrong with the stored facts."""
    return [*broken_rows(), *_overlaps()]


def broken_rows() -> list[str]:
    """As broken(), by raw SQL and nothing else."""
    return [*_rows_alone(), *_standings(), *_numbers(), *_instants()]


def _rows_alone() -> Iterator[str]:
    of_version = "x.fact_number = v.fact_number AND x.version = v.number AND " + _same("x", "v")
    of_fact = "v.fact_number = f.number AND " + _same("v", "f")
    for what, statement in {
        "versions without evidence": "SELECT v.* FROM $factversion v WHERE NOT EXISTS "
        f"(SELECT 1 FROM $citation x WHERE {of_version})",
        "facts without a version": "SELECT f.* FROM $fact f WHERE NOT EXISTS "
        f"(SELECT 1 FROM $factversion v WHERE {of_fact})",
        "versions without a fact": "SELECT v.* FROM $factversion v WHERE NOT EXISTS "
        f"(SELECT 1 FROM $fact f WHERE {of_fact})",
        "standings without a version": "SELECT x.* FROM $standing x WHERE NOT EXISTS "
        f"(SELECT 1 FROM $factversion v WHERE {of_version})",
        "citations without a version": "SELECT x.* FROM $citation x WHERE NOT EXISTS "
        f"(SELECT 1 FROM $factversion v WHERE {of_version})",
        "citations of nothing": "SELECT x.* FROM $citation x WHERE NOT EXISTS "
        "(SELECT 1 FROM $chunk c WHERE c.number = x.cited_number AND c.tenant = x.tenant "
        "AND c.owner = x.cited_owner AND c.agent = x.cited_agent AND c.thread = x.cited_thread)",
        "versions without exactly one open standing": "SELECT v.* FROM $factversion v "
        f"WHERE 1 <> (SELECT count(*) FROM $standing x WHERE {of_version} "
        "AND x.until IS NULL)",
        "chunks of no source": "SELECT c.* FROM $chunk c WHERE NOT EXISTS (SELECT 1 "
        f"FROM $source s WHERE s.number = c.source_number AND {_same('s', 'c')})",
        "sources without a chunk": "SELECT s.* FROM $source s WHERE NOT EXISTS (SELECT 1 "
        f"FROM $chunk c WHERE s.number = c.source_number AND {_same('s', 'c')})",
    }.items():
        if rows := sql(statement):
            yield f"{what}: {rows}"


def _same(left: str, right: str) -> str:
    return " AND ".join(f"{left}.{part} = {right}.{part}" for part in _PARTS.split(", "))


def _standings() -> Iterator[str]:
    """Yield the versions whose standings do not follow one another from the recorded instant on."""
    recorded = {
        tuple(row[:6]): row[6]
        for row in sql(f"SELECT {_PARTS}, fact_number, number, recorded_at FROM $factversion")
    }
    standings = defaultdict(list)
    for *version, since, until in sql(
        f"SELECT {_PARTS}, fact_number, version, since, until FROM $standing ORDER BY since"
    ):
        standings[tuple(version)].append((since, until))
    for version, spans in standings.items():
        follow = all(one[1] == other[0] for one, other in pairwise(spans))
        if not follow or spans[0][0] != recorded[version] or spans[-1][1] is not None:
            yield f"{version}: recorded at {recorded[version]}, but stands {spans}"


def _numbers() -> Iterator[str]:
    """Yield the facts whose versions were not numbered in the order in which they were recorded."""
    numbered = defaultdict(list)
    for *fact, number, last, at in sql(
        f"SELECT {', '.join('v.' + part for part in _PARTS.split(', '))}, f.number, v.number, "
        "f.last_version, v.recorded_at FROM $factversion v JOIN $fact f "
        f"ON f.number = v.fact_number AND {_same('f', 'v')} ORDER BY v.number"
    ):
        numbered[tuple(fact)].append((number, last, at))
    for fact, rows in numbered.items():
        instants = [at for _, _, at in rows]
        if instants != sorted(set(instants)):
            yield f"{fact}: versions are not recorded in order: {rows}"
        if any(number > last for number, last, _ in rows):
            yield f"{fact}: the counter of versions is behind: {rows}"


def _instants() -> Iterator[str]:
    """Yield the scopes in which two writes had one instant, or one that the scope's clock never gave."""
    clocks = {
        tuple(row[:4]): EPOCH + timedelta(microseconds=row[4])
        for row in sql(f"SELECT {_PARTS}, last FROM $scopeclock")
    }
    versions, chunks, given = defaultdict(list), defaultdict(set), defaultdict(set)
    for *scope, at in sql(f"SELECT {_PARTS}, recorded_at FROM $factversion"):
        versions[tuple(scope)].append(_utc(at))
    for *scope, at in sql(f"SELECT {_PARTS}, recorded_at FROM $chunk"):
        chunks[tuple(scope)].add(_utc(at))
    for column, table in (
        ("since", "standing"),
        ("until", "standing"),
        ("weakened_at", "factversion"),
    ):
        for *scope, at in sql(
            f"SELECT {_PARTS}, {column} FROM ${table} WHERE {column} IS NOT NULL"
        ):
            given[tuple(scope)].add(_utc(at))
    for scope, instants in versions.items():
        if len(set(instants)) < len(instants) or chunks[scope].intersection(instants):
            yield f"{scope}: two writes have one instant"
    for scope in {*versions, *chunks, *given}:
        last = max([*versions[scope], *chunks[scope], *given[scope]])
        if scope not in clocks or last > clocks[scope]:
            yield f"{scope}: {last} is later than its clock, {clocks.get(scope)}"


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _overlaps() -> Iterator[str]:
    """Yield the facts of which two versions are in force at one instant, as memory tells it."""
    from prism_graph import Memory, Scope

    moments = {at for (at,) in sql("SELECT DISTINCT valid_from FROM $factversion")}
    moments |= {
        at for (at,) in sql("SELECT DISTINCT valid_to FROM $factversion WHERE valid_to IS NOT NULL")
    }
    for parts in sql(f"SELECT DISTINCT {_PARTS} FROM $fact"):
        memory = Memory(Scope.from_columns(*parts))
        for at in sorted(map(_utc, moments))[-12:]:
            held = [(view.scope, view.key) for view in memory.facts(at=at)]
            if len(set(held)) < len(held):
                yield f"{parts} at {at}: {held}"


# what is stored, so that runs can be compared


_KEPT: dict[Callable[[], None], dict[str, list[tuple[Any, ...]]]] = {}


def stored_again(prepare: Callable[[], None]) -> None:
    """Empty the tables and store what `prepare` stores; only the first time by calling it."""
    for table in reversed(TABLES):
        sql(f"DELETE FROM {table}")
    if prepare not in _KEPT:
        prepare()
        _KEPT[prepare] = {table: sql(f"SELECT * FROM {table}") for table in TABLES}
        return
    for table, rows in _KEPT[prepare].items():
        for row in rows:
            values = [_as_django_binds(value) for value in row]
            sql(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", *values)


def _as_django_binds(value: Any) -> Any:
    plain = isinstance(value, datetime) and connections["default"].vendor == "sqlite"
    return str(value) if plain else value


def state() -> dict[str, list[Any]]:
    """Return what is stored without the random ids, the numbers of rows and the instants."""
    chunk = (
        "c.number = x.cited_number AND c.tenant = x.tenant AND c.owner = x.cited_owner "
        "AND c.agent = x.cited_agent AND c.thread = x.cited_thread"
    )
    version = f"v.fact_number = x.fact_number AND v.number = x.version AND {_same('v', 'x')}"
    fact = f"f.number = v.fact_number AND {_same('f', 'v')}"
    parts = ", ".join("v." + part for part in _PARTS.split(", "))
    return {
        name: sorted(map(repr, sql(statement)))
        for name, statement in {
            "sources": f"SELECT {_PARTS}, key, (SELECT count(*) FROM $chunk c WHERE "
            f"c.source_number = s.number AND {_same('c', 's')}) FROM $source s",
            "texts": f"SELECT {_PARTS}, text FROM $chunktext",
            "facts": f"SELECT {_PARTS}, key, last_version FROM $fact",
            "versions": f"SELECT {parts}, f.key, v.number, v.subject, v.value, v.contests, "
            "CASE WHEN v.weakened_at IS NULL THEN 0 ELSE 1 END "
            f"FROM $factversion v JOIN $fact f ON {fact}",
            "standings": f"SELECT {parts}, f.key, v.number, x.status, x.decided_by, x.reason, x.policy, "
            "CASE WHEN x.until IS NULL THEN 0 ELSE 1 END FROM $standing x "
            f"JOIN $factversion v ON {version} JOIN $fact f ON {fact}",
            "citations": f"SELECT {parts}, f.key, v.number, x.cited_owner, x.cited_agent, "
            "x.cited_thread, s.key FROM $citation x "
            f"JOIN $factversion v ON {version} JOIN $fact f ON {fact} "
            f"JOIN $chunk c ON {chunk} JOIN $source s "
            f"ON s.number = c.source_number AND {_same('s', 'c')}",
            "receipts": f"SELECT {_PARTS}, operation, actor, reason, counts, counts_below "
            "FROM $receipt",
        }.items()
    }


def told(result: Any) -> Any:
    """Return what a caller was told, without the random ids and the instants."""
    if isinstance(result, PrismGraphError):
        return type(result).__name__
    if isinstance(result, BaseException):
        return result
    if hasattr(result, "counts"):
        return tuple(result.counts.items())
    if hasattr(result, "version"):
        return (result.key, result.version, result.status)
    return None if result is None else type(result).__name__
