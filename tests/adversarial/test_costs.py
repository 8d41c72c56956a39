"""What a read costs follows what the reader sees (G5): no statement walks through a whole table."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.vectors.blocks import BLOCKS
from tests.rawsql import TABLES
from tests.statement_guard import unguarded
from tests.vectors.doubles import vectors

pytestmark = pytest.mark.django_db

READER = Scope("acme", "ana", "support", "chat-1")
DOCUMENT = Origin(Trust.DOCUMENT, "importer")
TOOL = Origin(Trust.TOOL)
CLAIM = {"subject": "ana", "predicate": "has", "value": "a zebra"}


def meant(call: Callable[[Memory], Any]) -> Callable[[Memory], Any]:
    """Make a call with vectors in the settings."""

    def made(memory: Memory) -> Any:
        BLOCKS.clear()
        with vectors():
            return call(memory)

    return made


def cited(memory: Memory) -> list[str]:
    return [hit.chunk.id for hit in memory.search("zebra", limit=2)]


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
    "facts of a subject": lambda memory: memory.facts("ana", unaccepted=True),
    "facts known then": lambda memory: memory.facts("ana", known_at="2100-01-01T00:00:00Z"),
    "all facts": lambda memory: memory.facts(),
    "a fact": lambda memory: memory.fact("fact-1"),
    "a timeline": lambda memory: memory.timeline("ana"),
    "meaning": meant(lambda memory: memory.search("striped horses", explain=True)),
    "what waits": meant(lambda memory: (memory.pending(), memory.failed())),
}
WRITES: dict[str, Callable[[Memory], Any]] = {
    "a new document": lambda memory: memory.ingest("new", "A new zebra.", origin=DOCUMENT),
    "a changed document": lambda memory: memory.ingest("doc-1", "Another.", origin=DOCUMENT),
    "a turn": lambda memory: memory.record("chat", "A turn.", origin=DOCUMENT, turn_id="t9"),
    "a retirement": lambda memory: memory.retire_source("doc-1"),
    "an assertion": lambda memory: memory.assert_fact("new", **CLAIM, evidence=cited(memory)),
    "a successor": lambda memory: memory.supersede("fact-1", **CLAIM, evidence=cited(memory)),
    "a retraction": lambda memory: memory.retract("fact-1"),
    "an acceptance": lambda memory: memory.accept("fact-2"),
    "a rejection": lambda memory: memory.reject("fact-2"),
    "an erasure": lambda memory: memory.erase("doc-1"),
    "an erasure of evidence": lambda memory: memory.erase("cited"),
    "an erasure of a fact": lambda memory: memory.erase_fact("fact-1"),
    "an embedding": meant(lambda memory: read_again(memory)),
}


def read_again(memory: Memory) -> None:
    """Search, embed one more passage, and search what has changed."""
    memory.search("striped horses")
    memory.ingest("late", "A late zebra.", origin=DOCUMENT)
    memory.embed_pending()
    memory.search("striped horses")


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
        said = memory.ingest("cited", "Ana has a zebra.", origin=DOCUMENT).added
        heard = memory.ingest("heard", "Ana has two zebras.", origin=TOOL).added
        memory.assert_fact("fact-1", **CLAIM, evidence=said)
        memory.supersede("fact-1", **CLAIM, evidence=said)
        memory.assert_fact("fact-2", **CLAIM, evidence=heard)
        with vectors():
            memory.embed_pending()


# Chunks have numbers of their own over all scopes: what was derived from one, and, for an erasure, what
# cites it, is looked up by that.
CITED = "_citation_by (cited_number=? AND tenant=?)"
SEEKS = rf"thread=\?|\((id|rowid)=\?\)|_derivation\w* \(number=\?|{re.escape(CITED)}"


def is_walk(step: str, ours: Collection[str]) -> bool:
    """Say whether a step of a plan reads a table of ours, or all that a tenant or a number has in it.

    `ours` are the tables and their aliases. A MATCH goes to the index on words.
    """
    named = re.match(r"(SCAN|SEARCH) (\w+)", step)
    if named is None or named[2] not in ours or "VIRTUAL TABLE" in step:
        return False
    return named[1] == "SCAN" or re.search(SEEKS, step) is None


def walks(reader: Scope, call: Callable[[Memory], Any]) -> list[str]:
    """Return the steps that read more than what is seen, each with its statement."""
    with CaptureQueriesContext(connection) as ran:
        call(Memory(reader))
    found = []
    with unguarded("the plans of statements that were looked at"), connection.cursor() as cursor:
        for query in ran.captured_queries:
            statement = query["sql"]
            if not re.match(r"\s*(WITH|SELECT|UPDATE|DELETE)\b", statement):
                continue
            tables = re.findall(
                rf"\b({'|'.join(TABLES)})\b(?: (?:AS )?(\w+))?", statement.replace('"', "")
            )
            ours = {name for pair in tables for name in pair if name}
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}".replace("%", "%%"), [])
            plan = [row[3] for row in cursor.fetchall()]
            found += [f"{step}: {statement}" for step in plan if is_walk(step, ours)]
            # An erasure goes to all that cites a chunk; so does the cascade of its deletion.
            if "cited_owner" not in statement and not statement.startswith("DELETE"):
                found += [f"{step}: {statement}" for step in plan if CITED in step]
    return found


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by statistics.")
@pytest.mark.parametrize("reader", READER.chain, ids=["thread", "agent", "owner", "tenant"])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_no_statement_walks_through_a_table(name: str, reader: Scope) -> None:
    assert walks(reader, {**READS, **WRITES}[name]) == []
