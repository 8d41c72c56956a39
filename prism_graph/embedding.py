"""Making vectors of what is stored: what waits, one batch after another, and what could not be made."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db import connections
from django.db.models import F

from prism_graph import clock, embedders, spaces
from prism_graph.bases.rows import random_ids
from prism_graph.errors import EmbedderUnavailable, EmbeddingFailed
from prism_graph.fulltext import engine
from prism_graph.indexing import spoken
from prism_graph.leases import Lease, LeaseLost
from prism_graph.models import Chunk, ChunkText, Embedding, EmbeddingFailure
from prism_graph.records import FailedEmbedding
from prism_graph.scope import COLUMNS, Scope
from prism_graph.spaces import Setup
from prism_graph.transactions import write_block
from prism_graph.vectors import Numbers, Partition, Space, Vectors, VectorStore
from prism_graph.writing import digest

logger = logging.getLogger(__name__)

# Texts in one request, at most; an embedder's own `batch_size` counts if it is less.
BATCH: Final = 64
# When a whole batch of at least this many fails, the rest is left waiting: it is hardly the texts.
ALL_FAILED: Final = 16
MAX_REASON: Final = 500

FIELDS: Final = ("id", *COLUMNS, "number", "space", "of", "vector")


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a run did: vectors made, chunks that got none, and whether anything was left waiting."""

    made: int = 0
    failed: int = 0
    left: bool = False

    def __add__(self, other: Embedded) -> Embedded:
        """Return both runs together."""
        return Embedded(self.made + other.made, self.failed + other.failed, self.left or other.left)


def setup_of(scope: Scope, using: str) -> Setup | None:
    """Return what embeds a scope's chunks: what fits the tenant's vectors, or the settings' own.

    None where the settings name no vectors. Raises EmbeddingSpaceMismatch.
    """
    if not (known := spaces.setups(using)):
        return None
    space = spaces.serving(scope, using)
    return known[0] if space is None else spaces.fitting(space, using)


def waiting(
    scope: Scope, using: str, space: Space, *, failed: bool = False, also: Numbers | None = None
) -> Numbers:
    """Return the numbers of a scope's live chunks without a vector; those that failed only if asked for.

    `also` names other chunks that are to have one.
    """
    index = engine(connections[using])
    with index.reading():
        [level] = index.directory([scope])
    live = np.sort(level.numbers)
    if also is not None:
        live = np.union1d(live, also)
    models = (Embedding,) if failed else (Embedding, EmbeddingFailure)
    for model in models:
        rows = model.objects.db_manager(using).at(scope).filter(space=space.key)
        live = np.setdiff1d(live, index.numbers_of(rows), assume_unique=True)
    return live


def pending(scope: Scope, using: str) -> int:
    """Return how many chunks of a scope wait for their vectors. See Memory.pending."""
    if not (known := spaces.setups(using)):
        return 0
    return len(waiting(scope, using, spaces.serving(scope, using) or known[0].space))


def failed(scope: Scope, using: str) -> list[FailedEmbedding]:
    """Return the chunks of a scope that got no vector. See Memory.failed."""
    space = spaces.serving(scope, using)
    if space is None:
        return []
    rows = EmbeddingFailure.objects.db_manager(using).at(scope).filter(space=space.key)
    told = rows.order_by("number").values_list("chunk__id", "attempts", "reason", "failed_at")
    return [FailedEmbedding(*row) for row in told]


def embed(scope: Scope, using: str, *, retry: bool = False) -> Embedded:
    """Make the vectors that a scope waits for, those that failed before only with `retry`.

    Raises EmbeddingSpaceMismatch, and EmbedderUnavailable when the embedder cannot be reached; what was
    made until then is kept.
    """
    setup = setup_of(scope, using)
    if setup is None:
        return Embedded()
    return embed_in(scope, using, setup, retry=retry, serving=True)


def embed_in(
    scope: Scope,
    using: str,
    setup: Setup,
    *,
    retry: bool = False,
    serving: bool = False,
    also: Numbers | None = None,
) -> Embedded:
    """Make the vectors that a scope waits for in one space, of other chunks `also`. See `embed`."""
    done = Embedded()
    # Looked at again after the lease is given back: whoever found it taken has gone by then.
    while len(waiting(scope, using, setup.space, failed=retry, also=also)):
        partition = spaces.opened(scope, using, setup.space, serving=serving)
        with Lease.taken(partition, using) as lease:
            if lease is None:
                return done + Embedded(left=True)
            # And once it is held: whoever held it before may have made them.
            numbers = waiting(scope, using, setup.space, failed=retry, also=also)
            run = _Run(lease, using, setup).embed(numbers)
        done += run
        # A chunk without its text would be waited for without end.
        if run.left or (len(numbers) and not (run.made or run.failed)):
            return done
        retry = False
    return done


@dataclass(frozen=True, slots=True)
class _Run:
    """One worker's run through a partition."""

    lease: Lease
    using: str
    setup: Setup

    @property
    def partition(self) -> Partition:
        return self.lease.partition

    @property
    def scope(self) -> Scope:
        return self.partition.scope

    def embed(self, numbers: Numbers) -> Embedded:
        done, size = Embedded(), _batch_size(self.setup.embedder)
        for start in range(0, len(numbers), size):
            try:
                made, failures = self._batch(numbers[start : start + size].tolist())
            except EmbedderUnavailable as error:
                self.lease.down(_told(error))
                raise
            except LeaseLost:
                return done + Embedded(left=True)
            done += Embedded(made, failures)
            if not made and failures >= ALL_FAILED:
                return done + Embedded(left=True)
        return done

    def _batch(self, numbers: Sequence[int]) -> tuple[int, int]:
        """Embed some chunks and store what came of each; return how many got a vector, and how many none."""
        among = engine(connections[self.using]).among("number", numbers)
        rows = ChunkText.objects.db_manager(self.using).at(self.scope).filter(among)
        listed = rows.order_by("number").values_list("number", "text", "speaker")
        texts = {number: spoken(text, speaker) for number, text, speaker in listed}
        with self.lease.prolonged():
            made, reasons = _split(self.setup, list(texts.items()))
        with write_block(self.using):
            self._store(texts, made)
            self._fail(reasons)
        return len(made), len(reasons)

    def _store(self, texts: dict[int, str], made: dict[int, Vectors]) -> None:
        # Locked before the partition is, as erasing does: what was erased meanwhile is not there.
        numbers = locked(self.scope, self.using, list(made))
        self.lease.change()
        if not numbers:
            return
        of = {number: digest(texts[number]) for number in numbers}
        rows = np.stack([made[number] for number in numbers])
        keep(self.partition, self.using, self.setup.store, of, rows)
        self._failures(numbers).delete()

    def _failures(self, numbers: Sequence[int]) -> Any:
        rows = EmbeddingFailure.objects.db_manager(self.using).at(self.scope)
        among = engine(connections[self.using]).among("number", numbers)
        return rows.filter(among, space=self.partition.space.key)

    def _fail(self, reasons: dict[int, str]) -> None:
        known = self._failures(list(reasons))
        again = set(known.values_list("number", flat=True)) if reasons else set()
        rows = EmbeddingFailure.objects.db_manager(self.using).at(self.scope)
        now, space = clock.now(), self.partition.space.key
        for number in locked(self.scope, self.using, list(reasons)):
            about = {"reason": reasons[number], "failed_at": now}
            if number in again:
                row = known.filter(number=number)
                row.update(attempts=F("attempts") + 1, **about)
            else:
                rows.create(number=number, space=space, **about)


def keep(
    partition: Partition, using: str, store: VectorStore, of: Mapping[int, str], rows: Vectors
) -> None:
    """Store the vectors of chunks, given by number with the digest of what each was made of, in order.

    Call it in a transaction in which the chunks are locked, and that gives the partition another version.
    """
    parts, key = tuple(map(str, partition.scope.parts)), partition.space.key
    raws = rows.astype("<f4")
    stored = (
        (name, *parts, number, key, digest_of, raw.tobytes() if store.inline else None)
        for name, (number, digest_of), raw in zip(
            random_ids(len(of)), of.items(), raws, strict=True
        )
    )
    engine(connections[using]).insert(Embedding, FIELDS, stored)
    store.put(partition, list(of), rows)


def locked(scope: Scope, using: str, numbers: Sequence[int]) -> list[int]:
    """Lock these chunks, and return those that are still there."""
    if not numbers:
        return []
    rows = Chunk.objects.db_manager(using).at(scope)
    there = rows.filter(engine(connections[using]).among("number", numbers)).select_for_update()
    return list(there.order_by("number").values_list("number", flat=True))


def _split(
    setup: Setup, texts: Sequence[tuple[int, str]]
) -> tuple[dict[int, Vectors], dict[int, str]]:
    """Return a vector or a reason for each text; what is refused together is asked for in halves."""
    if not texts:
        return {}, {}
    try:
        rows = embedders.vectors(setup.embedder, [text for _, text in texts])
        return dict(zip((number for number, _ in texts), rows, strict=True)), {}
    except EmbedderUnavailable:
        raise
    except EmbeddingFailed as error:
        if len(texts) == 1:
            return {}, {texts[0][0]: _told(error)}
    half = len(texts) // 2
    made, reasons = _split(setup, texts[:half])
    more, others = _split(setup, texts[half:])
    return made | more, reasons | others


def _batch_size(embedder: Any) -> int:
    own = getattr(embedder, "batch_size", BATCH)
    return max(1, min(BATCH, own)) if isinstance(own, int) else BATCH


def _told(error: Exception) -> str:
    # An embedder's own words may hold what no database stores.
    told = f"{type(error).__name__}: {error}".replace("\0", "\N{REPLACEMENT CHARACTER}")
    return told.encode(errors="replace").decode()[:MAX_REASON]
