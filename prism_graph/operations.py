"""Migration operations. They read the database's vendor from the connection when they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.migrations.operations.base import Operation

from prism_graph.fulltext import engine

NO_STATISTICS: Final = "ALTER TABLE {} ALTER COLUMN {} SET STATISTICS {}"


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


class NoStatistics(Operation):
    """Keep what columns hold out of the planner's statistics, which any role with the table may read.

    On PostgreSQL only; SQLite's statistics hold numbers of rows. `columns` lists them by table.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, columns: Mapping[str, Sequence[str]]) -> None:
        self.columns = columns

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models as they are."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take no statistics from now on."""
        self._alter(schema_editor, "0")

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take the default ones again."""
        self._alter(schema_editor, "-1")

    def _alter(self, schema_editor: Any, target: str) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return
        for table, columns in self.columns.items():
            for column in map(schema_editor.quote_name, columns):
                schema_editor.execute(NO_STATISTICS.format(table, column, target), params=None)

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return f"Keep {', '.join(self.columns)} out of the statistics"
