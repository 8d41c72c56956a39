"""Making vectors of what is stored: what is refused, what is down, who else is at it, what is gone since."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction

from prism_graph import Memory, Origin, Scope, Trust, clock, embedding, leases, spaces
from prism_graph.errors import EmbedderUnavailable, EmbeddingFailed, EmbeddingSpaceMismatch
from prism_graph.models import Chunk, VectorPartition
from tests.killed import killing
from tests.racing import at_once, raised
from tests.rawsql import sql
from tests.vectors.doubles import UNFIT, Choosy, vectors

ANA = Scope("acme", "ana")
BEN = Scope("acme", "ben")
USER = Origin(Trust.USER, "ana")

# What tests.killed fills in; nothing here needs it.
cited: dict[str, Any] = {}


class Slow(Choosy):
    """Let the test do something between asking the embedder and storing what it answers."""

    def __init__(self, meanwhile: Any) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def embed(self, texts: Any) -> Any:
        found = super().embed(texts)
        self.meanwhile()
        return found


class Failing(Choosy):
    """Raise the same for everything, from the n-th call on."""

    def __init__(self, error: Exception, after: int = 0) -> None:
        super().__init__()
        self.error, self.after = error, after

    def embed(self, texts: Any) -> Any:
        if self.calls >= self.after:
            self.calls += 1
            raise self.error
        return super().embed(texts)


class Answering(Choosy):
    """Answer whatever it was made with, for every text."""

    def __init__(self, vector: Any) -> None:
        super().__init__()
        self.vector = vector

    def embed(self, texts: Any) -> Any:
        super().embed(texts)
        return [self.vector for _ in texts]


def store(count: int, *unfit: int, scope: Scope = ANA) -> list[str]:
    """Store passages, of which those at some places are refused by Choosy; return their ids."""
    memory, found = Memory(scope), []
    for place in range(count):
        word = UNFIT if place in unfit else "sound"
        found += memory.record("chat", f"Passage {place}: {word}.", origin=USER).added
    return found


def rows() -> list[str]:
    """Return the ids of the chunks that have a vector, once for each."""
    return [
        name
        for (name,) in sql(
            "SELECT c.id FROM $embedding e JOIN $chunk c ON c.number = e.number "
            "AND c.tenant = e.tenant AND c.owner = e.owner ORDER BY c.number"
        )
    ]


def partition() -> VectorPartition:
    return VectorPartition.objects.at(ANA).get()


@pytest.fixture
def memory() -> Memory:
    return Memory(ANA)


@pytest.mark.django_db
class TestOnePoisonItem:
    def test_it_fails_alone_and_its_attempts_reason_and_time_are_kept(self, memory):
        ids = store(12, 5)
        with vectors(Choosy()):
            before = clock.now()
            assert (memory.pending(), memory.failed()) == (12, [])
            assert memory.embed_pending() == 11
            (failure,) = memory.failed()
            assert memory.pending() == 0
        assert (failure.id, failure.attempts) == (ids[5], 1)
        assert before <= failure.failed_at <= clock.now()
        assert rows() == [each for each in ids if each != ids[5]]

    def test_the_reason_is_told_without_the_text(self, memory, caplog):
        store(1, 0)
        with vectors(Choosy()), caplog.at_level(logging.DEBUG):
            memory.embed_pending()
            (failure,) = memory.failed()
        assert failure.reason == "EmbeddingFailed: The embedder choosy failed with ValueError."
        for told in (failure.reason, caplog.text, str(sql("SELECT * FROM $embeddingfailure"))):
            assert UNFIT not in told

    def test_it_is_not_asked_for_again_by_itself(self, memory):
        store(3, 1)
        embedder = Choosy()
        with vectors(embedder):
            memory.embed_pending()
            calls = embedder.calls
            assert memory.embed_pending() == 0
            assert embedder.calls == calls

    def test_trying_again_counts_the_attempt_and_heals_what_can_be_healed(self, memory):
        ids = store(3, 1)
        choosy = Choosy()
        with vectors(choosy):
            memory.embed_pending()
            first = memory.failed()[0]
            assert memory.embed_pending(retry=True) == 0
            again = memory.failed()[0]
            assert (again.attempts, again.failed_at > first.failed_at) == (2, True)
            choosy.unfit = ""
            assert memory.embed_pending(retry=True) == 1
            assert memory.failed() == []
        assert rows() == ids

    @pytest.mark.parametrize("count", [2, 16, 64])
    def test_it_is_found_by_halving(self, memory, count):
        store(count, count // 3)
        embedder = Choosy()
        with vectors(embedder):
            memory.embed_pending()
        assert embedder.calls <= 1 + 2 * math.ceil(math.log2(count))

    def test_several_fail_alone_each(self, memory):
        ids = store(20, 0, 7, 8, 19)
        with vectors(Choosy()):
            assert memory.embed_pending() == 16
            assert [each.id for each in memory.failed()] == [ids[place] for place in (0, 7, 8, 19)]

    @pytest.mark.parametrize(
        "vector",
        [[1.0] * 63, [1.0] * 65, [math.nan] * 64, [math.inf] * 64, [0.0] * 64, "x", None],
        ids=["narrow", "wide", "nan", "infinite", "zero", "text", "none"],
    )
    def test_what_is_no_vector_is_refused(self, memory, vector):
        store(2)
        with vectors(Answering(vector)):
            assert memory.embed_pending() == 0
            assert len(memory.failed()) == 2
            assert all(each.reason.startswith("InvalidVector") for each in memory.failed())
        assert rows() == []

    def test_vectors_are_stored_with_the_length_of_one(self, memory):
        store(1)
        with vectors(Answering([3.0] * 64)):
            memory.embed_pending()
        ((raw,),) = sql("SELECT vector FROM $embedding")
        assert np.linalg.norm(np.frombuffer(bytes(raw), dtype="<f4")) == pytest.approx(1)

    def test_a_reason_that_no_database_takes_costs_no_other_chunk(self, memory):
        class Quoting(Choosy):
            def embed(self, texts: Any) -> Any:
                if any(UNFIT in text for text in texts):
                    raise EmbeddingFailed("The server says \ud800\x00.")
                return super().embed(texts)

        memory.ingest("a", "A car.", origin=USER)
        memory.ingest("b", f"An {UNFIT} car.", origin=USER)
        with vectors(Quoting()):
            assert memory.embed_pending() == 1
            assert len(memory.failed()) == 1


@pytest.mark.django_db
class TestAnEmbedderThatIsDown:
    @pytest.mark.parametrize("error", [EmbedderUnavailable(), ConnectionError("x"), TimeoutError()])
    def test_all_stay_pending_and_the_partition_says_so(self, memory, error):
        store(3)
        with vectors(Failing(error)):
            for times in (1, 2):
                with pytest.raises(EmbedderUnavailable):
                    memory.embed_pending()
                assert (memory.pending(), memory.failed()) == (3, [])
                row = VectorPartition.objects.at(ANA).get()
                assert row.failures == times
                assert row.failed_at is not None
                assert row.reason.startswith("EmbedderUnavailable")
                assert row.lease == ""

    def test_what_was_made_before_is_kept_and_the_next_run_forgets_the_outage(self, memory):
        store(80)
        with vectors(Failing(ConnectionError(), after=1)):
            with pytest.raises(EmbedderUnavailable):
                memory.embed_pending()
            assert (memory.pending(), len(rows())) == (80 - embedding.BATCH, embedding.BATCH)
        with vectors(Choosy()):
            assert memory.embed_pending() == 80 - embedding.BATCH
        row = partition()
        assert (row.failures, row.failed_at, row.reason) == (0, None, "")

    def test_one_that_fails_for_everything_stops_after_a_batch(self, memory):
        store(70)
        broken = Failing(ValueError())
        with vectors(broken):
            assert memory.embed_pending() == 0
            assert (len(memory.failed()), memory.pending()) == (embedding.BATCH, 6)
        assert broken.calls < 2 * embedding.BATCH

    def test_ingesting_goes_on_without_it(self, memory, django_capture_on_commit_callbacks, caplog):
        with vectors(Failing(ConnectionError())):
            with django_capture_on_commit_callbacks(execute=True):
                memory.record("chat", "My zebra.", origin=USER)
            assert memory.pending() == 1
            assert [hit.chunk.text for hit in memory.search("zebra")] == ["My zebra."]
        assert "zebra" not in caplog.text.lower()


@pytest.mark.django_db
class TestWhereAndWhen:
    def test_it_is_done_when_the_transaction_commits(
        self, memory, django_capture_on_commit_callbacks
    ):
        with vectors(Choosy()):
            with django_capture_on_commit_callbacks(execute=True):
                memory.record("chat", "My zebra.", origin=USER)
                assert (memory.pending(), rows()) == (1, [])
            assert (memory.pending(), len(rows())) == (0, 1)

    def test_it_embeds_exactly_one_scope(self, memory):
        mine, theirs = store(2), store(2, scope=BEN)
        with vectors(Choosy()):
            assert memory.embed_pending() == 2
            assert rows() == mine
            assert Memory(BEN).pending() == 2
        assert theirs

    def test_without_settings_nothing_waits(self, memory):
        store(2)
        assert (memory.pending(), memory.failed(), memory.embed_pending()) == (0, [], 0)

    def test_another_embedder_is_refused_by_name_and_writes_nothing(self, memory):
        store(2)
        with vectors(Choosy()):
            memory.embed_pending()
        store(1)
        with (
            vectors({"provider": "hashing", "dimensions": 8}),
            pytest.raises(EmbeddingSpaceMismatch, match=r"choosy/1/64 .*hashing/hashing-1/8"),
        ):
            memory.embed_pending()
        assert len(rows()) == 2

    def test_what_is_retired_is_not_waited_for(self, memory):
        memory.ingest("doc", "A zebra.", origin=USER)
        memory.retire_source("doc")
        with vectors(Choosy()):
            assert (memory.pending(), memory.embed_pending()) == (0, 0)

    @pytest.mark.parametrize("own", [1, 3, 1000, None, "many", 0])
    def test_an_embedder_may_want_smaller_batches_never_larger(self, memory, own):
        store(5)
        embedder = Choosy()
        embedder.batch_size = own  # type: ignore[attr-defined]
        with vectors(embedder):
            assert memory.embed_pending() == 5
        assert embedder.calls == {1: 5, 3: 2, 0: 5}.get(own, 1)  # type: ignore[call-overload]


@pytest.mark.django_db
class TestMeanwhile:
    def test_a_chunk_erased_leaves_nothing(self, memory):
        memory.ingest("doc", "A zebra.", origin=USER)
        kept = memory.record("chat", "A heron.", origin=USER).added
        with vectors(Slow(lambda: memory.erase("doc"))):
            memory.embed_pending()
            assert memory.failed() == []
        assert rows() == kept

    def test_a_chunk_erased_while_it_is_refused_leaves_no_failure(self, memory):
        memory.ingest("doc", f"An {UNFIT} zebra.", origin=USER)

        class Erasing(Choosy):
            def embed(self, texts: Any) -> Any:
                memory.erase("doc")
                return super().embed(texts)

        with vectors(Erasing()):
            memory.embed_pending()
        assert sql("SELECT count(*) FROM $embeddingfailure") == [(0,)]

    def test_the_whole_tenant_erased_leaves_nothing(self, memory):
        store(3)
        everything = lambda: Memory(Scope("acme")).erase_everything(include_owners=True)  # noqa: E731
        with vectors(Slow(everything)):
            memory.embed_pending()
        assert rows() == []
        assert sql("SELECT count(*) FROM $vectorpartition") == [(0,)]

    def test_a_worker_late_to_an_erasure_leaves_no_row_for_good(self, memory):
        below = ANA.for_agent("bot").for_thread("t1")
        with vectors(Choosy()):
            store(1, scope=below)
            Memory(below).embed_pending()
            space = spaces.serving(below, "default")
            memory.erase_everything()
            # It had looked before, and opens its partition after.
            spaces.opened(below, "default", space, serving=True)
            memory.erase_everything()
        left = VectorPartition.objects.system("test").exclude(owner="")
        assert not left.exists()

    def test_a_chunk_retired_is_not_found_and_waits_for_nothing(self, memory):
        memory.ingest("doc", "A zebra.", origin=USER)
        embedder = Slow(lambda: None)
        embedder.meanwhile = lambda: memory.retire_source("doc") if embedder.calls == 1 else None
        with vectors(embedder):
            memory.embed_pending()
            assert memory.pending() == 0
            assert memory.search("zebra") == []

    def test_chunks_written_are_taken_along(self, memory):
        store(2)
        embedder = Slow(lambda: store(1) if embedder.calls == 1 else None)
        with vectors(embedder):
            assert memory.embed_pending() == 3
            assert memory.pending() == 0

    def test_whoever_lost_the_lease_writes_nothing(self, memory):
        store(2, 1)
        with vectors(Slow(lambda: sql("UPDATE $vectorpartition SET lease = 'other'"))):
            assert memory.embed_pending() == 0
            assert (memory.pending(), memory.failed()) == (2, [])
        assert rows() == []
        assert partition().lease == "other"

    @pytest.mark.django_db(
        transaction=True
    )  # the thread that keeps the lease has a connection of its own
    def test_an_embedder_may_take_longer_than_a_lease(self, memory, monkeypatch):
        monkeypatch.setattr(leases, "LEASE", timedelta(seconds=0.3))
        store(2)
        left = []

        def slowly():
            for _ in range(4):
                time.sleep(0.3)
                left.append(partition().leased_until - clock.now())

        with vectors(Slow(slowly)):
            assert memory.embed_pending() == 2
        assert max(left) > timedelta(0)
        assert partition().lease == ""

    def test_whoever_finds_the_lease_taken_leaves_it_all(self, memory):
        store(2)
        embedder = Choosy()
        with vectors(embedder):
            memory.embed_pending()
            store(1)
            later = clock.now() + timedelta(seconds=5)
            VectorPartition.objects.at(ANA).update(lease="other", leased_until=later)
            assert (memory.embed_pending(), memory.pending()) == (0, 1)
            VectorPartition.objects.at(ANA).update(leased_until=clock.now())
            assert (memory.embed_pending(), memory.pending()) == (1, 0)
        assert embedder.calls == 2

    def test_it_works_inside_a_transaction_of_the_caller(self, memory):
        store(2)
        with vectors(Choosy()):
            with transaction.atomic():
                assert memory.embed_pending() == 2
                transaction.set_rollback(True)
            assert (rows(), memory.pending()) == ([], 2)


@pytest.mark.django_db(transaction=True)
def test_an_embedder_that_hangs_does_not_hold_a_scope_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(leases, "LEASE", timedelta(seconds=0.3))
    monkeypatch.setattr(leases, "LONGEST", timedelta(seconds=0.6))
    memory, begun, go = Memory(ANA), Event(), Event()
    memory.ingest("a", "A car.", origin=USER)

    def hang() -> None:
        if not begun.is_set():
            begun.set()
            go.wait(30)

    def work() -> None:
        try:
            Memory(ANA).embed_pending()
        finally:
            connection.close()

    with vectors(Slow(hang)):
        worker = Thread(target=work)
        worker.start()
        assert begun.wait(10)
        made, deadline = 0, time.monotonic() + 10
        while not made and time.monotonic() < deadline:
            time.sleep(0.1)
            made = memory.embed_pending()
        go.set()
        worker.join()
    assert made == 1


@pytest.mark.django_db(transaction=True)
def test_workers_that_begin_together_embed_nothing_twice() -> None:
    ids = store(40)
    embedder = Choosy()
    embedder.batch_size = 5  # type: ignore[attr-defined]
    with vectors(embedder):
        results = at_once(*[lambda: Memory(ANA).embed_pending()] * 4)
    assert raised(results) == []
    assert sum(results) == 40
    assert rows() == ids
    assert len(embedder.asked) == len(set(embedder.asked)) == 40


@pytest.mark.django_db(transaction=True)
def test_writers_beside_a_worker_leave_nothing_waiting() -> None:
    with vectors(Choosy()):
        results = at_once(*[lambda: store(5)] * 4)
        assert raised(results) == []
        assert Memory(ANA).pending() == 0
    found = rows()
    assert len(found) == len(set(found)) == 20


@pytest.fixture
def committed() -> Iterator[None]:
    store(6, 3)
    with vectors(Choosy()):
        yield


def write(name: str) -> None:
    """Embed, in a process of tests.killed."""
    from django.test import override_settings

    ours = {"VECTORS": "exact", "EMBEDDER": "tests.vectors.doubles.Choosy"}
    with override_settings(PRISM_GRAPH=ours):
        Memory(ANA).embed_pending()


@pytest.mark.exhaustive
@pytest.mark.django_db(transaction=True)
def test_a_process_killed_at_any_statement_loses_nothing_and_embeds_nothing_twice(
    committed: None,
) -> None:
    ids = list(Chunk.objects.at(ANA).order_by("number").values_list("id", flat=True))
    with killing(__name__, {}) as killer:
        for statement in range(200):
            for table in ("embedding", "embeddingfailure", "vectorpartition"):
                sql(f"DELETE FROM ${table}")
            ended = killer.run("embed", statement)
            made = rows()
            assert len(made) == len(set(made))
            assert set(made) <= set(ids) - {ids[3]}
            # What a lease of the dead would hold up for a minute.
            sql("UPDATE $vectorpartition SET leased_until = NULL")
            Memory(ANA).embed_pending()
            assert rows() == [each for each in ids if each != ids[3]]
            assert [each.id for each in Memory(ANA).failed()] == [ids[3]]
            assert Memory(ANA).pending() == 0
            if ended:
                break
        assert ended
        assert statement > 8
