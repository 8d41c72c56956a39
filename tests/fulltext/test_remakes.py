"""Migrations that remake the tables leave the index true: real ones, with `VACUUM` after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations import AddField, AlterField, RemoveField
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.fulltext import engine
from prism_graph.models import Chunk
from prism_graph.repair import problems
from tests.rawsql import sql, vocabulary

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme")
USER = Origin(Trust.USER)
MODELS = ("chunktext", "chunk", "source")
APP = Chunk._meta.app_label


@pytest.fixture
def memory() -> Memory:
    memory = Memory(ACME)
    memory.ingest("kept", "penguins swim", origin=USER)
    memory.ingest("deleted", "zebrafish glide", origin=USER)
    memory.ingest("before", "erased before", origin=USER)
    memory.erase("before")
    return memory


@pytest.fixture
def state() -> Iterator[ProjectState]:
    """Remake tables as a project's own migrations would; afterwards they are as they were."""
    yield MigrationExecutor(connection).loader.project_state()
    if connection.vendor == "postgresql":
        return
    assert engine(connection).missing() == []


def migrate(state: ProjectState, *operations: Operation) -> ProjectState:
    for operation in operations:
        after = state.clone()
        operation.state_forwards(APP, after)
        with connection.schema_editor() as editor:
            operation.database_forwards(APP, editor, state, after)
        state = after
    return state


def there_and_back(state: ProjectState, model: str) -> ProjectState:
    """Widen a column, add one that is NOT NULL, and undo both."""
    name = {"chunktext": "analyser", "chunk": "writer", "source": "writer"}[model]
    field = state.models[APP, model].fields[name].clone()
    wider = field.clone()
    wider.max_length = field.max_length + 1
    return migrate(
        state,
        AlterField(model, name, wider),
        AddField(model, "added", models.IntegerField(default=7)),
        RemoveField(model, "added"),
        AlterField(model, name, field),
    )


def found(memory: Memory, query: str) -> list[str]:
    return [hit.chunk.text for hit in memory.search(query)]


def vacuum() -> None:
    sql("VACUUM")


@pytest.mark.parametrize("model", MODELS)
def test_after_a_remake_new_text_is_found_and_deleted_text_is_gone(
    memory: Memory, state: ProjectState, model: str
) -> None:
    there_and_back(state, model)
    vacuum()
    call_command("migrate", verbosity=0)
    assert list(problems("default")) == []
    assert found(memory, "penguins") == ["penguins swim"]
    memory.ingest("new", "albatrosses soar", origin=USER)
    memory.erase("deleted")
    assert found(memory, "albatrosses") == ["albatrosses soar"]
    assert found(memory, "zebrafish") == []
    assert not any("zebrafish" in word for word in vocabulary())
    sql("DELETE FROM $source WHERE key = 'new'")
    assert found(memory, "albatrosses") == []
    assert list(problems("default")) == []


def test_what_was_written_between_a_remake_and_post_migrate_is_found(
    memory: Memory, state: ProjectState
) -> None:
    there_and_back(state, "chunktext")
    memory.ingest("new", "albatrosses soar", origin=USER)
    memory.ingest("kept", "cormorants dive", origin=USER)
    memory.erase("deleted")
    vacuum()
    call_command("migrate", verbosity=0)
    assert found(memory, "albatrosses") == ["albatrosses soar"]
    assert found(memory, "cormorants") == ["cormorants dive"]
    assert found(memory, "penguins") == []
    assert found(memory, "zebrafish") == []
    assert not any("zebrafish" in word for word in vocabulary())
    assert list(problems("default")) == []


def test_on_sqlite_a_remake_drops_the_triggers_and_the_checks_say_so(
    memory: Memory, state: ProjectState
) -> None:
    there_and_back(state, "chunktext")
    missing = engine(connection).missing()
    if connection.vendor == "sqlite":
        assert len(missing) == 4
        assert len(list(problems("default"))) >= 4
    else:
        assert missing == []
    call_command("prism_graph_repair_fulltext", verbosity=0)
    assert list(problems("default")) == []


def test_constraints_and_cascades_survive_a_remake(memory: Memory, state: ProjectState) -> None:
    for model in MODELS:
        state = there_and_back(state, model)
    call_command("migrate", verbosity=0)
    tables = ("$source", "$chunk", "$chunktext")
    sql("DELETE FROM $source")
    assert [sql(f"SELECT count(*) FROM {table}") for table in tables] == [[(0,)]] * 3
    assert not any("penguin" in word or "swim" in word for word in vocabulary())


def test_the_index_can_be_removed_and_migrated_again(memory: Memory) -> None:
    if APP != "prism_graph" and connection.vendor == "postgresql":
        pytest.skip("What makemigrations wrote drops a UNIQUE constraint before the keys on it.")
    call_command("migrate", APP, "zero", verbosity=0)
    names = sql(
        "SELECT name FROM sqlite_master"
        if connection.vendor == "sqlite"
        else "SELECT relname FROM pg_class"
    )
    assert [name for (name,) in names if name.lower().startswith(("prism_graph", "acme"))] == []
    call_command("migrate", verbosity=0)
    memory.ingest("new", "albatrosses soar", origin=USER)
    assert found(memory, "albatrosses") == ["albatrosses soar"]
    assert list(problems("default")) == []
