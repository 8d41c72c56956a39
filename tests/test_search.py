from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.records import Hit
from tests.rawsql import sql

ACME = Scope("acme")
THREAD = Scope("acme", "u1", "a1", "t1")
USER = Origin(Trust.USER)
TOOL = Origin(Trust.TOOL)
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory(db: None) -> Memory:
    return Memory(ACME)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that stands still; call it to set it."""

    def stand(at: datetime) -> datetime:
        monkeypatch.setattr("prism_graph.clock._source", lambda: at)
        return at

    stand(START)
    return stand


def texts(hits: list[Hit]) -> list[str]:
    return [hit.chunk.text for hit in hits]


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


# ranking


def test_rarer_words_weigh_more_and_any_word_may_match(memory: Memory) -> None:
    for number in range(8):
        memory.ingest(f"c{number}", f"common thing number{number}", origin=USER)
    memory.ingest("rare", "a rare quokka", origin=USER)
    hits = memory.search("common quokka nowhere")
    assert hits[0].chunk.text == "a rare quokka"
    assert len(hits) == 9
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.method for hit in hits} == {"text"}
    assert {hit.superseded_by for hit in hits} == {()}
    assert all(hit.score > 0 and hit.explain is None for hit in hits)


@pytest.mark.parametrize("limit", [1, 3, 10, 100])
def test_a_limit_keeps_the_best(memory: Memory, limit: int) -> None:
    for number in range(12):
        memory.ingest(f"k{number}", "penguin " * (number % 4 + 1) + f"x{number}", origin=USER)
    everything = memory.search("penguin", limit=100)
    assert memory.search("penguin", limit=limit) == everything[:limit]
    assert len(memory.search("penguin")) == 10


def test_equal_scores_are_ordered_by_recorded_instant_then_key_then_ordinal(
    db: None, clock: Any
) -> None:
    owner = ACME.for_owner("u1")
    for scope, key, at in [
        *((owner, "b", 3), (ACME, "z", 1), (owner, "a", 2), (ACME, "c", 3)),
        *((THREAD, "a", 3), (ACME, "d", 0)),
    ]:
        clock(START + timedelta(hours=at))
        Memory(scope).ingest(key, "same\nsame\n", origin=USER, chunker=lines)
    hits = Memory(THREAD).search("same", limit=100)
    places = [(h.chunk.recorded_at, h.chunk.source_key, h.chunk.ordinal) for h in hits]
    assert len(places) == 12
    assert places == sorted(places)
    assert len({hit.score for hit in hits}) == 1
    for limit in range(1, 12):
        assert Memory(THREAD).search("same", limit=limit) == hits[:limit]


def test_many_equal_scores_are_cut_at_the_first(memory: Memory) -> None:
    many = [f"same {number:04}\n" for number in range(700)]
    memory.ingest("many", "".join(many), origin=USER, chunker=lambda text: many)
    assert texts(memory.search("same", limit=100)) == many[:100]


def test_retired_chunks_do_not_count(memory: Memory) -> None:
    memory.ingest("a", "penguin one", origin=USER)
    before = memory.search("penguin")
    memory.ingest("b", "penguin two", origin=USER)
    memory.ingest("c", "penguin three", origin=USER)
    memory.ingest("c", "", origin=USER)
    memory.retire_source("b")
    assert memory.search("penguin") == before


def test_adjacent_turns_lend_to_the_untrusted_and_never_from_it(memory: Memory) -> None:
    memory.record("down", "who likes penguins", origin=USER)
    memory.record("down", "nobody at all", origin=TOOL)
    memory.record("up", "penguins penguins penguins", origin=TOOL)
    memory.record("up", "nothing to say", origin=USER)
    found = texts(memory.search("penguins"))
    assert "nobody at all" in found
    assert "nothing to say" not in found


def test_levels_above_are_searched_and_none_beside_or_below(db: None) -> None:
    scopes = [*THREAD.chain, Scope("acme", "u2"), Scope("acme", "u1", "a2"), Scope("b")]
    scopes.append(Scope("acme", "u1", "a1", "t2"))
    for scope in scopes:
        Memory(scope).ingest("doc", f"penguin of {scope.parts}", origin=USER)
    for reader in scopes:
        hits = Memory(reader).search("penguin")
        assert {hit.chunk.scope for hit in hits} == set(reader.chain)
        assert len(hits) == len(reader.chain)


# what options leave in


def test_min_trust_leaves_out_what_ranks_lower(memory: Memory) -> None:
    for trust in Trust:
        memory.record("chat", f"penguin {trust}", origin=Origin(trust))
    page = memory.ingest("page", "penguin page", origin=TOOL).added
    memory.ingest("said", "penguin derived", origin=USER, derived_from=page)
    for least in Trust:
        found = {hit.chunk.trust for hit in memory.search("penguin", limit=100, min_trust=least)}
        assert found == {trust for trust in Trust if trust.level >= least.level}
    assert "penguin derived" not in texts(memory.search("penguin", min_trust=Trust.USER))


def test_sources_are_named_by_their_keys(memory: Memory) -> None:
    for key in ("a", "b", "é", "A", "a b"):
        memory.ingest(key, f"penguin {key}", origin=USER)
    Memory(Scope("other")).ingest("c", "penguin c", origin=USER)
    named = lambda *keys: {h.chunk.source_key for h in memory.search("penguin", sources=keys)}  # noqa: E731
    assert named("a") == {"a"}
    assert named("a", "é", "nothing", "c") == {"a", "é"}
    assert named("\x00", "\ud800", "%") == set()
    assert memory.search("penguin", sources=[]) == []
    assert len(memory.search("penguin", sources=iter(["a", "b"]))) == 2
    assert len(memory.search("penguin", sources=None)) == 5


def test_a_key_at_two_levels_names_both(db: None) -> None:
    for scope in THREAD.chain:
        Memory(scope).ingest("doc", "penguin", origin=USER)
        Memory(scope).ingest("other", "penguin", origin=USER)
    assert len(Memory(THREAD).search("penguin", sources=["doc"])) == 4


def test_since_and_until_bound_when_it_occurred_else_when_it_was_recorded(
    memory: Memory, clock: Any
) -> None:
    day = timedelta(days=1)
    clock(START)
    memory.record("chat", "penguin old", origin=USER, occurred_at=START - 10 * day)
    memory.record("chat", "penguin then", origin=USER)
    clock(START + 5 * day)
    memory.record("chat", "penguin late", origin=USER)
    memory.record("chat", "penguin future", origin=USER, occurred_at=START + 50 * day)
    at = {
        hit.chunk.text.split()[1]: hit.chunk.occurred_at or hit.chunk.recorded_at
        for hit in memory.search("penguin")
    }
    words = lambda **options: {  # noqa: E731
        text.split()[1] for text in texts(memory.search("penguin", **options))
    }
    for bound in (*at.values(), START + day, START - 99 * day, START + 99 * day):
        assert words(since=bound) == {word for word, when in at.items() if when >= bound}
        assert words(until=bound) == {word for word, when in at.items() if when < bound}
    assert words(since=START, until=START + day) == {"then"}
    assert words(since=START + day, until=START) == set()
    assert words(since="2026-01-06T02:00:00+02:00") == {"late", "future"}


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({}, "abcd"),
        ({"lang": "en"}, "ac"),
        ({"lang": ["en", "de"]}, "abc"),
        ({"lang": []}, ""),
        ({"lang": "en", "year": 2020}, "a"),
        ({"year": 2020.0}, "a"),
        ({"draft": True}, "b"),
        ({"draft": 1}, "c"),
        ({"draft": None}, "d"),
        ({"missing": None}, ""),
        ({"nested": {"a": [1, 2]}}, "c"),
        ({"nested": {"a": [1]}}, ""),
        ({"tenant": "acme"}, ""),
        ({"_connector": "OR", "tenant": "b"}, ""),
        ({"lang__startswith": "e"}, ""),
        ({"lang": "EN"}, ""),
        ({"lang') OR 1=1 --": "en"}, ""),
    ],
    ids=repr,
)
def test_metadata_is_compared_member_by_member(
    memory: Memory, wanted: dict[str, Any], keys: str
) -> None:
    documents: dict[str, dict[str, Any]] = {
        "a": {"lang": "en", "year": 2020},
        "b": {"lang": "de", "year": 2021, "draft": True},
        "c": {"lang": "en", "draft": 1, "nested": {"a": [1, 2]}},
        "d": {"draft": None},
    }
    for key, metadata in documents.items():
        memory.ingest(key, "penguin", origin=USER, metadata=metadata)
    Memory(Scope("b")).ingest("e", "penguin", origin=USER, metadata={"lang": "en"})
    found = {hit.chunk.source_key for hit in memory.search("penguin", metadata=wanted)}
    assert found == set(keys)


def test_metadata_follows_the_document(memory: Memory) -> None:
    memory.ingest("a", "penguin", origin=USER, metadata={"v": 1})
    memory.ingest("a", "penguin", origin=USER, metadata={"v": 2})
    assert memory.search("penguin", metadata={"v": 1}) == []
    assert memory.search("penguin", metadata={"v": 2})[0].chunk.metadata == {"v": 2}


# phrases


def test_phrases_stand_in_the_text_word_by_word(memory: Memory) -> None:
    memory.ingest("a", "The emperor penguin swims.", origin=USER)
    memory.ingest("b", "A penguin met an emperor.", origin=USER)
    memory.ingest("c", "Emperor\n Pénguin, again", origin=USER)
    found = lambda *phrases: [  # noqa: E731
        hit.chunk.source_key for hit in memory.search("penguin", phrases=phrases)
    ]
    assert sorted(found("emperor penguin")) == ["a", "c"]
    assert sorted(found("EMPEROR PENGUIN")) == ["a", "c"]
    assert found("emperor penguin", "swims") == ["a"]
    assert found("peror penguin") == []
    assert found("nothing like it") == []
    assert found("!!!") == []
    assert found("swims.") == ["a"]
    assert sorted(found("", "\u200b")) == ["a", "b", "c"]


def test_phrases_are_searched_without_a_query(memory: Memory) -> None:
    memory.ingest("a", "The emperor penguin swims.", origin=USER)
    memory.ingest("b", "A penguin met an emperor.", origin=USER)
    assert [h.chunk.source_key for h in memory.search("", phrases=["emperor penguin"])] == ["a"]


@pytest.mark.parametrize(
    "text", ['say "hello" AND bye', "C++ or (C#)", "a.b*c?[d]", "x\\y|z", "日本語の文章", "100 %"]
)
def test_a_phrase_is_data(memory: Memory, text: str) -> None:
    memory.ingest("a", f"before {text} after", origin=USER)
    memory.ingest("b", "something else entirely", origin=USER)
    assert [h.chunk.source_key for h in memory.search(text, phrases=[text])] == ["a"]


def test_a_phrase_found_late_in_the_ranking_is_found(memory: Memory) -> None:
    many = [f"emperor penguin emperor penguins {number}\n" for number in range(500)]
    many.append("one long passage about a penguin emperor, named so " + "word " * 50)
    memory.ingest("many", "".join(many), origin=USER, chunker=lambda text: many)
    found = memory.search("emperor penguin", phrases=["penguin emperor, named"])
    assert texts(found) == many[-1:]


# around a hit, and why


def test_neighbours_are_the_passages_beside_a_hit_in_order(memory: Memory) -> None:
    many = [f"{word}\n" for word in "zero one two penguin four five six".split()]
    memory.ingest("doc", "".join(many), origin=USER, chunker=lines)
    memory.ingest("other", "beside\n", origin=USER)
    for reach in (0, 1, 2, 10):
        (hit,) = memory.search("penguin", neighbours=reach)
        around = [view.text for view in hit.neighbours]
        assert around == many[max(0, 3 - reach) : 3] + many[4 : 4 + reach]
    (hit,) = memory.search("zero", neighbours=1)
    assert [view.text for view in hit.neighbours] == ["one\n"]


def test_retired_neighbours_are_not_shown(memory: Memory) -> None:
    memory.ingest("doc", "one\npenguin\nthree\n", origin=USER, chunker=lines)
    memory.ingest("doc", "penguin\nfour\n", origin=USER, chunker=lines)
    (hit,) = memory.search("penguin", neighbours=5)
    assert [view.text for view in hit.neighbours] == ["four\n"]


def test_neighbours_do_not_change_the_order(memory: Memory) -> None:
    for number in range(5):
        memory.record("chat", f"penguin number {number}", origin=USER)
    plain = memory.search("penguin")
    around = memory.search("penguin", neighbours=2)
    assert [(h.chunk, h.score) for h in plain] == [(h.chunk, h.score) for h in around]


def test_explain_adds_the_parts_that_make_the_score(memory: Memory) -> None:
    for number in range(5):
        memory.record("chat", "penguin " * (number + 1) + "otter", origin=USER)
    memory.ingest("doc", "a zebra and a penguin", origin=USER, title="Otter")
    query = "penguin zebra? The otter. Nothing else."
    plain = memory.search(query)
    explained = memory.search(query, explain=True)
    assert [(h.chunk, h.score) for h in plain] == [(h.chunk, h.score) for h in explained]
    assert len(explained) == 6
    for place, hit in enumerate(explained, start=1):
        assert hit.explain is not None
        arm = hit.explain["text"]
        parts = [part["weight"] * (part["own"] + part["lent"]) for part in arm["terms"]]
        assert arm["scale"] * sum(parts) == pytest.approx(hit.score, abs=1e-8)
        assert (arm["rank"], arm["score"]) == (place, hit.score)
        assert json.loads(json.dumps(hit.explain)) == hit.explain


# known_at


def test_known_at_searches_what_memory_held_then(memory: Memory, clock: Any) -> None:
    moments = {}
    for hour, text in enumerate(["penguin one", "penguin two", ""]):
        clock(START + timedelta(hours=hour))
        memory.ingest("doc", text, origin=USER)
        moments[hour] = START + timedelta(hours=hour, minutes=30)
    found = lambda at: texts(memory.search("penguin", known_at=at))  # noqa: E731
    assert found(START - timedelta(hours=1)) == []
    assert found(moments[0]) == ["penguin one"]
    assert found(moments[1]) == ["penguin two"]
    assert found(moments[2]) == []
    assert found("2026-01-01T02:30:00+02:00") == ["penguin one"]


def test_the_instant_of_a_change_belongs_to_the_new(memory: Memory, clock: Any) -> None:
    first = memory.get(memory.ingest("doc", "penguin one", origin=USER).added)[0].recorded_at
    clock(START + timedelta(hours=1))
    second = memory.get(memory.ingest("doc", "penguin two", origin=USER).added)[0].recorded_at
    tick = timedelta(microseconds=1)
    for at, expected in [
        *((first - tick, []), (first, ["penguin one"]), (second - tick, ["penguin one"])),
        (second, ["penguin two"]),
    ]:
        assert texts(memory.search("penguin", known_at=at)) == expected


def test_an_answer_of_then_stays_the_same_whatever_is_written_later(
    memory: Memory, clock: Any
) -> None:
    rng = random.Random(7)
    keys, answers = ["a", "b", "c"], {}
    for step in range(20):
        # The clock may stand still or go back; recorded instants increase all the same.
        at = clock(START + timedelta(seconds=rng.randrange(20)))
        text = " ".join(rng.choices(["penguin", "zebra", "otter", "x", "y"], k=4))
        (rng.choice([memory.ingest, memory.record]) if step % 4 == 0 else memory.ingest)(
            rng.choice(keys) if step % 4 else f"k{step}", text, origin=USER
        )
        (last,) = sql("SELECT last FROM $scopeclock")[0]
        at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=last)
        answers[at] = ranked(memory, at)
        for earlier in rng.sample(sorted(answers), k=min(4, len(answers))):
            assert ranked(memory, earlier) == answers[earlier]
    assert {at: ranked(memory, at) for at in answers} == answers
    assert len(answers) == 20


def ranked(memory: Memory, at: datetime) -> list[tuple[str, float]]:
    hits = memory.search("penguin otter", known_at=at, limit=100)
    return [(hit.chunk.id, hit.score) for hit in hits]


def test_erased_text_was_never_known(memory: Memory, clock: Any) -> None:
    memory.ingest("a", "penguin one", origin=USER)
    memory.ingest("b", "penguin two", origin=USER)
    clock(START + timedelta(hours=1))
    memory.ingest("a", "", origin=USER)
    at = START + timedelta(minutes=30)
    assert len(memory.search("penguin", known_at=at)) == 2
    memory.erase("a")
    assert texts(memory.search("penguin", known_at=at)) == ["penguin two"]


# cost, and what reading leaves behind


def statements(using: str = "default") -> CaptureQueriesContext:
    return CaptureQueriesContext(connections[using])


def test_a_search_costs_as_many_statements_however_much_there_is(memory: Memory) -> None:
    options: list[dict[str, Any]] = [
        {},
        {"limit": 100, "neighbours": 10, "explain": True},
        {"sources": ["doc", "b"], "metadata": {"a": 1}, "min_trust": Trust.TOOL},
        {"since": START - timedelta(days=999), "until": "9999-01-01T00:00:00Z"},
        {"known_at": "9998-01-01T00:00:00Z"},
    ]
    counts = []
    for size in (30, 3000):
        many = [f"penguin zebra {number}\n" for number in range(size)]
        memory.ingest(
            "doc", "".join(many), origin=USER, chunker=lambda text: lines(text), metadata={"a": 1}
        )
        counts.append([])
        for each in options:
            with statements() as made:
                assert memory.search("penguin zebra", **each)
            counts[-1].append(len(made))
    assert counts[0] == counts[1]
    assert max(counts[0]) <= 12


@pytest.mark.parametrize("kept", [False, True])
def test_a_write_costs_as_many_statements_however_long_the_text(memory: Memory, kept: bool) -> None:
    page = memory.ingest("page", "text", origin=USER).added
    counts = []
    for size in (10, 1000 if kept else 3000):
        many = [f"penguin {number}\n" for number in range(size)]
        key = f"doc{size}"
        made = [statements() for _ in range(5)]
        if connection.vendor == "postgresql":
            sql("ANALYZE")
        with made[0]:
            memory.ingest(key, "".join(many), origin=USER, chunker=lines, derived_from=page)
        if kept:
            many = [*many[5:], *many[:3], *(f"new {number}\n" for number in range(size // 2))]
        with made[1]:
            memory.ingest(
                *(key, "".join(many)),
                origin=USER,
                title="changed",
                chunker=lines,
                derived_from=page,
            )
        with made[2]:
            memory.record(f"chat{size}", "penguins swim. " * (size * 10), origin=USER, turn_id="t")
        with made[3]:
            memory.retire_source(key)
        with made[4]:
            memory.erase(key)
        counts.append([len(each) for each in made])
    # SQLite: the full batches of rows are one statement more for each table.
    fewer, more = counts
    allowed = 0 if connection.vendor == "postgresql" else 3
    assert all(b - a <= allowed for a, b in zip(fewer, more, strict=True)), counts
    assert max(more) <= 30


def test_erasing_what_was_derived_costs_statements_by_the_level_not_by_the_chunk(
    memory: Memory,
) -> None:
    counts = []
    for size in (10, 1200):
        many = [f"penguin {number}\n" for number in range(size)]
        page = memory.ingest(f"page{size}", "text", origin=USER).added
        for scope in (ACME, ACME.for_owner("u1")):
            Memory(scope).ingest(
                *(f"derived{size}", "".join(many)), origin=USER, chunker=lines, derived_from=page
            )
        with statements() as made:
            assert memory.erase(f"page{size}").chunks == size + 1
        counts.append(len(made))
    assert counts[0] == counts[1]


@contextmanager
def read_only(vendor: str) -> Iterator[None]:
    if vendor == "sqlite":
        sql("PRAGMA query_only = 1")
    else:
        sql("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        sql(
            "PRAGMA query_only = 0" if vendor == "sqlite" else "RESET default_transaction_read_only"
        )


def whole_read_surface(memory: Memory) -> list[Any]:
    ids = [hit.chunk.id for hit in memory.search("penguin", limit=100)]
    return [
        memory.search("penguin zebra", limit=100, neighbours=3, explain=True),
        memory.search("penguin", known_at=datetime.now(UTC)),
        memory.search("penguin", sources=["doc"], metadata={"a": 1}, min_trust=Trust.TOOL),
        memory.search("penguin", since=START, until=datetime.now(UTC)),
        memory.search(""),
        memory.get(ids),
        memory.sources(),
        memory.sources(retired=True),
        memory.facts("penguin", unaccepted=True),
        memory.facts(known_at="2100-01-01T00:00:00Z"),
        memory.timeline("penguin"),
    ]


@pytest.mark.django_db(transaction=True)
def test_reads_never_write(vendor: str) -> None:
    memory = Memory(ACME)
    memory.ingest("doc", "penguin one\nzebra\n", origin=USER, chunker=lines, metadata={"a": 1})
    said = memory.record("chat", "penguin said", origin=USER).added
    stated = {"subject": "penguin", "predicate": "can", "evidence": said}
    memory.assert_fact("swims", **stated, value="swim")
    memory.supersede("swims", **stated, value="swim fast")
    plain = whole_read_surface(memory)
    with read_only(vendor):
        again = whole_read_surface(memory)
        assert memory.fact("swims").value == "swim fast"
    assert again[0] == plain[0]
    assert again[2:] == plain[2:]
    assert [len(answer) for answer in again[1:5]] == [2, 1, 2, 0]
    assert [len(answer) for answer in again[8:]] == [1, 1, 2]


@pytest.mark.django_db(transaction=True)
def test_reads_work_inside_the_callers_transaction_and_see_what_it_wrote() -> None:
    memory = Memory(ACME)
    with transaction.atomic():
        memory.ingest("doc", "penguin one", origin=USER, metadata={"a": 1})
        assert len(whole_read_surface(memory)[5]) == 1
        with transaction.atomic():
            memory.erase("doc")
            assert whole_read_surface(memory)[5] == []
            transaction.set_rollback(True)
        assert len(whole_read_surface(memory)[5]) == 1
    assert len(whole_read_surface(memory)[5]) == 1


# both databases


WORDS = {
    "en": "penguin zebra engine install remove running ran runs better ZX-4471-B snake_case".split(),
    "de": "Straße Häuser Haus laufen läuft gelaufen Übermaß größer GROSS über Maßnahme".split(),
    "zh": ["数据库", "企鹅", "游泳", "安装", "数据", "日本語", "検索", "カタカナ", "ひらがな"],
    "ar": ["كتاب", "الكتاب", "يكتب", "مدرسة", "المدرسة", "بيت", "البيوت", "كِتَاب"],
    "th": ["ภาษาไทย", "ค้นหา", "ข้อความ", "แมว"],
    "odd": ["a", "I", "e\u0301", "ﬁne", "İstanbul", "x²", "½", "ﷺ", "🐧", "don't", "a@b.example"],
}


def sentence(rng: random.Random, most: int) -> str:
    words = WORDS[rng.choice(list(WORDS))]
    other = WORDS[rng.choice(list(WORDS))]
    return rng.choice([" ", " ", ", ", ""]).join(
        rng.choice(words if rng.random() < 0.8 else other) for _ in range(rng.randint(1, most))
    )


@pytest.mark.both_databases
def test_both_databases_give_the_same_order_and_the_same_scores(
    aliases: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(2026)
    scopes = THREAD.chain
    for number in range(180):
        at = START + timedelta(hours=rng.randrange(50), seconds=number)
        monkeypatch.setattr("prism_graph.clock._source", lambda at=at: at)
        scope, origin = rng.choice(scopes), Origin(rng.choice(list(Trust)), "w")
        text = "\n".join(sentence(rng, 12) for _ in range(rng.randint(1, 4)))
        title, key = sentence(rng, 2), f"k{rng.randrange(120)}"
        happened = START + timedelta(days=rng.randrange(900)) if rng.random() < 0.5 else None
        for using in aliases.values():
            memory = Memory(scope, using=using)
            if number % 3:
                memory.ingest(
                    key, text, origin=origin, title=title, chunker=lines, metadata={"n": number % 4}
                )
            else:
                memory.record(
                    f"chat{key}", text, origin=origin, speaker="Ann", occurred_at=happened
                )
            if number % 29 == 0:
                memory.erase(f"k{number}")
    found = 0
    for number in range(110):
        query = sentence(rng, 8)
        options: dict[str, Any] = {"limit": rng.choice([1, 5, 10, 100]), "explain": number % 6 == 0}
        if number % 5 == 0:
            options |= {"min_trust": rng.choice(list(Trust)), "neighbours": 2}
        if number % 7 == 0:
            options |= {"metadata": {"n": [1, 2]}}
        if number % 11 == 0:
            options |= {"known_at": START + timedelta(hours=25)}
        if number % 13 == 0:
            options |= {"since": START + timedelta(days=100)}
        answers = [
            [comparable(hit) for hit in Memory(THREAD, using=using).search(query, **options)]
            for using in aliases.values()
        ]
        assert answers[0] == answers[1], (query, options)
        found += bool(answers[0])
    assert found > 70


def comparable(hit: Hit) -> tuple[Any, ...]:
    chunk = hit.chunk
    return (
        *(chunk.scope, chunk.source_key, chunk.ordinal, chunk.text, chunk.recorded_at),
        *(hit.score, repr(hit.explain), chunk.retired_at, [view.text for view in hit.neighbours]),
    )


def test_ties_are_told_apart_where_they_stand_now(memory: Memory) -> None:
    turned = [f"zebra {number}\n" for number in range(20)]
    memory.ingest("doc", "".join(turned), origin=USER, chunker=lines)
    kept = memory.ingest("doc", "".join(reversed(turned)), origin=USER, chunker=lines)
    assert (len(kept.kept), kept.added) == (20, [])
    hits = memory.search("zebra", limit=3)
    assert len({hit.score for hit in hits}) == 1
    assert [hit.chunk.ordinal for hit in hits] == [0, 1, 2]


def test_what_verifying_phrases_may_cost_is_bounded(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        memory.ingest(f"doc-{number}", f"one two three {number}", origin=USER)
    assert len(memory.search("", phrases=["one two"])) == 5
    characters_of_two_texts, words = 2 * len("one two three 0"), 2
    monkeypatch.setattr("prism_graph.search.PHRASE_EFFORT", characters_of_two_texts * words)
    assert len(memory.search("", phrases=["one two"])) == 2


@pytest.mark.parametrize("wanted", [1, {"b": 1}, [1], [{"b": 1}]])
def test_metadata_tells_true_from_one_at_any_depth(memory: Memory, wanted: Any) -> None:
    true = json.loads(json.dumps(wanted).replace("1", "true"))
    memory.ingest("doc", "a zebra", origin=USER, metadata={"m": true})
    assert len(memory.search("zebra", metadata={"m": [true]})) == 1
    assert memory.search("zebra", metadata={"m": [wanted]}) == []
