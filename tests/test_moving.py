"""Moving vectors to another store or embedder: beside, interrupted, switched, cleared away."""

from __future__ import annotations

import json
from contextlib import suppress
from io import StringIO
from typing import Any
from unittest import mock

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import connection

from prism_graph import Memory, Origin, Scope, Trust, embedding
from prism_graph.errors import EmbedderUnavailable
from prism_graph.models import Embedding, EmbeddingFailure, VectorPartition
from prism_graph.vectors.exact import ExactStore
from tests.rawsql import sql
from tests.vectors.doubles import Choosy, vectors

pytestmark = pytest.mark.django_db(transaction=True)

ACME, GLOBEX = Scope("acme"), Scope("globex")
DOCUMENT = Origin(Trust.DOCUMENT, "importer")
OLD: dict[str, Any] = {"provider": "hashing", "dimensions": 64}
NEW: dict[str, Any] = {"provider": "hashing", "dimensions": 32}


class Counting(Choosy):
    name = "counting"


class Beside(ExactStore):
    """The exact store under a dotted path, as a project's own."""


def by_line(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def fill(*scopes: Scope) -> None:
    for scope in scopes:
        memory = Memory(scope)
        lines = "".join(f"Car number {n} of {scope.parts}.\n" for n in range(5))
        memory.ingest("doc", lines, origin=DOCUMENT, chunker=by_line)
        memory.ingest("gone", f"A retired car of {scope.parts}.", origin=DOCUMENT)
        memory.retire_source("gone")


def run(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    with suppress(SystemExit):
        call_command("prism_graph_migrate_vectors", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def methods(scope: Scope, query: str = "car") -> set[str]:
    return {hit.method for hit in Memory(scope).search(query)}


def spaces() -> set[str]:
    return set(VectorPartition.objects.system("test").values_list("embedder", flat=True))


def test_everything_is_embedded_anew_and_the_old_vectors_go() -> None:
    below = ACME.for_owner("ana")
    with vectors(OLD):
        fill(ACME, below, GLOBEX)
        had = Embedding.objects.system("test").count()
    with vectors(NEW):
        assert run("--check")["waiting"] == [
            {"tenant": "acme", "from": "hashing/hashing-1/64 in exact"},
            {"tenant": "globex", "from": "hashing/hashing-1/64 in exact"},
        ]
        assert methods(below) == {"text"}
        done = run()
        assert {each["tenant"]: each["switched"] for each in done["moved"]} == {
            "acme": True,
            "globex": True,
        }
        assert spaces() == {"hashing/hashing-1/32"}
        # The retired ones too: what memory held is searched with `known_at`.
        assert Embedding.objects.system("test").count() == had
        assert "hybrid" in methods(below)
        assert "hybrid" in methods(GLOBEX)
        again = run()
        assert again["moved"] == []
        assert again["cleared"] == 0


def test_only_the_tenant_named_moves() -> None:
    with vectors(OLD):
        fill(ACME, GLOBEX)
    with vectors(NEW):
        run("--tenant", "acme")
        assert "hybrid" in methods(ACME)
        assert methods(GLOBEX) == {"text"}


def test_previous_settings_serve_until_the_switch() -> None:
    with vectors(OLD):
        fill(ACME)
    with vectors(NEW, PREVIOUS={"EMBEDDER": OLD}):
        assert "hybrid" in methods(ACME)
        Memory(ACME).ingest("more", "One more car.", origin=DOCUMENT)
        assert Memory(ACME).pending() == 0
        assert run()["moved"][0]["switched"]
        assert spaces() == {"hashing/hashing-1/32"}
        assert "hybrid" in methods(ACME, "more car")


def test_what_is_written_meanwhile_does_not_hold_up_the_switch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with vectors(OLD):
        fill(ACME)
    embed_in = embedding.embed_in

    def busy(scope: Scope, using: str, setup: Any, **more: Any) -> Any:
        done = embed_in(scope, using, setup, **more)
        if "also" in more:  # when the move has seen the last of this scope
            Memory(ACME).ingest("meanwhile", "One more car.", origin=DOCUMENT)
        return done

    monkeypatch.setattr(embedding, "embed_in", busy)
    with vectors(NEW, PREVIOUS={"EMBEDDER": OLD}):
        done = run()["moved"][0]
        assert (done["switched"], done["failed"]) == (True, 0)
        assert Memory(ACME).pending() == 0
        assert methods(ACME, "one more car") == {"hybrid"}


def test_what_was_built_before_an_interruption_is_not_built_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("prism_graph.embedding.BATCH", 2)
    with vectors(OLD):
        fill(ACME)
    new = Counting()
    embed = new.embed
    new.embed = lambda texts: down() if new.calls == 2 else embed(texts)  # type: ignore[method-assign]
    with vectors(new):
        with pytest.raises(CommandError, match="cannot be reached"):
            call_command("prism_graph_migrate_vectors", stdout=StringIO())
        assert methods(ACME) == {"text"}
        assert len(spaces()) == 2
        new.embed = embed  # type: ignore[method-assign]
        assert run()["moved"][0]["switched"]
        assert len(new.asked) == len(set(new.asked))
        assert "hybrid" in methods(ACME)


def down() -> Any:
    raise EmbedderUnavailable


def test_the_same_embedder_in_another_store_costs_no_embedding() -> None:
    counting = Counting()
    with vectors(counting):
        fill(ACME)
    counting.asked.clear()
    with vectors(counting, {"store": "tests.test_moving.Beside"}):
        done = run()["moved"][0]
        assert done["copied"] == Embedding.objects.system("test").count()
        assert counting.asked == []
        assert "hybrid" in methods(ACME)


def test_a_failure_keeps_the_old_vectors_until_it_is_accepted() -> None:
    with vectors(OLD):
        fill(ACME)
        Memory(ACME).ingest("bad", "A poison car.", origin=DOCUMENT)
    with vectors(Choosy("poison"), PREVIOUS={"EMBEDDER": OLD}):
        done = run()["moved"][0]
        assert (done["switched"], done["failed"]) == (False, 1)
        assert methods(ACME, "poison") >= {"hybrid"}
        assert run("--accept-failures")["moved"][0]["switched"]
        assert [each.attempts for each in Memory(ACME).failed()] == [1]
        assert {hit.method for hit in Memory(ACME).search("poison", limit=1)} == {"text"}


def test_what_failed_in_a_move_is_told_and_tried_again_by_the_next() -> None:
    with vectors(OLD):
        fill(ACME)
    embedder = Choosy("Car number 1")
    with vectors(embedder):
        assert not run()["moved"][0]["switched"]
        out = StringIO()
        with suppress(SystemExit):
            call_command("prism_graph_embed", "--status", "--json", stdout=out)
        assert len(json.loads(out.getvalue())["failures"]) == 1
        embedder.unfit = ""
        assert run()["moved"][0]["switched"]


def test_leaving_pgvector_leaves_no_vector_though_its_app_is_gone() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("pgvector is PostgreSQL's.")
    with vectors(OLD, "pgvector"):
        fill(ACME)
    with (
        vectors(OLD),
        mock.patch("prism_graph.pgvector.store.apps.is_installed", return_value=False),
    ):
        assert run()["moved"][0]["switched"]
        assert sql("SELECT * FROM prism_graph_pgvector_chunkvector") == []
    with vectors(OLD, "pgvector"):
        assert run()["moved"][0]["switched"]


def test_a_given_up_move_is_cleared_away() -> None:
    with vectors(OLD):
        fill(ACME)
    with vectors(Choosy("Car"), PREVIOUS={"EMBEDDER": OLD}):
        assert not run()["moved"][0]["switched"]
        assert len(spaces()) == 2
    with vectors(OLD):
        run()
        assert spaces() == {"hashing/hashing-1/64"}
        assert EmbeddingFailure.objects.system("test").count() == 0
        assert "hybrid" in methods(ACME)


def test_all_vectors_can_be_removed() -> None:
    with vectors(OLD):
        fill(ACME, GLOBEX)
    assert run("--remove", "--tenant", "acme")["removed"] == 6
    assert spaces() == {"hashing/hashing-1/64"}
    run("--remove")
    for model in (VectorPartition, Embedding, EmbeddingFailure):
        assert model.objects.system("test").count() == 0
    assert methods(ACME) == {"text"}


def test_without_vectors_in_the_settings_there_is_nothing_to_move_to() -> None:
    with pytest.raises(CommandError, match="names no VECTORS"):
        call_command("prism_graph_migrate_vectors", stdout=StringIO())


def test_a_system_check_names_what_is_searched_by_other_vectors() -> None:
    with vectors(OLD):
        fill(ACME)
        assert found_by_checks() == []
    with vectors(NEW):
        [told] = found_by_checks()
        assert told.id == "prism_graph.W016"
        assert "hashing/hashing-1/64 in exact" in told.msg
        assert "prism_graph_migrate_vectors" in told.hint
        run()
        assert found_by_checks() == []


def found_by_checks() -> list[Any]:
    return [each for each in run_checks(databases=["default"]) if each.id == "prism_graph.W016"]
