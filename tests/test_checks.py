from __future__ import annotations

from copy import deepcopy
from typing import Any
from unittest import mock

import pytest
from django.core.checks import CheckMessage, Error, Warning, run_checks
from django.db import connection, connections, models
from django.test import override_settings
from django.test.utils import isolate_apps

from prism_graph import bases, checks
from prism_graph.fulltext import engine
from prism_graph.models import Chunk
from tests.rawsql import INDEX, sql


def ours(databases: list[str] | None = None) -> list[CheckMessage]:
    """Return this package's messages; each says what to do."""
    found = [each for each in run_checks(databases=databases) if each.id.startswith("prism_graph.")]
    assert all(each.hint for each in found)
    return found


def ids(databases: list[str] | None = None) -> list[str]:
    return [each.id for each in ours(databases)]


@pytest.mark.both_databases
def test_a_project_without_mistakes_has_no_messages() -> None:
    assert ours(["default", "other"]) == []


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ({"MAX_TEX": 1}, "Did you mean 'MAX_TEXT'?"),
        ({"chunker": "x"}, "Did you mean 'CHUNKER'?"),
        ({"XYZ": 1}, "Known keys"),
        ({"MAX_TEXT": "10 MB"}, "Correct or remove 'MAX_TEXT'."),
        ({"CHUNKER": "no.such.chunker"}, "Correct or remove 'CHUNKER'."),
        ({"EMBEDDER": "hashings"}, "Correct or remove 'EMBEDDER'."),
        ({"EMBED": "hashing"}, "Did you mean 'EMBEDDER'?"),
        ([], "Set PRISM_GRAPH = {}"),
    ],
)
def test_a_mistake_in_the_setting_is_an_error(raw: Any, hint: str) -> None:
    with override_settings(PRISM_GRAPH=raw):
        (message,) = ours()
    assert isinstance(message, Error)
    assert message.id == "prism_graph.E001"
    assert hint in str(message.hint)


def test_each_mistake_in_the_setting_has_its_own_message() -> None:
    with override_settings(PRISM_GRAPH={"A": 1, "B": 2, "MAX_TEXT": -1}):
        assert ids() == ["prism_graph.E001"] * 3


@override_settings(USE_TZ=False)
def test_time_without_zones_is_an_error() -> None:
    (message,) = ours()
    assert (message.id, message.hint) == ("prism_graph.E002", "Set USE_TZ = True.")


def sqlite_alias() -> str:
    return next(alias for alias in connections if connections[alias].vendor == "sqlite")


@pytest.mark.parametrize("mode", [None, "DEFERRED", "deferred", ""])
def test_deferred_transactions_on_sqlite_are_a_warning(mode: str | None) -> None:
    database = connections[sqlite_alias()]
    options = {**database.settings_dict["OPTIONS"], "transaction_mode": mode}
    if mode is None:
        del options["transaction_mode"]
    with mock.patch.dict(database.settings_dict, OPTIONS=options):
        (message,) = ours()
    assert isinstance(message, Warning)
    assert message.id == "prism_graph.W003"
    assert sqlite_alias() in str(message.hint)


@pytest.mark.parametrize("mode", ["IMMEDIATE", "immediate", "EXCLUSIVE"])
def test_transactions_that_lock_at_once_are_right(mode: str) -> None:
    database = connections[sqlite_alias()]
    options = {**database.settings_dict["OPTIONS"], "transaction_mode": mode}
    with mock.patch.dict(database.settings_dict, OPTIONS=options):
        assert ours() == []


@pytest.mark.both_databases
def test_another_kind_of_database_is_an_error() -> None:
    with mock.patch.object(connections["default"], "vendor", "mysql"):
        (message,) = [each for each in ours(["default"]) if each.id != "prism_graph.W003"]
    assert message.id == "prism_graph.E004"


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("sqlite", "postgresql", "wrong"),
    [
        ((3, 39, 4), (14, 19), True),
        ((3, 8, 11), (9, 6, 24), True),
        ((3, 40, 0), (15, 0), False),
        ((3, 50, 1), (18, 4), False),
    ],
)
def test_an_old_database_is_an_error(
    aliases: dict[str, str],
    sqlite: tuple[int, ...],
    postgresql: tuple[int, ...],
    wrong: bool,
) -> None:
    on_postgresql = connections[aliases["postgresql"]]
    with (
        mock.patch("sqlite3.dbapi2.sqlite_version_info", sqlite),
        mock.patch.object(on_postgresql, "get_database_version", return_value=postgresql),
    ):
        found = [each for alias in aliases.values() for each in checks.check_databases([alias])]
    assert [each.id for each in found] == (["prism_graph.E005"] * 2 if wrong else [])
    assert all(each.hint for each in found)


@pytest.mark.both_databases
@pytest.mark.parametrize(("mode", "wrong"), [("OFF", True), ("FAST", True), ("ON", False)])
def test_secure_delete_off_on_sqlite_is_a_warning(mode: str, wrong: bool) -> None:
    alias = sqlite_alias()
    sql(f"PRAGMA secure_delete = {mode}", using=alias)
    try:
        found = ours([alias])
    finally:
        sql("PRAGMA secure_delete = ON", using=alias)
    assert [each.id for each in found] == (["prism_graph.W006"] if wrong else [])


@pytest.mark.both_databases
@pytest.mark.parametrize("alias", ["default", "other"])
def test_a_missing_part_of_the_index_is_an_error(alias: str) -> None:
    on_sqlite = connections[alias].vendor == "sqlite"
    part = f"{INDEX}_insert" if on_sqlite else INDEX
    sql(f"DROP {'TRIGGER' if on_sqlite else 'INDEX'} {part}", using=alias)
    (message,) = ours([alias])
    assert message.id == "prism_graph.W007"
    assert part in message.msg
    named = "prism_graph_repair_fulltext" + ("" if alias == "default" else f" --database {alias}")
    assert named + "`" in str(message.hint)
    for statement in engine(connections[alias]).install_sql():
        sql(statement, using=alias)
    assert ours([alias]) == []


@pytest.mark.django_db
def test_before_the_first_migration_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection.introspection, "table_names", lambda *_, **__: [])
    assert ours(["default"]) == []


class NotHere:
    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool:
        return app_label != "prism_graph"


@pytest.mark.django_db
@override_settings(DATABASE_ROUTERS=[NotHere()])
def test_a_database_that_memory_is_not_kept_in_is_not_looked_at() -> None:
    database = connections[sqlite_alias()]
    options = deepcopy(database.settings_dict["OPTIONS"])
    options.pop("transaction_mode")
    with (
        mock.patch.dict(database.settings_dict, OPTIONS=options),
        mock.patch.object(connections["default"], "vendor", "mysql"),
    ):
        assert ours(["default"]) == []


@isolate_apps("tests")
def test_a_relation_from_another_app_is_an_error() -> None:
    class Note(models.Model):  # noqa: DJ008
        chunk = models.ForeignKey(Chunk, models.CASCADE)

        class Meta:
            app_label = "tests"

    with mock.patch.object(checks.apps, "get_models", return_value=[Note, Chunk]):
        [found] = checks.check_relations()
    assert (found.id, found.obj) == ("prism_graph.E008", Note)


@isolate_apps("tests")
def test_a_scoped_row_that_is_none_of_memory_s_is_another_app_s() -> None:
    class Note(bases.AbstractReceipt):
        chunk = models.ForeignKey(Chunk, models.CASCADE)

        class Meta(bases.AbstractReceipt.Meta):
            app_label = "tests"

    with mock.patch.object(checks.apps, "get_models", return_value=[Note]):
        [found] = checks.check_relations()
    assert (found.id, found.obj) == ("prism_graph.E008", Note)


def test_no_relation_of_this_app_or_of_django_is_one() -> None:
    assert checks.check_relations() == []


@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "ids"), [(None, []), ("UTC", []), ("Asia/Tokyo", ["E009"])])
def test_a_database_in_another_zone_is_an_error(zone: str | None, ids: list[str]) -> None:
    with mock.patch.dict(connection.settings_dict, TIME_ZONE=zone):
        found = checks.check_databases(databases=["default"])
    assert [each.id for each in found if each.id == "prism_graph.E009"] == [
        f"prism_graph.{each}" for each in ids
    ]
