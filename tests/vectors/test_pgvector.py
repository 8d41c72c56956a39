from __future__ import annotations

from itertools import count
from typing import Any, Final
from unittest import mock

import numpy as np
import pytest
from django.core.checks import Error, Warning, run_checks
from django.core.management import call_command
from django.db import IntegrityError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust, spaces
from prism_graph.errors import InvalidSettings, UnscopedQuery
from prism_graph.fulltext import engine
from prism_graph.models import Chunk
from prism_graph.pgvector import layout, queries
from prism_graph.pgvector.models import ChunkVector
from prism_graph.pgvector.operations import InstallExtension, InstallVectors
from prism_graph.pgvector.store import PgVectorStore
from prism_graph.vectors import Nearest, Partition, Space, make
from prism_graph.vectors.base import best, cosines_of
from tests.rawsql import PGVECTOR, sql
from tests.vectors.doubles import vectors

APP: Final = "prism_graph_pgvector"
WIDTH: Final = 16
LIMIT: Final = 10
ANA: Final = Scope("acme", "ana")
ACME: Final = Scope("acme")
ZOE: Final = Scope("globex", "zoe")
DOCUMENT: Final = Origin(Trust.DOCUMENT, writer="importer")
HASHING: Final = {"provider": "hashing", "dimensions": 64}
SETTINGS: Final = (
    *("enable_sort", "enable_seqscan", "enable_bitmapscan", "jit"),
    *("hnsw.iterative_scan", "hnsw.ef_search", "hnsw.max_scan_tuples", "hnsw.scan_mem_multiplier"),
)

_keys = count()


@pytest.fixture
def on_postgresql(db: None, vendor: str) -> None:
    if vendor != "postgresql":
        pytest.skip("pgvector is PostgreSQL's.")


@pytest.fixture
def store(on_postgresql: None) -> PgVectorStore:
    made = PgVectorStore("default", WIDTH)
    made.prepare()
    return made


@pytest.fixture
def by_index(store: PgVectorStore, monkeypatch: pytest.MonkeyPatch) -> PgVectorStore:
    """A store that asks its index even where comparing everything would be quicker."""
    monkeypatch.setattr(queries.Queries, "indexed", lambda _: 0)
    monkeypatch.setattr("prism_graph.pgvector.store.STEP", 0.001)
    monkeypatch.setattr(store, "exact", 0)
    return store


def space(width: int = WIDTH, embedder: str = "planted") -> Space:
    return Space("pgvector", f"{embedder}/1/{width}", width)


def partition(scope: Scope, width: int = WIDTH, embedder: str = "planted") -> Partition:
    return Partition(scope, space(width, embedder), "1")


def units(rows: int, seed: int, width: int = WIDTH) -> Any:
    drawn = np.random.default_rng(seed).standard_normal((rows, width))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def around(query: Any, rows: int, seed: int, spread: float = 0.1) -> Any:
    near = query + spread * units(rows, seed, len(query))
    return (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)


def chunks(scope: Scope, rows: int) -> list[int]:
    """Store that many chunks and return their numbers, ascending."""
    before = numbers(scope)
    lines = [f"line {place}\n" for place in range(rows)]
    key = f"doc-{next(_keys)}"
    Memory(scope).ingest(key, "".join(lines), origin=DOCUMENT, chunker=lambda _: lines)
    return sorted(set(numbers(scope)).difference(before))


def numbers(scope: Scope) -> list[int]:
    return sorted(Chunk.objects.at(scope).values_list("number", flat=True))


def planted(store: PgVectorStore, scope: Scope, made: Any, embedder: str = "planted") -> Any:
    """Store chunks with these vectors and return their numbers."""
    listed = chunks(scope, len(made))
    store.put(partition(scope, store.dimensions, embedder), listed, made)
    return np.array(listed, dtype=np.int64)


def exactly(listed: Any, made: Any, query: Any, limit: int = LIMIT) -> Nearest:
    return best(listed, cosines_of(made, query), limit)


def same(found: Nearest, expected: Nearest) -> bool:
    return np.array_equal(found.numbers, expected.numbers) and np.array_equal(
        found.cosines, expected.cosines
    )


def recall(found: Nearest, expected: Nearest) -> float:
    return len(set(found.numbers[:LIMIT]) & set(expected.numbers[:LIMIT])) / LIMIT


class TestKeeping:
    def test_what_is_put_is_read_bit_by_bit_and_in_the_order_asked_for(self, store):
        made = units(5, 1)
        listed = planted(store, ANA, made)
        backwards = [int(number) for number in listed[::-1]]
        assert np.array_equal(store.read(partition(ANA), backwards), made[::-1])
        assert store.read(partition(ANA), []).shape == (0, WIDTH)

    def test_what_is_not_there_is_not_read(self, store):
        listed = planted(store, ANA, units(2, 1))
        for where, wanted in ((ANA, [listed[1] + 1]), (ZOE, [listed[0]]), (ACME, [listed[0]])):
            with pytest.raises(LookupError):
                store.read(partition(where), [int(each) for each in wanted])

    def test_some_or_all_of_a_partition_is_dropped(self, store):
        mine, theirs = planted(store, ANA, units(3, 1)), planted(store, ZOE, units(3, 2))
        store.drop(partition(ANA), [int(mine[0]), int(theirs[0])])
        assert kept() == [*mine[1:], *theirs]
        store.drop(partition(ANA), None)
        assert kept() == [*theirs]

    def test_a_chunk_has_one_vector_in_a_space(self, store):
        listed = planted(store, ANA, units(1, 1)).tolist()
        with pytest.raises(IntegrityError), transaction.atomic():
            store.put(partition(ANA), listed, units(1, 2))
        store.put(partition(ANA, embedder="another"), listed, units(1, 2))
        assert kept() == listed * 2

    def test_no_vector_lies_in_another_scope_than_its_chunk(self, store):
        listed = chunks(ANA, 1)
        for scope in (ACME, Scope("acme", "ben"), Scope("globex", "ana")):
            with pytest.raises(IntegrityError), transaction.atomic():
                store.put(partition(scope), listed, units(1, 1))

    def test_rows_are_refused_without_a_door(self, store):
        with pytest.raises(UnscopedQuery):
            ChunkVector.objects.count()
        with pytest.raises(UnscopedQuery):
            ChunkVector.objects.all()

    def test_a_row_names_no_content(self, store):
        planted(store, ANA, units(1, 1))
        row = ChunkVector.objects.at(ANA).get()
        assert str(row) == f"chunk vector {row.pk}"


def kept() -> list[int]:
    return [number for (number,) in sql(f"SELECT number FROM {PGVECTOR} ORDER BY number")]


class TestErasure:
    def test_erasing_a_document_takes_its_vectors(self, store):
        going, staying = planted(store, ANA, units(3, 1)), planted(store, ANA, units(3, 2))
        key = Chunk.objects.at(ANA).select_related("source").get(number=going[0]).source.key
        Memory(ANA).erase(key, actor="ana")
        assert kept() == [*staying]

    def test_raw_sql_on_chunks_takes_them_as_well(self, store):
        listed = planted(store, ANA, units(3, 1))
        sql("DELETE FROM $chunk WHERE number = %s", int(listed[1]))
        assert kept() == [listed[0], listed[2]]

    def test_statistics_hold_no_vector(self, store):
        planted(store, ANA, units(200, 1))
        sql("ANALYZE")
        held = sql(
            "SELECT tablename, attname FROM pg_stats WHERE tablename = %s AND attname = 'embedding' "
            "OR tablename = %s",
            PGVECTOR,
            layout.index_of(WIDTH),
        )
        assert held == []


@pytest.fixture(params=["compared", "by_index"])
def either(request: pytest.FixtureRequest, store: PgVectorStore) -> PgVectorStore:
    """The store, once comparing everything and once by its index."""
    if request.param == "by_index":
        request.getfixturevalue("by_index")
    return store


class TestNearest:
    def test_numbers_and_cosines_are_those_of_the_exact_store(self, either):
        made, query = units(400, 1), units(1, 9)[0]
        listed = planted(either, ANA, made)
        found = either.nearest([partition(ANA)], query, LIMIT, listed)
        assert same(found, exactly(listed, made, query))

    def test_a_reader_finds_all_of_its_levels_together(self, either):
        mine, shared, query = units(100, 1), units(100, 2), units(1, 9)[0]
        listed = np.concatenate([planted(either, ANA, mine), planted(either, ACME, shared)])
        levels = [partition(ANA), partition(ACME)]
        found = either.nearest(levels, query, LIMIT, np.sort(listed))
        expected = exactly(listed, np.concatenate([mine, shared]), query)
        assert same(found, expected)

    def test_two_thousand_nearer_vectors_of_others_change_nothing(self, either):
        made, query = units(300, 1), units(1, 9)[0]
        listed = planted(either, ANA, made)
        before = either.nearest([partition(ANA)], query, LIMIT, listed)
        planted(either, ZOE, around(query, 2000, 3))
        after = either.nearest([partition(ANA)], query, LIMIT, listed)
        assert same(before, after)
        assert same(after, exactly(listed, made, query))

    def test_nor_do_those_of_another_embedder(self, either):
        made, query = units(300, 1), units(1, 9)[0]
        listed = planted(either, ANA, made)
        either.put(partition(ANA, embedder="another"), listed.tolist(), around(query, 300, 3))
        found = either.nearest([partition(ANA)], query, LIMIT, listed)
        assert same(found, exactly(listed, made, query))

    def test_what_is_not_allowed_crowds_nothing_out(self, either):
        query = units(1, 9)[0]
        made = np.concatenate([around(query, 300, 3), units(300, 1)])
        listed = planted(either, ANA, made)
        found = either.nearest([partition(ANA)], query, LIMIT, listed[300:])
        assert same(found, exactly(listed[300:], made[300:], query))

    def test_all_that_equal_the_last_are_kept(self, store):
        query = units(1, 9)[0]
        made = np.concatenate([np.repeat(around(query, 1, 3), 30, axis=0), units(50, 1)])
        listed = planted(store, ANA, made)
        found = store.nearest([partition(ANA)], query, LIMIT, listed)
        assert found.numbers.tolist() == listed[:30].tolist()

    def test_fewer_than_asked_for_are_all_there_are(self, either):
        made, query = units(4, 1), units(1, 9)[0]
        listed = planted(either, ANA, made)
        waiting = chunks(ANA, 3)
        allowed = np.sort(np.concatenate([listed, waiting]))
        found = either.nearest([partition(ANA)], query, LIMIT, allowed)
        assert same(found, exactly(listed, made, query))

    def test_nothing_is_found_where_nothing_is(self, either):
        query, none = units(1, 9)[0], np.empty(0, dtype=np.int64)
        listed = planted(either, ANA, units(3, 1))
        for where, allowed in (([], listed), ([partition(ANA)], none), ([partition(ZOE)], listed)):
            assert len(either.nearest(where, query, LIMIT, allowed).numbers) == 0

    def test_two_widths_stand_side_by_side(self, either):
        wide = PgVectorStore("default", 2 * WIDTH)
        wide.prepare()
        made, query = units(100, 1), units(1, 9)[0]
        wider, other = units(100, 2, 2 * WIDTH), units(1, 8, 2 * WIDTH)[0]
        listed = planted(either, ANA, made)
        wide.put(partition(ANA, 2 * WIDTH), listed.tolist(), wider)
        found = either.nearest([partition(ANA)], query, LIMIT, listed)
        assert same(found, exactly(listed, made, query))
        found = wide.nearest([partition(ANA, 2 * WIDTH)], other, LIMIT, listed)
        assert same(found, exactly(listed, wider, other))


class TestRecall:
    """Against the same vectors compared by numpy; the benchmark has 200,000 of them."""

    @pytest.fixture
    def crowd(self, store: PgVectorStore) -> dict[Scope, tuple[Any, Any]]:
        """Half of 4,000 vectors are Ana's, some Ben's, in clusters that all share."""
        centres = units(40, 5)
        drawn = np.random.default_rng(6)
        owned = {ANA: 2000, Scope("acme", "ben"): 20, Scope("acme", "cem"): 1980}
        found = {}
        for seed, (scope, rows) in enumerate(owned.items()):
            made = centres[drawn.integers(40, size=rows)] + 0.5 * units(rows, seed)
            made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
            found[scope] = (planted(store, scope, made), made)
        sql("ANALYZE")
        return found

    @pytest.mark.parametrize("owner", ["ana", "ben"])
    def test_by_the_index_it_is_that_of_comparing(self, by_index, crowd, owner):
        scope = Scope("acme", owner)
        listed, made = crowd[scope]
        recalls = [
            recall(
                by_index.nearest([partition(scope)], query, LIMIT, listed),
                exactly(listed, made, query),
            )
            for query in units(20, 11)
        ]
        assert np.mean(recalls) >= 0.99

    def test_a_few_among_many_are_compared_instead_without_being_told(self, store, crowd):
        store.exact = 0
        listed, made = crowd[Scope("acme", "ben")]
        sql(f"UPDATE pg_class SET reltuples = 4000 WHERE relname = '{layout.index_of(WIDTH)}'")
        with mock.patch.object(queries.Queries, "candidates") as asked:
            query = units(1, 9)[0]
            found = store.nearest([partition(Scope("acme", "ben"))], query, LIMIT, listed)
        assert not asked.called
        assert same(found, exactly(listed, made, query))


class TestPlans:
    def plan(self, run: Any, *before: str) -> str:
        """Return how PostgreSQL reads the vectors for what `run` asks first of them."""
        asked: list[tuple[str, Any]] = []

        def note(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
            asked.append((statement, parameters))
            return execute(statement, parameters, many, context)

        with connection.execute_wrapper(note):
            run()
        statement, parameters = next(each for each in asked if PGVECTOR in each[0])
        with transaction.atomic(), connection.cursor() as cursor:
            for each in before:
                cursor.execute(each)
            cursor.execute(f"EXPLAIN {statement}", parameters)
            return "\n".join(line for (line,) in cursor.fetchall())

    def test_a_small_scope_is_read_by_its_own_index(self, store):
        planted(store, ZOE, units(2000, 2))
        listed = planted(store, ANA, units(50, 1))
        sql("ANALYZE")
        plan = self.plan(lambda: store.nearest([partition(ANA)], units(1, 9)[0], LIMIT, listed))
        assert "Seq Scan" not in plan
        assert f"{PGVECTOR}_once" in plan

    def test_a_large_one_by_the_index_on_vectors(self, by_index):
        listed = planted(by_index, ANA, units(2000, 1))
        sql("ANALYZE")
        plan = self.plan(
            lambda: by_index.nearest([partition(ANA)], units(1, 9)[0], LIMIT, listed),
            "SET LOCAL enable_sort = off",
            "SET LOCAL enable_seqscan = off",
        )
        assert layout.index_of(WIDTH) in plan

    def test_the_callers_settings_stay_as_they_are(self, by_index):
        listed = planted(by_index, ANA, units(50, 1))
        with transaction.atomic():
            before = settings()
            by_index.nearest([partition(ANA)], units(1, 9)[0], LIMIT, listed)
            assert settings() == before
            with engine(connection).reading():
                inside = settings()
                by_index.nearest([partition(ANA)], units(1, 9)[0], LIMIT, listed)
                assert settings() == inside

    def test_a_search_creates_nothing(self, by_index):
        listed = planted(by_index, ANA, units(50, 1))
        with CaptureQueriesContext(connection) as ran:
            by_index.nearest([partition(ANA)], units(1, 9)[0], LIMIT, listed)
        words = {query["sql"].split()[0] for query in ran}
        assert words <= {"SELECT", "SAVEPOINT", "ROLLBACK", "RELEASE"}


def settings() -> list[Any]:
    return [sql("SELECT current_setting(%s, true)", name) for name in SETTINGS]


class TestThroughMemory:
    @pytest.fixture(autouse=True)
    def configured(self, on_postgresql: None) -> Any:
        with vectors(HASHING, "pgvector"):
            for setup in spaces.setups("default"):
                setup.store.prepare()
            yield

    def stored(self, scope: Scope, key: str, text: str) -> None:
        Memory(scope).ingest(key, text, origin=DOCUMENT)
        Memory(scope).embed_pending()

    def hits(self, scope: Scope, query: str) -> list[str]:
        return [hit.chunk.text for hit in Memory(scope).search(query)]

    def test_a_reader_finds_its_own_by_words_and_vectors(self):
        self.stored(ANA, "a", "Zebras eat grass.")
        self.stored(ZOE, "z", "Zebras eat all of the grass.")
        (hit,) = Memory(ANA).search("zebras grass")
        assert (hit.chunk.text, hit.method) == ("Zebras eat grass.", "hybrid")

    def test_both_stores_give_the_same_hits_and_scores(self):
        texts = [f"Zebra {place} eats {place % 7} kinds of grass." for place in range(40)]
        for place, text in enumerate(texts):
            Memory(ANA).ingest(f"doc-{place}", text, origin=DOCUMENT)
        found = {}
        for name in ("pgvector", "exact"):
            with vectors(HASHING, name, PREVIOUS={"VECTORS": "pgvector"}):
                sql("DELETE FROM $vectorpartition")
                sql("DELETE FROM $embedding")
                sql(f"DELETE FROM {PGVECTOR}")
                Memory(ANA).embed_pending()
                hits = Memory(ANA).search("what does zebra 3 eat", limit=20)
                found[name] = [(hit.chunk.text, hit.score, hit.method) for hit in hits]
        assert found["pgvector"] == found["exact"]

    def test_what_was_retired_is_found_no_more(self):
        self.stored(ANA, "a", "Zebras eat grass.")
        self.stored(ANA, "b", "Zebras sleep standing.")
        Memory(ANA).retire_source("a")
        assert self.hits(ANA, "zebras") == ["Zebras sleep standing."]

    def test_what_was_erased_is_gone_at_commit(self):
        self.stored(ANA, "a", "Zebras eat grass.")
        assert len(kept()) == 1
        Memory(ANA).erase("a", actor="ana")
        assert kept() == []

    def test_without_the_app_an_erasure_goes_through(self):
        self.stored(ANA, "a", "Zebras eat grass.")
        with mock.patch("prism_graph.pgvector.store.apps.is_installed", return_value=False):
            Memory(ANA).erase("a", actor="ana")
        assert kept() == []

    def test_erasing_everything_leaves_others(self):
        self.stored(ANA, "a", "Zebras eat grass.")
        self.stored(ZOE, "z", "Lions eat zebras.")
        Memory(ANA).erase_everything(actor="admin")
        assert len(kept()) == 1
        assert self.hits(ZOE, "lions") == ["Lions eat zebras."]


class TestInstalling:
    def test_no_model_has_changed_without_a_migration_whatever_the_width(self, db):
        for dimensions in (64, 128):
            with vectors({**HASHING, "dimensions": dimensions}, "pgvector"):
                call_command("makemigrations", APP, "--check", "--dry-run", verbosity=0)

    @pytest.mark.both_databases
    def test_sqlite_has_no_table(self, aliases):
        for vendor, alias in aliases.items():
            there = PGVECTOR in connections[alias].introspection.table_names()
            assert there is (vendor == "postgresql")

    def test_preparing_twice_does_nothing_the_second_time(self, store):
        with CaptureQueriesContext(connection) as ran:
            store.prepare()
        assert {query["sql"].split()[0] for query in ran} == {"SELECT"}

    def test_preparing_restores_key_and_index(self, store):
        sql(f"ALTER TABLE {PGVECTOR} DROP CONSTRAINT {layout.KEY}")
        sql(f"DROP INDEX {layout.index_of(WIDTH)}")
        assert [each.split()[1] for each in store.lacking()] == ["foreign", "index"]
        store.prepare()
        assert list(store.lacking()) == []

    @pytest.mark.parametrize(("width", "kind"), [(2000, "vector"), (2001, "halfvec"), (4001, "")])
    def test_what_is_too_wide_is_indexed_by_halves_or_not_at_all(self, on_postgresql, width, kind):
        wide = PgVectorStore("default", width, exact=0)
        wide.prepare()
        made, query = units(5, 1, width), units(1, 9, width)[0]
        listed = planted(wide, ANA, made)
        found = wide.nearest([partition(ANA, width)], query, LIMIT, listed)
        assert same(found, exactly(listed, made, query))
        rows = sql("SELECT pg_get_indexdef(to_regclass(%s))", layout.index_of(width))
        assert (kind in str(rows[0][0])) if kind else rows == [(None,)]

    def test_migrate_makes_the_index_that_the_settings_want(self, on_postgresql):
        with vectors({**HASHING, "dimensions": 96}, "pgvector"):
            (setup,) = spaces.setups("default")
            assert list(setup.store.lacking()) == ["the index prism_graph_pgvector_hnsw_96"]
            call_command("migrate", verbosity=0)
            assert list(setup.store.lacking()) == []

    @pytest.mark.parametrize("operation", [InstallExtension(), InstallVectors()])
    def test_operations_say_what_they_do(self, operation):
        assert operation.describe().startswith("Install")
        assert operation.reversible


@pytest.mark.django_db(transaction=True)
def test_the_migration_can_be_undone_and_done_again(vendor):
    call_command("migrate", APP, "zero", verbosity=0)
    assert PGVECTOR not in connection.introspection.table_names()
    if vendor == "postgresql":
        lost = PgVectorStore("default", WIDTH)
        lost.prepare()
        assert list(lost.lacking()) == [f"the table {PGVECTOR}"]
    call_command("migrate", verbosity=0)
    there = PGVECTOR in connection.introspection.table_names()
    assert there is (vendor == "postgresql")


class TestChecks:
    def found(self, alias: str) -> list[Any]:
        return [
            each
            for each in run_checks(databases=[alias])
            if each.id in ("prism_graph.E014", "prism_graph.W015")
        ]

    @pytest.fixture
    def postgresql(self, aliases: dict[str, str]) -> str:
        return aliases["postgresql"]

    @pytest.mark.both_databases
    def test_the_index_for_another_width_is_missing_until_migrate(self, postgresql):
        with vectors({**HASHING, "dimensions": 72}, "pgvector"):
            (message,) = self.found(postgresql)
            assert isinstance(message, Warning)
            assert "prism_graph_pgvector_hnsw_72" in message.msg
            assert "migrate" in message.hint
            next(iter(spaces.setups(postgresql))).store.prepare()
            assert self.found(postgresql) == []

    @pytest.mark.both_databases
    def test_sqlite_is_no_place_for_it(self, aliases):
        with vectors(HASHING, "pgvector"):
            (message,) = self.found(aliases["sqlite"])
        assert isinstance(message, Error)
        assert "PostgreSQL only" in message.msg
        assert "'exact'" in message.msg

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("versions", "told"),
        [
            ((None, None), "Install pgvector"),
            ((None, "0.7.4"), "can install vector 0.7.4"),
            (("0.7.4", "0.8.1"), "has vector 0.7.4"),
        ],
    )
    def test_an_extension_that_is_old_or_not_there(self, postgresql, versions, told):
        with (
            vectors(HASHING, "pgvector"),
            mock.patch.object(layout, "versions", return_value=versions),
        ):
            (message,) = self.found(postgresql)
        assert (message.id, told in message.msg) == ("prism_graph.E014", True)

    @pytest.mark.both_databases
    def test_an_app_that_is_not_installed(self, postgresql):
        with (
            vectors(HASHING, "pgvector"),
            mock.patch("prism_graph.pgvector.store.apps.is_installed", return_value=False),
        ):
            (message,) = self.found(postgresql)
        assert "INSTALLED_APPS" in message.msg

    @pytest.mark.both_databases
    def test_more_dimensions_than_can_be_indexed(self, postgresql):
        store = PgVectorStore(postgresql, 4001)
        assert "4000" in next(iter(store.check()))

    @pytest.mark.both_databases
    def test_a_store_that_cannot_be_made(self, postgresql):
        with vectors(HASHING, {"store": "pgvector", "options": {"exakt": 1}}):
            (message,) = self.found(postgresql)
        assert "exakt" in message.msg

    def test_a_store_without_an_embedder(self):
        with vectors(None, "exact"):
            (message,) = [each for each in run_checks() if each.id == "prism_graph.E014"]
        assert "EMBEDDER" in message.hint


@pytest.mark.parametrize("options", [{"exakt": 1}, {"exact": -1}, {"exact": "1"}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(InvalidSettings, match="exact"):
        make({"store": "pgvector", "options": options}, "default", WIDTH)
