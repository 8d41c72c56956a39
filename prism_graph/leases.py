"""Holding a partition while its vectors are made: one worker at a time, and none that is dead for long."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Thread
from typing import Any, Final

from django.db import DatabaseError, connections

from prism_graph import clock
from prism_graph.bases.rows import random_id
from prism_graph.tables import named
from prism_graph.transactions import write_block
from prism_graph.vectors import Partition

logger = logging.getLogger(__name__)

# Whoever embeds says so this long ahead, again and again. A worker that was killed holds up its scope for
# no longer.
LEASE: Final = timedelta(seconds=60)
# And one whose embedder does not answer, for no longer than this at one batch.
LONGEST: Final = timedelta(minutes=15)

_HERE: Final = "space = %s AND tenant = %s AND owner = %s AND agent = %s AND thread = %s"
_TAKE: Final = (
    f"UPDATE $vectorpartition SET lease = %s, leased_until = %s WHERE {_HERE} "
    "AND (leased_until IS NULL OR leased_until < %s)"
)
_PROLONG: Final = f"UPDATE $vectorpartition SET leased_until = %s WHERE {_HERE} AND lease = %s"
_CHANGE: Final = (
    f"UPDATE $vectorpartition SET version = %s, leased_until = %s, failures = 0, failed_at = NULL, "
    f"reason = '' WHERE {_HERE} AND lease = %s"
)
_GIVE_BACK: Final = (
    f"UPDATE $vectorpartition SET lease = '', leased_until = NULL WHERE {_HERE} AND lease = %s"
)
_DOWN: Final = (
    "UPDATE $vectorpartition SET failures = failures + 1, failed_at = %s, reason = %s "
    f"WHERE {_HERE}"
)


class LeaseLost(Exception):
    """Another worker took this partition over."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One worker's hold on a partition; `token` stands in its row."""

    partition: Partition
    using: str
    token: str

    def change(self) -> None:
        """Give the partition another version, and prolong the lease. Raises LeaseLost."""
        if not self._execute(_CHANGE, [random_id(), self._until()], [self.token]):
            raise LeaseLost

    def down(self, reason: str) -> None:
        """Note that the embedder could not be reached."""
        self._execute(_DOWN, [self._adapt(clock.now()), reason])

    @contextmanager
    def prolonged(self) -> Iterator[None]:
        """Keep the lease while the block waits for an embedder, up to LONGEST."""
        done = Event()
        thread = Thread(target=self._prolong, args=(done,), name="prism_graph-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _prolong(self, done: Event) -> None:
        until = time.monotonic() + LONGEST.total_seconds()
        try:
            while not done.wait(LEASE.total_seconds() / 3) and time.monotonic() < until:
                try:
                    self._execute(_PROLONG, [self._until()], [self.token])
                except DatabaseError:
                    # Whether the lease is still held is seen before anything is stored.
                    logger.warning("A lease could not be prolonged.", exc_info=True)
        finally:
            # This thread's own.
            connections[self.using].close()

    def _adapt(self, instant: Any) -> Any:
        return connections[self.using].ops.adapt_datetimefield_value(instant)

    def _until(self) -> Any:
        return self._adapt(clock.now() + LEASE)

    def _execute(self, statement: str, before: Sequence[Any], after: Sequence[Any] = ()) -> int:
        place = [self.partition.space.key, *map(str, self.partition.scope.parts)]
        with connections[self.using].cursor() as cursor:
            cursor.execute(named(statement), [*before, *place, *after])
            return int(cursor.rowcount)

    @classmethod
    @contextmanager
    def taken(cls, partition: Partition, using: str) -> Iterator[Lease | None]:
        """Hold a partition while the block runs; None when somebody else holds it."""
        lease = cls(partition, using, random_id())
        with write_block(using):
            held = lease._execute(_TAKE, [lease.token, lease._until()], [lease._adapt(clock.now())])
        try:
            yield lease if held else None
        finally:
            if held:
                lease._execute(_GIVE_BACK, [], [lease.token])
