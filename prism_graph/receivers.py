"""Signals that keep the index on words true, and deletion behind a door."""

from __future__ import annotations

from typing import Any

from django.db import connections, router

from prism_graph.errors import UnscopedQuery


def analyse_text(instance: Any, **_: Any) -> None:
    """Set a text's terms before save() writes it; bulk_create calls the same method."""
    instance.prepare_for_write()


def refuse_collector(**_: Any) -> None:
    """Raise UnscopedQuery: only Django's own collector sends this, and it deletes by primary key alone."""
    raise UnscopedQuery("Delete through a door: Model.objects.at(scope).filter(…).delete().")


def restore_index(using: str, **_: Any) -> None:
    """Reinstall after a migration whatever a table remake dropped, and index what it missed."""
    from prism_graph import repair
    from prism_graph.models import ChunkText

    if not router.allow_migrate_model(using, ChunkText):
        return
    if ChunkText._meta.db_table in connections[using].introspection.table_names():
        repair.install(using)
