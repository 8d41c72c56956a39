from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.fulltext import engine
from tests.management import running
from tests.rawsql import INDEX, sql, stored

ACME = Scope("acme")
USER = Origin(Trust.USER)


def run(*arguments: str) -> tuple[str, int]:
    return running.run("repair_fulltext", *arguments)


def drop_index(using: str = "default") -> None:
    for statement in engine(connections[using]).remove_sql():
        sql(statement, using=using)


@pytest.mark.django_db
def test_check_finds_a_true_index_true_and_changes_nothing() -> None:
    Memory(ACME).ingest("guide", "penguins swim", origin=USER)
    before = stored()
    assert run("--check") == ("The full-text index is true.\n", 0)
    assert stored() == before


@pytest.mark.django_db
def test_check_says_what_is_wrong_and_exits_with_1() -> None:
    Memory(ACME).ingest("guide", "penguins swim", origin=USER)
    sql("UPDATE $chunktext SET text = 'changed'")
    before = stored()
    said, code = run("--check")
    assert code == 1
    assert "1 passages are not analysed" in said
    assert "changed" not in said.replace("were changed", "")
    assert stored() == before
    drop_index()
    said, code = run("--check")
    assert code == 1
    assert f"{INDEX} is missing" in said


@pytest.mark.django_db
def test_repair_puts_right_says_what_it_did_and_then_has_nothing_to_do() -> None:
    Memory(ACME).ingest("guide", "penguins swim", origin=USER)
    drop_index()
    sql("UPDATE $chunktext SET terms = ''")
    said, code = run()
    assert code == 0
    assert f"Installed {INDEX}." in said
    assert "Analysed again: 1." in said
    assert [hit.chunk.text for hit in Memory(ACME).search("penguins")] == ["penguins swim"]
    for _ in range(2):
        assert run() == ("Analysed again: 0.\nThe index was true.\n", 0)
    assert run("--check")[1] == 0


@pytest.mark.django_db
def test_sql_prints_statements_that_install_the_index_and_runs_none(vendor: str) -> None:
    Memory(ACME).ingest("guide", "penguins swim", origin=USER)
    before, _ = stored(), run("--sql")
    said, code = run("--sql")
    assert (code, stored()) == (0, before)
    assert engine(connections["default"]).missing() == []
    drop_index()
    assert said == run("--sql")[0]
    printed = said.strip().removesuffix(";").split(";\n")
    for statement in printed:
        sql(statement)
    assert engine(connections["default"]).missing() == []
    assert len(printed) == (5 if vendor == "sqlite" else len(printed))


@pytest.mark.django_db
def test_as_json_it_says_the_same() -> None:
    Memory(ACME).ingest("guide", "penguins swim", origin=USER)
    assert running.ask("repair_fulltext", "--check") == ({"problems": []}, 0)
    sql("UPDATE prism_graph_chunktext SET terms = ''")
    found, code = running.ask("repair_fulltext", "--check")
    assert (code, len(found["problems"]) > 0) == (1, True)
    done, code = running.ask("repair_fulltext")
    assert (done["installed"], done["analysed"], code) == ([], 1, 0)
    assert running.ask("repair_fulltext", "--sql")[0]["statements"]


@pytest.mark.both_databases
def test_the_database_named_is_repaired_and_no_other() -> None:
    for using in ("default", "other"):
        Memory(ACME, using=using).ingest("guide", "penguins swim", origin=USER)
        sql("UPDATE $chunktext SET terms = ''", using=using)
    assert run("--check", "--database", "other")[1] == 1
    assert run("--database", "other")[1] == 0
    assert run("--check", "--database", "other")[1] == 0
    assert run("--check")[1] == 1
    assert len(Memory(ACME, using="other").search("penguins")) == 1
    assert Memory(ACME).search("penguins") == []


@pytest.mark.both_databases
def test_the_statements_printed_are_those_of_the_database_named(aliases: dict[str, str]) -> None:
    assert "fts5" in run("--sql", "--database", aliases["sqlite"])[0]
    assert "USING gin" in run("--sql", "--database", aliases["postgresql"])[0]


@pytest.mark.parametrize("arguments", [["--check", "--sql"], ["--nonsense"], ["extra"]])
def test_arguments_that_make_no_sense_are_refused(arguments: list[Any]) -> None:
    with pytest.raises(CommandError):
        call_command("prism_graph_repair_fulltext", *arguments)


def test_a_database_that_is_not_configured_is_refused_in_words() -> None:
    with pytest.raises(CommandError, match="nowhere"):
        call_command("prism_graph_repair_fulltext", "--database", "nowhere")


@pytest.mark.django_db
def test_without_the_tables_the_command_says_to_migrate(monkeypatch: pytest.MonkeyPatch) -> None:
    introspection = connections["default"].introspection
    monkeypatch.setattr(introspection, "table_names", lambda *_, **__: [])
    for arguments in ([], ["--check"]):
        with pytest.raises(CommandError, match="migrate"):
            call_command("prism_graph_repair_fulltext", *arguments)
