"""Migration operations. They read the database's vendor from the connection when they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation
from django.db.models import UniqueConstraint

from prism_graph.bases import BASES
from prism_graph.bases.naming import named
from prism_graph.fulltext import engine
from prism_graph.tables import Tables

# Columns that hold what facts and erasures are about; the index silences those of passages.
CONTENT: Final = {
    "fact": ("key", "key_digest"),
    "factversion": ("subject", "subject_digest", "predicate", "value"),
    "standing": ("decided_by", "reason"),
    "receipt": ("target", "actor", "reason"),
    "vectorpartition": ("reason",),
    "embedding": ("of", "vector"),
    "embeddingfailure": ("reason",),
}
PLAIN: Final = "prism_graph"
RENAME: Final = "ALTER TABLE {} RENAME CONSTRAINT {} TO {}"
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

    It stands after the models of the app are created.
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


class AdoptMemory(SeparateDatabaseAndState):
    """Take over the tables that prism_graph's own migrations made, with what they hold.

    `operations` create the models, with the columns of their bases and no more. Where there are no
    such tables, as in a new database, they are run.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        super().__init__(database_operations=operations, state_operations=operations)

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """Return what a migration file writes."""
        return type(self).__name__, [], {"operations": self.state_operations}

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Rename tables, constraints and indexes, and fill a new index on words; or create the tables."""
        connection = schema_editor.connection
        old = Tables({name: f"{PLAIN}_{name.lower()}" for name in BASES})
        if old.names["receipt"] not in connection.introspection.table_names():
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        for statement in engine(connection, old).remove_sql():
            schema_editor.execute(statement, params=None)
        for name in BASES:
            model = to_state.apps.get_model(app_label, name)
            _adopt(schema_editor, model, old.names[name.lower()], BASES[name])
        index = engine(connection, Tables.of(to_state.apps, app_label))
        for statement in index.install_sql():
            schema_editor.execute(statement, params=None)
        # Rebuilding reads rows, of which `sqlmigrate` has none.
        if not schema_editor.collect_sql:
            index.rebuild()

    def describe(self) -> str:
        """Return the line that `migrate` prints."""
        return "Take over the tables of prism_graph"


def _adopt(schema_editor: Any, model: Any, table: str, base: Any) -> None:
    schema_editor.alter_db_table(model, table, model._meta.db_table)
    app_label, quote = model._meta.app_label, schema_editor.quote_name
    declared = base._meta.indexes
    for index, renamed in zip(named(declared, PLAIN), named(declared, app_label), strict=True):
        schema_editor.rename_index(model, index, renamed)
    declared = base._meta.constraints
    for constraint, renamed in zip(named(declared, PLAIN), named(declared, app_label), strict=True):
        if isinstance(constraint, UniqueConstraint) and constraint.condition is not None:
            # An index, to both databases.
            schema_editor.remove_constraint(model, constraint)
            schema_editor.add_constraint(model, renamed)
        elif schema_editor.connection.vendor == "postgresql":
            # SQLite's constraints are found by what they say, and get their names with the next remake.
            statement = RENAME.format(
                quote(model._meta.db_table), quote(constraint.name), quote(renamed.name)
            )
            schema_editor.execute(statement, params=None)
