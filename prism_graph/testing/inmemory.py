"""A store of vectors in this process alone, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Final

import numpy as np

from prism_graph.vectors.base import (
    Nearest,
    Numbers,
    Partition,
    Vectors,
    VectorStore,
    best,
    cosines_of,
)

Key = tuple[str, tuple[str, str, str, str], str]

_KEPT: Final[dict[Key, dict[int, Vectors]]] = {}
_LOCK: Final = Lock()


class InMemoryStore(VectorStore):
    """Vectors in a dict, compared one by one. A transaction that is undone undoes nothing here."""

    name = "in-memory"

    def put(self, partition: Partition, numbers: Sequence[int], vectors: Vectors) -> None:
        """Keep copies."""
        copies = np.array(vectors, dtype=np.float32)
        with _LOCK:
            _KEPT.setdefault(self._key(partition), {}).update(zip(numbers, copies, strict=True))

    def drop(self, partition: Partition, numbers: Sequence[int] | None) -> None:
        """Forget them for every instance."""
        with _LOCK:
            kept = _KEPT.get(self._key(partition), {})
            for number in list(kept) if numbers is None else numbers:
                kept.pop(number, None)

    def read(self, partition: Partition, numbers: Sequence[int]) -> Vectors:
        """Return copies."""
        with _LOCK:
            kept = _KEPT.get(self._key(partition), {})
            # A KeyError is a LookupError.
            return self._matrix([kept[number] for number in numbers])

    def nearest(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Nearest:
        """Compare the query with every allowed vector."""
        seen = set(allowed.tolist())
        with _LOCK:
            found = {
                number: vector
                for each in partitions
                for number, vector in _KEPT.get(self._key(each), {}).items()
                if number in seen
            }
        numbers = np.fromiter(found, dtype=np.int64, count=len(found))
        return best(numbers, cosines_of(self._matrix(list(found.values())), query), limit)

    @staticmethod
    def clear() -> None:
        """Forget everything, between two tests."""
        with _LOCK:
            _KEPT.clear()

    def _key(self, partition: Partition) -> Key:
        return self.using, partition.scope.parts, partition.space.key

    def _matrix(self, vectors: Sequence[Vectors]) -> Vectors:
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), self.dimensions)
