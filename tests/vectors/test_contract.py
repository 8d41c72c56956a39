"""The contract of stores, run on those that need nothing besides a database."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from prism_graph import Memory, Scope, vectors
from prism_graph.testing.stores import InMemoryStore, VectorStoreContract
from prism_graph.vectors import VectorStore
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
