from __future__ import annotations

import pytest

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import DerivedTextRemains
from prism_graph.models import Chunk, Source
from prism_graph.records import ErasureReport
from tests.rawsql import TABLES, sql, stored

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
OWNER = ACME.for_owner("u1")
AGENT = OWNER.for_agent("a1")
THREAD = AGENT.for_thread("t1")
USER = Origin(Trust.USER)
PARAGRAPHS = "# One\n\nalpha\n\n# Two\n\nbeta\n\n# Three\n\ngamma\n"


@pytest.fixture
def memory() -> Memory:
    return Memory(ACME)


def rows_of(scope: Scope) -> dict[str, list[str]]:
    where = " AND ".join(f"{name} = %s" for name in scope.columns)
    return {
        table: sorted(
            map(repr, sql(f'SELECT * FROM "{table}" WHERE {where}', *map(str, scope.parts)))
        )
        for table in TABLES
    }


def test_an_erased_source_is_gone_with_its_chunks(memory: Memory) -> None:
    report = memory.ingest("guide", PARAGRAPHS, origin=USER, title="Handbook")
    memory.ingest("other", "delta", origin=USER)
    assert memory.erase("guide") == ErasureReport(source_found=True, chunks=len(report.added))
    assert memory.get(report.added) == []
    assert memory.search("alpha beta gamma handbook one") == []
    assert [source.key for source in memory.sources(retired=True)] == ["other"]
    assert [hit.chunk.text for hit in memory.search("delta")] == ["delta"]


def test_a_second_erase_gives_zeros(memory: Memory) -> None:
    memory.ingest("guide", "text", origin=USER)
    memory.record("chat", "text", origin=USER, turn_id="t")
    memory.erase("guide")
    memory.erase("chat")
    nothing = ErasureReport(source_found=False)
    assert memory.erase("guide") == memory.erase("never there") == nothing
    assert memory.erase_turn("chat", "t") == nothing


def test_retired_chunks_are_erased_with_their_source(memory: Memory) -> None:
    first = memory.ingest("guide", "alpha", origin=USER)
    second = memory.ingest("guide", "beta", origin=USER)
    assert memory.erase("guide").chunks == 2
    assert memory.get(first.added + second.added) == []


def test_an_erased_source_without_chunks_is_found(memory: Memory) -> None:
    memory.ingest("guide", "", origin=USER)
    assert memory.erase("guide") == ErasureReport(source_found=True)
    assert memory.sources(retired=True) == []


def test_one_turn_is_erased_and_the_others_stay(memory: Memory) -> None:
    long = "A long turn of many words. " * 200
    for turn_id, text in (("a", "first"), ("b", long), ("c", "third")):
        memory.record("chat", text, origin=USER, turn_id=turn_id)
    parts = memory.record("chat", long, origin=USER, turn_id="b").kept
    assert memory.erase_turn("chat", "b") == ErasureReport(source_found=True, chunks=len(parts))
    assert memory.get(parts) == []
    assert memory.search("long") == []
    assert [hit.chunk.text for hit in memory.search("first third")] == ["first", "third"]
    assert memory.erase_turn("chat", "b") == ErasureReport(source_found=True)
    assert memory.record("chat", "said again", origin=USER, turn_id="b").added


def test_erasing_the_only_turn_erases_the_conversation(memory: Memory) -> None:
    memory.record("chat", "text", origin=USER, turn_id="a")
    assert memory.erase_turn("chat", "a") == ErasureReport(source_found=True, chunks=1)
    assert memory.sources(retired=True) == []


def test_a_key_above_is_not_erased_from_below(memory: Memory) -> None:
    memory.ingest("guide", "text", origin=USER)
    memory.record("chat", "text", origin=USER, turn_id="a")
    before = stored(tables=TABLES[:4])
    below = Memory(THREAD)
    assert below.erase("guide") == ErasureReport(source_found=False)
    assert below.erase_turn("chat", "a") == ErasureReport(source_found=False)
    assert stored(tables=TABLES[:4]) == before


def test_what_was_derived_is_erased_at_every_level_below_and_counted_only_here(
    memory: Memory,
) -> None:
    page = memory.ingest("page", "page", origin=USER).added
    here = memory.record("chat", "here", origin=USER, derived_from=page).added
    owner = Memory(OWNER).ingest("note", "owner", origin=USER, derived_from=here).added
    thread = Memory(THREAD).record("chat", "thread", origin=USER, derived_from=owner).added
    twice = Memory(THREAD).record("chat", "twice", origin=USER, derived_from=[*page, *thread])
    kept = Memory(THREAD).record("chat", "kept", origin=USER).added
    assert memory.erase("page") == ErasureReport(source_found=True, chunks=2)
    assert Memory(THREAD).get([*page, *here, *owner, *thread, *twice.added]) == []
    assert [view.text for view in Memory(THREAD).get(kept)] == ["kept"]


def test_a_source_whose_last_chunk_was_derived_is_erased_too(memory: Memory) -> None:
    page = memory.ingest("page", "page", origin=USER).added
    Memory(OWNER).ingest("summary", "text", origin=USER, title="secret", derived_from=page)
    Memory(OWNER).ingest("other", "text", origin=USER)
    memory.record("chat", "derived", origin=USER, derived_from=page)
    memory.record("chat", "own", origin=USER)
    memory.erase("page")
    assert [source.key for source in Memory(OWNER).sources(retired=True)] == ["other", "chat"]


def test_a_document_that_lost_a_derived_chunk_keeps_the_rest(memory: Memory) -> None:
    page = memory.ingest("page", "page", origin=USER).added
    first = memory.ingest("mixed", "old", origin=USER, derived_from=page).added
    second = memory.ingest("mixed", "new", origin=USER).added
    assert memory.erase("page").chunks == 2
    assert memory.get(first) == []
    assert [view.text for view in memory.get(second)] == ["new"]
    assert memory.sources()[0].key == "mixed"


def test_erasing_a_summary_leaves_what_it_was_made_of(memory: Memory) -> None:
    page = memory.ingest("page", "page", origin=USER).added
    memory.ingest("summary", "text", origin=USER, derived_from=page)
    assert memory.erase("summary").chunks == 1
    assert [view.text for view in memory.get(page)] == ["page"]


def test_a_lineage_in_the_shape_of_a_diamond_is_counted_once(memory: Memory) -> None:
    top = memory.ingest("top", "top", origin=USER).added
    left = memory.ingest("left", "left", origin=USER, derived_from=top).added
    right = memory.ingest("right", "right", origin=USER, derived_from=top).added
    memory.ingest("bottom", "bottom", origin=USER, derived_from=[*left, *right, *top])
    assert memory.erase("top").chunks == 4
    assert memory.sources(retired=True) == []


def test_a_long_chain_of_derivations_is_erased(memory: Memory) -> None:
    last = memory.ingest("page", "page", origin=USER).added
    for number in range(30):
        last = memory.record("chat", f"turn {number}", origin=USER, derived_from=last).added
    assert memory.erase("page").chunks == 31
    assert memory.sources(retired=True) == []


def test_the_other_scopes_rows_stay_byte_for_byte(memory: Memory) -> None:
    others = [Scope("ACME"), Scope("acme-corp"), OWNER, ACME.for_owner("u2"), THREAD]
    for scope in others:
        Memory(scope).ingest("guide", PARAGRAPHS, origin=USER, metadata={"a": 1})
        Memory(scope).record("chat", "text", origin=USER, turn_id="a")
    before = [rows_of(scope) for scope in others]
    for where in (memory, Memory(AGENT)):
        where.ingest("guide", PARAGRAPHS, origin=USER)
        where.record("chat", "text", origin=USER, turn_id="a")
        where.erase("guide")
        where.erase_turn("chat", "a")
    assert [rows_of(scope) for scope in others] == before
    assert list(Source.objects.at(ACME)) == []


@pytest.mark.django_db
@pytest.mark.parametrize("model", [Source, Chunk])
def test_a_queryset_cannot_leave_derived_text_behind(model: type[Source | Chunk]) -> None:
    owner = Scope("acme").for_owner("alice")
    memory, below = Memory(owner), Memory(owner.for_agent("bot"))
    page = memory.ingest("page", "a page about zebras", origin=Origin(Trust.TOOL, "web"))
    below.ingest(
        "sum", "zebras, in short", origin=Origin(Trust.AGENT, "bot"), derived_from=page.added
    )
    rows = model.objects.at(owner)
    with pytest.raises(DerivedTextRemains):
        rows.delete()
    with pytest.raises(DerivedTextRemains):
        rows.get().delete()
    assert len(below.search("zebras")) == 2
    assert memory.erase("page").chunks == 1
    assert below.search("zebras") == []


@pytest.mark.django_db
def test_a_queryset_deletes_text_together_with_all_that_was_derived_from_it() -> None:
    scope = Scope("acme")
    memory = Memory(scope)
    page = memory.ingest("page", "a page about zebras", origin=Origin(Trust.TOOL, "web"))
    memory.ingest(
        "sum", "zebras, in short", origin=Origin(Trust.AGENT, "bot"), derived_from=page.added
    )
    Chunk.objects.at(scope).delete()
    assert memory.search("zebras") == []
