"""Query text is data: nothing in it is an operator, nothing in it fails (security.md §2.5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prism_graph import Memory, Origin, Scope, Trust
from tests.rawsql import stored

pytestmark = [pytest.mark.django_db, pytest.mark.exhaustive]

ACME = Scope("acme")
USER = Origin(Trust.USER)
OTHER = Scope("other")

# Written as a query language would read them; each holds the word `penguin` as data.
CASES = [
    *('"', '"abc', '""', '"""', 'a"', 'a"*"b', "'", "''", "'; DROP TABLE prism_graph_chunk; --"),
    *("*", "**", "a*", "*a", "^a", "^", "a AND", "AND", "OR", "NOT", "AND OR NOT", "NOT NOT"),
    *("NEAR(a b, x)", "NEAR(", "NEAR(a b, 5)", "NEAR/3", "words:a", "body:a", "-body:a"),
    *("{a b}:x", "{words}:x", "- words:x", "(a", "a)", "()", "(((a", "a + b", "a+", "+ +"),
    *("a | b", "a & b", "!a", "a <-> b", "a <2> b", "a:*", "a:ABCD", "-zzz", "~", "\\", "\\'"),
    *("%", "_", "%s", "%(x)s", "{}", "{0}", "$1", ":1", "?", "??", "@a", "/*", "*/", "--", "#"),
    *("\t\n\r\v\f", "\x1b[2J", "\x9b", "\u2028", "\ufeff", "\u202e", "\u200b", "\U000e0041"),
    *("\x00", "a\x00b", "\ud800", "\udfff\ud800", "e\u0301" * 100, "\u0301" * 500, "٣", "½"),
    *("(" * 1000 + "a" + ")" * 1000, '"' * 999, "NEAR(" * 200, "a" * 100_000, "a " * 50_000),
    *(" ".join(f"w{n}" for n in range(20_000)), "🐧" * 1000, "日本" * 5000, "-" * 100_000),
    *("prism_graph_fulltext", "rank", "rowid", "terms", "tenant:acme", "sqlite_master"),
]
EMPTY = [
    *("", " ", "\t\n", ".", "...", "!?", '"', "*", "()", "--", "\x00", "\u200b", "\ufeff"),
    *("\U000e0041", "\u202e\u202c", "@", "%", "—", "…", "「」", "\ud800", "()" * 5000),
]


@pytest.fixture
def memory() -> Memory:
    memory = Memory(ACME)
    memory.ingest("one", "the penguin swims", origin=USER)
    memory.ingest("two", "zebra and otter", origin=USER)
    Memory(OTHER).ingest("three", "the penguin of another tenant", origin=USER)
    return memory


def found(memory: Memory, query: str) -> set[str]:
    return {hit.chunk.source_key for hit in memory.search(query)}


@pytest.mark.parametrize("case", CASES, ids=[str(n) for n in range(len(CASES))])
def test_no_query_fails_or_changes_what_its_words_find(memory: Memory, case: str) -> None:
    before = stored()
    found(memory, case)
    assert "one" in found(memory, f"{case} penguin")
    assert "one" in found(memory, f"penguin {case}")
    assert "three" not in found(memory, f"penguin {case}")
    assert stored() == before


@pytest.mark.parametrize("case", EMPTY, ids=[str(n) for n in range(len(EMPTY))])
def test_a_query_without_words_finds_nothing_and_asks_nothing(
    memory: Memory, case: str, django_assert_num_queries: Callable[[int], CaptureQueriesContext]
) -> None:
    with django_assert_num_queries(0):
        assert memory.search(case) == []


@pytest.mark.parametrize(
    "case",
    [
        *("NOT penguin", "-penguin", "!penguin", "penguin NOT zebra", "penguin -zebra"),
        *("penguin AND nowhere", "penguin & nowhere", '"penguin nowhere"', "penguin <-> nowhere"),
        *("nowhere:penguin", "title:penguin", "(penguin", "penguin*", "^penguin", "penguin:A"),
        *("NEAR(penguin nowhere, 1)", "{nowhere}:penguin", "'penguin'", "penguin; SELECT 1"),
    ],
)
def test_what_looks_like_an_operator_neither_narrows_nor_negates(memory: Memory, case: str) -> None:
    assert "one" in found(memory, case)


def test_a_star_is_no_wildcard(memory: Memory) -> None:
    assert found(memory, "x*") == found(memory, "x")
    assert found(memory, "*") == set()


def test_a_scopes_token_in_a_query_is_a_word_like_any_other(memory: Memory) -> None:
    for scope in (ACME, OTHER):
        for query in (
            *(scope.token, f"{scope.token}penguin", f"{scope.token}*", f"words:{scope.token}"),
            f'"{scope.token}penguin"',
        ):
            assert found(memory, query) == set()
            assert found(memory, f"{query} penguin") == {"one"}


def test_a_stored_token_is_found_as_the_word_it_is(memory: Memory) -> None:
    memory.ingest("token", f"{OTHER.token}penguin", origin=USER)
    assert found(memory, f"{OTHER.token}penguin") == {"token"}
    assert found(Memory(OTHER), "penguin") == {"three"}


def test_a_term_cannot_carry_another_scopes_token_into_the_index(memory: Memory) -> None:
    # Words are split at what parts them in the stored terms.
    for separator in (" ", "\x1f", "\t", "\u00a0", "\u2007", "\u3000", "²", "·", "*", "'", '"'):
        memory.ingest("hostile", f"x{separator}{OTHER.token}zebra", origin=USER)
        assert found(Memory(OTHER), "zebra") == set()


def test_identifiers_are_found_whole_and_by_part(memory: Memory) -> None:
    text = "Order ZX-4471-B from snake_case_name at /usr/local/lib by ann@example.com"
    memory.ingest("ids", text, origin=USER)
    for query in (
        *("ZX-4471-B", "4471", "snake_case_name", "snake", "ann@example.com", "example"),
        *("/usr/local/lib", "local"),
    ):
        assert "ids" in found(memory, query)


HOSTILE = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=st.characters(codec=None), max_size=40),
    st.lists(
        st.sampled_from(
            [*CASES[:60], "penguin", "AND", "\x00", "\ud800", "日本", "ไทย", "كتاب", "🐧", "é"]
        ),
        max_size=8,
    ).map(" ".join),
    st.text(alphabet="\"'*():^-+{}|&!<>\\\x00 \ud800aé企", max_size=60),
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE)
@example("\ud83d\ude00")
@example("a\x00*")
def test_no_text_makes_a_search_fail(memory: Memory, query: str) -> None:
    memory.search(query, limit=100)
    assert "one" in found(memory, f"{query} penguin\n")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE)
def test_text_that_is_stored_is_found_by_itself_or_has_no_words(memory: Memory, text: str) -> None:
    text = text.replace("\x00", "").encode(errors="ignore").decode()
    if not text:
        return
    memory.ingest("own", text, origin=USER, chunker=lambda text: [text])
    with_words = bool(memory.search(text))
    assert not with_words or "own" in {h.chunk.source_key for h in memory.search(text, limit=100)}
    assert [hit.chunk.text for hit in memory.search(text) if hit.chunk.source_key == "own"] in (
        [],
        [text],
    )


def test_a_long_question_costs_what_a_short_one_does(memory: Memory) -> None:
    counts = []
    for size in (1, 1000, 20_000):
        query = "penguin " + " ".join(f"w{n}" for n in range(size))
        with CaptureQueriesContext(connection) as made:
            assert found(memory, query) == {"one"}
        counts.append(len(made))
    assert max(counts) <= counts[0] + 4
