"""What one scope writes, no other one sees, changes or is told of (security.md §2.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph import Memory, Origin, Scope, Trust, analysis
from prism_graph.errors import InvalidEvidence, PrismGraphError
from prism_graph.models import Source
from prism_graph.scope import COLUMNS, TOKEN_LENGTH
from tests.rawsql import TABLES, sql, stored

USER = Origin(Trust.USER, writer="user:7")
DOCUMENT = Origin(Trust.DOCUMENT, writer="importer")

TENANTS = (
    *(
        "acme",
        "ACME",
        "Acme",
        "acme-corp",
        "acme_1",
        "acme%",
        "acme.",
        "acme/",
        "a_me",
        "a%",
        "%",
        "_",
    ),
    *("ac me", "acmé", "acme\u0301", "аcme", "acme'", 'acme"', "acme;--", "*", "acme*", "ａｃｍｅ"),
    *("NULL", "0", "acm", "acme) OR (1=1", "acme\\", "acme,", "('acme',", "%s", "{tenant}"),
)
LEVELS = THREAD, AGENT, OWNER, TENANT = Scope("acme", "ana", "support", "chat-1").chain
ASIDE = (
    Scope("globex", "ana", "support", "chat-1"),
    Scope("acme", "ben", "support", "chat-1"),
    Scope("acme", "ana", "sales", "chat-1"),
    Scope("acme", "ana", "support", "chat-2"),
)

pytestmark = pytest.mark.django_db


def rows_at(scope: Scope) -> dict[str, list[str]]:
    where = " AND ".join(f"{name} = %s" for name in COLUMNS)
    return {
        table: sorted(map(repr, sql(f'SELECT * FROM "{table}" WHERE {where}', *scope.parts)))
        for table in TABLES
    }


def fill(scope: Scope) -> list[str]:
    """Write under the same keys everywhere; return the chunks' ids."""
    memory, name = Memory(scope), ascii(scope.parts)
    document = memory.ingest("doc-1", f"The zebra of {name}.", origin=DOCUMENT, title="Zebras")
    turn = memory.record("chat", f"I saw a zebra at {name}.", origin=USER, turn_id="turn-1")
    return [*document.added, *turn.added]


def texts(memory: Memory, query: str = "zebra") -> set[str]:
    return {hit.chunk.text for hit in memory.search(query, limit=100)}


class TestSiblings:
    def test_tenants_whose_names_look_alike_share_nothing(self):
        ids = {tenant: fill(Scope(tenant)) for tenant in TENANTS}
        for tenant in TENANTS:
            memory = Memory(Scope(tenant))
            own = ascii(Scope(tenant).parts)
            assert len(texts(memory)) == 2
            assert all(own in text for text in texts(memory))
            assert [source.key for source in memory.sources()] == ["chat", "doc-1"]
            assert [view.id for view in memory.get(ids[tenant])] == ids[tenant]
            strangers = [name for other in TENANTS if other != tenant for name in ids[other]]
            assert memory.get(strangers[:100]) == []

    def test_the_same_key_in_two_scopes_is_two_sources_and_erasing_one_leaves_the_other(self):
        scopes = [*LEVELS, *ASIDE]
        for scope in scopes:
            fill(scope)
        for scope in scopes:
            before = {other: rows_at(other) for other in scopes if other != scope}
            memory = Memory(scope)
            memory.ingest("doc-1", "Rewritten.", origin=DOCUMENT)
            memory.retire_source("chat")
            assert memory.erase("doc-1").source_found
            assert memory.erase_turn("chat", "turn-1").chunks == 1
            assert {other: rows_at(other) for other in before} == before

    def test_a_key_written_twice_at_a_level_is_one_source(self):
        for scope in LEVELS:
            memory = Memory(scope)
            first = memory.ingest("doc-1", "One.", origin=DOCUMENT)
            assert memory.ingest("doc-1", "Two.", origin=DOCUMENT).source == first.source
            assert Source.objects.at(scope).filter(key="doc-1").count() == 1

    @pytest.mark.parametrize(
        ("one", "other"),
        [("User-7", "user-7"), ("caf\u00e9", "cafe\u0301"), ("user-7", "user\u20117"), ("a", "ａ")],
        ids=ascii,
    )
    @pytest.mark.parametrize("level", COLUMNS)
    def test_names_are_never_folded_together(self, level, one, other):
        place = COLUMNS.index(level)
        mine, theirs = (Scope(*["x"] * place, name) for name in (one, other))
        fill(theirs)
        assert Memory(mine).sources() == []
        assert texts(Memory(mine)) == set()

    def test_a_part_that_spells_another_scope_s_parts_is_not_that_scope(self):
        names = [Scope("a", "b", "c"), Scope("a", "b/c"), Scope("a b", "c"), Scope("ab", "c")]
        for scope in names:
            fill(scope)
        for scope in names:
            assert len(texts(Memory(scope))) == 2


class TestLevels:
    @pytest.mark.parametrize("written", LEVELS, ids=reversed(COLUMNS))
    @pytest.mark.parametrize("reader", LEVELS, ids=reversed(COLUMNS))
    def test_a_reader_sees_its_own_level_and_those_above(self, reader, written):
        ids = fill(written)
        memory, sees = Memory(reader), LEVELS.index(written) >= LEVELS.index(reader)
        assert bool(texts(memory)) is sees
        assert bool(memory.get(ids)) is sees
        assert bool(memory.sources()) is sees
        assert bool(memory.search("zebra", phrases=["zebra"], sources=["doc-1"])) is sees

    @pytest.mark.parametrize("written", ASIDE, ids=COLUMNS)
    @pytest.mark.parametrize("reader", LEVELS, ids=reversed(COLUMNS))
    def test_no_reader_sees_sideways(self, reader, written):
        ids = fill(written)
        memory = Memory(reader)
        assert (texts(memory), memory.get(ids), memory.sources(retired=True)) == (set(), [], [])

    @pytest.mark.parametrize("scope", LEVELS, ids=reversed(COLUMNS))
    def test_a_write_lands_at_exactly_the_opened_scope(self, scope):
        before = {other: rows_at(other) for other in LEVELS if other != scope}
        ids = fill(scope)
        assert {view.scope for view in Memory(scope).get(ids)} == {scope}
        assert {other: rows_at(other) for other in before} == before

    def test_a_write_below_leaves_the_same_key_above_as_it_was(self):
        fill(TENANT)
        before = rows_at(TENANT)
        memory = Memory(THREAD)
        memory.ingest("doc-1", "Another text.", origin=DOCUMENT)
        memory.record("chat", "Another turn.", origin=USER, turn_id="turn-1")
        assert rows_at(TENANT) == before
        assert {source.scope for source in memory.sources()} == {THREAD, TENANT}

    def test_a_key_may_be_a_document_here_and_a_conversation_above(self):
        Memory(TENANT).record("doc-1", "A turn.", origin=USER)
        assert Memory(OWNER).ingest("doc-1", "A document.", origin=DOCUMENT).added

    def test_nothing_about_an_open_memory_widens_it(self):
        memory = Memory(THREAD)
        with pytest.raises(AttributeError):
            memory.scope = TENANT
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            memory.scope.thread = "chat-2"
        memory.scope.columns["thread"] = "chat-2"
        assert memory.scope == THREAD
        for call in (memory.ingest, memory.record):
            with pytest.raises(TypeError):
                call("doc-1", "text", origin=USER, scope=TENANT)
            with pytest.raises(TypeError):
                call("doc-1", "text", origin=USER, tenant="globex")


class TestSearch:
    @pytest.mark.parametrize(
        "metadata",
        [
            {"_connector": "OR", "tenant": "globex"},
            {"tenant": "globex"},
            {"tenant__contains": ""},
            {"source__tenant": "globex"},
            {"$where": "1 = 1"},
            {"a'): (1=1) --": "x"},
        ],
        ids=lambda metadata: next(iter(metadata)),
    )
    def test_a_metadata_filter_compares_members_and_nothing_else(self, metadata):
        fill(ASIDE[0])
        fill(THREAD)
        assert Memory(THREAD).search("zebra", metadata=metadata) == []

    def test_a_scope_s_token_in_a_query_is_a_plain_word(self):
        fill(ASIDE[0])
        fill(THREAD)
        token = ASIDE[0].token
        for query in (
            *(
                token,
                f"{token}zebra",
                f'"{token}zebra"',
                f"{token}zebr",
                f"{token}*",
                f"words:{token}",
            ),
            *(
                f'x" OR "{token}zebr',
                f"x' | '{token}zebr",
                f"zebr OR {token}zebr",
                f"{token} zebra",
            ),
        ):
            assert all("globex" not in text for text in texts(Memory(THREAD), query))
            assert Memory(Scope("nobody")).search(query) == []

    @pytest.mark.parametrize(
        "separator", [" ", ".", "-", "_", "/", "\t", "\u200b", "²", "·", "'", '"']
    )
    def test_a_stored_text_does_not_enter_another_scope_s_index(self, separator):
        victim = Memory(ASIDE[0])
        victim.ingest("own", "A quiet zebra.", origin=DOCUMENT)
        victim.ingest("more", "Nothing of note.", origin=DOCUMENT)
        before = victim.search("zebra", explain=True)
        token = ASIDE[0].token
        forged = separator.join(
            ["x", f"{token}zebra", f"{token}zebr", f"{token}quiet", token, "zebra"]
        )
        for number in range(5):
            Memory(THREAD).ingest(f"doc-{number}", forged, origin=DOCUMENT, title=forged)
        assert victim.search("zebra", explain=True) == before

    @given(
        st.text(max_size=60) | st.text(st.sampled_from("aZ9²·._-/'\" \t\u200b\u3042ก"), max_size=30)
    )
    def test_no_term_can_be_split_into_one_without_its_token(self, text):
        # FTS5 cuts at every ASCII character but letters and digits; PostgreSQL's array at spaces.
        terms, _ = analysis.index_terms(text, ["heading"], None)
        for term in filter(None, terms.split(" ")):
            assert all(each > "\x7f" or each.isalnum() for each in term), ascii(term)
            assert term == term.casefold() or not term.isascii()

    def test_rows_of_others_change_neither_hits_nor_scores_nor_order(self):
        memory = Memory(THREAD)
        for number in range(6):
            memory.ingest(f"doc-{number}", f"zebra {'otter ' * number} lion", origin=DOCUMENT)
        asked = [
            memory.search(query, explain=True) for query in ("zebra", "otter lion", "zebra otter")
        ]
        for number in range(60):
            scope = ASIDE[number % len(ASIDE)]
            Memory(scope).ingest(f"doc-{number}", "zebra " * (number % 9 + 1), origin=DOCUMENT)
        again = [
            memory.search(query, explain=True) for query in ("zebra", "otter lion", "zebra otter")
        ]
        assert again == asked

    def test_scopes_whose_tokens_collide_still_share_nothing(self, monkeypatch):
        # Tokens are for speed: 50 bits, which somebody may search through.
        def world(*others: Scope) -> list[Any]:
            for number in range(3):
                Memory(THREAD).ingest(f"doc-{number}", f"zebra {'lion ' * number}", origin=DOCUMENT)
            for scope in others:
                for number in range(4):
                    Memory(scope).ingest(f"doc-{number}", "lion zebra zebra", origin=DOCUMENT)
            hits = Memory(THREAD).search("zebra lion", explain=True, phrases=["zebra"])
            return [(hit.chunk.text, hit.score, hit.explain) for hit in hits]

        monkeypatch.setattr(Scope, "token", property(lambda self: "a" * TOKEN_LENGTH))
        monkeypatch.setattr("tests.statement_guard.tokens", {"a" * TOKEN_LENGTH})
        alone = world()
        assert alone
        assert world(*ASIDE) == alone

    def test_counts_are_of_one_s_own_rows(self):
        derived = fill(TENANT)
        Memory(THREAD).ingest("summary", "A zebra.", origin=DOCUMENT, derived_from=derived)
        report = Memory(TENANT).erase("doc-1")
        assert (report.source_found, report.chunks) == (True, 1)
        assert Memory(THREAD).get(derived[1:]) != []
        assert "summary" not in {source.key for source in Memory(THREAD).sources()}


class TestLineage:
    def test_a_chunk_of_another_scope_cannot_be_cited(self):
        for scope in ASIDE:
            ids = fill(scope)
            before = stored()
            for write in (Memory(THREAD).ingest, Memory(THREAD).record):
                with pytest.raises(InvalidEvidence):
                    write("summary", "A zebra.", origin=DOCUMENT, derived_from=ids)
            assert stored() == before

    def test_a_chunk_of_a_level_below_cannot_be_cited(self):
        for lower, upper in pairwise(LEVELS):
            ids = fill(lower)
            with pytest.raises(InvalidEvidence):
                Memory(upper).ingest("summary", "A zebra.", origin=DOCUMENT, derived_from=ids)

    def test_erasing_above_erases_what_was_derived_below_and_nothing_beside_it(self):
        ids = fill(OWNER)
        below = [AGENT, THREAD, Scope("acme", "ana", "sales"), ASIDE[3]]
        for scope in below:
            fill(scope)
            Memory(scope).ingest(
                "summary", "The zebra, summed up.", origin=DOCUMENT, derived_from=ids[:1]
            )
        aside = rows_at(ASIDE[1])
        Memory(OWNER).erase("doc-1")
        for scope in below:
            own = {source.key for source in Memory(scope).sources() if source.scope == scope}
            assert own == {"doc-1", "chat"}
        assert rows_at(ASIDE[1]) == aside


REFUSED: dict[str, Callable[[Memory, str], Any]] = {
    "key too long": lambda memory, word: memory.ingest(word * 200, word, origin=USER),
    "key with NUL": lambda memory, word: memory.ingest(f"{word}\0", word, origin=USER),
    "text with NUL": lambda memory, word: memory.ingest("doc-2", f"{word}\0", origin=USER),
    "text with a surrogate": lambda memory, word: memory.record(
        "chat", f"{word}\ud800", origin=USER
    ),
    "no text": lambda memory, word: memory.ingest("doc-2", {word: 1}, origin=USER),
    "no origin": lambda memory, word: memory.ingest("doc-2", word, origin=word),
    "bad metadata": lambda memory, word: memory.ingest(
        "doc-2", word, origin=USER, metadata={word: object()}
    ),
    "large metadata": lambda memory, word: memory.ingest(
        "doc-2", word, origin=USER, metadata={word: word * 5000}
    ),
    "long title": lambda memory, word: memory.ingest("doc-2", word, origin=USER, title=word * 1000),
    "long speaker": lambda memory, word: memory.record(
        "chat", word, origin=USER, speaker=word * 1000
    ),
    "no time": lambda memory, word: memory.record("chat", word, origin=USER, occurred_at=word),
    "no evidence": lambda memory, word: memory.ingest(
        "doc-2", word, origin=USER, derived_from=[word]
    ),
    "another kind": lambda memory, word: memory.record("doc-1", word, origin=USER),
    "no such source": lambda memory, word: memory.retire_source(word),
    "no such time": lambda memory, word: memory.search(word, since=word),
    "too many ids": lambda memory, word: memory.get([word] * 101),
    "no such limit": lambda memory, word: memory.search(word, limit=word),
    "bad phrases": lambda memory, word: memory.search(word, phrases=word),
    "long phrase": lambda memory, word: memory.search(word, phrases=[word * 500]),
    "bad filter": lambda memory, word: memory.search(word, metadata={word: {word}}),
}


@pytest.mark.parametrize("refusal", REFUSED)
def test_no_error_carries_text_that_was_given_or_stored(refusal):
    memory = Memory(THREAD)
    memory.ingest("doc-1", "The stored okapi.", origin=USER, title="Okapi")
    before = stored()
    with pytest.raises(PrismGraphError) as refused:
        REFUSED[refusal](memory, "canary")
    error: BaseException | None = refused.value
    while error is not None:
        for said in (str(error), repr(error), repr(error.args)):
            assert "canary" not in said.casefold()
            assert "okapi" not in said.casefold()
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert stored() == before
    assert memory.search("okapi")
