"""The shell reader's view is the reader's view."""

from __future__ import annotations

from typing import Any

import pytest

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.management.jsonable import jsonable
from tests.management.running import ask, refusal, run
from tests.planting import ASIDE, MINE, SECRET, plant
from tests.rawsql import stored

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
DOCUMENT = Origin(Trust.DOCUMENT, "importer")


def options(scope: Scope) -> list[str]:
    return [each for name, part in scope.columns.items() if part for each in (f"--{name}", part)]


def ids(*arguments: str) -> list[str]:
    return [hit["chunk"]["id"] for hit in ask("search", *arguments)[0]["hits"]]


@pytest.fixture
def planted() -> None:
    for scope in (*MINE.chain, *ASIDE):
        plant(scope)


class TestView:
    @pytest.mark.parametrize("scope", [*MINE.chain, *ASIDE, Scope("nobody")])
    def test_it_is_what_memory_gives_a_reader_of_the_scope(self, planted, scope):
        hits = Memory(scope).search(SECRET, limit=100)
        found, code = ask("search", SECRET, *options(scope), "--limit", "100")
        assert (code, found["scope"]) == (0, scope.columns)
        assert found["hits"] == jsonable(hits)
        said = run("search", SECRET, *options(scope), "--limit", "100")[0]
        for hit in hits:
            assert hit.chunk.id in said
        hidden = set(ids(SECRET, "--tenant", "globex")) - {hit.chunk.id for hit in hits}
        assert not [each for each in hidden if each in said]

    def test_it_writes_nothing(self, planted):
        before = stored()
        run("search", SECRET, *options(MINE), "--explain")
        assert stored() == before

    def test_every_option_is_the_one_of_memory(self, planted):
        given: dict[str, Any] = {
            "limit": 3,
            "known_at": "2100-01-01T00:00:00+00:00",
            "phrases": [SECRET, "the zebra"],
            "min_trust": Trust.AGENT,
            "sources": ["doc-1", "chat"],
            "since": "2000-01-01T00:00:00Z",
            "until": "2100-01-01T00:00:00Z",
            "neighbours": 1,
            "explain": True,
        }
        found, _ = ask(
            "search",
            "the zebra",
            *options(MINE),
            *("--limit", "3", "--known-at", given["known_at"], "--phrase", SECRET),
            *("--phrase", "the zebra", "--min-trust", "agent", "--source", "doc-1"),
            *("--source", "chat", "--since", given["since"], "--until", given["until"]),
            *("--neighbours", "1", "--explain"),
        )
        hits = Memory(MINE).search("the zebra", **given)
        assert len(hits) == 3
        assert found["hits"] == jsonable(hits)
        assert all(hit["explain"] for hit in found["hits"])

    def test_an_owner_spelt_like_a_model_instance_is_the_stored_one(self):
        scope = Scope.from_columns("acme", "auth.user/7", "", "")
        Memory(scope).ingest("doc", "penguins swim", origin=DOCUMENT)
        assert len(ids("penguins", "--tenant", "acme", "--owner", "auth.user/7")) == 1


class TestOutput:
    def test_a_hit_is_told_with_where_it_stands_and_who_wrote_it(self):
        text = "# Birds\n\nPenguins swim.\n\nStorks walk.\n"
        Memory(ACME).ingest("birds", text, origin=DOCUMENT)
        said, code = run("search", "penguins", "--tenant", "acme")
        [hit] = Memory(ACME).search("penguins")
        assert code == 0
        for part in (
            f"1. {hit.score:.4f}  text  birds  lines 1-5",
            "trust document, writer importer, scope acme, id " + hit.chunk.id,
            "\n   | Penguins swim.\n",
        ):
            assert part in said

    def test_what_a_stored_text_would_do_to_the_terminal_is_shown_instead(self):
        hostile = "penguins\x1b]0;owned\x07 \u202etfel \u200b \x9b31m end\rover"
        evil = Origin(Trust.TOOL, "tool\x1b[2J")
        Memory(ACME).record("k\x1b[1m", hostile, origin=evil, speaker="A\u202eB")
        said, _ = run("search", "penguins", "--tenant", "acme")
        assert not [each for each in said if each < " " and each != "\n"]
        assert not {"\x9b", "\u202e", "\u200b"} & set(said)
        for shown in ("\\u{001B}]0;owned\\u{0007}", "\\u{202E}tfel", "\\u{200B}", "\\u{000D}over"):
            assert shown in said
        assert "k\\u{001B}[1m" in said
        assert "tool\\u{001B}[2J" in said
        assert "said by A\\u{202E}B" in said

    def test_a_stored_text_cannot_pass_for_a_line_of_the_command(self):
        forged = "penguins\n2. 9.9999  text  forged  line 1\u2028   trust user"
        Memory(ACME).record("chat", forged, origin=Origin(Trust.TOOL, "t"))
        said, _ = run("search", "penguins", "--tenant", "acme")
        assert "   | 2. 9.9999" in said
        assert not [line for line in said.splitlines() if line.startswith("2.")]

    def test_nothing_found_is_said_and_is_no_failure(self):
        assert run("search", "unicorn", "--tenant", "acme", "--owner", "ana") == (
            "Nothing found by a reader at acme / ana.\n",
            0,
        )
        assert ask("search", "unicorn", "--tenant", "acme")[0]["hits"] == []

    def test_neighbours_stand_around_the_passage_in_order(self):
        for turn in ("one before", "penguins", "one after"):
            Memory(ACME).record("chat", turn, origin=DOCUMENT)
        said, _ = run("search", "penguins", "--tenant", "acme", "--neighbours", "1", "--limit", "1")
        assert said.endswith("   : one before\n   | penguins\n   : one after\n")

    def test_what_took_a_passages_place_is_named(self):
        memory = Memory(ACME)
        old = memory.record("chat", "I live in Porto.", origin=DOCUMENT).added
        new = memory.record("chat", "I moved to Lisbon.", origin=DOCUMENT).added
        claim = {"subject": "ana", "predicate": "lives in"}
        memory.assert_fact("city", **claim, value="Porto", evidence=old)
        memory.supersede("city", **claim, value="Lisbon", evidence=new)
        said, _ = run("search", "Porto", "--tenant", "acme")
        assert "superseded by version 2 of city" in said

    @pytest.mark.parametrize("query", ["", '"', "a" * 5000, "\udcff", "NEAR( OR *"])
    def test_no_query_makes_it_fail(self, query):
        assert run("search", query, "--tenant", "acme")[1] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--limit", "0"], "limit must be 1 to 100"),
        (["--neighbours", "11"], "neighbours must be 0 to 10"),
        (["--known-at", "yesterday"], "ISO 8601"),
        (["--since", "2026-01-01T00:00:00"], "offset"),
        (["--min-trust", "everyone"], "everyone"),
        (["--owner", ""], "--owner is empty"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(arguments, words) -> None:
    assert words in refusal("search", "q", "--tenant", "acme", *arguments)


@pytest.mark.both_databases
def test_the_database_named_is_searched(aliases) -> None:
    Memory(ACME, using="other").ingest("doc", "penguins swim", origin=DOCUMENT)
    assert ids("penguins", "--tenant", "acme") == []
    assert len(ids("penguins", "--tenant", "acme", "--database", "other")) == 1
