"""A write that is cut short anywhere leaves the state before it, or after it (security.md §2.7)."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections, transaction

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import InvalidEvidence, WriteConflict
from prism_graph.repair import problems
from prism_graph.tables import current, named
from tests.killed import killing
from tests.racing import at_once, broken, raised, stored_again
from tests.rawsql import sql, stored

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme")
USER = Origin(Trust.USER)
BELOW = ACME.for_owner("u1")
TOOL = Origin(Trust.TOOL)
# The thorough profile stops at every step.
THOROUGH = os.environ.get("PRISM_TEST_PROFILE") == "thorough"
STOPS = 160

# What prepare() stored, for the writes to cite.
cited: dict[str, list[str]] = {}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def lives(value: str, *sources: str) -> Any:
    """Return what to state: where user-7 lives, on what these sources say."""
    evidence = [name for source in sources for name in cited[source]]
    return {"subject": "user-7", "predicate": "lives in", "value": value, "evidence": evidence}


def _prepare() -> None:
    memory, below = Memory(ACME), Memory(BELOW)
    cited["guide"] = memory.ingest(
        "guide", "alpha\nbeta\ngamma\n", origin=USER, chunker=lines, title="Handbook"
    ).added
    page = cited["page"] = memory.ingest("page", "page", origin=USER).added
    below.record("chat", "derived", origin=USER, derived_from=page)
    cited["turn"] = memory.record("chat", "turn", origin=USER, turn_id="a").added
    cited["tool"] = below.record("chat", "said a tool", origin=TOOL).added
    # The erasure of the page takes the first version; the second stays, weakened.
    memory.assert_fact("city", **lives("Oslo", "page"))
    memory.supersede("city", **lives("Rome", "page", "guide", "turn"))
    # One proposal that a person accepted, which the erasure lowers again, and one that waits.
    below.assert_fact("home", **lives("Lima", "page", "tool"))
    below.accept("home", actor="ann")
    below.assert_fact("plan", **lives("Lima", "guide", "tool"))


WRITES: dict[str, Callable[[Memory], Any]] = {
    "ingest": lambda memory: memory.ingest(
        "guide", "beta\ndelta\n", origin=USER, chunker=lines, title="Manual"
    ),
    "first ingest": lambda memory: memory.ingest("new", "one\ntwo\n", origin=USER, chunker=lines),
    "record": lambda memory: memory.record("chat", "another", origin=USER, turn_id="b"),
    "retire": lambda memory: memory.retire_source("guide"),
    "assert": lambda memory: memory.assert_fact("new", **lives("Oslo", "turn", "guide")),
    "supersede": lambda memory: memory.supersede("city", **lives("Lima", "turn"), expected=2),
    "accept": lambda memory: Memory(BELOW).accept("plan", actor="ann"),
    "retract": lambda memory: memory.retract("city"),
    "erase": lambda memory: memory.erase("page"),
    "erase_turn": lambda memory: memory.erase_turn("chat", "a"),
    "erase_fact": lambda memory: memory.erase_fact("city", 1),
    "erase_everything": lambda memory: memory.erase_everything(include_owners=True),
}
OF_FACTS = ["assert", "supersede", "accept", "erase", "erase_turn", "erase_everything"]


def write(name: str) -> None:
    WRITES[name](Memory(ACME))


def prepare() -> None:
    """Store the same rows as the first time."""
    stored_again(_prepare)


def visible() -> list[Any]:
    """Return what memory says, without the random ids and the instants."""
    memory = Memory(BELOW)
    hits = memory.search("alpha beta gamma delta page derived turn another one two", limit=100)
    facts = memory.timeline("user-7")
    return [
        *sorted((h.chunk.scope.parts, h.chunk.source_key, h.chunk.text, h.score) for h in hits),
        *((view.scope, view.key, view.title, bool(view.retired_at)) for view in memory.sources()),
        *sorted(
            (
                *(view.scope.parts, view.key, view.version, view.value, str(view.status)),
                *(view.valid_to is None, len(view.evidence), view.contests or 0, view.stale),
                *(view.decided_by, view.reason, view.policy, view.recorded_to is None),
            )
            for view in facts
        ),
        *sorted(sql("SELECT owner, operation, counts, counts_below FROM $receipt")),
    ]


def what_comes_of(name: str) -> list[Any]:
    """Return what is visible after a write, and take the write back."""
    with transaction.atomic():
        write(name)
        after = visible()
        transaction.set_rollback(True)
    return after


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive) if name in OF_FACTS else name
        for name in WRITES
    ],
)
def test_a_write_interrupted_at_any_step_leaves_the_state_before_or_after(
    name: str, vendor: str
) -> None:
    if vendor != "sqlite":
        pytest.skip("Only SQLite can be stopped at a given step of its machine.")
    prepare()
    stride = 1 if THOROUGH else max(1, steps_of(name) // STOPS)
    # How much FTS5 merges, and so how many steps a write takes, depends on what was written before.
    while (stopped := stops(name, stride)) <= STOPS / 2 and stride > 1:
        stride //= 2
    assert stopped > STOPS / 2


def stops(name: str, stride: int) -> int:
    """Interrupt a write at every so many steps, look at what is left, and count those that stopped it."""
    rows, after = stored(), what_comes_of(name)
    stopped, step, struck = 0, 0, True
    while struck:
        connection.ensure_connection()
        once = Once(step)
        connection.connection.set_progress_handler(once, 1)
        try:
            write(name)
        except DatabaseError:
            stopped += 1
            if connection.connection.in_transaction:
                # BEGIN itself was interrupted after it took effect; Django does not know.
                connection.connection.rollback()
        finally:
            connection.connection.set_progress_handler(None, 0)
        # COMMIT can be interrupted after it took effect, and FTS5 goes on after some: then it is done.
        if stored() != rows:
            assert visible() == after
            assert broken() == []
            assert list(problems("default")) == []
            prepare()
        step, struck = step + stride, once.struck
    return stopped


def steps_of(name: str) -> int:
    """Return how many steps of SQLite's machine a write takes."""
    never = Once(sys.maxsize)
    with transaction.atomic():
        connection.connection.set_progress_handler(never, 1)
        write(name)
        connection.connection.set_progress_handler(None, 0)
        transaction.set_rollback(True)
    return sys.maxsize - never.left


class Once:
    """A progress handler that interrupts after so many steps of SQLite's machine, once."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.struck = False

    def __call__(self) -> int:
        self.left -= 1
        if self.left >= 0 or self.struck:
            return 0
        self.struck = True
        return 1


class Stop(Exception):
    pass


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_fails_at_any_statement_leaves_the_state_before(name: str) -> None:
    memory = Memory(ACME)
    prepare()
    rows = stored()
    failed = 0
    while True:
        left = iter(range(failed))

        def fail(execute: Any, *arguments: Any, left: Any = left) -> Any:
            if next(left, None) is None:
                raise Stop
            return execute(*arguments)

        try:
            with connection.execute_wrapper(fail):
                WRITES[name](memory)
            break
        except Stop:
            failed += 1
            assert stored() == rows
    assert failed >= 5
    assert list(problems("default")) == []
    assert stored() != rows


def test_a_disk_that_is_full_leaves_the_state_before(vendor: str) -> None:
    if vendor != "sqlite":
        pytest.skip("Only SQLite can be given a small disk.")
    memory = Memory(ACME)
    prepare()
    rows = stored()
    pages = sql("PRAGMA page_count")[0][0]
    many = "".join(f"penguin zebra number {number}\n" for number in range(3000))
    try:
        for more in (1, 5, 20, 60):
            sql(f"PRAGMA max_page_count = {pages + more}")
            with pytest.raises(DatabaseError):
                memory.ingest("new", many, origin=USER, chunker=lines)
            assert stored() == rows
    finally:
        sql("PRAGMA max_page_count = 1073741823")
    assert len(memory.ingest("new", many, origin=USER, chunker=lines).added) == 3000
    assert list(problems("default")) == []


def test_a_server_process_that_ends_in_a_write_leaves_the_state_before(vendor: str) -> None:
    if vendor != "postgresql":
        pytest.skip("Only PostgreSQL has a server.")
    memory = Memory(ACME)
    prepare()
    rows = stored()
    pid = sql("SELECT pg_backend_pid()")[0][0]

    def end(execute: Any, statement: str, *arguments: Any) -> Any:
        if current().names["chunktext"] in statement:
            other("SELECT pg_terminate_backend(%s)", pid)
        return execute(statement, *arguments)

    with connection.execute_wrapper(end), pytest.raises(DatabaseError):
        memory.ingest("guide", "changed\n", origin=USER, title="new")
    connection.close()
    assert stored() == rows
    assert memory.ingest("guide", "changed\n", origin=USER).added


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_FACTS)
def test_a_server_process_that_ends_at_any_statement_leaves_the_state_before(
    name: str, vendor: str
) -> None:
    if vendor != "postgresql":
        pytest.skip("Only PostgreSQL has a server.")
    prepare()
    rows, after = stored(), what_comes_of(name)
    for place in range(0, 1000, 1 if THOROUGH else 3):
        left, pid = iter(range(place)), sql("SELECT pg_backend_pid()")[0][0]

        def end(execute: Any, *arguments: Any, left: Any = left, pid: int = pid) -> Any:
            if next(left, None) is None:
                other("SELECT pg_terminate_backend(%s)", pid)
            return execute(*arguments)

        try:
            with connection.execute_wrapper(end):
                write(name)
            break
        except DatabaseError:
            connection.close()
            assert stored() == rows
    assert place >= 6
    assert visible() == after
    assert broken() == []


@pytest.mark.exhaustive
def test_a_process_that_is_killed_in_a_write_leaves_the_state_before_or_after() -> None:
    """SIGKILL, before any statement of the write and at any moment at all."""
    prepare()
    rows, instants = stored(), random.Random(7)
    with killing(__name__, cited) as killer:
        for name in OF_FACTS:
            after, place, ended, took = what_comes_of(name), 0, False, 0.0
            while not ended:
                began = time.monotonic()
                ended = killer.run(name, statement=place)
                took = time.monotonic() - began
                assert ended or stored() == rows
                place += 1 if THOROUGH else 4
            assert place >= 8
            assert visible() == after
            prepare()
            for _ in range(100 if THOROUGH else 8):
                killer.run(name, seconds=instants.uniform(0, took))
                if stored() != rows:
                    assert visible() == after
                    assert broken() == []
                    prepare()
    assert list(problems("default")) == []


def other(statement: str, *parameters: Any) -> None:
    """Run a statement on a connection of its own."""

    def run() -> None:
        try:
            sql(statement, *parameters)
        finally:
            connections["default"].close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_a_refusal_in_a_database_that_only_reads_is_the_databases_own(vendor: str) -> None:
    memory = Memory(ACME)
    prepare()
    before = visible()
    sql("PRAGMA query_only = 1" if vendor == "sqlite" else "SET default_transaction_read_only = on")
    try:
        for write in WRITES.values():
            with pytest.raises(DatabaseError):
                write(memory)
        assert visible() == before
    finally:
        sql(
            "PRAGMA query_only = 0" if vendor == "sqlite" else "RESET default_transaction_read_only"
        )


# writers at once


def test_the_first_ingest_of_a_key_by_eight_writers_makes_one_source() -> None:
    texts = [f"text of {number}\n" for number in range(8)]
    results = at_once(
        *(lambda text=text: Memory(ACME).ingest("doc", text, origin=USER) for text in texts)
    )
    assert raised(results) == []
    assert len({report.source for report in results}) == 1
    live = [hit.chunk.text for hit in Memory(ACME).search("text", limit=100)]
    assert len(live) == 1
    assert sum(len(report.retired) for report in results) == 7
    ids = [report.added[0] for report in results]
    instants = [view.recorded_at for view in Memory(ACME).get(ids)]
    assert len(set(instants)) == 8


def test_the_same_turn_recorded_by_eight_writers_is_stored_once() -> None:
    results = at_once(
        *(lambda: Memory(ACME).record("chat", "turn", origin=USER, turn_id="t") for _ in range(8))
    )
    assert raised(results) == []
    assert sorted(len(report.added) for report in results) == [0] * 7 + [1]
    assert len({report.added[0] if report.added else report.kept[0] for report in results}) == 1


def test_turns_of_eight_writers_keep_distinct_places() -> None:
    results = at_once(
        *(
            lambda number=number: [
                Memory(ACME).record("chat", f"turn {number} {each}", origin=USER)
                for each in range(4)
            ]
            for number in range(8)
        )
    )
    assert raised(results) == []
    views = Memory(ACME).get(report.added[0] for reports in results for report in reports)
    assert sorted(view.ordinal for view in views) == list(range(32))
    by_place = sorted(views, key=lambda view: view.ordinal)
    assert [v.recorded_at for v in by_place] == sorted({v.recorded_at for v in views})


def test_writers_in_many_scopes_do_not_fail_each_other() -> None:
    def work(number: int) -> None:
        memory = Memory(ACME.for_owner(f"u{number}"))
        for each in range(5):
            memory.ingest("doc", f"version {each}\n", origin=USER)
            memory.record("chat", f"turn {each}", origin=USER)
            memory.search("version turn")
        memory.erase("doc")

    assert raised(at_once(*(lambda n=n: work(n) for n in range(6)))) == []
    assert list(problems("default")) == []


def test_erasing_what_another_writer_cites_leaves_nothing_derived_behind() -> None:
    above, *below = [Memory(ACME), Memory(ACME.for_owner("u1")), Memory(ACME.for_owner("u2"))]

    def derive(memory: Memory, key: str, cited: list[str]) -> Any:
        return memory.record(key, "secret derived", origin=USER, derived_from=cited)

    for _ in range(6):
        page = above.ingest("page", "secret page", origin=USER).added
        results = at_once(
            lambda: above.erase("page"),
            *(partial(derive, below[0], f"chat{number}", page) for number in range(3)),
            partial(derive, below[1], "chat", page),
        )
        assert all(isinstance(e, InvalidEvidence | WriteConflict) for e in raised(results)), results
        for reader in (above, *below):
            assert reader.search("secret", limit=100) == []
            assert reader.sources(retired=True) == []


def test_a_turn_recorded_below_while_the_others_are_erased_is_kept_or_refused(
    vendor: str,
) -> None:
    """The eraser stops between finding a conversation empty and deleting it; a writer adds to it."""
    if vendor != "postgresql":
        pytest.skip("SQLite runs one writer at a time.")
    below = Memory(ACME.for_owner("u1"))
    page = Memory(ACME).ingest("page", "page", origin=USER).added
    below.record("chat", "derived", origin=USER, derived_from=page)
    empty, written = threading.Event(), threading.Event()

    def pause(execute: Any, statement: str, *arguments: Any) -> Any:
        if statement.startswith(named("DELETE FROM $source")) and "u1" in str(arguments):
            empty.set()
            written.wait(2)
        return execute(statement, *arguments)

    def erase() -> Any:
        with connections["default"].execute_wrapper(pause):
            return Memory(ACME).erase("page")

    def record() -> Any:
        empty.wait(10)
        try:
            return below.record("chat", "own words", origin=USER)
        finally:
            written.set()

    erased, recorded = at_once(erase, record)
    assert erased.source_found
    assert empty.is_set()
    if isinstance(recorded, BaseException):
        assert isinstance(recorded, WriteConflict)
        assert below.sources() == []
    else:
        assert [view.text for view in below.get(recorded.added)] == ["own words"]


def test_two_erasures_in_opposite_order_end_typed_or_well() -> None:
    def both(keys: list[str]) -> None:
        with transaction.atomic():
            for key in keys:
                Memory(Scope(key)).erase("doc")

    for _ in range(3):
        for tenant in ("a", "b"):
            Memory(Scope(tenant)).ingest("doc", "text", origin=USER)
        results = at_once(lambda: both(["a", "b"]), lambda: both(["b", "a"]))
        assert all(isinstance(each, WriteConflict) for each in raised(results)), results
        assert len(raised(results)) <= 1
        for tenant in ("a", "b"):
            assert Memory(Scope(tenant)).sources() == []


def test_a_search_beside_an_erasure_sees_the_text_or_nothing() -> None:
    memory = Memory(ACME)
    many = "".join(f"penguin {number}\n" for number in range(60))
    memory.ingest("doc", many, origin=USER, chunker=lines)
    found: list[int] = []

    def look() -> None:
        for _ in range(25):
            hits = Memory(ACME).search("penguin", limit=100)
            assert all(hit.chunk.text.startswith("penguin") for hit in hits)
            found.append(len(hits))

    results = at_once(look, look, lambda: memory.erase("doc"))
    assert raised(results) == []
    assert set(found) <= {0, 60}
