"""Migration operations. On a database other than PostgreSQL they do nothing."""

from __future__ import annotations

from typing import Any

from django.db import router
from django.db.migrations.operations.base import Operation

from prism_graph.pgvector import layout


class _OnPostgreSQL(Operation):
    """An operation that leaves the models as they are, and SQLite alone."""

    reduces_to_sql = True
    reversible = True

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models as they are."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Run the statements where the app's tables belong."""
        connection = schema_editor.connection
        if connection.vendor != "postgresql" or not router.allow_migrate(
            connection.alias, app_label
        ):
            return
        for statement in self.statements(connection):
            schema_editor.execute(statement, params=None)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Leave everything: what hangs on the table goes with it."""

    def statements(self, connection: Any) -> list[str]:
        """Return what to run."""
        raise NotImplementedError


class InstallExtension(_OnPostgreSQL):
    """Create the extension where it is absent. Backwards it stays: others may have come to use it."""

    def statements(self, connection: Any) -> list[str]:
        """Return CREATE EXTENSION."""
        return [layout.EXTENSION]

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Install the extension vector"


class InstallVectors(_OnPostgreSQL):
    """Tie vectors to the chunks in use, and keep them out of the statistics.

    The index comes with the end of `migrate`, which makes one for the width that the settings name.
    """

    def statements(self, connection: Any) -> list[str]:
        """Return what is missing."""
        return [*layout.missing_key(connection), layout.QUIET]

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Install what vectors need besides their table"
