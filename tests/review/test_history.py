"""History: what memory held when, of which time."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import FactStatus, Memory
from prism_graph.review import histories
from tests.admin.reviewing import ACME, ANA, BO, CITY, USER, claims

pytestmark = pytest.mark.django_db


def one():
    (history,) = histories(ANA, "default", "ana")
    return history


def areas():
    return [
        (area.version, area.status.value, area.valid_to is None, area.known_to is None)
        for area in one().areas()
    ]


class TestAreas:
    def test_show_what_holds_and_what_waits(self):
        claims()
        assert areas() == [(1, "accepted", True, True), (2, "proposal", True, True)]

    def test_are_cut_where_memory_changed_its_mind(self):
        claims()
        Memory(ANA).accept("city", version=2)
        assert areas() == [
            (1, "accepted", True, False),
            (2, "proposal", True, False),
            (1, "accepted", False, True),
            (2, "accepted", True, True),
        ]

    def test_reopen_after_a_retraction(self):
        claims()
        memory = Memory(ANA)
        memory.accept("city", version=2)
        memory.retract("city", version=2)
        assert areas()[-1] == (1, "accepted", True, True)

    def test_say_of_every_moment_what_memory_answers(self):
        memory = Memory(ANA)
        claims()
        memory.accept("city", version=2)
        more = memory.record("later", "Porto since 2020", origin=USER).added
        memory.supersede(
            "city", **CITY, value="Porto", evidence=more, valid_from="2020-01-01T00:00:00Z"
        )
        memory.retract("city", version=2)
        drawn = one().areas()
        edges = {edge for area in drawn for edge in (area.known_from, area.known_to) if edge}
        times = {edge for area in drawn for edge in (area.valid_from, area.valid_to) if edge}
        for known_at in sorted(edges):
            for at in sorted(times):
                answer = memory.facts("ana", at=at, known_at=known_at)
                shown = [
                    area.version
                    for area in drawn
                    if area.status is FactStatus.ACCEPTED
                    and area.known_from <= known_at
                    and (area.known_to is None or known_at < area.known_to)
                    and area.valid_from <= at
                    and (area.valid_to is None or at < area.valid_to)
                ]
                assert shown == [view.version for view in answer], (at, known_at)


class TestHistories:
    def test_are_those_that_a_reader_sees_nearest_first(self):
        claims(ACME, "office")
        claims(BO, "secret")
        claims(ANA, "city")
        found = histories(ANA, "default", "ana")
        assert [(each.scope, each.key) for each in found] == [(ANA, "city"), (ACME, "office")]

    def test_hold_the_other_versions_of_a_fact_that_changed_its_subject(self):
        memory = Memory(ANA)
        said = memory.record("chat", "Ana, then Anna", origin=USER).added
        memory.assert_fact("city", **CITY, value="Lisbon", evidence=said)
        memory.supersede("city", subject="anna", predicate="lives in", value="Porto", evidence=said)
        assert [each.stated.number for each in one().stood] == [1, 2]

    def test_take_two_statements(self):
        claims()
        claims(key="town")
        with CaptureQueriesContext(connection) as queries:
            assert len(histories(ANA, "default", "ana")) == 2
        assert len(queries) == 2

    def test_of_an_unknown_subject_are_none(self):
        claims()
        assert histories(ANA, "default", "nobody") == []
