"""The index is true whatever writes the row."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import UnscopedQuery
from prism_graph.fulltext import engine
from prism_graph.models import Chunk, ChunkText, Source
from prism_graph.repair import problems
from tests.rawsql import sql, vocabulary

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
USER = Origin(Trust.USER)


@pytest.fixture
def memory() -> Memory:
    memory = Memory(ACME)
    memory.ingest("guide", "penguins swim", origin=USER, title="Handbook")
    memory.ingest("other", "ostriches run", origin=USER)
    return memory


def found(memory: Memory, query: str) -> list[str]:
    return [hit.chunk.text for hit in memory.search(query)]


def text_row(key: str = "guide") -> ChunkText:
    return ChunkText.objects.at(ACME).get(chunk__source__key=key)


def is_true() -> bool:
    return not list(problems("default"))


def holds(word: str) -> bool:
    return any(word in each for each in vocabulary())


def a_second_chunk(memory: Memory, number: int = 10**6) -> ChunkText:
    """Return an unsaved text whose chunk is stored already."""
    source = Source.objects.at(ACME).get(key="guide")
    model = Chunk.objects.at(ACME).get(source__key="other")
    Chunk.objects.at(ACME).create(
        number=number,
        source_number=source.number,
        ordinal=number,
        trust=Trust.USER,
        origin_trust=Trust.USER,
        digest="0" * len(model.digest),
        recorded_at=model.recorded_at,
    )
    return ChunkText(number=number, text="albatrosses glide")


def test_create_indexes_the_text(memory: Memory) -> None:
    row = a_second_chunk(memory)
    ChunkText.objects.at(ACME).create(number=row.number, text=row.text)
    assert found(memory, "albatrosses") == ["albatrosses glide"]
    assert is_true()


def test_bulk_create_indexes_the_texts(memory: Memory) -> None:
    rows = [a_second_chunk(memory, 10**6 + n) for n in range(3)]
    ChunkText.objects.at(ACME).bulk_create(rows)
    assert found(memory, "albatrosses") == ["albatrosses glide"] * 3
    assert is_true()


def test_bulk_create_that_ignores_conflicts_leaves_the_index_true(memory: Memory) -> None:
    row = text_row()
    changed = ChunkText(number=row.number, text="albatrosses glide")
    ChunkText.objects.at(ACME).bulk_create([changed], ignore_conflicts=True)
    assert found(memory, "albatrosses") == []
    assert found(memory, "penguins") == ["penguins swim"]
    assert is_true()


def test_save_indexes_what_it_writes(memory: Memory) -> None:
    row = text_row()
    row.heading = "Albatrosses"
    row.save()
    assert found(memory, "albatrosses") == ["penguins swim"]
    row.heading = ""
    row.save()
    assert found(memory, "albatrosses") == []
    assert found(memory, "penguins handbook") == ["penguins swim"]
    assert is_true()


def test_a_part_of_a_row_saved_without_its_analysis_is_not_found_by_stale_words(
    memory: Memory,
) -> None:
    for field in ("heading", "speaker"):
        row = text_row()
        setattr(row, field, "Albatrosses")
        row.save()
        setattr(row, field, "Cormorants")
        row.save(update_fields=[field])
        assert found(memory, "albatrosses") == []
        assert not holds("albatro")
        row.save()
        assert found(memory, "cormorants") == ["penguins swim"]
        assert is_true()


def test_delete_takes_the_words_with_it(memory: Memory) -> None:
    text_row().delete()
    assert found(memory, "penguins") == []
    assert not holds("penguin")


def test_a_deleted_queryset_takes_the_words_with_it(memory: Memory) -> None:
    ChunkText.objects.at(ACME).filter(heading="").delete()
    assert found(memory, "penguins ostriches") == []
    assert not holds("penguin")
    assert not holds("ostrich")


@pytest.mark.parametrize("model", [Source, Chunk])
def test_a_cascade_takes_the_words_with_it(memory: Memory, model: type[Source | Chunk]) -> None:
    rows = model.objects.at(ACME)
    (rows.filter(key="guide") if model is Source else rows.filter(source__key="guide")).delete()
    assert found(memory, "penguins") == []
    assert found(memory, "ostriches") == ["ostriches run"]
    assert not holds("penguin")
    assert is_true()


def test_the_verbatim_text_is_not_updated_by_a_queryset(memory: Memory) -> None:
    with pytest.raises(UnscopedQuery):
        ChunkText.objects.at(ACME).update(text="changed")
    row = text_row()
    row.text = "changed"
    with pytest.raises(UnscopedQuery):
        ChunkText.objects.at(ACME).bulk_update([row], ["text"])
    assert found(memory, "penguins") == ["penguins swim"]


@pytest.mark.parametrize("column", ["text", "heading", "speaker"])
def test_a_row_changed_by_raw_sql_leaves_the_index_at_once(memory: Memory, column: str) -> None:
    sql(f"UPDATE $chunktext SET {column} = %s WHERE text LIKE %s", "new", "penguins%")
    assert found(memory, "penguins") == []
    assert found(memory, "handbook new") == []
    assert not holds("penguin")
    assert found(memory, "ostriches") == ["ostriches run"]
    assert list(problems("default"))


def test_raw_sql_that_changes_nothing_leaves_the_row_in_the_index(memory: Memory) -> None:
    sql("UPDATE $chunktext SET text = text, heading = heading")
    assert found(memory, "penguins") == ["penguins swim"]
    assert is_true()


@pytest.mark.parametrize("table", ["$source", "$chunk", "$chunktext"])
def test_a_row_deleted_by_raw_sql_takes_the_words_with_it(memory: Memory, table: str) -> None:
    sql(f"DELETE FROM {table}")
    assert found(memory, "penguins ostriches") == []
    assert not holds("penguin")
    assert is_true()


def test_a_text_inserted_by_raw_sql_without_words_is_not_found_but_reported(
    memory: Memory,
) -> None:
    row = a_second_chunk(memory)
    columns = "tenant, owner, agent, thread, number, token, text, heading, speaker, turn_id"
    sql(
        f"INSERT INTO $chunktext ({columns}, analyser, terms, terms_of) "
        "VALUES (%s, '', '', '', %s, %s, %s, '', '', '', '', '', '')",
        *("acme", row.number, ACME.token, "albatrosses glide"),
    )
    assert found(memory, "albatrosses") == []
    assert list(problems("default"))


def test_a_rolled_back_write_leaves_no_words(memory: Memory) -> None:
    with transaction.atomic():
        memory.ingest("new", "albatrosses glide", origin=USER)
        transaction.set_rollback(True)
    assert found(memory, "albatrosses") == []
    assert not holds("albatro")
    assert is_true()


def test_erased_words_leave_the_vocabulary_and_shared_ones_stay(memory: Memory) -> None:
    memory.ingest("erased", "penguins zebrafish", origin=USER, title="quokka", metadata={"a": "b"})
    memory.record("chat", "wombat", origin=USER, speaker="Numbat", turn_id="echidna")
    for word in ("zebrafish", "quokka", "wombat", "numbat"):
        assert holds(word)
    memory.erase("erased")
    memory.erase("chat")
    for word in ("zebrafish", "quokka", "wombat", "numbat", "echidna"):
        assert not holds(word)
    assert holds("penguin")
    assert found(memory, "penguins") == ["penguins swim"]


def test_words_of_replaced_titles_and_headings_leave_the_vocabulary(memory: Memory) -> None:
    memory.ingest("guide", "penguins swim", origin=USER, title="Quokka")
    assert not holds("handbook")
    assert holds("quokka")


def test_the_number_of_an_erased_text_is_not_given_again(memory: Memory) -> None:
    memory.ingest("last", "text", origin=USER)
    used = max(ChunkText.objects.at(ACME).values_list("number", flat=True))
    memory.erase("last")
    assert min(engine(connection).reserve(2)) > used
