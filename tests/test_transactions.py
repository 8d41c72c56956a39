from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, IntegrityError, connection, connections, transaction

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import WriteConflict
from prism_graph.transactions import stamp, write_block

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme")
USER = Origin(Trust.USER)


@contextmanager
def meanwhile(work: Callable[[], Any]) -> Iterator[None]:
    """Hold what `work` did in an open transaction of another connection while the block runs."""
    started, finish = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                work()
                started.set()
                finish.wait(30)
                transaction.set_rollback(True)
        finally:
            started.set()
            connections["default"].close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(30)
    try:
        yield
    finally:
        finish.set()
        thread.join(30)


def in_a_thread(work: Callable[[], Any]) -> None:
    def run() -> None:
        try:
            work()
        finally:
            connections["default"].close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)


def impatient(vendor: str) -> str:
    return "PRAGMA busy_timeout = 50" if vendor == "sqlite" else "SET lock_timeout = '50ms'"


@pytest.fixture
def patience(vendor: str) -> Iterator[None]:
    from tests.rawsql import sql

    sql(impatient(vendor))
    yield
    connection.close()


@pytest.mark.usefixtures("patience")
def test_a_writer_that_waits_too_long_is_told_to_run_again() -> None:
    Memory(ACME).ingest("doc", "text", origin=USER)
    Memory(ACME).record("chat", "turn", origin=USER, turn_id="t")
    writes: list[Callable[[], Any]] = [
        lambda: Memory(ACME).ingest("doc", "changed", origin=USER),
        lambda: Memory(ACME).record("chat", "turn", origin=USER),
        lambda: Memory(ACME).retire_source("doc"),
        lambda: Memory(ACME).erase("doc"),
        lambda: Memory(ACME).erase_turn("chat", "t"),
    ]
    with meanwhile(lambda: Memory(ACME).record("chat", "held", origin=USER)):
        for write in writes:
            with pytest.raises(WriteConflict) as caught:
                write()
            assert "again" in str(caught.value)
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__
        assert [hit.chunk.text for hit in Memory(ACME).search("text")] == ["text"]
    assert writes[0]().added


def test_a_serialization_failure_is_a_conflict_and_the_caller_can_go_on(vendor: str) -> None:
    if vendor != "postgresql":
        pytest.skip("SQLite runs one writer at a time.")
    Memory(ACME).ingest("doc", "text", origin=USER)
    with transaction.atomic():
        from tests.rawsql import sql

        sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        Group.objects.create(name="the caller's")
        in_a_thread(lambda: Memory(ACME).ingest("doc", "other", origin=USER))
        with pytest.raises(WriteConflict):
            Memory(ACME).ingest("doc", "changed", origin=USER)
        assert Group.objects.count() == 1
    assert Group.objects.count() == 1
    assert [hit.chunk.text for hit in Memory(ACME).search("other")] == ["other"]


def test_a_deadlock_is_a_conflict_for_one_and_success_for_the_other(vendor: str) -> None:
    if vendor != "postgresql":
        pytest.skip("SQLite runs one writer at a time.")
    barrier, results = threading.Barrier(2), []

    def work(first: str, second: str) -> None:
        try:
            with transaction.atomic():
                Memory(Scope(first)).record("chat", "turn", origin=USER)
                barrier.wait(30)
                Memory(Scope(second)).record("chat", "turn", origin=USER)
            results.append("done")
        except WriteConflict:
            results.append("conflict")
        finally:
            connections["default"].close()

    threads = [threading.Thread(target=work, args=each) for each in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == ["conflict", "done"]


def test_what_is_no_conflict_is_not_called_one() -> None:
    for error in (ValueError("x"), DatabaseError("disk is full"), IntegrityError("not unique")):
        with pytest.raises(type(error)), write_block("default"):
            raise error


def test_the_block_is_a_savepoint_of_the_callers_transaction() -> None:
    def fail() -> None:
        with write_block("default"):
            Group.objects.create(name="second")
            raise ZeroDivisionError

    with transaction.atomic():
        Group.objects.create(name="first")
        with pytest.raises(ZeroDivisionError):
            fail()
        Group.objects.create(name="third")
    assert set(Group.objects.values_list("name", flat=True)) == {"first", "third"}


def test_a_writes_rows_are_the_callers_to_commit() -> None:
    with transaction.atomic():
        Memory(ACME).ingest("doc", "text", origin=USER)
        transaction.set_rollback(True)
    assert Memory(ACME).sources(retired=True) == []


def test_instants_of_a_scope_increase_whatever_the_clock_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    given = [start, start, start - timedelta(days=9), start + timedelta(microseconds=1), start]
    given += [start + timedelta(days=1), datetime(1970, 1, 1, tzinfo=UTC)]
    stamps = []
    for now in given:
        monkeypatch.setattr("prism_graph.clock._source", lambda now=now: now)
        with transaction.atomic():
            stamps.append(stamp(ACME, "default"))
    assert stamps == sorted(set(stamps))
    assert stamps[0] == start
    assert stamps[1] == start + timedelta(microseconds=1)
    assert stamps[5] == start + timedelta(days=1)


def test_each_scope_has_a_clock_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("prism_graph.clock._source", lambda: start)
    with transaction.atomic():
        assert [stamp(scope, "default") for scope in ACME.for_owner("u1").chain] == [start] * 2


def test_a_rolled_back_write_gives_its_instant_back() -> None:
    with transaction.atomic():
        first = stamp(ACME, "default")
        transaction.set_rollback(True)
    with transaction.atomic():
        assert stamp(ACME, "default") >= first
