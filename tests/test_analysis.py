"""The analyser: what a text is found by, whatever the text."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prism_graph.analysis import (
    MAX_TERMS,
    fold,
    index_terms,
    length_of,
    phrase_pattern,
    phrase_words,
    query_terms,
    sought,
    spans,
)
from prism_graph.analysis.pinned import UNSTABLE
from prism_graph.analysis.sentences import sentences
from tests.effort import growth

SCOPE_PREFIX_BYTES = 13
TSVECTOR_BYTES = 1_048_575
CHUNK_BYTES = 64 * 1024


def terms(text: str) -> set[str]:
    return set(index_terms(text)[0].split(" ")) - {""}


def finds(query: str, text: str) -> bool:
    held = terms(text)
    return any(
        any(t.startswith(word[:-1]) for t in held) if word.endswith("*") else word in held
        for word in query_terms(query).words()
    )


def exact(query: str, text: str) -> int:
    return len({w for w in query_terms(query).words() if not w.endswith("*")} & terms(text))


FIXED = {
    "The quick brown foxes": "the quick brown fox",
    "Ship ZX-4471-B today": "ship zx 4471 b zx·4471·b zx·4471 4471·b today",
    "snake_case": "snake case snake·case",
    "C++ and C#": "c c⁺⁺ and c♯ c²",
    "Ünïcödé": "unicod ünïcödé",
    "ﬁne ＡＢＣ": "fine abc",
    "黑豹队": "黑豹 豹队 队",
    "ภาษา": "ภาษ าษา ษา า",
    "очков очки": "очк очк²",
    "الكتاب": "كتاب ¬تاب",
    "a\u200bb\u00adc": "abc",
    "١٩٩٩": "1999",
    "İstanbul ISPARTA ısparta": "istanbul i̇stanbul isparta ısparta isparta²",
    "👍🏽 nice": "👍 🏽 nice",
    "don't": "don don·t",
    "John's v1.2.3": "john v1 2 3 v1·2·3 v1·2 2·3",
    "  ...  ": "",
    "": "",
}


@pytest.mark.parametrize("text", FIXED)
def test_a_text_gives_the_same_terms_under_every_python_and_library(text: str) -> None:
    assert index_terms(text)[0] == FIXED[text]


def test_characters_that_later_unicode_versions_changed_are_read_as_spaces() -> None:
    for first, last in UNSTABLE:
        for code in (first, last):
            assert terms(f"a{chr(code)}b") == {"a", "b"}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("zx 4471 b", "part ZX-4471-B"),
        ("ZX-4471-B", "zx-4471-b shipped"),
        ("4471", "part ZX-4471-B"),
        ("example.com", "write to user@example.com"),
        ("user@example.com", "write to USER@example.com."),
        ("c.py", "in a/b/c.py"),
        ("a/b/c.py", "see a/b/c.py:"),
        ("user name", "getUserName()"),
        ("getusername", "getUserName()"),
        ("multi agent", "a multi-agent system"),
        ("GB/s", "runs at 12 GB/s"),
        ("C++", "we write C++ here"),
        ("C#", "C# code"),
        ("1000", "1,000 genomes"),
        ("cafe", "le Café"),
        ("café", "le cafe"),
        ("strasse", "Straße"),
        ("œuvre", "oeuvre"),
        ("école", "l'école"),
        ("школа", "в школе"),
        ("水", "喝水吗"),
        ("水", "喝水"),
        ("물", "물을 마시다"),
        ("학교", "학교에서"),
        ("東京", "東京都に住む"),
        ("ラーメン", "ﾗｰﾒﾝを食べる"),
        ("แมว", "ฉันมีแมวหนึ่งตัว"),
        ("ספר", "הספר"),
        ("المدرسة", "مدرسة"),
        ("পরীক্ষা", "পরীক্ষার ফল"),
        ("தமிழ்", "தமிழ் மொழி"),
        ("ISTANBUL", "İstanbul"),
        ("the", "the"),
        ("who are you", "you"),
    ],
)
def test_a_query_finds_the_text(query: str, text: str) -> None:
    assert finds(query, text)


def test_a_whole_identifier_is_preferred_to_its_parts() -> None:
    assert exact("ZX-4471-B", "ZX-4471-B") > exact("ZX-4471-B", "zx and 4471 and b")


def test_combining_marks_stay_in_their_word() -> None:
    assert len(terms("हिन्दी में")) == 2
    assert not finds("हि", "हिन्दी")


def test_function_words_leave_the_query_but_not_the_index() -> None:
    assert query_terms("what is the harbour").words() == ("harbour", "harb*")
    assert {"what", "is", "the"} <= terms("what is the harbour")


@pytest.mark.parametrize(
    "query", ['"', "a AND b NOT c", "x*", "NEAR(a b)", "col:x", "^a", "\x00", "\ud800", "(", "-a"]
)
def test_query_text_is_data(query: str) -> None:
    for word in query_terms(query).words():
        assert not set(word.removesuffix("*")) & set('"*()^:-\x00 \ud800')


def test_operators_are_words_like_any_other() -> None:
    assert "near" in query_terms("NEAR(apple)").words()
    assert set(query_terms("apple*").words()) == set(query_terms("apple").words())


def test_context_and_date_are_searchable_but_not_length() -> None:
    when = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    found, length = index_terms("hello there", ("Caroline",), when)
    assert set(found.split()) >= {"hello", "carolin", "may", "8", "2023", "monday", "2023·05·08"}
    assert length == index_terms("hello there")[1] == 2
    assert "2023·05·08" in query_terms("on 2023-05-08").words()


def test_counts_are_marked_up_to_four() -> None:
    assert index_terms("a a a a a b b")[0] == "a b a² a³ a⁴ b²"


def test_a_long_term_is_capped_and_found_whole() -> None:
    long = "x" * 5000
    assert all(len(t.encode()) <= 64 for t in terms(long))
    assert exact(long, long)
    assert not exact(long, long + "y")


def hostile() -> dict[str, str]:
    rng = random.Random(5)
    pairs = [f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz0123456789" for b in "abcdefghij0123456"]
    han = "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(CHUNK_BYTES // 3))
    return {
        "han": han,
        "han apart": " ".join(han),
        "astral han": "".join(
            chr(rng.randrange(0x20000, 0x2A6DF)) for _ in range(CHUNK_BYTES // 4)
        ),
        "thai": "".join(chr(rng.randrange(0x0E01, 0x0E2F)) for _ in range(CHUNK_BYTES // 3)),
        "lao": "".join(rng.choice("ໜໝຳກຂຄງ") for _ in range(CHUNK_BYTES // 3)),
        "dots": "a." * (CHUNK_BYTES // 2),
        "pairs": "-".join(rng.choice(pairs) for _ in range(CHUNK_BYTES // 3)),
        "short": " ".join(
            f"{rng.choice(pairs)}-{rng.choice(pairs)}" for _ in range(CHUNK_BYTES // 6)
        ),
        "camel": "".join(rng.choice("aBcDeFgH1") for _ in range(CHUNK_BYTES)),
        "accents": " ".join(
            chr(rng.randrange(0xE0, 0xFF)) + rng.choice("abcdefghij")
            for _ in range(CHUNK_BYTES // 4)
        ),
        "marks": "a" + "\u0301\u0316" * (CHUNK_BYTES // 4),
        "ligature": "\ufdfa" * (CHUNK_BYTES // 3),
        "squared": "".join(chr(rng.randrange(0x3300, 0x3357)) for _ in range(CHUNK_BYTES // 3)),
        "one word": "x" * CHUNK_BYTES,
        "apostrophes": "a'" * (CHUNK_BYTES // 2),
        "plus": "+" * CHUNK_BYTES,
        "underscores": "a" + "_" * CHUNK_BYTES,
        "nul": "\x00" * CHUNK_BYTES,
        "emoji": "".join(chr(rng.randrange(0x1F300, 0x1FAFF)) for _ in range(CHUNK_BYTES // 4)),
        "noise": "".join(chr(rng.randrange(1, 0xD7FF)) for _ in range(CHUNK_BYTES // 3)),
    }


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_chunk_stays_small(name: str) -> None:
    found, _ = index_terms(hostile()[name])
    size = sum(len(term.encode()) + SCOPE_PREFIX_BYTES for term in found.split(" "))
    assert size < 0.95 * TSVECTOR_BYTES


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_query_is_cut(name: str) -> None:
    assert len(query_terms(hostile()[name]).words()) <= MAX_TERMS


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile())
@pytest.mark.parametrize("work", [index_terms, query_terms])
def test_a_text_sixteen_times_as_long_takes_about_as_much_longer(
    work: Callable[[str], object], name: str
) -> None:
    text = hostile()[name]
    # Were it to grow with the square, this would be 256.
    assert growth(work, text[: len(text) // 16], text) < 64


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(), max_size=300))
@example("İ" * 50)
@example("ŉ ǰ ΐ ẖ ﬃ")
def test_any_text_gives_clean_terms_and_finds_itself(text: str) -> None:
    found, length = index_terms(text)
    assert index_terms(text) == (found, length)
    held = found.split(" ") if found else []
    assert len(held) == len(set(held))
    assert "" not in held
    for term in held:
        assert regex.fullmatch(r"[a-z0-9\x80-\U0010ffff]+", term), term
        assert len(term.encode()) <= 66
        assert not any(c.isspace() for c in term)
    words = query_terms(text).words()
    assert bool(words) == bool(held)
    assert not words or finds(text, text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("phrase", "text", "met"),
    [
        ("of the", "Lord OF  the—Rings", True),
        ("of the", "often the", False),
        ("cafe noir", "un Café, noir", True),
        ("red apple", "red and apple", False),
        ("4471-B", "part ZX-4471-B", True),
        ("东京", "在东京都", True),
        ("don't go", "Don’t go!", True),
        ("a.b", "a.b", True),
        ("a.b", "axb", False),
        ("", "anything", False),
        ("!!!", "stop!!!", True),
    ],
)
def test_a_phrase_is_met_word_for_word(phrase: str, text: str, met: bool) -> None:
    assert bool(phrase_pattern(phrase).search(fold(text))) is met


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("of the", "Lord of the Rings"),
        ("4471-B", "ZX-4471-B"),
        ("京", "东京"),
        ("don't go", "don’t go"),
    ],
)
def test_the_words_of_a_phrase_are_held_by_a_text_with_it(phrase: str, text: str) -> None:
    held = terms(text)
    assert phrase_words(phrase)
    for word in phrase_words(phrase):
        assert word in held or any(t.startswith(word[:-1]) for t in held if word.endswith("*"))


def test_the_question_in_a_long_text_is_its_heaviest_segment() -> None:
    prose = " ".join(
        f"The committee of room {n} discussed the budgets at length." for n in range(60)
    )
    for text in (f"{prose}\n\nWhere is my passport?", f"Where is my passport?\n{prose}"):
        best = max(query_terms(text).segments, key=lambda segment: segment.weight)
        assert "passport" in {term.word for term in best.terms}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("พระราชกฤษฎีกาฉบับนี้ ได้รับการประกาศเมื่อใด", 2),
        ("这条法令 何时颁布", 2),
        ("ປະເທດລາວ ຢູ່ໃສ", 2),
        ("이 법령은 언제 공포되었는가", 1),
        ("When was this decree", 1),
        ("ปี 1915 มี", 1),
    ],
)
def test_a_space_parts_clauses_where_words_are_written_without(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_a_sentence_cut_off_before_its_end_weighs_less() -> None:
    for whole in ("The pier is closed.", "The pier is “closed.”", "码头关闭。"):
        cut = whole.rstrip(".。”") + " and"
        assert sentences(cut)[0].weight < sentences(whole)[0].weight


def test_a_question_asked_twice_around_prose_shares_no_words_with_itself() -> None:
    prose = " ".join(
        f"The committee of room {n} discussed the budgets at length." for n in range(60)
    )
    once = query_terms(f"{prose}\nWhere is my passport?").segments[-1]
    twice = query_terms(f"Where is my passport?\n{prose}\nWhere is my passport?").segments[-1]
    assert once == twice


def test_a_question_survives_the_cut_to_the_limit() -> None:
    rng = random.Random(1)
    prose = " ".join("".join(rng.choices("abcdefghijklmnop", k=8)) + "." for _ in range(4000))
    query = query_terms(f"{prose}\nWhere is my passport?\n{prose}")
    assert "passport" in query.words()
    assert len(query.words()) <= MAX_TERMS


@given(st.text())
def test_a_length_alone_is_the_length_of_the_terms(text: str) -> None:
    assert length_of(text) == index_terms(text)[1]


class TestSpans:
    @pytest.mark.parametrize(
        ("asked", "text", "marked"),
        [
            (
                "ana lives in Lisbon",
                "Ana is living in Lisbon's centre.",
                ["Ana", "living", "Lisbon's"],
            ),
            (
                "Lisbon",
                "She left Lis\u200bbon, then LISBON\u0301.",
                ["Lis\u200bbon", "LISBON\u0301"],
            ),
            ("東京", "東京に住んでいます。", ["東京"]),
            ("กรุงเทพ", "ไปกรุงเทพ", ["กรุงเทพ"]),
            ("zx-4471-b", "part ZX-4471-B, not 4472", ["ZX-4471-B"]),
            ("Zürich", "zurich and ZÜRICH", ["zurich", "ZÜRICH"]),
            ("the of and", "the end", ["the"]),
            ("", "nothing", []),
        ],
    )
    def test_mark_the_words_asked_for_as_they_stand(self, asked, text, marked):
        found = spans(text, sought(asked))
        assert [text[start:end] for start, end in found] == marked

    @given(st.text(st.characters(exclude_categories=["Cs"])), st.text())
    def test_are_in_order_and_apart(self, text, asked):
        found = spans(text, sought(asked.encode(errors="ignore").decode()))
        flat = [edge for span in found for edge in span]
        assert flat == sorted(flat)
        assert all(0 <= start < end <= len(text) for start, end in found)
