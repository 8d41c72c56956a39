"""After an erasure no statement returns the text, its words or anything made of it (L1, at commit)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

from prism_graph import Memory, Origin, Scope, Trust
from tests.rawsql import INDEX, sql, vocabulary

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme")
USER = Origin(Trust.USER, "writer-kept")
CANARIES = ["zebracanary", "quokkacanary", "企鹅游泳", "1f3a-canary-9"]


def everything() -> str:
    """Return every value of every table that the role can read, catalogues of statistics included."""
    if connection.vendor == "sqlite":
        tables = [name for (name,) in sql("SELECT name FROM sqlite_master WHERE type = 'table'")]
        # What FTS5 keeps in its shadow tables are pages, cleaned by `prism_graph_scrub`.
        tables = [each for each in tables if not each.startswith(INDEX)]
    else:
        tables = [
            name for (name,) in sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        ] + ["pg_stats"]
    rows: list[Any] = [sql(f'SELECT * FROM "{table}"') for table in tables]
    return repr(rows) + repr(sorted(vocabulary()))


@pytest.mark.parametrize("way", ["source", "turn", "derived"])
def test_no_table_vocabulary_or_statistic_holds_what_was_erased(way: str) -> None:
    memory, below = Memory(ACME), Memory(ACME.for_owner("u1"))
    text = " ".join(CANARIES)
    page = memory.ingest("page-kept", "kept words", origin=USER).added
    secret: dict[str, Any] = {"origin": USER, "derived_from": page if way == "derived" else ()}
    if way == "turn":
        memory.record("chat-kept", "kept words", origin=USER, turn_id="kept")
        memory.record("chat-kept", f"# {text}\n\n{text * 90}", speaker=text, turn_id=text, **secret)
    else:
        memory.ingest(
            *(f"key {text}", f"# {text}\n\n{text}"),
            title=text,
            uri=text,
            metadata={"a": text, text: [text]},
            **secret,
        )
        memory.ingest(f"key {text}", f"# {text}\n\n{text} changed", title=text, **secret)
    hits = memory.search(CANARIES[0], limit=100)
    cited = [hit.chunk.id for hit in hits if CANARIES[0] in hit.chunk.text]
    assert cited
    below.record("chat", f"restated {text}", origin=USER, turn_id=text, derived_from=cited[:50])
    if connection.vendor == "postgresql":
        sql("ANALYZE")
    assert all(canary in everything() for canary in CANARIES[:2])
    report = {
        "source": lambda: memory.erase(f"key {text}"),
        "turn": lambda: memory.erase_turn("chat-kept", text),
        "derived": lambda: memory.erase("page-kept"),
    }[way]()
    assert report.source_found
    assert report.chunks >= 2
    left = everything()
    for canary in [*CANARIES, "restated", "zebracanari", "企鹅"]:
        assert canary not in left
    for reader in (memory, below):
        assert reader.search(text, limit=100) == []
        assert reader.get(cited[:100]) == []
    if way != "derived":
        assert memory.search("kept")[0].chunk.text == "kept words"


def test_an_erasure_that_is_rolled_back_leaves_everything() -> None:
    memory = Memory(ACME)
    memory.ingest("guide", "zebracanary", origin=USER)
    before = memory.search("zebracanary")
    with transaction.atomic():
        memory.erase("guide")
        transaction.set_rollback(True)
    assert memory.search("zebracanary") == before != []


def test_the_names_of_things_in_logs_and_errors_are_no_content() -> None:
    from prism_graph.models import Chunk, ChunkText, Source

    memory = Memory(ACME)
    memory.ingest("zebracanary", "zebracanary", origin=USER, title="zebracanary")
    for model in (Source, Chunk, ChunkText):
        for row in model.objects.at(ACME):
            assert "canary" not in f"{row} {row!r}"
