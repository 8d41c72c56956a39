"""sqlite-vec behind Memory: what it finds, what it forgets, and what happens where it is not loaded."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection, connections, models, transaction

from prism_graph import Memory, Scope
from prism_graph.errors import InvalidSettings
from prism_graph.models import Chunk, Embedding
from prism_graph.tables import Tables, current
from prism_graph.vectors import extension, sqlite_vec, vec0
from tests.planting import DOCUMENT
from tests.rawsql import INDEX, sql
from tests.statement_guard import UnscopedStatement, check, unguarded
from tests.vectors.doubles import vectors
from tests.vectors.loading import need_sqlite, needs_sqlite_vec, prepared

pytestmark = needs_sqlite_vec

WIDTH = 24
EMBEDDER = {"provider": "hashing", "dimensions": WIDTH}
ANA, BEN = Scope("acme").for_owner("ana"), Scope("acme").for_owner("ben")
TEXTS = {
    "doc-1": "The heating fails in winter.",
    "doc-2": "Bicycles stand in the yard.",
    "doc-3": "The boiler makes a noise.",
}
TABLE = Tables.wide(current(), WIDTH).names["vectors"]


@pytest.fixture
def site() -> Iterator[Any]:
    """A project that searches by sqlite-vec."""
    need_sqlite()
    with vectors(EMBEDDER, "sqlite-vec"):
        yield prepared(WIDTH)


def filled(scope: Scope = ANA) -> Memory:
    memory = Memory(scope)
    for key, text in TEXTS.items():
        memory.ingest(key, text, origin=DOCUMENT)
    memory.embed_pending()
    return memory


def kept() -> int:
    return int(sql(f"SELECT count(*) FROM {TABLE}")[0][0])


def raw_vectors() -> list[bytes]:
    return [raw for (raw,) in sql(f"SELECT embedding FROM {TABLE} ORDER BY rowid")]


def tables_with(raw: bytes) -> set[str]:
    """Return every table of the file that holds these bytes, those of the extension's own included."""
    tables = sql("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> ?", INDEX)
    return {
        name
        for (name,) in tables  # the index's own tables, without the one that cannot be read
        for row in sql(f'SELECT * FROM "{name}"')
        for value in row
        if isinstance(value, bytes) and raw in value
    }


@pytest.mark.django_db
@pytest.mark.usefixtures("site")
class TestSearch:
    def test_a_passage_is_found_by_words_and_meaning_or_by_meaning_alone(self):
        memory = filled()
        assert memory.search("heating in winter")[0].method == "hybrid"
        assert {hit.method for hit in memory.search("zzyzx")} == {"sqlite-vec"}

    def test_scores_are_those_of_the_exact_store(self):
        ways = {}
        for store in ("sqlite-vec", "exact"):
            with transaction.atomic(), vectors(EMBEDDER, store):
                hits = filled().search("a cold boiler in the yard")
                ways[store] = [(hit.chunk.source_key, hit.score) for hit in hits]
                transaction.set_rollback(True)
        assert ways["sqlite-vec"] == ways["exact"]

    def test_what_is_retired_is_not_found(self):
        memory = filled()
        memory.retire_source("doc-1")
        assert "doc-1" not in {hit.chunk.source_key for hit in memory.search("heating zzyzx")}

    def test_another_owner_is_neither_found_nor_in_the_way(self):
        memory = filled()
        before = [(hit.chunk.id, hit.score) for hit in memory.search("zzyzx")]
        other = Memory(BEN)
        other.ingest(
            "crowd", "\n\n".join(f"# {n}\n\nzzyzx {n}" for n in range(300)), origin=DOCUMENT
        )
        other.embed_pending()
        assert [(hit.chunk.id, hit.score) for hit in memory.search("zzyzx")] == before

    def test_a_vector_at_the_place_of_another_scope_is_not_found(self, site):
        filled()
        partition, others = partition_of(ANA), partition_of(BEN)
        numbers = numbers_of(ANA)
        query = site.read(partition, numbers.tolist())[0]
        filled(BEN)
        theirs = numbers_of(BEN)
        raw = raw_vectors()[0]
        (row,) = vec0.rowids(others.space, theirs[:1].tolist())
        sql(f"DELETE FROM {TABLE} WHERE rowid = ?", row)
        place = sqlite_vec.place_of(partition)
        sql(f"INSERT INTO {TABLE} (rowid, place, embedding) VALUES (?, ?, ?)", row, place, raw)
        allowed = np.concatenate([numbers, theirs])
        found = site.nearest([partition], query, 10, allowed)
        assert set(found.numbers.tolist()) == set(numbers.tolist())


def numbers_of(scope: Scope) -> Any:
    rows = Chunk.objects.at(scope).order_by("number").values_list("number", flat=True)
    return np.array(list(rows), dtype=np.int64)


def partition_of(scope: Scope) -> Any:
    from prism_graph import spaces

    (setup,) = spaces.setups("default")
    return spaces.opened(scope, "default", setup.space)


@pytest.mark.django_db
@pytest.mark.usefixtures("site")
class TestForgetting:
    @pytest.mark.parametrize(
        "way",
        [
            lambda memory: memory.erase("doc-1"),
            lambda memory: (
                Chunk.objects.at(ANA).order_by("number")[:1].get().id
                and Chunk.objects.at(ANA).filter(number=numbers_of(ANA)[0]).delete()
            ),
            lambda memory: Embedding.objects.at(ANA).filter(number=numbers_of(ANA)[0]).delete(),
            lambda memory: sql(f"DELETE FROM $chunk WHERE number = {numbers_of(ANA)[0]}"),
            lambda memory: sql(f"DELETE FROM $embedding WHERE number = {numbers_of(ANA)[0]}"),
            lambda memory: sql(
                f"UPDATE $embedding SET space = 'x' WHERE number = {numbers_of(ANA)[0]}"
            ),
        ],
        ids=["erase", "chunk.delete", "embedding.delete", "raw chunk", "raw row", "raw update"],
    )
    def test_a_vector_goes_with_its_row_however_that_goes(self, way):
        memory = filled()
        first, *others = raw_vectors()
        assert tables_with(first) == {TABLE, f"{TABLE}_vector_chunks00"}
        way(memory)
        assert raw_vectors() == others
        assert tables_with(first) == set()

    def test_erasing_counts_vectors_and_leaves_none(self):
        memory = filled()
        raws = raw_vectors()
        filled(BEN)
        assert memory.erase_everything().vectors == len(TEXTS)
        assert kept() == len(TEXTS)
        assert Memory(Scope("acme")).erase_everything(include_owners=True).vectors == len(TEXTS)
        assert kept() == 0
        assert [tables_with(raw) for raw in raws] == [set()] * len(TEXTS)

    def test_an_erasure_that_is_undone_keeps_the_vectors(self):
        memory = filled()
        raws = raw_vectors()
        with transaction.atomic():
            memory.erase("doc-1")
            transaction.set_rollback(True)
        assert raw_vectors() == raws
        assert memory.search("heating in winter")[0].method == "hybrid"


@pytest.mark.django_db(transaction=True)
def test_no_byte_of_an_erased_vector_is_left_in_the_file(site):
    try:
        memory = filled()
        raws = raw_vectors()
        sql("PRAGMA wal_checkpoint(TRUNCATE)")
        file = Path(connection.settings_dict["NAME"])
        assert [raw in file.read_bytes() for raw in raws] == [True] * len(raws)
        memory.erase("doc-1")
        sql("PRAGMA wal_checkpoint(TRUNCATE)")
        assert [raw in file.read_bytes() for raw in raws] == [False, True, True]
        memory.erase_everything()
        sql("PRAGMA wal_checkpoint(TRUNCATE)")
        assert not any(raw in file.read_bytes() for raw in raws)
    finally:
        site.remove()


@pytest.mark.django_db(transaction=True)
class TestRemakes:
    @pytest.fixture(autouse=True)
    def table(self, site: Any) -> Iterator[None]:
        yield
        site.remove()

    def test_migrating_restores_what_a_remake_dropped_and_what_went_meanwhile(self, site):
        memory = filled()
        first, *others = raw_vectors()
        old, new = Embedding._meta.get_field("of"), models.CharField(max_length=99)
        new.set_attributes_from_name("of")
        with connection.schema_editor() as editor:
            editor.alter_field(Embedding, old, new)
        assert site.missing() == [f"{TABLE}_delete", f"{TABLE}_move"]
        assert list(site.lacking()) == site.missing()
        sql(f"DELETE FROM $chunk WHERE number = {numbers_of(ANA)[0]}")
        assert tables_with(first)
        call_command("migrate", verbosity=0)
        assert [*site.check(), *site.lacking()] == []
        assert raw_vectors() == others
        assert tables_with(first) == set()
        memory.erase("doc-2")
        assert raw_vectors() == others[1:]
        with connection.schema_editor() as editor:
            editor.alter_field(Embedding, new, old)
        call_command("migrate", verbosity=0)

    def test_rows_whose_vectors_are_lost_wait_to_be_embedded_again(self, site):
        memory = filled()
        site.remove()
        assert memory.search("heating in winter")[0].method == "text"
        assert len(site.missing()) == 4
        call_command("migrate", verbosity=0)
        assert memory.pending() == len(TEXTS)
        memory.embed_pending()
        assert memory.search("heating in winter")[0].method == "hybrid"

    def test_preparing_twice_changes_nothing(self, site):
        filled()
        raws = raw_vectors()
        site.prepare()
        assert raw_vectors() == raws

    def test_a_connection_without_the_extension_cannot_leave_a_vector_behind(self):
        filled()
        plain = sqlite3.connect(connection.settings_dict["NAME"])
        plain.execute("PRAGMA foreign_keys = ON")
        number = numbers_of(ANA)[0]
        with pytest.raises(sqlite3.OperationalError, match="no such module: vec0"):
            plain.execute(f"DELETE FROM {Chunk._meta.db_table} WHERE number = {number}")
        plain.close()
        assert kept() == len(TEXTS)


@pytest.mark.django_db
class TestLoading:
    def test_where_it_cannot_be_loaded_text_is_still_found(self, site, monkeypatch, caplog):
        memory = filled()
        sqlite_vec._said.clear()
        monkeypatch.setattr(extension, "load", lambda _: extension.NO_LOADING)
        assert list(site.check()) == [extension.NO_LOADING]
        assert {hit.method for hit in memory.search("heating in winter")} == {"text"}
        memory.search("heating in winter")
        assert [extension.NO_LOADING in each.message for each in caplog.records] == [True]
        with pytest.raises(InvalidSettings, match="built without loading"):
            memory.erase("doc-1")
        assert memory.search("heating in winter")
        memory.ingest("doc-4", "A lamp is broken.", origin=DOCUMENT)
        assert memory.search("lamp")
        site.prepare()

    def test_each_hindrance_says_what_to_do(self, monkeypatch):
        need_sqlite()
        raw = sqlite3.connect(":memory:")

        class Bare:
            """A connection of a Python that loads no extensions."""

            execute = raw.execute

        def of(connection: Any) -> Any:
            class Wrapped:
                vendor = "sqlite"
                Database = sqlite3
                ensure_connection = staticmethod(lambda: None)

            Wrapped.connection = connection  # type: ignore[attr-defined]
            return Wrapped

        assert extension.load(of(Bare())) == extension.NO_LOADING
        monkeypatch.setattr(extension, "import_module", lambda _: missing())
        assert extension.load(of(raw)) == extension.NO_PACKAGE
        monkeypatch.undo()
        monkeypatch.setattr(extension, "OLDEST", (9,))
        assert extension.load(of(raw)) == extension.TOO_OLD
        assert extension.load(connections["other"]) == extension.NOT_SQLITE
        for sentence in (extension.NO_LOADING, extension.NO_PACKAGE, extension.TOO_OLD):
            assert "'exact'" in sentence
        with pytest.raises(sqlite3.OperationalError, match="not authorized"):
            raw.execute("SELECT load_extension('vec0')")
        raw.close()

    @pytest.mark.parametrize(
        ("setting", "there"),
        [
            ({"VECTORS": "sqlite-vec"}, True),
            ({"VECTORS": {"store": "sqlite-vec"}}, True),
            ({"VECTORS": "exact", "PREVIOUS": {"VECTORS": "sqlite-vec"}}, True),
            ({"VECTORS": "exact"}, False),
            ({"VECTORS": None}, False),
            ({"VECTORS": 7}, False),
        ],
    )
    def test_a_new_connection_has_it_where_the_settings_name_it(self, setting, there, settings):
        need_sqlite()
        ours = getattr(settings, "PRISM_GRAPH", {})
        settings.PRISM_GRAPH = {**ours, **setting}
        fresh = connection.copy()
        try:
            fresh.ensure_connection()
            assert bool(fresh.connection.execute(extension.MODULES).fetchone()) is there
        finally:
            fresh.close()


def missing() -> Any:
    raise ImportError


class TestNames:
    def test_the_table_is_named_after_that_of_the_rows(self):
        names = Tables({"chunktext": "acme_text", "embedding": "acme_embedding"}).wide(384).names
        assert names["vectors"] == "acme_vectors_384"
        names = Tables({"chunktext": "words", "embedding": "numbers"}).wide(8).names
        assert names["vectors"] == "numbers_vectors_8"

    def test_rows_of_different_spaces_and_chunks_differ(self):
        one, other = (vec0.Space("sqlite-vec", name, 8) for name in ("one", "other"))
        rows = [*vec0.rowids(one, range(1, 500)), *vec0.rowids(other, range(1, 500))]
        assert len(set(rows)) == len(rows)
        with pytest.raises(OverflowError):
            vec0.rowids(one, [vec0.MOST_CHUNKS])

    def test_places_are_told_apart_by_every_part(self):
        spaces = [vec0.Space("sqlite-vec", name, 8) for name in ("one", "other")]
        scopes = [
            Scope("a"),
            Scope("b"),
            Scope("a").for_owner("b"),
            Scope("ab"),
            Scope("a", "b", "c"),
        ]
        made = {
            sqlite_vec.place_of(sqlite_vec.Partition(scope, space, ""))
            for scope in scopes
            for space in spaces
        }
        assert len(made) == len(scopes) * len(spaces)
        assert {len(place) for place in made} == {64}


class TestGuard:
    def test_statements_on_the_table_name_a_place_that_was_opened(self):
        space = vec0.Space("sqlite-vec", "one", WIDTH)
        mine = sqlite_vec.place_of(sqlite_vec.Partition(ANA, space, ""))
        for statement, parameters, passes in [
            (f"SELECT rowid FROM {TABLE} WHERE place = %s", [mine], True),
            (f"SELECT rowid FROM {TABLE} WHERE place = %s", ["0" * 64], False),
            (f"SELECT rowid FROM {TABLE} WHERE place = %s OR rowid = 1", [mine], False),
            (f"SELECT rowid FROM {TABLE}", [], False),
            (f"SELECT rowid FROM {TABLE} WHERE rowid = %s", [mine], False),
            (f"SELECT vectors FROM {TABLE}_vector_chunks00", [], False),
            (f"DELETE FROM {TABLE} WHERE rowid = %s", [1], False),
            (
                f"INSERT INTO {TABLE} (rowid, place, embedding) VALUES (%s, %s, %s)",
                [1, mine, b""],
                True,
            ),
            (
                f"INSERT INTO {TABLE} (rowid, place, embedding) VALUES (%s, %s, %s)",
                [1, "x", b""],
                False,
            ),
            (
                f"SELECT a.rowid FROM {TABLE} a CROSS JOIN {TABLE} b WHERE a.place = %s",
                [mine],
                False,
            ),
        ]:
            try:
                check(statement, parameters)
            except UnscopedStatement:
                assert not passes, statement
            else:
                assert passes, statement
        with unguarded("to show that it can be"):
            check(f"SELECT rowid FROM {TABLE}")
