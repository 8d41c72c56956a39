"""Migration operations. They read the database's vendor from the connection when they run."""

from __future__ import annotations

from typing import Any

from django.db.migrations.operations.base import Operation

from prism_graph.fulltext import engine


class InstallFullText(Operation):
    """Create the index on words with what keeps it; backwards, drop both."""

    reduces_to_sql = True
    reversible = True

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models as they are."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Run the engine's statements for what is missing."""
        for statement in engine(schema_editor.connection).install_sql():
            schema_editor.execute(statement, params=None)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Drop the index."""
        for statement in engine(schema_editor.connection).remove_sql():
            schema_editor.execute(statement, params=None)

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Install the full-text index"
