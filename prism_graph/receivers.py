"""Signals that keep the index on words true, and deletion behind a door."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

from django.db import connections, router

from prism_graph import conf, storenames
from prism_graph.errors import InvalidSettings, PrismGraphError, UnscopedQuery
from prism_graph.scope import COLUMNS, Scope
from prism_graph.vectors import extension

logger = logging.getLogger(__name__)


def analyse_text(instance: Any, **_: Any) -> None:
    """Set a text's terms before save() writes it; bulk_create calls the same method."""
    instance.prepare_for_write()


def refuse_collector(**_: Any) -> None:
    """Raise UnscopedQuery: only Django's own collector sends this, and it deletes by primary key alone."""
    raise UnscopedQuery("Delete through a door: Model.objects.at(scope).filter(…).delete().")


def embed_new(scope: Scope, using: str, added: list[str], **_: Any) -> None:
    """Have the vectors made of what was just stored, if the settings want any."""
    if added and conf.vectors_wanted():
        from prism_graph import tasks

        tasks.schedule(scope, using)


def forget_vectors(rows: Any, **_: Any) -> None:
    """Take the vectors of chunks that a queryset deletes out of stores that keep them apart."""
    from prism_graph import spaces

    going: dict[Scope, list[int]] = defaultdict(list)
    for *parts, number in rows.order_by().values_list(*COLUMNS, "number"):
        going[Scope.from_columns(*parts)].append(number)
    for scope, numbers in going.items():
        spaces.forget(rows.db, scope, numbers)


def restore_index(using: str, **_: Any) -> None:
    """Reinstall after a migration whatever a table remake dropped, and index what it missed."""
    from prism_graph import repair
    from prism_graph.models import ChunkText

    if not router.allow_migrate_model(using, ChunkText):
        return
    if ChunkText._meta.db_table in connections[using].introspection.table_names():
        repair.install(using)


def prepare_stores(using: str, **_: Any) -> None:
    """Have the stores that the settings name create what they need, and restore what a remake dropped."""
    from prism_graph import spaces
    from prism_graph.models import Embedding

    if not router.allow_migrate_model(using, Embedding):
        return
    try:
        setups = spaces.setups(using)
    except PrismGraphError as error:
        # E014 says so as well; an embedder that cannot be made must not stop a migration.
        logger.warning("The stores of vectors are not prepared. %s", error)
        return
    for setup in setups:
        setup.store.prepare()


def load_extension(connection: Any, **_: Any) -> None:
    """Load sqlite-vec on a connection that opens, where the settings name it; the checks say if it fails."""
    if connection.vendor == "sqlite" and _is_named(extension.NAME):
        extension.load(connection)


def load_where_open() -> None:
    """Do the same for connections that other apps opened before this one was ready."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            load_extension(connection)


def _is_named(store: str) -> bool:
    try:
        return store in map(storenames.name_of, conf.vector_stores())
    except InvalidSettings:
        return False
