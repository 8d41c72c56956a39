"""The vectors in a table of sqlite-vec beside the rows that say which chunks have one.

Such a table takes no foreign key and no CHECK. So a trigger takes a vector away with its row, however that
goes; and what is read here is joined to the rows, whose four columns are those of the partition.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from django.db import connections

from prism_graph.vectors import extension
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
from prism_graph.vectors.vec0 import AT, E_ROW, SPACE_BITS, Upkeep, rowids

logger = logging.getLogger(__name__)

PUT: Final = "INSERT INTO $vectors (rowid, place, embedding) VALUES (%s, %s, %s)"
DROP: Final = "DELETE FROM $vectors WHERE place = %s AND rowid IN (SELECT value FROM json_each(%s))"
DROP_ALL: Final = (
    "DELETE FROM $vectors WHERE place = %s "
    f"AND rowid IN (SELECT {E_ROW} FROM $embedding e WHERE {AT})"
)
READ: Final = (
    f"SELECT e.number, v.embedding FROM $embedding e CROSS JOIN $vectors v ON v.rowid = {E_ROW} "
    f"WHERE {AT} AND e.number IN (SELECT value FROM json_each(%s)) AND v.place = %s ORDER BY e.number"
)
SIZE: Final = f"SELECT count(*) FROM $embedding e WHERE {AT}"
# Not `AND rowid IN …`: up to 0.1.9 that compares the lower 32 bits only, and finds what is not allowed.
NEAREST: Final = (
    "SELECT rowid, distance FROM $vectors WHERE embedding MATCH %s AND k = %s AND place = %s"
)
# So many allowed vectors are read one by one, where a search walks all of the partition; more than that
# only where MOST of the nearest do not hold `limit` of them.
FEW: Final = 1000
# sqlite-vec gives no more at once.
MOST: Final = 4096
SPARE: Final = 32
# sqlite-vec's distances are sums of float32; the best are computed again in float64.
SLACK: Final = 1e-5
# What was said of a database that the extension does not work on, once each.
_said: Final[set[tuple[str, str]]] = set()


def place_of(partition: Partition) -> str:
    """Return the 64 characters that stand for a scope and a space in the table: 256 bits."""
    digest = blake2b(digest_size=32, person=b"prism-place")
    for part in (*partition.scope.parts, partition.space.key):
        raw = part.encode()
        digest.update(len(raw).to_bytes(2, "big") + raw)
    return digest.hexdigest()


class SqliteVecStore(Upkeep, VectorStore):
    """Vectors in a table of sqlite-vec, one for each width, searched scope by scope; exact.

    Needs a Python whose sqlite3 loads extensions. Without the extension nothing is found by meaning, and
    writing raises InvalidSettings: an erasure that left vectors behind would be worse than none.
    """

    name = extension.NAME
    inline = False

    def put(self, partition: Partition, numbers: Sequence[int], vectors: Vectors) -> None:
        """Insert the vectors."""
        self.require()
        place, rows = place_of(partition), rowids(partition.space, numbers)
        raws = vectors.astype("<f4")
        with connections[self.using].cursor() as cursor:
            cursor.executemany(
                self.filled(PUT),
                [(row, place, raw.tobytes()) for row, raw in zip(rows, raws, strict=True)],
            )

    def drop(self, partition: Partition, numbers: Sequence[int] | None) -> None:
        """Delete the vectors; those whose rows have gone before went with them."""
        if not self.exists():
            return
        self.require()
        if numbers is None:
            self._rows(DROP_ALL, [place_of(partition), *_at(partition)])
        else:
            listed = json.dumps(rowids(partition.space, numbers))
            self._rows(DROP, [place_of(partition), listed])

    def read(self, partition: Partition, numbers: Sequence[int]) -> Vectors:
        """Read the vectors of these rows."""
        self.require()
        found, vectors = self._read(partition, numbers)
        return in_order(found, vectors, numbers)

    def nearest(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Nearest:
        """Let the extension find the nearest of the allowed, and compute their cosines from the vectors."""
        if self._is_idle():
            partitions = []
        found = [self._near(each, query, limit, allowed) for each in partitions]
        numbers = np.concatenate([np.empty(0, dtype=np.int64), *(each.numbers for each in found)])
        cosines = np.concatenate([np.empty(0), *(each.cosines for each in found)])
        return best(numbers, cosines, limit)

    def _near(self, partition: Partition, query: Vectors, limit: int, allowed: Numbers) -> Nearest:
        for k in self._tries(partition, limit, len(allowed)):
            close = self._close(partition, query, limit, k, allowed)
            if close is not None:
                found, vectors = self._read(partition, close.tolist())
                # One that has no row of this scope took the place of another.
                if len(found) == len(close):
                    return best(found, cosines_of(vectors, query), limit)
        found, vectors = self._read(partition, allowed.tolist())
        return best(found, cosines_of(vectors, query), limit)

    def _tries(self, partition: Partition, limit: int, allowed: int) -> list[int]:
        """Return how many of the nearest are worth asking for: likely to hold `limit` that are allowed."""
        if allowed <= FEW:
            return []
        ((size,),) = self._rows(SIZE, _at(partition))
        return [k for k in (2 * limit + SPARE, MOST) if k <= MOST and k * allowed >= limit * size]

    def _close(
        self, partition: Partition, query: Vectors, limit: int, k: int, allowed: Numbers
    ) -> Numbers | None:
        """Return the allowed among the nearest: `limit` with all that may equal them, or all there are.

        None if `k` do not hold so many.
        """
        raw = query.astype("<f4").tobytes()
        rows = self._rows(NEAREST, [raw, k, place_of(partition)])
        numbers: Numbers = np.array([row >> SPACE_BITS for row, _ in rows], dtype=np.int64)
        distances = np.array([distance for _, distance in rows])
        seen = np.isin(numbers, allowed)
        if len(rows) < k:
            return numbers[seen]
        if seen.sum() < limit:
            return None
        last = distances[seen][limit - 1] + SLACK
        near: Numbers = numbers[seen & (distances <= last)]
        return near if distances[-1] > last else None

    def _read(self, partition: Partition, numbers: Sequence[int]) -> tuple[Numbers, Vectors]:
        """Return which of these are kept, ascending, and their vectors."""
        listed = json.dumps([int(number) for number in numbers])
        rows = self._rows(READ, [*_at(partition), listed, place_of(partition)])
        found = np.array([number for number, _ in rows], dtype=np.int64)
        vectors = np.frombuffer(b"".join(raw for _, raw in rows), dtype="<f4")
        return found, vectors.astype(np.float32, copy=False).reshape(len(rows), self.dimensions)

    def _rows(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        with connections[self.using].cursor() as cursor:
            cursor.execute(self.filled(statement), parameters)
            return list(cursor.fetchall()) if cursor.description else []

    def _is_idle(self) -> bool:
        hindrance = self.hindrance() or ("" if self.exists() else self._absent(self.missing()))
        if hindrance and (self.using, hindrance) not in _said:
            _said.add((self.using, hindrance))
            logger.error("Searches on %r go by text alone. %s", self.using, hindrance)
        return bool(hindrance)

    @staticmethod
    def _absent(parts: Sequence[str]) -> str:
        return (
            f"The database lacks what sqlite-vec keeps there ({', '.join(parts)}): run `manage.py migrate`, "
            "which restores it and has lost vectors made again."
        )

    def lacking(self) -> list[str]:
        """Name the table, index and triggers that `prepare` has yet to create."""
        return [] if self.hindrance() else self.missing()

    def check(self) -> Iterator[str]:
        """Yield what keeps the extension from working."""
        if hindrance := self.hindrance():
            yield hindrance


def _at(partition: Partition) -> list[str]:
    return [partition.space.key, *map(str, partition.scope.parts)]
