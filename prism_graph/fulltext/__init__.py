"""The index on words: one contract, one engine for each database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import NotSupportedError

from prism_graph.fulltext.base import FullText

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

    from prism_graph.tables import Tables

__all__ = ["FullText", "engine"]


def engine(connection: BaseDatabaseWrapper | Any, tables: Tables | None = None) -> FullText:
    """Return the engine of a connection, for the models in use or for other tables.

    Raises NotSupportedError for another database than two.
    """
    # Read from the connection in use: one project may keep memory on either database.
    if connection.vendor == "sqlite":
        from prism_graph.fulltext.sqlite import SQLiteFullText

        return SQLiteFullText(connection, tables)
    if connection.vendor == "postgresql":
        from prism_graph.fulltext.postgresql import PostgreSQLFullText

        return PostgreSQLFullText(connection, tables)
    raise NotSupportedError("prism_graph runs on SQLite and PostgreSQL.")
