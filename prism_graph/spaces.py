"""Which vectors a tenant is searched by: its partitions, and the embedder and store that fit them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connections, transaction

from prism_graph import conf, storenames, vectors
from prism_graph.bases.rows import random_id
from prism_graph.doors import scope_of
from prism_graph.embedders import Embedder, space_of
from prism_graph.errors import EmbeddingSpaceMismatch
from prism_graph.models import VectorPartition
from prism_graph.scope import Scope
from prism_graph.tables import named
from prism_graph.vectors import Partition, Space, VectorStore
from prism_graph.vectors.blocks import BLOCKS

_OPEN: Final = (
    "INSERT INTO $vectorpartition (id, tenant, owner, agent, thread, space, store, embedder, dimensions, "
    "serving, version, lease, leased_until, failures, failed_at, reason) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', NULL, 0, NULL, '') ON CONFLICT DO NOTHING"
)
_CHANGE: Final = (
    "UPDATE $vectorpartition SET version = %s "
    "WHERE tenant = %s AND owner = %s AND agent = %s AND thread = %s"
)


@dataclass(frozen=True, slots=True)
class Setup:
    """An embedder and a store that the settings name, and the space that they make together."""

    space: Space
    store: VectorStore
    embedder: Embedder


def setups(using: str) -> list[Setup]:
    """Return what the settings name: what is to be used, then what was until the move is through."""
    return [_setup(store, embedder, using) for store, embedder in conf.vector_setups()]


def _setup(store: Any, embedder: Embedder, using: str) -> Setup:
    space = Space(storenames.name_of(store), space_of(embedder), embedder.dimensions)
    return Setup(space, vectors.make(store, using, embedder.dimensions), embedder)


def store_of(space: Space, using: str) -> VectorStore:
    """Return the store of a space, with the options that the settings name for it, if they name it."""
    for value in conf.vector_stores():
        if storenames.name_of(value) == space.store:
            return vectors.make(value, using, space.dimensions)
    return vectors.make(space.store, using, space.dimensions)


def space_in(row: VectorPartition) -> Space:
    """Return the space that a row names."""
    return Space(row.store, row.embedder, row.dimensions)


def serving(scope: Scope, using: str) -> Space | None:
    """Return the space that the scope's tenant is searched in; None while it has no vectors."""
    rows = VectorPartition.objects.db_manager(using).at(Scope(scope.tenant))
    row = rows.filter(serving=True).first()
    return None if row is None else space_in(row)


def fitting(space: Space, using: str) -> Setup:
    """Return what the settings name for a space. Raises EmbeddingSpaceMismatch, naming both."""
    known = setups(using)
    for setup in known:
        if setup.space.key == space.key:
            return setup
    asked = known[0].space if known else "none"
    raise EmbeddingSpaceMismatch(
        f"The vectors here were made by {space}, and PRISM_GRAPH names {asked}: set that again, or run "
        "`manage.py prism_graph_migrate_vectors`."
    )


def opened(scope: Scope, using: str, space: Space, *, serving: bool = False) -> Partition:
    """Return a scope's partition of a space, made where there is none yet.

    With `serving`, the tenant is searched in it from now on, if it was searched in none.
    """
    if serving:
        _insert(Scope(scope.tenant), using, space, serving=True)
    _insert(scope, using, space, serving=False)
    row = VectorPartition.objects.db_manager(using).at(scope).get(space=space.key)
    return Partition(scope, space, row.version)


def _insert(scope: Scope, using: str, space: Space, *, serving: bool) -> None:
    about: list[Any] = [
        space.key,
        space.store,
        space.embedder,
        space.dimensions,
        serving,
        random_id(),
    ]
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute(named(_OPEN), [random_id(), *map(str, scope.parts), *about])


def seen_from(scope: Scope, using: str) -> tuple[Space | None, list[Partition]]:
    """Return the space that a reader is searched in, with its partitions there, in one statement."""
    rows = list(VectorPartition.objects.db_manager(using).visible_to(scope))
    versions: dict[Scope, dict[str, str]] = {level: {} for level in scope.chain}
    for row in rows:
        versions[scope_of(row)][row.space] = row.version
    for level, known in versions.items():
        # Erased or moved away in another process: there is no version to notice it by.
        BLOCKS.keep(using, level.parts, set(known))
    space = next((space_in(row) for row in rows if row.serving), None)
    if space is None:
        return None, []
    return space, [
        Partition(level, space, known[space.key])
        for level, known in versions.items()
        if space.key in known
    ]


def down_since(scope: Scope, using: str, since: datetime) -> bool:
    """Say whether the embedder could not be reached for a scope at any time after an instant."""
    rows = VectorPartition.objects.db_manager(using).at(scope)
    return rows.filter(failed_at__gt=since).exists()


def forget(using: str, scope: Scope, numbers: Iterable[int], *, only: Space | None = None) -> None:
    """Take chunks' vectors out of every store that keeps them apart, or of one, and tell every process.

    Call it in the transaction that deletes the chunks, which are locked, or their rows of Embedding.
    """
    rows = VectorPartition.objects.db_manager(using).at(scope).order_by("space")
    listed = list(numbers)
    partitions = [Partition(scope, space_in(row), row.version) for row in rows]
    for partition in partitions:
        if only is not None and partition.space.key != only.key:
            continue
        store = store_of(partition.space, using)
        if not store.inline:
            store.drop(partition, listed)
    if partitions:
        changed(using, scope)
        BLOCKS.drop(using, scope.parts)


def forget_all(scope: Scope, using: str, rows: Any) -> None:
    """Take everything of these partitions, of a scope and those below it, out of their stores.

    Call it in the transaction that deletes them and their chunks, which are locked.
    """
    BLOCKS.drop(using, scope.parts)
    for row in rows.order_by("pk").iterator():
        store = store_of(space_in(row), using)
        if not store.inline:
            store.drop(Partition(scope_of(row), space_in(row), row.version), None)


def changed(using: str, scope: Scope) -> None:
    """Give the scope's partitions another version."""
    with connections[using].cursor() as cursor:
        cursor.execute(named(_CHANGE), [random_id(), *map(str, scope.parts)])
