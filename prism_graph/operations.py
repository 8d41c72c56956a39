"""Migration operations. They read the database's vendor from the connection when they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.migrations.operations.base import Operation

from prism_graph.fulltext import engine
from prism_graph.tables import Tables

# Columns that hold what facts and erasures are about; the index silences those of passages.
CONTENT: Final = {
    "fact": ("key", "key_digest"),
    "factversion": ("subject", "subject_digest", "predicate", "value"),
    "standing": ("decided_by", "reason"),
    "receipt": ("target", "actor", "reason"),
}
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
        tables = Tables.of(to_state.apps, app_label)
        for statement in engine(schema_editor.connection, tables).install_sql():
            schema_editor.execute(statement, params=None)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Drop the index."""
        tables = Tables.of(from_state.apps, app_label)
        for statement in engine(schema_editor.connection, tables).remove_sql():
            schema_editor.execute(statement, params=None)

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Install the full-text index"


class RemoveFullText(InstallFullText):
    """Drop the index on words; backwards, create it. For a migration that renames its table."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Drop the index."""
        super().database_backwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Run the engine's statements for what is missing."""
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Remove the full-text index"


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
        quote = schema_editor.quote_name
        for table, columns in self.columns.items():
            for column in columns:
                statement = NO_STATISTICS.format(quote(table), quote(column), target)
                schema_editor.execute(statement, params=None)

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return f"Keep {', '.join(self.columns)} out of the statistics"


class InstallMemory(Operation):
    """Do in the migration of a project's own models what no model declares: index and statistics.

    It stands after the ten models of the app are created.
    """

    reduces_to_sql = True
    reversible = True

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models as they are."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Create the index on words, and keep content out of the statistics."""
        for part in self._parts(app_label, to_state):
            part.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Undo both."""
        for part in reversed(self._parts(app_label, from_state)):
            part.database_backwards(app_label, schema_editor, from_state, to_state)

    def _parts(self, app_label: str, state: Any) -> list[Operation]:
        names = Tables.of(state.apps, app_label).names
        silent = NoStatistics({names[model]: columns for model, columns in CONTENT.items()})
        return [InstallFullText(), silent]

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Install what memory needs besides its tables"
