"""What a store of vectors does: keep them by partition, find the nearest of those that may be seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_graph.scope import Scope

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
Cosines = NDArray[np.float64]

# Cosines are sums of products of float32; what they differ by between two machines lies below this.
DECIMALS: Final = 9


@dataclass(frozen=True)
class Space:
    """What makes vectors comparable: the store that keeps them, and what the embedder calls itself.

    `embedder` is name/model/dimensions.
    """

    store: str
    embedder: str
    dimensions: int

    @cached_property
    def key(self) -> str:
        """32 characters that stand for it in the rows."""
        spelt = f"{len(self.store)}:{self.store}{self.embedder}"
        return blake2b(spelt.encode(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        return f"{self.embedder} in {self.store}"


@dataclass(frozen=True, slots=True)
class Partition:
    """The vectors of one scope in one space. `version` is another one after every change."""

    scope: Scope
    space: Space
    version: str


class Nearest(NamedTuple):
    """Chunks found by their vectors: numbers and cosines, best first."""

    numbers: Numbers
    cosines: Cosines


class VectorStore(ABC):
    """Keep vectors of unit length, and find those nearest to another one.

    A store is made for one database alias and one number of dimensions. Whatever it is asked for names its
    partitions; nothing of another one may be read, counted or returned.
    """

    name: ClassVar[str]
    # Whether the vectors lie in the rows of Embedding, so that `put` and `drop` have nothing to do.
    inline: ClassVar[bool] = False

    def __init__(self, using: str, dimensions: int, **options: Any) -> None:
        self.using, self.dimensions = using, dimensions

    @abstractmethod
    def put(self, partition: Partition, numbers: Sequence[int], vectors: Vectors) -> None:
        """Keep the vectors of these chunks. Called in the transaction that records them."""

    @abstractmethod
    def drop(self, partition: Partition, numbers: Sequence[int] | None) -> None:
        """Forget the vectors of these chunks, or all of the partition.

        Called in the transaction that erases the chunks, which an exception undoes.
        """

    @abstractmethod
    def read(self, partition: Partition, numbers: Sequence[int]) -> Vectors:
        """Return the vectors of these chunks, in this order. Raises LookupError for one that is not kept."""

    @abstractmethod
    def nearest(
        self, partitions: Sequence[Partition], query: Vectors, limit: int, allowed: Numbers
    ) -> Nearest:
        """Return the best of the allowed chunks by cosine, at least `limit` if there are as many.

        `allowed` is ascending: what the reader sees and the search's options leave in. A chunk that is not
        in these partitions or not among them takes the place of none that is.
        """

    def prepare(self) -> None:  # noqa: B027 - most stores need nothing
        """Create what the store needs for its width; called by migrate and by prism_graph_migrate_vectors.

        What is there already stays as it is.
        """

    def lacking(self) -> Iterable[str]:
        """Name what `prepare`, or the store's own migration, has yet to create."""
        return ()

    def check(self) -> Iterable[str]:
        """Yield what keeps the store from working on its database, beyond `lacking`, and what to do."""
        return ()


def in_order(found: Numbers, vectors: Vectors, numbers: Sequence[int]) -> Vectors:
    """Return vectors, found for ascending numbers, in the order asked for. Raises LookupError."""
    wanted = np.asarray(numbers, dtype=np.int64)
    at = np.searchsorted(found, wanted)
    if not np.array_equal(found[at[at < len(found)]], wanted):
        raise LookupError("Some of these chunks have no vector here.")
    return vectors[at]


def best(numbers: Numbers, cosines: Cosines, limit: int) -> Nearest:
    """Return the best by cosine, with all that equal the last of them: an order of rows decides nothing."""
    if len(numbers) > limit:
        least = np.partition(cosines, len(cosines) - limit)[len(cosines) - limit]
        kept = cosines >= least
        numbers, cosines = numbers[kept], cosines[kept]
    order = np.argsort(-cosines, kind="stable")
    return Nearest(numbers[order], cosines[order])


def cosines_of(vectors: Vectors, query: Vectors) -> Cosines:
    """Return each row's cosine with the query, the same for a row whatever stands around it."""
    # Not a matrix product, whose order of additions depends on the number of rows.
    products = vectors.astype(np.float64) * query.astype(np.float64)
    return np.asarray(np.round(products.sum(axis=1), DECIMALS))
