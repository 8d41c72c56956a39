"""What the services of facts cost, and what they announce. Their rules are in test_fact_rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust, signals
from prism_graph.models import Fact, FactVersion

pytestmark = pytest.mark.django_db

OWNER = Scope("acme").for_owner("ana")
CITY = {"subject": "ana", "predicate": "lives in"}


@pytest.fixture
def memory() -> Memory:
    return Memory(OWNER.for_agent("support").for_thread("chat-1"))


def said(memory: Memory, trust: Trust = Trust.USER, turns: int = 1) -> list[str]:
    reports = [memory.record("chat", f"Turn {at}.", origin=Origin(trust)) for at in range(turns)]
    return [name for report in reports for name in report.added]


def statements(call: Callable[[], Any]) -> int:
    """Count the statements of a call, savepoints aside."""
    with CaptureQueriesContext(connection) as ran:
        call()
    return sum("SAVEPOINT" not in query["sql"] for query in ran.captured_queries)


class TestCost:
    def test_an_assertion_takes_at_most_twelve_statements_however_much_it_cites(self, memory):
        few, many = said(memory), said(memory, turns=50)
        first = statements(lambda: memory.assert_fact("a", **CITY, value="Oslo", evidence=few))
        most = statements(lambda: memory.assert_fact("b", **CITY, value="Oslo", evidence=many))
        again = statements(lambda: memory.supersede("b", **CITY, value="Rome", evidence=many))
        assert first == most <= 12
        assert again <= 12

    def test_reading_takes_one_statement_however_much_there_is(self, memory):
        evidence = said(memory, turns=3)
        for key in "abc":
            memory.assert_fact(key, **CITY, value="Oslo", evidence=evidence)
            memory.supersede(key, **CITY, value="Rome", evidence=evidence)
        for call in (
            lambda: memory.facts(),
            lambda: memory.facts("ana", unaccepted=True, known_at="2100-01-01T00:00:00Z"),
            lambda: memory.fact("a"),
            lambda: memory.timeline("ana"),
        ):
            assert statements(call) == 1

    def test_decisions_take_as_many_statements_for_a_long_history_as_for_a_short_one(self, memory):
        counts = []
        for versions in (2, 12):
            key, evidence = f"key-{versions}", said(memory)
            memory.assert_fact(key, **CITY, value="Oslo", evidence=evidence)
            for _ in range(versions):
                memory.supersede(key, **CITY, value="Rome", evidence=evidence)
            counts.append(statements(lambda key=key: memory.retract(key)))
        assert counts[0] == counts[1]


@contextmanager
def heard(name: str) -> Iterator[list[dict[str, Any]]]:
    calls: list[dict[str, Any]] = []

    def listen(**sent: Any) -> None:
        calls.append(sent)

    signal = getattr(signals, name)
    signal.connect(listen)
    try:
        yield calls
    finally:
        signal.disconnect(listen)


class TestSignals:
    @pytest.mark.parametrize(
        ("name", "trust", "act"),
        [
            ("fact_accepted", Trust.USER, None),
            ("fact_proposed", Trust.TOOL, None),
            ("fact_proposed", Trust.AGENT, None),
            ("fact_accepted", Trust.TOOL, "accept"),
            ("fact_rejected", Trust.TOOL, "reject"),
            ("fact_retracted", Trust.USER, "retract"),
            ("fact_erased", Trust.USER, "erase_fact"),
        ],
    )
    def test_a_decision_is_announced_by_ids_once_it_commits(
        self, memory, name, trust, act, django_capture_on_commit_callbacks
    ):
        evidence = said(memory, trust)
        with heard(name) as calls, django_capture_on_commit_callbacks(execute=True):
            memory.assert_fact("city", **CITY, value="Oslo", evidence=evidence)
            fact = Fact.objects.at(memory.scope).get().id
            version = FactVersion.objects.at(memory.scope).get().id
            if act:
                getattr(memory, act)("city")
            assert calls == []
        sent = calls[-1]
        assert (sent["sender"], sent["scope"]) == (FactVersion, memory.scope)
        assert (sent["fact"], sent["version"]) == (fact, version)
        assert sent.keys() <= {"signal", "sender", "scope", "using", "fact", "version"}

    def test_lowered_and_lost_versions_are_announced_to_their_own_scope(
        self, memory, django_capture_on_commit_callbacks
    ):
        above = Memory(OWNER)
        [shared] = above.ingest("page", "Ana lives in Oslo.", origin=Origin(Trust.USER)).added
        [own] = said(memory, Trust.AGENT)
        memory.assert_fact("lost", **CITY, value="Oslo", evidence=[shared])
        memory.assert_fact("kept", **CITY, value="Oslo", evidence=[shared, own])
        memory.accept("kept")
        with (
            heard("fact_erased") as erased,
            heard("fact_proposed") as proposed,
            django_capture_on_commit_callbacks(execute=True),
        ):
            above.erase("page")
        assert [sent["scope"] for sent in erased + proposed] == [memory.scope] * 2

    def test_erasing_everything_is_announced_once(self, memory, django_capture_on_commit_callbacks):
        memory.assert_fact("city", **CITY, value="Oslo", evidence=said(memory))
        with heard("memory_erased") as calls, django_capture_on_commit_callbacks(execute=True):
            Memory(OWNER).erase_everything()
        assert [sent["scope"] for sent in calls] == [OWNER]
