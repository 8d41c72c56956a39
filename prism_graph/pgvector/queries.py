"""The statements that look for vectors: exactly within a scope, or along the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from django.db import transaction

from prism_graph.pgvector.layout import TABLE, index_of, kind_of
from prism_graph.vectors.base import Cosines, Numbers, Partition, Vectors

_IN: Final = "(space = %s AND tenant = %s AND owner = %s AND agent = %s AND thread = %s)"
# An inner product is not what the index orders by, so nothing but the scope's own rows can be read for it.
DISTANCES: Final = (
    "SELECT string_agg(int8send(number), ''), string_agg(float8send(embedding <#> %s::vector), '') "
    f"FROM {TABLE} WHERE "
)
LISTED: Final = " AND number = ANY(%s::bigint[])"
VECTORS: Final = (
    "SELECT string_agg(int8send(number), ''), string_agg(vector_send(embedding), '') "
    f"FROM {TABLE} WHERE "
)
DROP: Final = f"DELETE FROM {TABLE} WHERE "
CANDIDATES: Final = f"SELECT number FROM {TABLE} WHERE vector_dims(embedding) = {{width}} AND "
BY_DISTANCE: Final = " ORDER BY embedding::{kind}({width}) <=> %s::{kind}({width}) LIMIT %s"
ESTIMATE: Final = "SELECT reltuples FROM pg_class WHERE oid = to_regclass(%s)"
# Sorting would read the whole scope instead of the index. Looking goes on until enough have passed the
# scope's condition, or that many have been looked at. Not in strict order: it drops what comes late, which
# in a small scope among many is half of the best. The order is made of the vectors anyway.
ALONG_THE_INDEX: Final = (
    "SELECT set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true), "
    "set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true), "
    "set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    "set_config('hnsw.ef_search', %s::text, true), "
    "set_config('hnsw.max_scan_tuples', %s::text, true), "
    "set_config('hnsw.scan_mem_multiplier', '8', true)"
)
# The index's own list of candidates: with 400, 0.998 of the ten best are found among 200,000 x 384.
MIN_EF: Final = 400
MAX_EF: Final = 1000


class Queries:
    """What is asked of one database about vectors of one width."""

    def __init__(self, connection: Any, width: int) -> None:
        self.connection, self.width = connection, width

    def distances(
        self, partitions: Sequence[Partition], query: Vectors, among: Numbers | None
    ) -> tuple[Numbers, Cosines]:
        """Return numbers and rough cosines of what lies in the partitions, if need be among these only."""
        statement, places = DISTANCES + _where(partitions), _places(partitions)
        if among is not None:
            statement, places = statement + LISTED, [*places, among.tolist()]
        numbers, distances = self._row(statement, [spelt(query), *places])
        return _numbers(numbers), -np.frombuffer(distances, dtype=">f8").astype(np.float64)

    def vectors(
        self, partitions: Sequence[Partition], numbers: Sequence[int]
    ) -> tuple[Numbers, Vectors]:
        """Return those of these chunks that have vectors in the partitions, ascending, and the vectors."""
        parameters = [*_places(partitions), list(numbers)]
        found, raw = self._row(VECTORS + _where(partitions) + LISTED, parameters)
        # Two numbers of 16 bits stand before each: its width, and one that is not used.
        rows = np.frombuffer(raw, dtype=">f4").reshape(-1, 1 + self.width)[:, 1:]
        listed = _numbers(found)
        order = np.argsort(listed)
        return listed[order], rows[order].astype(np.float32)

    def candidates(
        self, partitions: Sequence[Partition], query: Vectors, wanted: int, reach: int
    ) -> Numbers:
        """Return what the index finds in the partitions: fewer than wanted once it has looked at `reach`."""
        about = {"kind": kind_of(self.width), "width": int(self.width)}
        statement = CANDIDATES.format(**about) + _where(partitions) + BY_DISTANCE.format(**about)
        parameters = [*_places(partitions), spelt(query), wanted]
        with self._along_the_index(wanted, reach), self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return np.array([number for (number,) in cursor.fetchall()], dtype=np.int64)

    def drop(self, partition: Partition, numbers: Sequence[int] | None) -> None:
        """Delete the vectors of these chunks, or all of the partition."""
        statement, parameters = DROP + _where([partition]), _places([partition])
        if numbers is not None:
            statement, parameters = statement + LISTED, [*parameters, list(numbers)]
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)

    def indexed(self) -> int:
        """Return how many vectors the index holds, as PostgreSQL last counted; 0 if it has not."""
        with self.connection.cursor() as cursor:
            cursor.execute(ESTIMATE, [index_of(self.width)])
            row = cursor.fetchone()
        return max(0, int(row[0])) if row else 0

    @contextmanager
    def _along_the_index(self, wanted: int, reach: int) -> Iterator[None]:
        using = self.connection.alias
        with transaction.atomic(using=using):
            with self.connection.cursor() as cursor:
                breadth = min(max(2 * wanted, MIN_EF), MAX_EF)
                cursor.execute(ALONG_THE_INDEX, [breadth, max(reach, 1)])
            yield
            # Nothing was written; rolling back to the savepoint gives the caller's settings back.
            transaction.set_rollback(True, using=using)

    def _row(self, statement: str, parameters: Sequence[Any]) -> tuple[bytes, ...]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return tuple(bytes(each or b"") for each in cursor.fetchone())


def spelt(vector: Vectors) -> str:
    """Return a vector as PostgreSQL reads it, every bit of it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _where(partitions: Sequence[Partition]) -> str:
    return f"({' OR '.join([_IN] * len(partitions))})"


def _places(partitions: Sequence[Partition]) -> list[Any]:
    return [
        part
        for partition in partitions
        for part in (partition.space.key, *map(str, partition.scope.parts))
    ]


def _numbers(raw: bytes) -> Numbers:
    return np.frombuffer(raw, dtype=">i8").astype(np.int64)
