from __future__ import annotations

import json

import pytest
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.indexing import ANALYSER
from tests.management.running import ask, refusal, run
from tests.planting import ASIDE, MINE, SECRET, plant
from tests.rawsql import sql, stored

pytestmark = pytest.mark.django_db

ACME = Scope("acme")


def test_it_counts_each_table_overall_and_by_tenant() -> None:
    plant(MINE)
    plant(ASIDE[0])
    Memory(ACME).record("chat", "Perhaps.", origin=Origin(Trust.AGENT, "bot"))
    cited = Memory(ACME).search("perhaps")
    Memory(ACME).assert_fact("f", subject="s", predicate="p", value="v", evidence=cited)
    Memory(MINE).retire_source("summary")
    found, code = ask("stats")
    assert (code, found["database"]) == (0, "default")
    assert found["index_bytes"] > 0
    assert list(found["tenants"]) == ["acme", "globex"]
    acme = found["tenants"]["acme"]
    assert acme == {
        "scopes": 2,
        "sources": {"all": 5, "retired": 1, "document": 3, "conversation": 2},
        "chunks": {
            "in_search": 4,
            "retired": 1,
            "by_trust": {
                **{each.value: 0 for each in Trust},
                "user": 1,
                "document": 2,
                "agent": 1,
            },
        },
        "vectors": {"all": 3, "failed": 1},
        "derivations": 1,
        "facts": 2,
        "versions": 2,
        "by_status": {"accepted": 1, "belief": 1, "proposal": 0, "rejected": 0, "retracted": 0},
        "waiting": 1,
        "citations": 2,
        "receipts": 1,
        "analysers": {ANALYSER: 5},
        "embedders": {"choosy/1/64": 3},
    }
    assert found["total"]["versions"] == 3
    assert found["total"]["chunks"]["in_search"] == 8


def test_a_tenant_narrows_it() -> None:
    plant(MINE)
    plant(ASIDE[0])
    found, _ = ask("stats", "--tenant", "globex")
    assert list(found["tenants"]) == ["globex"]
    assert found["total"] == found["tenants"]["globex"]


def test_a_tenant_that_was_never_heard_of_is_a_slip_of_the_pen() -> None:
    plant(MINE)
    for command in ("stats", "doctor"):
        with pytest.raises(CommandError, match="nothing of this tenant"):
            ask(command, "--tenant", "nobody")


def test_an_empty_database_is_all_zeros() -> None:
    found, code = ask("stats")
    assert (code, found["tenants"], found["total"]["analysers"]) == (0, {}, {})
    assert found["total"]["chunks"]["in_search"] == 0


def test_it_shows_no_content_and_writes_nothing() -> None:
    plant(MINE)
    before = stored()
    said = run("stats")[0] + json.dumps(ask("stats")[0])
    for content in (SECRET, "doc-1", "fact-1", "importer", "admin", "support", "Handbook"):
        assert content not in said
    assert "acme" in said
    assert stored() == before


def test_people_see_a_line_for_each_tenant_whatever_its_name_holds() -> None:
    plant(MINE)
    sql("UPDATE prism_graph_receipt SET tenant = 'a\x1b[31m'")
    said, _ = run("stats")
    assert "  acme\n" in said
    assert "  a\\u{001B}[31m\n" in said
    assert "chunks: in search" in said


def test_the_number_of_statements_does_not_grow_with_what_there_is() -> None:
    plant(MINE)
    with CaptureQueriesContext(connection) as few:
        run("stats")
    for scope in ASIDE:
        plant(scope, "yak")
    with CaptureQueriesContext(connection) as many:
        run("stats")
    assert len(few) == len(many) <= 17


def test_what_raw_sql_stored_that_means_nothing_is_counted_as_unknown() -> None:
    plant(MINE)
    sql("UPDATE prism_graph_chunk SET trust = 42")
    assert ask("stats")[0]["total"]["chunks"]["by_trust"]["unknown"] == 4


def test_without_the_index_its_size_is_unknown() -> None:
    from prism_graph.fulltext import engine

    for statement in engine(connection).remove_sql():
        sql(statement)
    assert ask("stats")[0]["index_bytes"] is None
    assert "unknown" in run("stats")[0]


def test_a_database_that_is_not_configured_is_refused() -> None:
    assert "nowhere" in refusal("stats", "--database", "nowhere")
