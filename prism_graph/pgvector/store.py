"""The store that keeps vectors in pgvector: small scopes are compared, large ones asked of its index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from django.apps import apps
from django.db import connections
from numpy.typing import NDArray

from prism_graph.bases.rows import random_ids
from prism_graph.fulltext import engine
from prism_graph.pgvector import layout
from prism_graph.pgvector.queries import Queries, spelt
from prism_graph.scope import COLUMNS
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

PACKAGE: Final = "prism_graph.pgvector"
APP: Final = "prism_graph_pgvector"
FIELDS: Final = ("id", *COLUMNS, "number", "space", "embedding")
# Up to this many allowed chunks are compared one by one; see tests/benchmarks/pgvector.py.
EXACT: Final = 10_000
# What looking at one vector along the index takes, in comparisons.
STEP: Final = 4
# How many times the limit the index is asked for; then everything is compared.
ROUNDS: Final = (1.5, 6)
# PostgreSQL sums float32 in another order; the best are computed again.
SLACK: Final = 1e-5


class PgVectorStore(VectorStore):
    """Vectors in a table of their own, on PostgreSQL with pgvector 0.8 or newer."""

    name = "pgvector"

    def __init__(self, using: str, dimensions: int, **options: Any) -> None:
        super().__init__(using, dimensions)
        self.exact: int = options.pop("exact", EXACT)
        if options:
            raise TypeError(f"pgvector takes no option {next(iter(options))!r}: it takes exact")
        if not isinstance(self.exact, int) or self.exact < 0:
            raise ValueError("pgvector's exact is a number of chunks")

    @property
    def _queries(self) -> Queries:
        return Queries(connections[self.using], self.dimensions)

    def _rows(self, partition: Partition) -> Any:
        model: Any = apps.get_model(APP, "ChunkVector")
        rows = model.objects.db_manager(self.using).at(partition.scope)
        return rows.filter(space=partition.space.key)

    def put(self, partition: Partition, numbers: Sequence[int], vectors: Vectors) -> None:
        """Copy them in."""
        place = (*map(str, partition.scope.parts),)
        rows = (
            (name, *place, number, partition.space.key, spelt(vector))
            for name, number, vector in zip(random_ids(len(numbers)), numbers, vectors, strict=True)
        )
        model = apps.get_model(APP, "ChunkVector")
        engine(connections[self.using]).insert(model, FIELDS, rows)

    def drop(self, partition: Partition, numbers: Sequence[int] | None) -> None:
        """Delete the rows. Their foreign key would, with the chunks; raw SQL on chunks relies on it."""
        connection = connections[self.using]
        # The app may have been taken out again; its table stays, with what lies in it.
        if connection.vendor == "postgresql" and layout.exists(connection):
            Queries(connection, self.dimensions).drop(partition, numbers)

    def read(self, partition: Partition, numbers: Sequence[int]) -> Vectors:
        """Read the rows."""
        listed, vectors = self._queries.vectors([partition], numbers)
        return in_order(listed, vectors, numbers)

    def nearest(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Nearest:
        """Compare the query with all that is allowed, or with what the index finds where that is much."""
        if not partitions or not len(allowed) or limit < 1:
            return Nearest(allowed[:0], np.empty(0))
        found = None
        if len(allowed) > self.exact:
            found = self._approximately(partitions, query, limit, allowed)
        if found is None:
            found = self._exactly(partitions, query, limit, allowed)
        numbers, vectors = self._queries.vectors(partitions, found.tolist())
        return best(numbers, cosines_of(vectors, query), limit)

    def _approximately(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Numbers | None:
        """Return at least `limit` allowed chunks that the index finds.

        None where comparing everything is quicker: the fewer of the index's vectors are allowed, the more
        others it looks at.
        """
        queries, reach = self._queries, len(allowed) // STEP
        if not layout.kind_of(self.dimensions):
            return None
        indexed = queries.indexed()
        for wanted in [int(times * limit) for times in ROUNDS]:
            if wanted * indexed > reach * len(allowed):
                return None
            found = queries.candidates(partitions, query, wanted, reach)
            if len(kept := found[_among(found, allowed)]) >= limit:
                return kept
        return None

    def _exactly(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Numbers:
        """Return the best allowed chunks, and whatever is as good as the last of them but for rounding."""
        if len(allowed) <= limit:
            return allowed
        listed = allowed if len(allowed) <= self.exact else None
        numbers, rough = self._queries.distances(partitions, query, listed)
        seen = _among(numbers, allowed)
        numbers, rough = numbers[seen], rough[seen]
        if len(numbers) <= limit:
            return numbers
        least = np.partition(rough, len(rough) - limit)[len(rough) - limit]
        return numbers[np.flatnonzero(rough >= least - SLACK)]

    def prepare(self) -> None:
        """Tie the table to the chunks in use and index this width, where the table is there."""
        connection = connections[self.using]
        if connection.vendor != "postgresql" or not layout.exists(connection):
            return
        with connection.cursor() as cursor:
            for statement in layout.missing(connection, self.dimensions):
                cursor.execute(statement)

    def lacking(self) -> Iterable[str]:
        """Yield the table, the foreign key and the index, if they are missing."""
        connection = connections[self.using]
        if connection.vendor != "postgresql":
            return
        if not layout.exists(connection):
            yield f"the table {layout.TABLE}"
            return
        if layout.missing_key(connection):
            yield f"the foreign key {layout.KEY}"
        if layout.missing_index(connection, self.dimensions):
            yield f"the index {layout.index_of(self.dimensions)}"

    def check(self) -> Iterable[str]:
        """Yield what `migrate` does not put right."""
        connection = connections[self.using]
        if connection.vendor != "postgresql":
            yield "pgvector works on PostgreSQL only. Set PRISM_GRAPH['VECTORS'] = 'exact' here."
            return
        if not apps.is_installed(PACKAGE):
            yield "Its app is not installed. Add 'prism_graph.pgvector' to INSTALLED_APPS, and migrate."
        present, available = layout.versions(connection)
        yield from _complaints(present, available)
        if self.dimensions > layout.MAX_HALF_WIDTH:
            yield (
                f"pgvector indexes up to {layout.MAX_HALF_WIDTH} dimensions, and the embedder makes "
                f"{self.dimensions}. Have it make fewer, or set PRISM_GRAPH['VECTORS'] = 'exact'."
            )


def _among(numbers: Numbers, allowed: Numbers) -> NDArray[np.bool_]:
    """Say which numbers are among the allowed ones, which are ascending and not none."""
    at = np.minimum(np.searchsorted(allowed, numbers), len(allowed) - 1)
    return np.asarray(allowed[at] == numbers)


def _complaints(present: str | None, available: str | None) -> Iterable[str]:
    oldest = ".".join(map(str, layout.OLDEST))
    version = present or available
    if version is None:
        yield "The server has no extension vector. Install pgvector on it."
    elif tuple(map(int, version.split(".")[:2])) < layout.OLDEST:
        what = "has" if present else "can install"
        yield (
            f"The database {what} vector {version}, which is older than {oldest}. Upgrade pgvector on the "
            "server, then run ALTER EXTENSION vector UPDATE."
        )
