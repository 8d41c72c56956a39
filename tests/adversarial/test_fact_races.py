"""Writers of facts at once: nothing is lost, doubled, left without evidence or brought back (§3, §6)."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, connections, transaction

from prism_graph import FactStatus, Memory, Origin, Scope, Trust
from prism_graph.errors import (
    FactConflict,
    FactNotFound,
    InvalidEvidence,
    SourceNotFound,
    WriteConflict,
)
from prism_graph.repair import problems
from tests.planting import empty_everything
from tests.processes import side_by_side
from tests.racing import (
    at_once,
    broken,
    broken_rows,
    interleaved,
    raised,
    state,
    stored_again,
    told,
    until_done,
)
from tests.rawsql import sql

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme")
OWNER = ACME.for_owner("u1")
AGENT = OWNER.for_agent("support")
THREAD = AGENT.for_thread("chat-1")
USER = Origin(Trust.USER)
TOOL = Origin(Trust.TOOL)
WRITERS = 8
THOROUGH = os.environ.get("PRISM_TEST_PROFILE") == "thorough"
ROUNDS = 40 if THOROUGH else 4
# The thorough profile stops at every statement.
STRIDE = 1 if THOROUGH else 3


@pytest.fixture
def memory() -> Memory:
    return Memory(OWNER)


@pytest.fixture(autouse=True)
def _what_must_be_true() -> Iterator[None]:
    """After every test, whatever it did."""
    yield
    assert broken() == []
    assert list(problems("default")) == []


def heard(memory: Memory, text: str = "I moved.", origin: Origin = USER, **more: Any) -> list[str]:
    return memory.record("chat", text, origin=origin, **more).added


def lives(value: Any, evidence: Sequence[str], **more: Any) -> Any:
    about = {"subject": "user-7", "predicate": "lives in", "value": str(value)}
    return {**about, "evidence": evidence, **more}


def outcomes(results: Sequence[Any], *refusals: type[Exception]) -> list[Any]:
    """Return what did not end in one of these refusals; all else, "database is locked" too, is a fault.

    On PostgreSQL a deadlock may come out as the typed conflict; SQLite with IMMEDIATE has none.
    """
    allowed = (*refusals, WriteConflict) if connection.vendor == "postgresql" else refusals
    for each in raised(results):
        assert isinstance(each, allowed), repr(each)
        assert each.__cause__ is None
        assert not isinstance(each, WriteConflict) or each.__suppress_context__
    return [each for each in results if not isinstance(each, BaseException)]


def versions(key: str = "city", memory: Memory | None = None) -> list[Any]:
    views = (memory or Memory(OWNER)).timeline("user-7")
    return sorted((view for view in views if view.key == key), key=lambda view: view.version)


# one key, in eight processes


def processes(*calls: tuple[str, dict[str, Any]]) -> list[tuple[str, Any]]:
    """Run methods on the key `city` side by side; on PostgreSQL a deadlock may come out, typed."""
    results = side_by_side(OWNER, *((method, ["city"], named) for method, named in calls))
    if connection.vendor == "postgresql":
        return [each for each in results if each[0] != "WriteConflict"]
    return results


def test_of_eight_processes_that_assert_a_key_first_one_wins(memory: Memory) -> None:
    evidence = heard(memory)
    results = processes(*(("assert_fact", lives(each, evidence)) for each in range(WRITERS)))
    assert sorted(results, key=str) == [("", 1)] + [("FactConflict", None)] * (WRITERS - 1)


def test_eight_processes_that_supersede_take_turns(memory: Memory) -> None:
    evidence = heard(memory)
    memory.assert_fact("city", **lives("first", evidence))
    results = processes(*(("supersede", lives(each, evidence)) for each in range(WRITERS)))
    assert sorted(version for _, version in results) == list(range(2, 2 + WRITERS))


def test_of_eight_processes_that_expect_the_same_version_one_goes_on(memory: Memory) -> None:
    evidence = heard(memory)
    memory.assert_fact("city", **lives("first", evidence))
    named = [lives(each, evidence, expected=1) for each in range(WRITERS)]
    results = processes(*(("supersede", each) for each in named))
    assert sorted(results, key=str) == [("", 2)] + [("FactConflict", None)] * (WRITERS - 1)


def test_of_processes_that_accept_and_retract_a_proposal_each_decision_is_made_once(
    memory: Memory,
) -> None:
    memory.assert_fact("city", **lives("heard", heard(memory, origin=TOOL)))
    results = processes(*[("accept", {"version": 1}), ("retract", {"version": 1})] * (WRITERS // 2))
    # Accepted and then retracted, or retracted at once; nobody does either twice.
    assert Counter(results) in (
        {("", 1): 2, ("FactNotFound", None): WRITERS - 2},
        {("", 1): 1, ("FactNotFound", None): WRITERS - 1},
    )
    assert memory.timeline("user-7")[0].status is FactStatus.RETRACTED


# one key, in eight threads


@pytest.mark.parametrize("above", [False, True], ids=["own evidence", "evidence above"])
def test_of_eight_who_assert_a_key_first_one_wins(above: bool) -> None:
    """With evidence from above, no row of their scope is there to lock when they begin."""
    for number in range(3):
        memory = Memory(ACME.for_owner(f"owner-{number}"))
        evidence = heard(Memory(ACME) if above else memory)
        results = at_once(
            *(
                partial(memory.assert_fact, "city", **lives(each, evidence))
                for each in range(WRITERS)
            )
        )
        assert Counter(map(type, raised(results))) == {FactConflict: WRITERS - 1}
        (won,) = outcomes(results, FactConflict)
        (version,) = versions(memory=memory)
        assert (version.version, version.value, version.status) == (
            *(1, won.value),
            FactStatus.ACCEPTED,
        )


def test_beliefs_asserted_at_once_are_all_kept_and_none_blocks(memory: Memory) -> None:
    evidence = heard(memory, origin=Origin(Trust.AGENT))
    results = at_once(
        *(partial(memory.assert_fact, "city", **lives(each, evidence)) for each in range(WRITERS))
    )
    assert raised(results) == []
    assert sorted(view.version for view in results) == list(range(1, WRITERS + 1))
    assert {view.status for view in results} == {FactStatus.BELIEF}


def test_supersedes_take_turns_and_each_follows_the_last(memory: Memory) -> None:
    evidence = heard(memory)
    memory.assert_fact("city", **lives("first", evidence))

    def work(number: int) -> list[Any]:
        return [
            memory.supersede("city", **lives(f"{number}-{each}", evidence)) for each in range(3)
        ]

    results = at_once(*(partial(work, number) for number in range(WRITERS)))
    assert raised(results) == []
    written = sorted((view for views in results for view in views), key=lambda view: view.version)
    assert [view.version for view in written] == list(range(2, 2 + 3 * WRITERS))
    # What each was told it wrote was in force when it was written, and is what is stored.
    assert all(view.valid_to is None for view in written)
    found = versions()
    assert [view.value for view in found] == ["first", *(view.value for view in written)]
    assert [view.version for view in found] == list(range(1, 2 + 3 * WRITERS))
    for one, other in pairwise(found):
        assert one.valid_to == other.valid_from
        assert one.recorded_from < other.recorded_from
    assert memory.fact("city").version == found[-1].version
    for view in found:
        assert memory.fact("city", known_at=view.recorded_from).version == view.version


def test_of_eight_who_expect_the_same_version_one_wins(memory: Memory) -> None:
    evidence = heard(memory)
    memory.assert_fact("city", **lives("first", evidence))
    for last in range(1, 4):
        results = at_once(
            *(
                partial(memory.supersede, "city", **lives(each, evidence), expected=last)
                for each in range(WRITERS)
            )
        )
        assert Counter(map(type, raised(results))) == {FactConflict: WRITERS - 1}
        (won,) = outcomes(results, FactConflict)
        assert won.version == last + 1
        assert memory.fact("city").value == won.value
    assert [view.version for view in versions()] == [1, 2, 3, 4]


def test_counting_with_expected_loses_no_count_and_makes_none_twice(memory: Memory) -> None:
    evidence = heard(memory)
    memory.assert_fact("city", **lives(0, evidence))

    def count() -> None:
        for _ in range(3):
            while True:
                seen = memory.fact("city")
                claim = lives(int(seen.value) + 1, evidence)
                try:
                    memory.supersede("city", **claim, expected=seen.version)
                except FactConflict:
                    continue
                break

    assert raised(at_once(*[count] * 4)) == []
    assert [view.value for view in versions()] == [str(each) for each in range(13)]


def test_supersedes_of_different_keys_in_one_scope_do_not_mix(memory: Memory) -> None:
    evidence = heard(memory)

    def work(number: int) -> None:
        memory.assert_fact(f"key-{number % 4}-{number}", **lives(number, evidence))
        for each in range(2):
            memory.supersede(f"key-{number % 4}-{number}", **lives(f"{number}.{each}", evidence))

    assert raised(at_once(*(partial(work, number) for number in range(WRITERS)))) == []
    for number in range(WRITERS):
        found = versions(f"key-{number % 4}-{number}")
        assert [view.value for view in found] == [str(number), f"{number}.0", f"{number}.1"]


# decisions


def proposed(memory: Memory, above: Memory | None = None) -> list[str]:
    """Over the accepted Oslo, propose Rome on a tool's page and a person's words; return the evidence."""
    page = (above or memory).ingest("page", "Rome, says a tool.", origin=TOOL).added
    evidence = [*page, *heard(memory)]
    memory.assert_fact("city", **lives("Oslo", heard(memory)))
    memory.assert_fact("city", **lives("Rome", evidence))
    return evidence


def statuses(memory: Memory | None = None) -> list[str]:
    return [str(view.status) for view in versions(memory=memory)]


def test_of_eight_who_accept_a_proposal_one_does(memory: Memory) -> None:
    proposed(memory)
    results = at_once(
        *(partial(memory.accept, "city", actor=f"actor-{each}") for each in range(WRITERS))
    )
    assert Counter(map(type, raised(results))) == {FactNotFound: WRITERS - 1}
    (won,) = outcomes(results, FactNotFound)
    assert memory.fact("city").decided_by == won.decided_by
    assert statuses() == ["accepted", "accepted"]


@pytest.mark.parametrize("other", ["reject", "retract"])
def test_a_proposal_accepted_and_closed_at_once_ends_as_one_order_would(
    memory: Memory, other: str
) -> None:
    for _ in range(ROUNDS):
        empty_everything()
        proposed(memory)
        close = getattr(memory, other)
        accepted, closed = at_once(
            partial(memory.accept, "city", version=2), partial(close, "city", version=2)
        )
        outcomes([accepted, closed], FactNotFound)
        first, second = statuses()
        assert first == "accepted"
        if isinstance(accepted, FactNotFound):
            assert (second, told(closed)[2].value) == (closed.status.value, second)
        elif isinstance(closed, FactNotFound):
            assert other == "reject"  # what is accepted can be retracted, not rejected
            assert second == "accepted"
        else:
            assert (other, second) == ("retract", "retracted")


def test_an_acceptance_beside_a_retraction_of_what_it_contests_keeps_both(memory: Memory) -> None:
    for _ in range(ROUNDS):
        empty_everything()
        proposed(memory)
        results = at_once(
            partial(memory.accept, "city", version=2), partial(memory.retract, "city", version=1)
        )
        assert raised(results) == []
        assert statuses() == ["retracted", "accepted"]
        assert memory.fact("city").value == "Rome"


def test_an_acceptance_beside_a_supersede_comes_first_or_is_refused(memory: Memory) -> None:
    for _ in range(ROUNDS):
        empty_everything()
        proposed(memory)
        more = heard(memory)
        accepted, superseded = at_once(
            partial(memory.accept, "city"),
            partial(memory.supersede, "city", **lives("Lima", more)),
        )
        outcomes([accepted, superseded], FactConflict)
        assert superseded.version == 3
        if isinstance(accepted, FactConflict):
            assert statuses() == ["accepted", "proposal", "accepted"]
        else:
            assert statuses() == ["accepted"] * 3
            assert accepted.decided_at < superseded.recorded_from
        assert memory.fact("city").value == "Lima"


# against erasure


@pytest.mark.parametrize("above", [False, True], ids=["own evidence", "evidence above"])
def test_what_is_accepted_while_its_evidence_is_erased_is_not_in_force(above: bool) -> None:
    memory, eraser = Memory(OWNER), Memory(ACME if above else OWNER)
    for _ in range(ROUNDS):
        empty_everything()
        proposed(memory, eraser)
        accepted, erased = at_once(
            partial(memory.accept, "city", actor="ann"), partial(eraser.erase, "page")
        )
        outcomes([accepted, erased], InvalidEvidence)
        if isinstance(erased, WriteConflict):
            continue
        # Accepted, then lowered; or not accepted at all. What was weakened is open for a decision again
        # only if the loss itself opened it.
        assert statuses() == ["accepted", "proposal"]
        assert memory.fact("city").value == "Oslo"
        (view,) = versions()[1:]
        assert len(view.evidence) == 1
        if isinstance(accepted, InvalidEvidence):
            with pytest.raises(InvalidEvidence):
                memory.accept("city")
        elif not isinstance(accepted, WriteConflict):
            assert memory.accept("city").status is FactStatus.ACCEPTED


def test_what_is_accepted_while_all_its_evidence_is_erased_is_gone(memory: Memory) -> None:
    above = Memory(ACME)
    for _ in range(ROUNDS):
        empty_everything()
        page = above.ingest("page", "Rome, says a tool.", origin=TOOL).added
        memory.assert_fact("city", **lives("Rome", page))
        accepted, erased = at_once(partial(memory.accept, "city"), partial(above.erase, "page"))
        outcomes([accepted, erased], FactNotFound)
        if not isinstance(erased, WriteConflict):
            assert versions() == []
            assert sql("SELECT * FROM $fact") == []


def test_no_fact_outlives_the_erasure_of_what_it_cites_and_no_evidence_comes_back() -> None:
    above, below = Memory(ACME), [Memory(THREAD), Memory(OWNER)]
    for number in range(ROUNDS):
        page = above.ingest("page", "a secret page", origin=USER).added
        for memory in below:
            memory.assert_fact("old", **lives("secret", page))

        def state_one(memory: Memory, key: str, page: list[str] = page) -> Any:
            return memory.assert_fact(key, **lives("secret", page))

        results = at_once(
            partial(above.erase, "page"),
            *(partial(state_one, memory, f"new-{number}") for memory in below),
            *(partial(memory.supersede, "old", **lives("secret", page)) for memory in below),
            partial(state_one, above, f"new-{number}"),
        )
        outcomes(results, InvalidEvidence, FactNotFound)
        if isinstance(results[0], WriteConflict):
            above.erase("page")
        assert above.get(page) == []
        for table in ("fact", "factversion", "standing", "citation", "chunk", "source"):
            assert sql(f"SELECT * FROM ${table}") == []
        assert broken() == []


def test_a_thread_asserts_what_its_owner_erases_typed_and_without_a_trace() -> None:
    """The owner's erasure reaches down; a fact that cites other evidence too stays, weakened."""
    owner, thread = Memory(OWNER), Memory(THREAD)
    for number in range(ROUNDS):
        note = owner.ingest("note", "a secret note", origin=USER).added
        turn = heard(thread)
        claims = [lives("secret", note), lives("kept", [*note, *turn])]
        alone, beside, erased = at_once(
            partial(thread.assert_fact, f"alone-{number}", **claims[0]),
            partial(thread.assert_fact, f"beside-{number}", **claims[1]),
            partial(owner.erase, "note"),
        )
        outcomes([alone, beside, erased], InvalidEvidence)
        if isinstance(erased, WriteConflict):
            owner.erase("note")
        assert versions(f"alone-{number}", thread) == []
        found = versions(f"beside-{number}", thread)
        assert len(found) == (0 if isinstance(beside, Exception) else 1)
        assert all([cited.id for cited in view.evidence] == turn for view in found)


def test_two_erasures_in_opposite_order_of_what_the_same_facts_cite_both_come_to_pass() -> None:
    """Each transaction erases both sources; after a deadlock the loser runs again as a whole."""
    memories = {"page": Memory(ACME), "note": Memory(OWNER)}
    thread = Memory(THREAD)

    def both(*keys: str) -> list[Any]:
        return [memories[key].erase(key) for key in keys]

    for number in range(4):
        evidence = [
            memory.ingest(key, "a secret", origin=USER).added[0] for key, memory in memories.items()
        ]
        turn = heard(thread)
        thread.assert_fact(f"gone-{number}", **lives("secret", evidence))
        thread.assert_fact(f"kept-{number}", **lives("kept", [*evidence, *turn]))
        calls = [
            partial(until_done, partial(both, *keys)) for keys in (memories, [*memories][::-1])
        ]
        results = at_once(*calls)
        assert raised(results) == []
        assert sum(report.source_found for reports in results for report in reports) == 2
        assert versions(f"gone-{number}", thread) == []
        (kept,) = versions(f"kept-{number}", thread)
        assert [cited.id for cited in kept.evidence] == turn
        assert broken() == []


def test_sources_that_a_fact_cites_erased_at_once_at_two_levels_leave_nothing() -> None:
    above, owner, thread = Memory(ACME), Memory(OWNER), Memory(THREAD)
    for number in range(ROUNDS):
        page = above.ingest("page", "a page", origin=USER).added
        note = owner.ingest("note", "a note", origin=USER).added
        thread.assert_fact(f"city-{number}", **lives("Oslo", [*page, *note]))
        results = at_once(
            partial(until_done, partial(above.erase, "page")),
            partial(until_done, partial(owner.erase, "note")),
        )
        assert raised(results) == []
        assert versions(f"city-{number}", thread) == []
        assert sql("SELECT * FROM $fact") == []


def test_an_erasure_beside_the_ingest_of_the_same_source_comes_before_or_after(
    memory: Memory,
) -> None:
    for _ in range(ROUNDS):
        empty_everything()
        page = memory.ingest("page", "I live in Oslo.", origin=USER).added
        memory.assert_fact("city", **lives("Oslo", page))
        erased, ingested, retired = at_once(
            partial(memory.erase, "page"),
            partial(memory.ingest, "page", "I live in Rome.", origin=USER),
            partial(memory.retire_source, "page"),
        )
        outcomes([erased, ingested, retired], SourceNotFound)
        assert erased.source_found
        # Ingest that came first was erased with the rest, or it made the source anew: never both in part.
        found = memory.get([*page, *ingested.added])
        assert [view.text for view in found] in ([], ["I live in Rome."])
        assert versions() == []


def test_what_is_read_beside_erasures_is_whole_or_absent() -> None:
    above, memory = Memory(ACME), Memory(OWNER)
    seen: list[int] = []

    def write() -> None:
        for number in range(ROUNDS):
            page = above.ingest("page", f"penguin number {number}", origin=USER).added
            turn = heard(memory, f"penguin turn {number}", turn_id=f"t{number}")
            memory.assert_fact(f"city-{number}", **lives("Oslo", page))
            memory.supersede(f"city-{number}", **lives("Rome", [*page, *turn]))
            above.erase("page")
            memory.erase_turn("chat", f"t{number}")
        stop.set()

    def look() -> None:
        while not stop.is_set():
            views = [*memory.facts(), *memory.timeline("user-7")]
            assert all(view.evidence for view in views)
            assert all(hit.chunk.text.startswith("penguin") for hit in memory.search("penguin"))
            held = memory.facts()
            assert len({view.key for view in held}) == len(held)
            seen.append(len(views))

    stop = threading.Event()
    results = at_once(write, look, look)
    stop.set()
    assert raised(results) == []
    assert seen
    assert memory.facts() == memory.timeline("user-7") == memory.search("penguin") == []


def test_erasing_everything_beside_writers_below_leaves_whole_facts_or_none() -> None:
    """Writers in scopes that are old and in scopes that nobody has written to yet."""
    owner = Memory(OWNER)

    def work(name: str) -> None:
        memory = Memory(AGENT.for_thread(name))
        for _ in range(3):
            turn = heard(memory)
            note = owner.ingest("note", "a note", origin=USER)
            evidence = [*turn, *note.added, *note.kept]
            memory.assert_fact(f"city-{turn[0]}", **lives("Oslo", evidence))
            memory.supersede(f"city-{turn[0]}", **lives("Rome", turn))

    def clear() -> None:
        for _ in range(3):
            owner.erase_everything()

    for number in range(ROUNDS // 2):
        results = at_once(
            clear, *(partial(work, name) for name in ("old-1", "old-2", f"new-{number}"))
        )
        outcomes(results, InvalidEvidence, FactNotFound)
        assert broken() == []
    owner.erase_everything()
    for table in ("fact", "factversion", "standing", "citation", "chunk", "source"):
        assert sql(f"SELECT * FROM ${table}") == []


# conflicts


def test_a_transaction_that_meets_a_deadlock_over_facts_is_told_and_can_be_run_again(
    vendor: str,
) -> None:
    if vendor != "postgresql":
        pytest.skip("SQLite runs one writer at a time.")
    one, other = Memory(OWNER), Memory(ACME.for_owner("u2"))
    page = Memory(ACME).ingest("page", "a page", origin=USER).added
    for memory in (one, other):
        memory.assert_fact("city", **lives("first", page))
    barrier, refused = threading.Barrier(2), []

    def work(first: Memory, second: Memory) -> None:
        meet = iter([barrier.wait])

        def both() -> None:
            first.supersede("city", **lives("second", page))
            for wait in meet:  # the first time only
                wait(30)
            try:
                second.supersede("city", **lives("second", page))
            except WriteConflict:
                # Its savepoint is gone; the caller's transaction can be asked, and rolled back.
                refused.append(first.fact("city").value)
                raise

        until_done(both)

    assert raised(at_once(partial(work, one, other), partial(work, other, one))) == []
    # Whoever was refused may take the first lock again before the other wakes, and be refused again.
    assert set(refused) == {"second"}
    for memory in (one, other):
        assert [view.version for view in versions(memory=memory)] == [1, 2, 3]


def test_without_immediate_a_locked_database_is_a_typed_conflict(
    vendor: str, monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    if vendor != "sqlite":
        pytest.skip("PostgreSQL locks rows.")
    options = connections.settings["default"]["OPTIONS"]
    monkeypatch.setitem(options, "transaction_mode", "DEFERRED")
    evidence = heard(memory)
    memory.assert_fact("city", **lives("first", evidence))
    conflicts: list[WriteConflict] = []

    def work(number: int) -> None:
        for each in range(3):
            while True:
                try:
                    with transaction.atomic():
                        # A transaction that has read cannot write once another has written.
                        seen = memory.fact("city")
                        threading.Event().wait(0.01)
                        claim = lives(f"{number}.{each}", evidence)
                        memory.supersede("city", **claim, expected=seen.version)
                    break
                except WriteConflict as error:
                    conflicts.append(error)

    assert raised(at_once(*(partial(work, number) for number in range(4)))) == []
    assert conflicts
    assert [view.version for view in versions()] == list(range(1, 14))
    page = memory.ingest("page", "a page", origin=USER).added
    memory.assert_fact("plan", **lives("paid", page))
    results = at_once(
        *(partial(memory.erase, "page") for _ in range(3)),
        *(partial(memory.supersede, "plan", **lives("free", page)) for _ in range(3)),
    )
    for each in raised(results):
        assert isinstance(each, WriteConflict | InvalidEvidence | FactNotFound), repr(each)
    memory.erase("page")
    assert versions("plan") == []


# every interleaving of two transactions at the grain of statements

ids: dict[str, list[str]] = {}


def prepare() -> None:
    """A page above, a note beside, a turn below; facts in the thread that rest on one or several."""
    acme, owner, thread = Memory(ACME), Memory(OWNER), Memory(THREAD)
    ids["page"] = acme.ingest("page", "Oslo, a page.", origin=USER).added
    ids["note"] = owner.ingest("note", "Oslo, a note.", origin=USER).added
    ids["turn"] = heard(thread, turn_id="t")
    ids["tool"] = acme.ingest("tool", "Rome, says a tool.", origin=TOOL).added
    thread.assert_fact("city", **lives("Oslo", ids["page"]))
    thread.assert_fact("both", **lives("Oslo", [*ids["page"], *ids["note"]]))
    thread.assert_fact("waits", **lives("Rome", [*ids["tool"], *ids["turn"]]))
    owner.assert_fact("own", **lives("Oslo", ids["page"]))


def accept_under_a_used_number() -> Any:
    """A fact is erased; the next one has its number, and a person accepts it on evidence of its own."""
    thread = Memory(THREAD)
    for key in ("city", "both", "waits"):
        thread.erase_fact(key)
    thread.assert_fact("city", **lives("Lima", heard(thread, origin=TOOL)))
    return thread.accept("city", actor="ann")


def write_in_a_new_scope() -> Any:
    memory = Memory(AGENT.for_thread("new"))
    return memory.assert_fact("city", **lives("Lima", heard(memory)))


def derive() -> Any:
    thread = Memory(THREAD)
    derived = heard(thread, "made of it", derived_from=ids["page"])
    return thread.assert_fact("fresh", **lives("Lima", derived))


WRITES: dict[str, Callable[[], Any]] = {
    "erase above": lambda: Memory(ACME).erase("page"),
    "erase beside": lambda: Memory(OWNER).erase("note"),
    "erase a tool's": lambda: Memory(ACME).erase("tool"),
    "erase a turn": lambda: Memory(THREAD).erase_turn("chat", "t"),
    "erase a fact": lambda: Memory(THREAD).erase_fact("both"),
    "erase everything": lambda: Memory(OWNER).erase_everything(),
    "use a number again": accept_under_a_used_number,
    "write in a new scope": write_in_a_new_scope,
    "cite in a new scope": lambda: Memory(AGENT.for_thread("new")).assert_fact(
        "city", **lives("Lima", ids["page"])
    ),
    "derive": derive,
    "assert": lambda: Memory(THREAD).assert_fact("fresh", **lives("Lima", ids["page"])),
    "supersede": lambda: Memory(THREAD).supersede("city", **lives("Lima", ids["page"])),
    "accept": lambda: Memory(THREAD).accept("waits", actor="ann"),
    "retract": lambda: Memory(THREAD).retract("city"),
}
PAIRS = [
    *(("erase above", other) for other in ("assert", "use a number again", "erase a fact")),
    *(("erase above", other) for other in ("derive", "erase beside", "erase everything")),
    *(("erase everything", other) for other in ("write in a new scope", "cite in a new scope")),
    *(("erase everything", other) for other in ("assert", "erase above")),
    ("erase a tool's", "accept"),
    ("erase a tool's", "erase a turn"),
    ("assert", "erase above"),
    ("supersede", "erase above"),
    ("derive", "erase above"),
    ("accept", "erase a tool's"),
    ("write in a new scope", "erase everything"),
]
ISOLATED = [
    ("erase above", "assert"),
    ("erase above", "derive"),
    ("erase everything", "cite in a new scope"),
    ("assert", "erase above"),
]


def alone(*names: str) -> tuple[list[Any], Any]:
    """Return what is told and stored when these run one after another."""
    stored_again(prepare)
    answers = []
    for name in names:
        try:
            with transaction.atomic():
                answers.append(told(WRITES[name]()))
        except Exception as error:
            answers.append(told(error))
    return answers, state()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("first", "second", "isolation"),
    [
        *((*pair, "read committed") for pair in PAIRS),
        *((*pair, "repeatable read") for pair in ISOLATED),
    ],
)
def test_two_transactions_end_as_one_after_the_other_would_wherever_they_meet(
    first: str, second: str, isolation: str, vendor: str
) -> None:
    """The second runs before any one statement of the first: both orders, or a typed conflict for one."""
    if vendor != "postgresql":
        pytest.skip("SQLite runs one writer at a time.")
    answers, stored = alone(second, first)
    allowed = [alone(first, second), (answers[::-1], stored)]
    for place, name in enumerate((second, first)):
        (answer,), stored = alone(name)
        conflict = ["WriteConflict", answer] if place == 0 else [answer, "WriteConflict"]
        allowed.append((conflict, stored))
    faults, stop, stopped = [], 0, True
    while stopped:
        stored_again(prepare)
        met = interleaved(WRITES[first], WRITES[second], stop, isolation)
        answers, stored = [told(met.first), told(met.second)], state()
        if wrong := broken_rows():
            faults.append((stop, answers, wrong))
        elif (answers, stored) not in allowed:
            faults.append((stop, answers, *(_differs(stored, other) for _, other in allowed[:2])))
        stopped, stop = met.stopped, stop + STRIDE
    assert stop > 8
    assert not faults, "\n".join(map(repr, faults))


def _differs(stored: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        name: (sorted({*rows} - {*wanted[name]}), sorted({*wanted[name]} - {*rows}))
        for name, rows in stored.items()
        if rows != wanted[name]
    }
