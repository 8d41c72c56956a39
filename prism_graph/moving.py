"""From one store or embedder to another: built beside what is searched, then switched to, by tenant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db import connections

from prism_graph import embedding, spaces
from prism_graph.doors import scope_of
from prism_graph.embedding import keep, locked
from prism_graph.errors import InvalidInput
from prism_graph.fulltext import engine
from prism_graph.models import Chunk, Embedding, EmbeddingFailure, VectorPartition
from prism_graph.repair import Progress
from prism_graph.scope import COLUMNS, Scope
from prism_graph.spaces import Setup, space_in
from prism_graph.transactions import write_block
from prism_graph.vectors import Numbers, Partition, Space, VectorStore
from prism_graph.writing import BATCH, batches

WHY: Final = "move the vectors of every scope to what the settings name now"


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of a tenant: vectors copied and made anew, chunks that got none, and how it ended.

    `switched`: it is searched by the new vectors. `left`: another worker is at some of its chunks.
    """

    tenant: str
    copied: int = 0
    made: int = 0
    failed: int = 0
    switched: bool = False
    left: bool = False


def tenants(using: str, only: str | None = None) -> list[tuple[str, Space]]:
    """Return the tenants that are searched by other vectors than the settings name, and by which."""
    target = target_of(using).space
    rows = _partitions(using, only).filter(serving=True).order_by("tenant")
    return [(row.tenant, space_in(row)) for row in rows if row.space != target.key]


def target_of(using: str) -> Setup:
    """Return what the settings name. Raises InvalidInput where they name nothing."""
    if not (known := spaces.setups(using)):
        raise InvalidInput(
            "PRISM_GRAPH names no VECTORS with an EMBEDDER to move to: set both, or remove the vectors."
        )
    return known[0]


def move(using: str, tenant: str, *, progress: Progress, accept_failures: bool = False) -> Moved:
    """Build a tenant's vectors beside the old ones, switch to them, and delete the old ones.

    What was built before a kill is not built again. It is not switched to while a chunk that has a vector
    now would have none, unless failures are accepted. Raises EmbedderUnavailable.
    """
    setup, old = target_of(using), spaces.serving(Scope(tenant), using)
    if old is None or old.key == setup.space.key:
        return Moved(tenant, switched=True)
    _prepare(setup)
    copied, made, left, lost = 0, 0, False, 0
    scopes = _scopes(using, tenant)
    for scope in progress(scopes, len(scopes)):
        copied += _copy(scope, using, old, setup)
        done = embedding.embed_in(
            scope,
            using,
            setup,
            retry=not accept_failures,
            also=_embedded(scope, using, old),
        )
        made, left = made + done.made, left or done.left
        lost += _lost(scope, using, old, setup.space)
    if left or (lost and not accept_failures):
        return Moved(tenant, copied, made, lost, left=left)
    _switch(using, tenant, setup.space)
    # What was written while this ran could not be embedded before the switch.
    for scope in _scopes(using, tenant):
        made += embedding.embed(scope, using).made
    sweep(using, tenant)
    return Moved(tenant, copied, made, lost, switched=True)


def _prepare(setup: Setup) -> None:
    """Let the store create what it needs. Raises InvalidInput with what it still lacks."""
    setup.store.prepare()
    if wrong := [*setup.store.check(), *setup.store.lacking()]:
        raise InvalidInput(f"Nothing can be kept in {setup.space.store} yet: {'; '.join(wrong)}")


def sweep(using: str, tenant: str | None = None, *, everything: bool = False) -> int:
    """Delete the vectors that no search uses, of moves that are through or were given up; count them.

    `everything` takes those in use as well.
    """
    target = None if everything else target_of(using).space.key
    count = 0
    for row in list(_partitions(using, tenant).order_by("serving", "pk")):
        # Asked for each: another process may switch a tenant meanwhile.
        serving = spaces.serving(Scope(row.tenant), using)
        if everything or (serving is not None and row.space not in (target, serving.key)):
            count += _clear(using, row)
    return count


def _partitions(using: str, tenant: str | None) -> Any:
    rows = VectorPartition.objects.db_manager(using).system(WHY)
    return rows if tenant is None else rows.filter(tenant=tenant)


def _scopes(using: str, tenant: str) -> list[Scope]:
    rows = Chunk.objects.db_manager(using).system(WHY).filter(tenant=tenant).order_by(*COLUMNS)
    return [Scope.from_columns(*parts) for parts in rows.values_list(*COLUMNS).distinct()]


def _embedded(scope: Scope, using: str, space: Space) -> Numbers:
    rows = Embedding.objects.db_manager(using).at(scope)
    return engine(connections[using]).numbers_of(rows.filter(space=space.key))


def _lost(scope: Scope, using: str, old: Space, new: Space) -> int:
    """Return how many chunks have a vector now and were refused one; what came meanwhile only waits."""
    refused = EmbeddingFailure.objects.db_manager(using).at(scope).filter(space=new.key)
    numbers = engine(connections[using]).numbers_of(refused)
    return len(np.intersect1d(_embedded(scope, using, old), numbers))


def _copy(scope: Scope, using: str, old: Space, setup: Setup) -> int:
    """Copy the vectors of the same embedder from the store that they are in; return how many."""
    if old.embedder != setup.space.embedder:
        return 0
    source = spaces.store_of(old, using)
    there = spaces.opened(scope, using, setup.space)
    here = spaces.opened(scope, using, old)
    wanted = np.setdiff1d(_embedded(scope, using, old), _embedded(scope, using, setup.space))
    return sum(
        _copy_batch(using, source, here, setup.store, there, batch)
        for batch in batches(wanted.tolist())
    )


def _copy_batch(
    using: str,
    source: VectorStore,
    here: Partition,
    store: VectorStore,
    there: Partition,
    batch: Sequence[int],
) -> int:
    scope = here.scope
    with write_block(using):
        numbers = locked(scope, using, batch)
        if not numbers:
            return 0
        among = engine(connections[using]).among("number", numbers)
        rows = Embedding.objects.db_manager(using).at(scope).filter(among)
        made_of = dict(rows.filter(space=here.space.key).values_list("number", "of"))
        # Whoever moves them as well has been here, or waits.
        done = set(rows.filter(space=there.space.key).values_list("number", flat=True))
        numbers = [number for number in numbers if number in made_of and number not in done]
        vectors = source.read(here, numbers)
        keep(there, using, store, {number: made_of[number] for number in numbers}, vectors)
        spaces.changed(using, scope)
        return len(numbers)


def _switch(using: str, tenant: str, space: Space) -> None:
    """Search a tenant in another space from now on."""
    spaces.opened(Scope(tenant), using, space)
    rows = VectorPartition.objects.db_manager(using).at(Scope(tenant))
    with write_block(using):
        list(rows.select_for_update().order_by("pk").values_list("pk"))
        rows.filter(serving=True).update(serving=False)
        rows.filter(space=space.key).update(serving=True)


def _clear(using: str, row: VectorPartition) -> int:
    """Delete a partition with all vectors in it."""
    scope, space = scope_of(row), space_in(row)
    count = 0
    while True:
        with write_block(using):
            rows = Embedding.objects.db_manager(using).at(scope).filter(space=space.key)
            batch = list(rows.order_by("number").values_list("number", flat=True)[:BATCH])
            among = engine(connections[using]).among("number", batch)
            spaces.forget(using, scope, batch, only=space)
            count += rows.filter(among).delete()[0]
            if len(batch) < BATCH:
                failures = EmbeddingFailure.objects.db_manager(using).at(scope)
                failures.filter(space=space.key).delete()
                partition = VectorPartition.objects.db_manager(using).at(scope)
                partition.filter(space=space.key).delete()
                return count
