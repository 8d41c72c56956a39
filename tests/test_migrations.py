from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations import AlterModelTable
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState

from prism_graph import Memory, migrations, repair
from prism_graph.constraints import CompositeForeignKey
from prism_graph.fulltext import engine
from prism_graph.operations import AdoptMemory, InstallFullText, InstallMemory, RemoveFullText
from prism_graph.tables import Tables
from tests.planting import DOCUMENT, MINE, MODELS, SECRET, plant
from tests.rawsql import INDEX, TABLES, sql

APP = "prism_graph"


def test_no_model_has_changed_without_a_migration(db):
    call_command("makemigrations", APP, "--check", "--dry-run", verbosity=0)


def test_the_tables_that_tests_look_into_are_all_there_are():
    assert {model._meta.db_table for model in MODELS} == set(TABLES)


@pytest.mark.django_db(transaction=True)
class TestForwardsAndBackwards:
    @pytest.fixture(autouse=True)
    def restored(self) -> Iterator[None]:
        yield
        # All of it: prism_graph.pgvector went as well, whose table depends on these.
        call_command("migrate", verbosity=0)

    def leftovers(self) -> list[str]:
        if connection.vendor == "sqlite":
            statement = "SELECT name FROM sqlite_master WHERE tbl_name LIKE 'prism%%' OR name LIKE 'prism%%'"
        else:
            statement = (
                "SELECT relname FROM pg_class WHERE relname LIKE 'prism%%' "
                "UNION SELECT proname FROM pg_proc WHERE proname LIKE 'prism%%'"
            )
        return sorted(row[0] for row in sql(statement.replace("%%", "%")))

    def test_to_zero_leaves_nothing_and_back_is_as_before(self):
        before = self.leftovers()
        assert INDEX in before
        plant(MINE)
        call_command("migrate", APP, "zero", verbosity=0)
        assert self.leftovers() == []
        call_command("migrate", verbosity=0)
        assert self.leftovers() == before
        Memory(MINE).ingest("doc-1", "a zebra", origin=DOCUMENT)
        assert [hit.chunk.text for hit in Memory(MINE).search("zebra")] == ["a zebra"]

    def test_migrating_twice_does_nothing_the_second_time(self):
        executor = MigrationExecutor(connection)
        targets = [key for key in executor.loader.graph.leaf_nodes() if key[0] == APP]
        assert executor.migration_plan(targets) == []
        call_command("migrate", APP, verbosity=0)
        assert engine(connection).missing() == []


@pytest.mark.django_db(transaction=True)
class TestFullTextOperation:
    def test_it_installs_and_removes_what_the_engine_says(self):
        operation, index = InstallFullText(), engine(connection)
        state = ProjectState.from_apps(apps)
        with connection.schema_editor(collect_sql=True) as editor:
            operation.database_backwards(APP, editor, state, state)
        assert [line for line in editor.collected_sql if INDEX in line]
        assert index.missing() == []
        with connection.schema_editor(collect_sql=True) as editor:
            operation.database_forwards(APP, editor, state, state)
        assert not [line for line in editor.collected_sql if INDEX in line]

    def test_it_says_what_it_does(self):
        assert InstallFullText().describe() == "Install the full-text index"
        assert InstallFullText().reversible

    def test_its_statements_can_be_shown_beforehand(self):
        out = io.StringIO()
        for name in ("0001", "0002", "0003"):
            call_command("sqlmigrate", APP, name, stdout=out)
        shown = out.getvalue()
        for model in MODELS:
            assert f'CREATE TABLE "{model._meta.db_table}"' in shown
            for constraint in model._meta.constraints:
                if isinstance(constraint, CompositeForeignKey):
                    assert f'CONSTRAINT "{constraint.name}" FOREIGN KEY' in shown


@pytest.mark.django_db(transaction=True)
class TestOperationsOfAnOwner:
    def test_install_memory_does_what_the_migrations_of_this_package_do(self):
        operation, state = InstallMemory(), ProjectState.from_apps(apps)
        with connection.schema_editor(collect_sql=True) as editor:
            operation.database_backwards(APP, editor, state, state)
        assert [line for line in editor.collected_sql if INDEX in line]
        with connection.schema_editor(collect_sql=True) as editor:
            operation.database_forwards(APP, editor, state, state)
        ran = "\n".join(editor.collected_sql)
        silenced = [
            f'"{table}" ALTER COLUMN "{column}" SET STATISTICS 0' in ran
            for table, columns in named_in_0002().items()
            for column in columns
        ]
        assert silenced == [connection.vendor == "postgresql"] * 11

    def test_a_table_of_texts_is_renamed_with_its_index(self):
        before = ProjectState.from_apps(apps)
        plant(MINE)
        operations = [
            RemoveFullText(),
            AlterModelTable("chunktext", "other_words"),
            InstallMemory(),
        ]
        back = [RemoveFullText(), AlterModelTable("chunktext", TABLES[2]), InstallMemory()]
        renamed = forwards(before, *operations)
        index = engine(connection, Tables.of(renamed.apps, APP))
        assert index.tables.index == "other_words_fulltext"
        assert index.missing() == []
        forwards(renamed, *back)
        assert engine(connection).missing() == []
        repair.repair("default")
        assert list(repair.problems("default")) == []
        assert Memory(MINE).search(SECRET)

    @pytest.mark.parametrize("operation", [InstallMemory(), RemoveFullText(), AdoptMemory([])])
    def test_they_say_what_they_do_and_can_be_undone(self, operation):
        assert operation.describe()
        assert operation.reversible
        name, args, kwargs = operation.deconstruct()
        assert type(operation)(*args, **kwargs).describe() == operation.describe()
        assert name == type(operation).__name__


def named_in_0002() -> dict[str, list[str]]:
    loader = MigrationExecutor(connection).loader
    *_, last = loader.get_migration(APP, "0002_facts").operations
    return {table: list(columns) for table, columns in last.columns.items()}


def forwards(state: ProjectState, *operations: Any) -> ProjectState:
    for operation in operations:
        after = state.clone()
        operation.state_forwards(APP, after)
        with connection.schema_editor() as editor:
            operation.database_forwards(APP, editor, state, after)
        state = after
    return state


def test_no_migration_names_a_database():
    files = list(Path(migrations.__path__[0]).glob("[0-9]*.py"))
    assert files
    for text in (file.read_text() for file in files):
        assert "sqlite" not in text
        assert "postgres" not in text
