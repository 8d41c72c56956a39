"""What every store of vectors must do, as tests for unittest and pytest alike; and a store for tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Final
from unittest import SkipTest

import numpy as np
from django.db import transaction

from prism_graph.scope import Scope
from prism_graph.testing.inmemory import InMemoryStore
from prism_graph.vectors import Cosines, Numbers, Partition, Space, Vectors, VectorStore

__all__ = ["InMemoryStore", "VectorStoreContract"]

NEAR: Final = 1e-5
CROWD: Final = 5_000
_keys: Final = count(1)


class _Undone(Exception):
    """Ends a transaction."""


class _Lines:
    """A chunk per line."""

    def split(self, text: str) -> list[str]:
        return text.splitlines(keepends=True)


class VectorStoreContract:
    """Mix this into a test class with a database, and say in `make_store` which store it is about.

    The tests write chunks at `scopes`, so the class should undo what each test writes. A store whose
    vectors come and go with a transaction of the database sets `transactional`.
    """

    using: ClassVar[str] = "default"
    dimensions: ClassVar[int] = 16
    transactional: ClassVar[bool] = False
    # How often vectors were written: partitions get another version each time.
    changes: int = 0

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """Scopes of this test alone: a reader at the first sees the second; the others are foreign."""
        tenant = Scope(f"contract-{next(_keys)}")
        return tenant.for_owner("ana"), tenant, tenant.for_owner("ben"), Scope(f"{tenant.tenant}-2")

    def make_store(self) -> VectorStore:
        """Return a new instance of the store for `using` and `dimensions`."""
        raise NotImplementedError

    def make_chunks(self, scope: Scope, how_many: int) -> list[int]:
        """Store so many chunks at a scope; return their numbers, ascending."""
        from prism_graph import Memory, Origin, Trust
        from prism_graph.models import Chunk

        text = "".join(f"Line {line}.\n" for line in range(how_many))
        origin, key = Origin(Trust.DOCUMENT, "contract"), f"contract-{next(_keys)}"
        Memory(scope, using=self.using).ingest(key, text, origin=origin, chunker=_Lines())
        rows = Chunk.objects.db_manager(self.using).at(scope)
        # The newest ones: numbers only rise.
        newest = rows.order_by("-number").values_list("number", flat=True)[:how_many]
        return sorted(newest)

    def partition(self, scope: Scope, model: str = "one") -> Partition:
        """Return the partition of a scope and a model as it is now."""
        space = Space(
            self.make_store().name, f"contract/{model}/{self.dimensions}", self.dimensions
        )
        return Partition(scope, space, str(self.changes))

    def keep(
        self, scope: Scope, numbers: Sequence[int], vectors: Vectors, model: str = "one"
    ) -> Partition:
        """Write vectors as embedding does: rows that say so, and the store's own part."""
        from prism_graph.models import Embedding

        store, partition = self.make_store(), self.partition(scope, model)
        raws = [each.astype("<f4").tobytes() if store.inline else None for each in vectors]
        rows = [
            Embedding(number=number, space=partition.space.key, of="", vector=raw)
            for number, raw in zip(numbers, raws, strict=True)
        ]
        with transaction.atomic(using=self.using):
            Embedding.objects.db_manager(self.using).at(scope).bulk_create(rows)
            store.put(partition, numbers, vectors)
        self.changes += 1
        return self.partition(scope, model)

    def lose(self, partition: Partition, numbers: Sequence[int] | None) -> Partition:
        """Take vectors away as erasing does: out of the store, then the rows."""
        from prism_graph.models import Embedding

        rows = Embedding.objects.db_manager(self.using).at(partition.scope)
        rows = rows.filter(space=partition.space.key)
        if numbers is not None:
            rows = rows.filter(number__in=numbers)
        with transaction.atomic(using=self.using):
            self.make_store().drop(partition, numbers)
            rows.delete()
        self.changes += 1
        return Partition(partition.scope, partition.space, str(self.changes))

    def vectors(self, how_many: int, seed: int = 1) -> Vectors:
        """Return vectors of unit length, the same for a seed."""
        drawn = np.random.default_rng(seed).normal(size=(how_many, self.dimensions))
        return _of_unit_length(drawn)

    def around(self, query: Vectors, how_many: int, spread: float, seed: int = 1) -> Vectors:
        """Return vectors of unit length near a query, nearer with less spread."""
        return _of_unit_length(query + spread * self.vectors(how_many, seed))

    def filled(self, scope: Scope, how_many: int, seed: int = 1) -> tuple[Partition, Any, Vectors]:
        """Keep so many vectors at a scope; return partition, numbers and vectors."""
        numbers, vectors = self.make_chunks(scope, how_many), self.vectors(how_many, seed)
        partition = self.keep(scope, numbers, vectors)
        return partition, np.array(numbers, dtype=np.int64), vectors

    def check(
        self,
        partitions: Sequence[Partition],
        query: Vectors,
        limit: int,
        allowed: Numbers,
        want: Any,
    ) -> None:
        """Ask for the nearest, and compare them with `want`: numbers and vectors that it may find."""
        numbers, vectors = want
        found = self.make_store().nearest(partitions, query, limit, np.sort(allowed))
        cosines = dict(zip(map(int, numbers), _cosines(vectors, query), strict=True))
        assert set(found.numbers.tolist()) <= set(cosines), "what may not be found was"
        assert len(set(found.numbers.tolist())) == len(found.numbers), "a chunk was found twice"
        assert len(found.numbers) >= min(limit, len(cosines)), "fewer were found than there are"
        wanted = np.array([cosines[number] for number in found.numbers.tolist()])
        np.testing.assert_allclose(found.cosines, wanted, rtol=0, atol=NEAR)
        assert np.all(np.diff(found.cosines) <= 0), "the best must come first"
        ranked = np.sort(np.array(list(cosines.values())))[::-1][: len(found.numbers)]
        np.testing.assert_allclose(found.cosines, ranked, rtol=0, atol=NEAR)

    # The tests.

    def test_it_finds_nothing_in_the_way(self) -> None:
        assert list(self.make_store().check()) == []

    def test_vectors_come_back_as_they_were_put(self) -> None:
        partition, numbers, vectors = self.filled(self.scopes[0], 7)
        order = [4, 0, 6]
        found = self.make_store().read(partition, numbers[order].tolist())
        assert found.shape == (3, self.dimensions)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, vectors[order])
        assert self.make_store().read(partition, []).shape == (0, self.dimensions)

    def test_a_vector_that_is_not_kept_is_a_lookup_error(self) -> None:
        partition, numbers, _ = self.filled(self.scopes[0], 2)
        foreign, others, _ = self.filled(self.scopes[3], 2)
        for where, which in [
            (partition, [int(numbers[0]), int(numbers[-1]) + 10_000]),
            (partition, others.tolist()),
            (foreign, numbers.tolist()),
            (self.partition(self.scopes[0], "another"), numbers.tolist()),
        ]:
            try:
                self.make_store().read(where, which)
            except LookupError:
                continue
            raise AssertionError("a vector was read that is not kept there")

    def test_the_best_come_first_with_their_cosines(self) -> None:
        partition, numbers, vectors = self.filled(self.scopes[0], 60)
        for query in self.vectors(3, seed=9):
            for limit in (1, 10, 59, 60, 61, 1_000):
                self.check([partition], query, limit, numbers, (numbers, vectors))

    def test_only_what_is_allowed_is_found(self) -> None:
        partition, numbers, vectors = self.filled(self.scopes[0], 60)
        query, odd = vectors[0], slice(1, None, 2)
        self.check([partition], query, 5, numbers[odd], (numbers[odd], vectors[odd]))
        self.check([partition], query, 5, numbers[:0], (numbers[:0], vectors[:0]))
        beside = np.append(numbers[odd], numbers[-1] + 10_000)
        self.check([partition], query, 100, beside, (numbers[odd], vectors[odd]))

    def test_nothing_of_another_scope_or_space_is_found(self) -> None:
        partition, numbers, vectors = self.filled(self.scopes[0], 5)
        foreign = [self.filled(scope, 5)[1] for scope in self.scopes[1:]]
        self.keep(self.scopes[0], numbers.tolist(), self.vectors(5, seed=2), model="another")
        allowed = np.concatenate([numbers, *foreign])
        now = self.partition(self.scopes[0])
        for query in self.vectors(3, seed=9):
            self.check([now], query, 10, allowed, (numbers, vectors))
        assert now.space == partition.space

    def test_a_crowd_elsewhere_changes_nothing(self) -> None:
        query = self.vectors(1, seed=9)[0]
        partition, numbers, vectors = self.filled(self.scopes[0], 20)
        for scope in (self.scopes[2], self.scopes[3]):
            crowd = self.make_chunks(scope, CROWD // 2)
            self.keep(scope, crowd, self.around(query, len(crowd), 0.01))
            numbers = np.append(numbers, crowd)
        now = self.partition(partition.scope)
        self.check([now], query, 10, numbers, (numbers[:20], vectors))

    def test_a_crowd_that_is_not_allowed_changes_nothing(self) -> None:
        query = self.vectors(1, seed=9)[0]
        crowd = self.make_chunks(self.scopes[0], CROWD)
        self.keep(self.scopes[0], crowd, self.around(query, CROWD, 0.01))
        partition, numbers, vectors = self.filled(self.scopes[0], 20)
        for limit in (10, 20, 500):
            self.check([partition], query, limit, numbers, (numbers, vectors))

    def test_a_large_partition_is_searched_in_whole(self) -> None:
        partition, numbers, vectors = self.filled(self.scopes[0], CROWD)
        query = self.vectors(1, seed=9)[0]
        most = np.arange(CROWD) % 10 != 0
        for limit in (10, 1_000, CROWD + 1):
            self.check([partition], query, limit, numbers[most], (numbers[most], vectors[most]))

    def test_all_that_equal_the_last_are_found(self) -> None:
        numbers = self.make_chunks(self.scopes[0], 300)
        query, other = self.vectors(2, seed=9)
        vectors = np.stack([query if place % 3 else other for place in range(300)])
        partition = self.keep(self.scopes[0], numbers, vectors)
        allowed = np.array(numbers, dtype=np.int64)
        found = self.make_store().nearest([partition], query, 10, allowed)
        assert set(found.numbers.tolist()) == {n for place, n in enumerate(numbers) if place % 3}

    def test_an_empty_partition_gives_nothing(self) -> None:
        numbers = self.make_chunks(self.scopes[0], 3)
        partition, query = self.partition(self.scopes[0]), self.vectors(1)[0]
        for partitions in ([], [partition]):
            found = self.make_store().nearest(partitions, query, 10, np.array(numbers))
            assert (found.numbers.tolist(), found.cosines.tolist()) == ([], [])
        self.lose(partition, None)
        self.lose(partition, numbers)

    def test_the_levels_of_a_reader_are_searched_together(self) -> None:
        filled = [self.filled(scope, 30, seed) for seed, scope in enumerate(self.scopes[:2])]
        partitions = [self.partition(scope) for scope in self.scopes[:2]]
        numbers = np.concatenate([each[1] for each in filled])
        vectors = np.concatenate([each[2] for each in filled])
        for limit in (1, 20, 60, 100):
            self.check(partitions, self.vectors(1, seed=9)[0], limit, numbers, (numbers, vectors))

    def test_what_is_dropped_is_gone_for_every_instance(self) -> None:
        partition, numbers, vectors = self.filled(self.scopes[0], 20)
        beside = self.filled(self.scopes[1], 20)
        held, query = self.make_store(), vectors[0]
        held.nearest([partition], query, 5, numbers)
        partition = self.lose(partition, numbers[:8].tolist())
        assert not set(held.nearest([partition], query, 20, numbers).numbers) & set(numbers[:8])
        self.check([partition], query, 20, numbers, (numbers[8:], vectors[8:]))
        partition = self.lose(partition, None)
        assert not len(held.nearest([partition], query, 20, numbers).numbers)
        others = self.partition(self.scopes[1])
        self.check([others], query, 20, beside[1], beside[1:])

    def test_what_was_dropped_can_be_put_again(self) -> None:
        partition, numbers, _ = self.filled(self.scopes[0], 5)
        self.lose(partition, numbers.tolist())
        vectors = self.vectors(5, seed=2)
        partition = self.keep(self.scopes[0], numbers.tolist(), vectors)
        self.check([partition], vectors[0], 5, numbers, (numbers, vectors))

    def test_what_a_transaction_undoes_is_not_kept(self) -> None:
        if not self.transactional:
            raise SkipTest("this store knows no transactions")
        partition, numbers, vectors = self.filled(self.scopes[0], 5)
        more = self.make_chunks(self.scopes[0], 5)
        try:
            with transaction.atomic(using=self.using):
                self.keep(self.scopes[0], more, self.vectors(5, seed=2))
                self.lose(partition, numbers.tolist())
                raise _Undone
        except _Undone:
            self.changes += 1
        now = self.partition(self.scopes[0])
        self.check([now], vectors[0], 10, np.append(numbers, more), (numbers, vectors))


def _of_unit_length(drawn: Any) -> Vectors:
    lengths = np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.asarray(drawn / lengths, dtype=np.float32)


def _cosines(vectors: Vectors, query: Vectors) -> Cosines:
    rows, one = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(one)
    return np.asarray(rows @ one / lengths)
