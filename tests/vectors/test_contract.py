"""The contract of stores, run on those that need nothing besides a database."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from prism_graph import Memory, Scope, vectors
from prism_graph.testing.stores import InMemoryStore, VectorStoreContract
from prism_graph.vectors import Nearest, VectorStore
from tests.planting import DOCUMENT
from tests.vectors import doubles
from tests.vectors.loading import need_sqlite, needs_sqlite_vec, prepared

IN_MEMORY = "prism_graph.testing.stores.InMemoryStore"
ANA = Scope("acme").for_owner("ana")


class Of(VectorStoreContract):
    """The store that a value of VECTORS names."""

    named: str

    def make_store(self) -> VectorStore:
        return vectors.make(self.named, self.using, self.dimensions)


@pytest.mark.django_db
class TestExact(Of):
    named = "exact"
    transactional = True


@pytest.mark.django_db
class TestInMemory(Of):
    named = IN_MEMORY

    @pytest.fixture(autouse=True)
    def empty(self) -> Iterator[None]:
        yield
        InMemoryStore.clear()


class Remembering(InMemoryStore):
    """Knows the number of every vector that any instance was given."""

    given: ClassVar[set[int]] = set()

    def put(self, partition: Any, numbers: Any, vectors: Any) -> None:
        self.given.update(numbers)
        super().put(partition, numbers, vectors)

    def kept(self) -> Any:
        return np.array(sorted(self.given), dtype=np.int64)


class Careless(Remembering):
    """Looks at neither what is allowed nor whose it is."""

    def nearest(self, partitions: Any, query: Any, limit: int, allowed: Any) -> Nearest:
        everything = self.kept()
        return super().nearest(partitions, query, limit, everything)


class Hasty(Remembering):
    """Looks for what is allowed among the nearest only."""

    def nearest(self, partitions: Any, query: Any, limit: int, allowed: Any) -> Nearest:
        everything = self.kept()
        found = super().nearest(partitions, query, limit, everything)
        seen = np.isin(found.numbers, allowed)
        return Nearest(found.numbers[seen], found.cosines[seen])


class Mixing(InMemoryStore):
    """Keeps one partition for all."""

    def _key(self, partition: Any) -> Any:
        return self.using


class Forgetful(InMemoryStore):
    """Forgets to forget."""

    def drop(self, partition: Any, numbers: Any) -> None:
        pass


class Rough(InMemoryStore):
    """Rounds."""

    def nearest(self, partitions: Any, query: Any, limit: int, allowed: Any) -> Nearest:
        found = super().nearest(partitions, query, limit, allowed)
        return Nearest(found.numbers, np.round(found.cosines, 3))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("store", "test"),
    [
        (Careless, "only_what_is_allowed_is_found"),
        (Hasty, "a_crowd_that_is_not_allowed_changes_nothing"),
        (Mixing, "nothing_of_another_scope_or_space_is_found"),
        (Mixing, "a_crowd_elsewhere_changes_nothing"),
        (Mixing, "a_vector_that_is_not_kept_is_a_lookup_error"),
        (Forgetful, "what_is_dropped_is_gone_for_every_instance"),
        (Rough, "the_best_come_first_with_their_cosines"),
    ],
)
def test_the_contract_notices_a_store_that_breaks_it(store, test):
    class Broken(Of):
        def make_store(self) -> VectorStore:
            return store(self.using, self.dimensions)

    try:
        with pytest.raises(AssertionError):
            getattr(Broken(), f"test_{test}")()
    finally:
        InMemoryStore.clear()


@needs_sqlite_vec
@pytest.mark.django_db
class TestSqliteVec(Of):
    named = "sqlite-vec"
    transactional = True

    @pytest.fixture(autouse=True)
    def table(self) -> None:
        need_sqlite()
        prepared(self.dimensions)


@pytest.mark.django_db(transaction=True)
def test_the_store_in_memory_serves_a_search_and_forgets_what_is_erased():
    with doubles.vectors(store=IN_MEMORY):
        memory = Memory(ANA)
        memory.ingest("doc-1", "The heating fails in winter.", origin=DOCUMENT)
        memory.ingest("doc-2", "Bicycles stand in the yard.", origin=DOCUMENT)
        (hit, *_) = memory.search("heating in winter")
        assert (hit.chunk.source_key, hit.method) == ("doc-1", "hybrid")
        assert memory.erase("doc-1").vectors == 1
        assert {hit.chunk.source_key for hit in memory.search("heating in winter")} <= {"doc-2"}
    InMemoryStore.clear()


def test_the_contract_needs_no_pytest():
    program = "import sys, prism_graph.testing.stores; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
