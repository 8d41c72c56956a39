"""Signals that keep the index on words true, and deletion behind a door."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db import connections, router

from prism_graph import conf
from prism_graph.errors import UnscopedQuery
from prism_graph.scope import COLUMNS, Scope


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
    """Create after a migration what the stores of vectors that the settings name need."""
    from prism_graph import spaces
    from prism_graph.models import VectorPartition

    if router.allow_migrate_model(using, VectorPartition):
        for setup in spaces.setups(using):
            setup.store.prepare()
