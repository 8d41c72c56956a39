"""Vectors that this process has read, by partition; dropped as soon as the partition's version is another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.vectors.base import Numbers, Partition, Vectors

# The oldest go first beyond this; 100,000 vectors of 384 dimensions are 154 MB.
MAX_BYTES: Final = 256 * 1024 * 1024

Key = tuple[str, tuple[str, str, str, str], str]


@dataclass(frozen=True, slots=True)
class Block:
    """The vectors of a partition at one version, by ascending chunk number.

    `ids` are those of the rows that they were read from: a number can come again after a rollback.
    """

    version: str
    numbers: Numbers
    ids: NDArray[np.bytes_]
    vectors: Vectors

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.numbers.nbytes + self.ids.nbytes + self.vectors.nbytes)


class Blocks:
    """The blocks of one process, bounded in bytes, for all threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._held: OrderedDict[Key, Block] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @staticmethod
    def _key(using: str, partition: Partition) -> Key:
        return using, partition.scope.parts, partition.space.key

    def get(self, using: str, partition: Partition) -> Block | None:
        """Return what is held of a partition, at whatever version."""
        key = self._key(using, partition)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, using: str, partition: Partition, block: Block) -> None:
        """Hold a block in the place of what was held, if it is not larger than all may be."""
        key = self._key(using, partition)
        with self._lock:
            self._drop(key)
            if block.size > self.max_bytes:
                return
            self._held[key] = block
            self._bytes += block.size
            while self._bytes > self.max_bytes:
                self._drop(next(iter(self._held)))

    def drop(self, using: str, parts: tuple[str, str, str, str]) -> None:
        """Let go of what is held of a scope and of every scope below it."""
        with self._lock:
            for key in [key for key in self._held if _covers(parts, key[1]) and key[0] == using]:
                self._drop(key)

    def keep(self, using: str, parts: tuple[str, str, str, str], spaces: Collection[str]) -> None:
        """Let go of what is held of a scope in other spaces than these."""
        with self._lock:
            for key in [key for key in self._held if key[:2] == (using, parts)]:
                if key[2] not in spaces:
                    self._drop(key)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _drop(self, key: Key) -> None:
        if gone := self._held.pop(key, None):
            self._bytes -= gone.size


def _covers(above: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    return all(mine in ("", theirs) for mine, theirs in zip(above, parts, strict=True))


BLOCKS: Final = Blocks()
