"""The vectors in the rows themselves, compared one by one: exact, on either database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from django.db import connections

from prism_graph.bases.rows import ID_LENGTH
from prism_graph.fulltext import engine
from prism_graph.models import Embedding
from prism_graph.tables import named
from prism_graph.vectors.base import (
    Nearest,
    Numbers,
    Partition,
    Vectors,
    VectorStore,
    best,
    cosines_of,
    in_order,
)
from prism_graph.vectors.blocks import BLOCKS, Block

_IN: Final = "space = %s AND tenant = %s AND owner = %s AND agent = %s AND thread = %s"
LISTED: Final = (
    f"SELECT number, id FROM $embedding WHERE {_IN} AND vector IS NOT NULL ORDER BY number"
)
READ: Final = (
    f"SELECT number, id, vector FROM $embedding WHERE {_IN} AND vector IS NOT NULL ORDER BY number"
)
ROWS: Final = 2000
# A float32 product of unit vectors is off by less than this; the best are computed again in float64.
SLACK: Final = 1e-5


class ExactStore(VectorStore):
    """Vectors in the database's own rows, read once and held until their partition changes."""

    name = "exact"
    inline = True

    def put(self, partition: Partition, numbers: Sequence[int], vectors: Vectors) -> None:
        """Do nothing: they are in the rows."""

    def drop(self, partition: Partition, numbers: Sequence[int] | None) -> None:
        """Do nothing: they go with the rows."""

    def read(self, partition: Partition, numbers: Sequence[int]) -> Vectors:
        """Read the rows."""
        found = self._rows(partition, numbers)
        return in_order(found.numbers, found.vectors, numbers)

    def nearest(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Nearest:
        """Compare the query with every allowed vector."""
        found = [self._near(self._block(each), query, limit, allowed) for each in partitions]
        numbers = np.concatenate([np.empty(0, dtype=np.int64), *(each.numbers for each in found)])
        cosines = np.concatenate([np.empty(0), *(each.cosines for each in found)])
        return best(numbers, cosines, limit)

    def _near(self, block: Block, query: Vectors, limit: int, allowed: Numbers) -> Nearest:
        if not len(block.numbers) or not len(allowed):
            return Nearest(block.numbers[:0], np.empty(0))
        at = np.minimum(np.searchsorted(allowed, block.numbers), len(allowed) - 1)
        seen = np.flatnonzero(allowed[at] == block.numbers)
        rough = (block.vectors @ query)[seen]
        if len(seen) > limit:
            least = np.partition(rough, len(rough) - limit)[len(rough) - limit]
            seen = seen[rough >= least - SLACK]
        return best(block.numbers[seen], cosines_of(block.vectors[seen], query), limit)

    def _block(self, partition: Partition) -> Block:
        """Return the partition's vectors, read anew where its version is not that of what is held."""
        held = BLOCKS.get(self.using, partition)
        if held is not None and held.version == partition.version:
            return held
        block = self._refreshed(partition, held) if held is not None else self._whole(partition)
        BLOCKS.put(self.using, partition, block)
        return block

    def _refreshed(self, partition: Partition, held: Block) -> Block:
        """Keep the vectors that are still there, which never change, and read the new ones."""
        with connections[self.using].cursor() as cursor:
            cursor.execute(named(LISTED), _place(partition))
            listed = cursor.fetchall()
        there = {name.encode() for _, name in listed}
        known = set(held.ids.tolist())
        new = [number for number, name in listed if name.encode() not in known]
        if 2 * len(new) > len(listed):
            return self._whole(partition)
        kept = np.array([name in there for name in held.ids.tolist()], dtype=bool)
        fresh = self._rows(partition, new)
        numbers = np.concatenate([held.numbers[kept], fresh.numbers])
        order = np.argsort(numbers)
        return Block(
            partition.version,
            numbers[order],
            np.concatenate([held.ids[kept], fresh.ids])[order],
            np.concatenate([held.vectors[kept], fresh.vectors])[order],
        )

    def _whole(self, partition: Partition) -> Block:
        numbers: list[int] = []
        ids: list[str] = []
        parts: list[Vectors] = []
        with connections[self.using].cursor() as cursor:
            cursor.execute(named(READ), _place(partition))
            while rows := cursor.fetchmany(ROWS):
                numbers += [number for number, _, _ in rows]
                ids += [name for _, name, _ in rows]
                parts.append(self._matrix([raw for _, _, raw in rows]))
        vectors = np.concatenate([self._matrix([]), *parts])
        return self._of(partition, numbers, ids, vectors)

    def _rows(self, partition: Partition, numbers: Sequence[int]) -> Block:
        among = engine(connections[self.using]).among("number", numbers)
        rows = Embedding.objects.db_manager(self.using).at(partition.scope)
        found = rows.filter(among, space=partition.space.key, vector__isnull=False)
        listed = list(found.order_by("number").values_list("number", "id", "vector"))
        return self._of(
            partition,
            [number for number, _, _ in listed],
            [name for _, name, _ in listed],
            self._matrix([raw for _, _, raw in listed]),
        )

    @staticmethod
    def _of(
        partition: Partition, numbers: Sequence[int], ids: Sequence[str], vectors: Vectors
    ) -> Block:
        return Block(
            partition.version,
            np.array(numbers, dtype=np.int64),
            np.array(ids, dtype=f"S{ID_LENGTH}"),
            vectors,
        )

    def _matrix(self, raw: Sequence[Any]) -> Vectors:
        joined = np.frombuffer(b"".join(raw), dtype="<f4").astype(np.float32, copy=False)
        return joined.reshape(len(raw), self.dimensions)


def _place(partition: Partition) -> list[str]:
    return [partition.space.key, *map(str, partition.scope.parts)]
