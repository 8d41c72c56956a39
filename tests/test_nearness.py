"""Searching by meaning beside words: what is found, how it is told, and what costs one arm only."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from django.db import connection, connections, transaction

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.chunking import WholeChunker
from prism_graph.errors import EmbedderUnavailable, EmbeddingFailed
from prism_graph.models import Embedding, VectorPartition
from prism_graph.ranking import CANDIDATES
from prism_graph.vectors.blocks import BLOCKS
from prism_graph.vectors.exact import ExactStore
from tests.rawsql import sql
from tests.vectors.doubles import Choosy, vectors

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme").for_owner("ana").for_agent("support").for_thread("chat-1")
DOCUMENT = Origin(Trust.DOCUMENT, "importer")
TOOL = Origin(Trust.TOOL, "browser")


class Pointing:
    """Vectors by word: each known word is a direction of its own, so that a test decides what is near."""

    name = "pointing"
    model = "1"
    dimensions = 8
    WORDS = ("car", "fish", "tree", "moon")
    SAME = {"automobile": "car", "vehicle": "car", "salmon": "fish", "oak": "tree"}

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.delay = 0.0
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str]) -> list[Any]:
        self.asked += texts
        time.sleep(self.delay)
        if self.error:
            raise self.error
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Any:
        found = np.full(self.dimensions, 0.01)
        for word in text.lower().replace(".", " ").split():
            known = self.SAME.get(word, word)
            if known in self.WORDS:
                found[self.WORDS.index(known)] += 1.0
        return found


@pytest.fixture
def pointing() -> Iterator[Pointing]:
    embedder = Pointing()
    with vectors(embedder):
        yield embedder


def put(scope: Scope, key: str, text: str, origin: Origin = DOCUMENT, **more: Any) -> str:
    return Memory(scope).ingest(key, text, origin=origin, chunker=WholeChunker(), **more).added[0]


def texts(hits: Any) -> list[str]:
    return [hit.chunk.text for hit in hits]


class Broken(ExactStore):
    def nearest(self, *_: Any) -> Any:
        raise ConnectionError("The store is away.")


def away() -> Any:
    raise EmbedderUnavailable("The server is away.")


class TestFinding:
    def test_what_means_the_same_is_found_without_a_common_word(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        put(ACME, "b", "A salmon.")
        hits = Memory(ACME).search("vehicle", limit=1)
        assert texts(hits) == ["An automobile."]
        assert hits[0].method == "exact"

    def test_the_method_tells_which_arms_found_a_passage(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        put(ACME, "b", "The car of Ana.")
        with vectors(None, None):
            put(ACME, "c", "Another car.")
        found = {hit.chunk.text: hit.method for hit in Memory(ACME).search("car")}
        assert found == {
            "An automobile.": "exact",
            "The car of Ana.": "hybrid",
            "Another car.": "text",
        }

    def test_the_explanation_adds_up_to_the_score(self, pointing: Pointing) -> None:
        for place, text in enumerate(["An automobile.", "The car.", "A tree.", "Cars and cars."]):
            put(ACME, str(place), text)
        hits = Memory(ACME).search("car tree", explain=True)
        assert len(hits) == 4
        for hit in hits:
            assert hit.explain
            parts = [arm["part"] for name, arm in hit.explain.items() if name != "fusion"]
            assert hit.score == pytest.approx(sum(parts), abs=1e-8)

    def test_a_question_without_a_word_goes_by_meaning_alone(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        assert {hit.method for hit in Memory(ACME).search("?!")} <= {"exact"}

    def test_blank_questions_find_nothing_and_ask_nobody(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        pointing.asked.clear()
        assert Memory(ACME).search("  \n ") == []
        assert pointing.asked == []

    def test_a_question_is_embedded_once_for_a_reader_and_again_for_another(
        self, pointing: Pointing
    ) -> None:
        put(Scope("acme"), "a", "An automobile.")
        pointing.asked.clear()
        for scope in (ACME, ACME, Scope("acme")):
            Memory(scope).search("vehicle")
        assert pointing.asked == ["vehicle", "vehicle"]

    @pytest.mark.parametrize("query", ["car\x00moon", "\ud800", "'; DROP", "a" * 100_000, "🜁" * 99])
    def test_no_query_makes_it_fail(self, pointing: Pointing, query: str) -> None:
        put(ACME, "a", "The car and the moon.")
        Memory(ACME).search(query)

    def test_the_options_leave_out_what_is_near(self, pointing: Pointing) -> None:
        put(ACME, "page", "An automobile.", TOOL)
        put(ACME, "doc", "A vehicle.", metadata={"lang": "en"})
        memory = Memory(ACME)
        assert texts(memory.search("car", min_trust=Trust.DOCUMENT)) == ["A vehicle."]
        assert texts(memory.search("car", sources=["page"])) == ["An automobile."]
        assert texts(memory.search("car", metadata={"lang": "en"})) == ["A vehicle."]
        assert memory.search("car", since="2030-01-01T00:00:00Z") == []
        assert texts(memory.search("car", phrases=["vehicle"])) == ["A vehicle."]

    @pytest.mark.parametrize("why", ["filtered", "retired"])
    def test_what_is_left_out_takes_the_place_of_nothing(
        self, pointing: Pointing, why: str
    ) -> None:
        crowd = "\n".join(f"Automobile {number}." for number in range(CANDIDATES + 50))
        Memory(ACME).ingest("crowd", crowd, origin=TOOL, chunker=by_line)
        if why == "retired":
            Memory(ACME).retire_source("crowd")
        put(ACME, "doc", "A vehicle and a tree.")
        hits = Memory(ACME).search("car", min_trust=Trust.DOCUMENT)
        assert [(hit.chunk.source_key, hit.method) for hit in hits] == [("doc", "exact")]

    def test_what_is_retired_is_near_no_more_but_was(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        [before] = Memory(ACME).search("vehicle")
        Memory(ACME).retire_source("a")
        assert Memory(ACME).search("vehicle") == []
        known_at = before.chunk.recorded_at
        assert texts(Memory(ACME).search("vehicle", known_at=known_at)) == ["An automobile."]

    def test_a_search_takes_as_many_statements_however_much_there_is(
        self, pointing: Pointing, django_assert_max_num_queries: Any
    ) -> None:
        put(ACME, "a", "An automobile.")
        for many in (1, 60):
            Memory(ACME).ingest(
                "b", "\n\n".join(f"Tree {n}." for n in range(many)), origin=DOCUMENT
            )
            Memory(ACME).search("vehicle")
            # Of a transaction of its own, on PostgreSQL: begin, settings, roll back.
            with django_assert_max_num_queries(11):
                Memory(ACME).search("vehicle")


class TestIsolation:
    def test_nearer_vectors_of_others_change_nothing(self, pointing: Pointing) -> None:
        put(ACME, "a", "A vehicle and a tree.")
        put(ACME, "b", "An oak.")
        before = [(hit.chunk.id, hit.score) for hit in Memory(ACME).search("automobile")]
        for other in (
            Scope("globex"),
            Scope("acme").for_owner("ben"),
            ACME.for_thread("chat-2"),
        ):
            lines = "\n\n".join(f"Automobile {n}." for n in range(700))
            Memory(other).ingest("cars", lines, origin=DOCUMENT, chunker=by_line)
        assert [(hit.chunk.id, hit.score) for hit in Memory(ACME).search("automobile")] == before

    def test_levels_above_are_searched_and_levels_below_are_not(self, pointing: Pointing) -> None:
        for scope in ACME.chain:
            put(scope, "car", f"An automobile of {scope.parts}.")
        for depth, scope in enumerate(ACME.chain):
            assert len(Memory(scope).search("vehicle")) == 4 - depth

    def test_nothing_of_a_query_is_kept_but_its_vector(self, pointing: Pointing) -> None:
        from prism_graph.asking import KEPT

        put(ACME, "a", "An automobile.")
        Memory(ACME).search("the canaryquery about a vehicle")
        assert "canaryquery" not in repr(vars(KEPT))
        assert KEPT._kept


def by_line(text: str) -> list[str]:
    return text.splitlines(keepends=True)


class TestStaleness:
    def test_a_text_that_raw_sql_changed_is_not_found_by_its_old_vector(
        self, pointing: Pointing
    ) -> None:
        put(ACME, "a", "An automobile.")
        put(ACME, "b", "A salmon.")
        sql("UPDATE $chunktext SET text = 'An oak.' WHERE text = 'An automobile.'")
        hits = Memory(ACME).search("vehicle")
        assert "An oak." not in texts(hits)
        assert "A salmon." in texts(hits)

    def test_an_erasure_elsewhere_takes_effect_in_what_this_process_holds(
        self, pointing: Pointing
    ) -> None:
        put(ACME, "a", "An automobile.")
        put(ACME, "b", "A salmon.")
        assert len(Memory(ACME).search("vehicle")) == 2
        held = [block for block in BLOCKS._held.values() if len(block.numbers) == 2]
        assert held
        erased = threading.Thread(target=erase_elsewhere, args=(held,))
        erased.start()
        erased.join()
        assert texts(Memory(ACME).search("vehicle")) == ["A salmon."]
        assert sum(len(block.numbers) for block in BLOCKS._held.values()) == 1

    def test_everything_erased_elsewhere_leaves_this_process(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        Memory(ACME).search("vehicle")
        held = dict(BLOCKS._held)
        assert any(len(block.numbers) for block in held.values())
        Memory(ACME).erase_everything()
        BLOCKS._held.update(held)  # as in another process
        assert Memory(ACME).search("vehicle") == []
        assert not any(len(block.numbers) for block in BLOCKS._held.values())

    def test_rows_that_raw_sql_deletes_are_gone_at_once(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        Memory(ACME).search("vehicle")
        sql("DELETE FROM $chunk")
        assert Memory(ACME).search("vehicle") == []
        assert sql("SELECT * FROM $embedding") == []

    def test_a_number_that_comes_again_after_a_rollback_is_another_passage(
        self, pointing: Pointing
    ) -> None:
        for place in range(5):
            put(ACME, f"tree {place}", "An oak.")
        Memory(ACME).search("oak")
        with transaction.atomic():
            put(ACME, "a", "An automobile.")
            Memory(ACME).embed_pending()
            assert texts(Memory(ACME).search("vehicle", limit=1)) == ["An automobile."]
            transaction.set_rollback(True)
        put(ACME, "b", "A salmon.")
        [best, *_] = Memory(ACME).search("fish", explain=True)
        assert best.chunk.text == "A salmon."
        assert best.explain
        assert best.explain["vector"]["similarity"] > 0.9

    def test_only_new_vectors_are_read_again(
        self, pointing: Pointing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prism_graph.vectors.exact import ExactStore

        for place in range(5):
            put(ACME, str(place), f"Tree {place}.")
        Memory(ACME).search("oak")
        read: list[int] = []
        rows = ExactStore._rows

        def counted(self: Any, partition: Any, numbers: Sequence[int]) -> Any:
            read.append(len(numbers))
            return rows(self, partition, numbers)

        monkeypatch.setattr(ExactStore, "_rows", counted)
        monkeypatch.setattr(ExactStore, "_whole", lambda *_: pytest.fail("read it all again"))
        put(ACME, "new", "A new oak.")
        assert len(Memory(ACME).search("oak")) == 6
        assert read == [1]
        Memory(ACME).search("another oak")
        assert read == [1]


def erase_elsewhere(held: list[Any]) -> None:
    """Erase as another process would: what this one holds is put back afterwards."""
    kept = dict(BLOCKS._held)
    Memory(ACME).erase("a")
    BLOCKS._held.update(kept)
    connections.close_all()


class TestTrouble:
    @pytest.mark.parametrize(
        "error", [RuntimeError("no"), EmbedderUnavailable("down"), EmbeddingFailed("no"), OSError()]
    )
    def test_a_dead_embedder_costs_one_arm_and_is_logged_once(
        self, pointing: Pointing, error: Exception, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(ACME, "a", "The car.")
        pointing.error = error
        with caplog.at_level(logging.WARNING, "prism_graph.asking"):
            for query in ("a car", "one car", "some car"):
                assert [hit.method for hit in Memory(ACME).search(query)] == ["text"]
        assert len([each for each in caplog.records if each.name == "prism_graph.asking"]) == 1
        pointing.error = None
        assert [hit.method for hit in Memory(ACME).search("every car")] == ["hybrid"]

    def test_a_slow_embedder_costs_one_arm(self, pointing: Pointing) -> None:
        put(ACME, "a", "The car.")
        waited = threading.Event()
        answer = pointing.embed
        pointing.embed = lambda texts: (waited.wait(20), answer(texts))[1]  # type: ignore[method-assign]
        with vectors(pointing, EMBED_SECONDS=0.05):
            for query in "abcdefgh":
                assert [hit.method for hit in Memory(ACME).search(f"{query} car")] == ["text"]
            waited.set()
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                if Memory(ACME).search("that car")[0].method == "hybrid":
                    return
        pytest.fail("It never asked again.")

    def test_another_model_is_refused_by_name(
        self, pointing: Pointing, caplog: pytest.LogCaptureFixture
    ) -> None:
        from prism_graph.errors import EmbeddingSpaceMismatch

        put(ACME, "a", "The car.")
        with vectors("hashing"), caplog.at_level(logging.ERROR):
            put(ACME, "b", "One more car.")
            assert {hit.method for hit in Memory(ACME).search("car")} == {"text"}
            assert Memory(ACME).pending() == 1
            with pytest.raises(EmbeddingSpaceMismatch, match=r"pointing/1/8.*hashing"):
                Memory(ACME).embed_pending()
        told = [each.getMessage() for each in caplog.records if each.name == "prism_graph.nearness"]
        assert len(told) == 1
        assert "pointing/1/8 in exact" in told[0]
        assert "prism_graph_migrate_vectors" in told[0]

    def test_another_width_of_the_same_model_is_another_model(self) -> None:
        with vectors({"provider": "hashing", "dimensions": 64}):
            put(ACME, "a", "The car.")
        with vectors({"provider": "hashing", "dimensions": 32}):
            assert [hit.method for hit in Memory(ACME).search("car")] == ["text"]

    def test_without_vectors_in_the_settings_nothing_is_made_or_asked(self) -> None:
        put(ACME, "a", "The car.")
        assert Memory(ACME).pending() == 0
        assert Memory(ACME).failed() == []
        assert Memory(ACME).embed_pending() == 0
        assert VectorPartition.objects.visible_to(ACME).count() == 0

    def test_one_bad_vector_leaves_the_text_where_it_is(self) -> None:
        with vectors(Choosy("poison")):
            put(ACME, "a", "A poison car.")
            put(ACME, "b", "A car.")
            assert texts(Memory(ACME).search("poison"))[0] == "A poison car."
            assert [each.attempts for each in Memory(ACME).failed()] == [1]
            assert Memory(ACME).pending() == 0

    def test_a_failing_store_costs_one_arm(self) -> None:
        with vectors(Pointing(), "tests.test_nearness.Broken"):
            put(ACME, "a", "The car.")
            assert [hit.method for hit in Memory(ACME).search("car")] == ["text"]

    def test_a_store_that_was_not_migrated_costs_one_arm(self) -> None:
        if connection.vendor == "postgresql":
            sql("ALTER TABLE prism_graph_pgvector_chunkvector RENAME TO gone_chunkvector")
        try:
            with vectors(Pointing(), "pgvector"):
                put(ACME, "a", "The car.")
                assert [hit.method for hit in Memory(ACME).search("car")] == ["text"]
        finally:
            if connection.vendor == "postgresql":
                sql("ALTER TABLE gone_chunkvector RENAME TO prism_graph_pgvector_chunkvector")

    def test_an_embedder_that_cannot_be_made_costs_one_arm(self, pointing: Pointing) -> None:
        put(ACME, "a", "The car.")
        with vectors(away):
            assert [hit.method for hit in Memory(ACME).search("car")] == ["text"]

    def test_a_model_that_cannot_be_loaded_is_not_loaded_for_each_search(
        self, pointing: Pointing
    ) -> None:
        put(ACME, "a", "The car.")
        tries: list[int] = []

        def missing() -> Any:
            tries.append(1)
            raise OSError("no such file")

        with vectors(missing):
            for query in "abc":
                Memory(ACME).search(f"{query} car")
        assert len(tries) == 1


class TestErasing:
    def test_a_report_counts_vectors_and_nothing_of_them_remains(self, pointing: Pointing) -> None:
        put(ACME, "a", "An automobile.")
        put(Scope("acme"), "a", "An automobile.")
        raw = pointing.vector("An automobile.")
        unit = (raw / np.linalg.norm(raw)).astype("<f4").tobytes()
        assert any(bytes(row[0]) == unit for row in sql("SELECT vector FROM $embedding"))
        assert Memory(ACME).erase("a").vectors == 1
        assert Embedding.objects.visible_to(ACME).count() == 1
        assert Memory(ACME).erase("a").vectors == 0
        assert Memory(Scope("acme")).erase_everything(include_owners=True).vectors == 1
        for table in ("embedding", "embeddingfailure", "vectorpartition"):
            assert sql(f"SELECT * FROM ${table}") == []

    def test_statistics_hold_no_vector(self, pointing: Pointing) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite's statistics hold numbers of rows.")
        for place in range(30):
            put(ACME, str(place), "An automobile.")
        sql("ANALYZE $embedding")
        shown = sql(
            "SELECT attname FROM pg_stats WHERE tablename = $name".replace("$name", "%s"),
            Embedding._meta.db_table,
        )
        assert {name for (name,) in shown}.isdisjoint({"vector", "of"})
