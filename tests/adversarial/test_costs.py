"""What a read costs follows what the reader sees (G5): no statement walks through a whole table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust
from tests.statement_guard import unguarded

pytestmark = pytest.mark.django_db

READER = Scope("acme", "ana", "support", "chat-1")
DOCUMENT = Origin(Trust.DOCUMENT, "importer")

READS: dict[str, Callable[[Memory], Any]] = {
    "words": lambda memory: memory.search("zebra"),
    "ties": lambda memory: memory.search("alike", limit=2),
    "phrases": lambda memory: memory.search("", phrases=["zebra number"]),
    "sources": lambda memory: memory.search("zebra", sources=["doc-1", "chat"]),
    "metadata": lambda memory: memory.search("zebra", metadata={"kind": "animal"}),
    "times": lambda memory: memory.search("zebra", since="2020-01-01T00:00:00Z", neighbours=2),
    "known_at": lambda memory: memory.search("zebra", known_at="2100-01-01T00:00:00Z"),
    "get": lambda memory: memory.get(memory.search("zebra")),
    "list of sources": lambda memory: memory.sources(),
}
WRITES: dict[str, Callable[[Memory], Any]] = {
    "a new document": lambda memory: memory.ingest("new", "A new zebra.", origin=DOCUMENT),
    "a changed document": lambda memory: memory.ingest("doc-1", "Another.", origin=DOCUMENT),
    "a turn": lambda memory: memory.record("chat", "A turn.", origin=DOCUMENT, turn_id="t9"),
    "a retirement": lambda memory: memory.retire_source("doc-1"),
    "an erasure": lambda memory: memory.erase("doc-1"),
}


@pytest.fixture(autouse=True)
def world() -> None:
    for scope in (*READER.chain, Scope("globex", "ana"), Scope("acme", "ben")):
        memory = Memory(scope)
        for number in range(3):
            text = f"Zebra number {number} stands here."
            meta = {"kind": "animal"}
            memory.ingest(f"doc-{number}", text, origin=DOCUMENT, metadata=meta)
        alike = [f"alike {word}\n\n" for word in ("one", "two", "three", "four")]
        memory.ingest("alike", "".join(alike), origin=DOCUMENT, chunker=lambda _, a=alike: a)
        memory.record("chat", "A zebra again.", origin=DOCUMENT, turn_id="t1")


def is_walk(step: str) -> bool:
    """Say whether a step of a plan reads a table of ours, or all that a tenant has in it."""
    # A MATCH goes to the index on words, whatever SQLite calls it.
    if "prism_graph_" not in step or "VIRTUAL TABLE" in step:
        return False
    return "SCAN" in step or ("tenant=?" in step and "thread=?" not in step)


def walks(reader: Scope, call: Callable[[Memory], Any]) -> list[str]:
    """Return the steps that read more than what is seen, each with its statement."""
    with CaptureQueriesContext(connection) as ran:
        call(Memory(reader))
    found = []
    with unguarded("the plans of statements that were looked at"), connection.cursor() as cursor:
        for query in ran.captured_queries:
            statement = query["sql"]
            if not re.match(r"\s*(SELECT|UPDATE|DELETE)\b", statement):
                continue
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}".replace("%", "%%"), [])
            plan = [row[3] for row in cursor.fetchall()]
            found += [f"{step}: {statement}" for step in plan if is_walk(step)]
    return found


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by statistics.")
@pytest.mark.parametrize("reader", READER.chain, ids=["thread", "agent", "owner", "tenant"])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_no_statement_walks_through_a_table(name: str, reader: Scope) -> None:
    assert walks(reader, {**READS, **WRITES}[name]) == []
