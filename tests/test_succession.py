"""What a hit says of the facts that its passage was evidence for."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.models import Citation, Standing
from prism_graph.records import FactRef

pytestmark = pytest.mark.django_db

OWNER = Scope("acme").for_owner("ana")
CHAT = OWNER.for_agent("support").for_thread("chat-1")
USER = Origin(Trust.USER)
CITY = {"subject": "ana", "predicate": "lives in"}


@pytest.fixture
def memory() -> Memory:
    return Memory(OWNER)


def said(memory: Memory, text: str, origin: Origin = USER) -> list[str]:
    return memory.record("chat", text, origin=origin).added


def told(memory: Memory, query: str, **options: object) -> tuple[FactRef, ...]:
    [hit] = memory.search(query, limit=1, **options)  # type: ignore[arg-type]
    return hit.superseded_by


def test_a_passage_names_the_version_that_took_the_place_of_what_it_was_evidence_for(memory):
    memory.assert_fact("city", **CITY, value="Oslo", evidence=said(memory, "I live in Oslo."))
    assert told(memory, "Oslo") == ()
    memory.supersede("city", **CITY, value="Rome", evidence=said(memory, "I moved to Rome."))
    assert told(memory, "Oslo") == (FactRef("city", 2, OWNER),)
    assert told(memory, "Rome") == ()
    memory.retract("city")
    assert told(memory, "Oslo") == ()


def test_it_is_asked_as_memory_held_it_then(memory):
    first = memory.assert_fact("city", **CITY, value="Oslo", evidence=said(memory, "Oslo."))
    memory.supersede("city", **CITY, value="Rome", evidence=said(memory, "Rome."))
    assert told(memory, "Oslo", known_at=first.recorded_from) == ()
    assert told(memory, "Oslo") == (FactRef("city", 2, OWNER),)


def test_a_passage_that_supports_the_new_version_too_is_not_superseded(memory):
    both = said(memory, "I lived in Oslo, now in Rome.")
    memory.assert_fact("city", **CITY, value="Oslo", evidence=both)
    memory.supersede("city", **CITY, value="Rome", evidence=both)
    assert told(memory, "Oslo") == ()


def test_neither_a_proposal_nor_a_version_to_come_supersedes(memory):
    memory.assert_fact("city", **CITY, value="Oslo", evidence=said(memory, "Oslo."))
    web = said(memory, "The web says Rome.", Origin(Trust.TOOL))
    memory.assert_fact("city", **CITY, value="Rome", evidence=web)
    later = said(memory, "From 2100 on Lima.")
    memory.supersede(
        "city", **CITY, value="Lima", evidence=later, valid_from="2100-01-01T00:00:00Z"
    )
    assert told(memory, "Oslo") == told(memory, "Rome") == told(memory, "Lima") == ()


def test_a_reader_below_is_told_of_every_level_and_nobody_above_or_beside_is(memory):
    first = said(memory, "I live in Oslo.")
    chat = Memory(CHAT)
    chat.assert_fact("city", **CITY, value="Oslo", evidence=first)
    chat.supersede("city", **CITY, value="Rome", evidence=said(chat, "Rome now."))
    assert told(chat, "Oslo") == (FactRef("city", 2, CHAT),)
    assert told(memory, "Oslo") == ()
    assert told(Memory(OWNER.for_agent("support").for_thread("chat-2")), "Oslo") == ()


def test_one_statement_more_where_no_fact_cites_a_passage(memory):
    said(memory, "Oslo.")
    with CaptureQueriesContext(connection) as ran:
        memory.search("Oslo")
    assert sum(Citation._meta.db_table in query["sql"] for query in ran.captured_queries) == 1
    assert not any(Standing._meta.db_table in query["sql"] for query in ran.captured_queries)
