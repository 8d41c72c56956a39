from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.codepoints import CONTROL, DEFAULT_IGNORABLE
from prism_graph.visible import MAX_MARKS, Look, Piece, escaped, hides, pieces, plain

ANY = st.text(st.characters(exclude_categories=["Cs"]))


def shown(text: str) -> str:
    return "".join(piece.text for piece in pieces(text) if piece.look is not Look.NAMED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("evil\u202etxt.exe", "evil[U+202E]txt.exe"),
        ("pass\u200bword", "pass[U+200B]word"),
        ("\U000e0041 tag", "[U+E0041] tag"),
        ("a\u2028b", "a[U+2028]b"),
        ("one\r\ntwo\n\tthree", "one\r\ntwo\n\tthree"),
        ("over\rwritten", "over[U+000D]written"),
        ("\x1b[31mred", "[U+001B][31mred"),
        ("\ufff9base\ufffanote\ufffb", "[U+FFF9]base[U+FFFA]note[U+FFFB]"),
        ("नमस्ते é 東京", "नमस्ते é 東京"),
    ],
)
def test_what_is_not_drawn_is_named(text, expected):
    assert plain(text) == expected


@pytest.mark.parametrize("table", [DEFAULT_IGNORABLE, CONTROL])
def test_no_hidden_character_of_the_pinned_table_is_shown(table):
    for first, last in table:
        for code in range(first, last + 1):
            if chr(code) not in "\n\t":
                assert shown(f"a{chr(code)}b") == "ab", hex(code)
                assert hides(chr(code))


def test_a_pile_of_marks_is_cut_and_counted():
    text = "e" + "\u0301" * 10_000
    found = list(pieces(text))
    assert found[0].text == "e" + "\u0301" * MAX_MARKS
    assert found[1] == Piece(f"+{10_000 - MAX_MARKS}", Look.NAMED, "combining marks")


@given(ANY)
def test_what_is_shown_is_the_text_and_names_stand_for_the_rest(text):
    named = sum(piece.look is Look.NAMED for piece in pieces(text))
    assert named or shown(text) == text
    assert not hides(shown(text))


@given(ANY, st.integers(0, 20), st.integers(0, 20))
def test_matches_are_told_from_the_rest(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    parts = list(pieces(text, [(start, end)]))
    matched = [piece.text for piece in parts if piece.look is Look.MATCH]
    assert "".join(matched) == shown(text[start:end])


class TestEscaped:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("plain, é, 漢, 😀", "plain, é, 漢, 😀"),
            ("red\x1b[31m", "red\\u{001B}[31m"),
            ("a\nb\tc\x7f\x85", "a\\u{000A}b\\u{0009}c\\u{007F}\\u{0085}"),
            ("txt\u202ecod", "txt\\u{202E}cod"),
            ("a\u200bb\U000e0041", "a\\u{200B}b\\u{E0041}"),
            ("\udcff\u2028\ufff9", "\\u{DCFF}\\u{2028}\\u{FFF9}"),
            ("\\u{202E} c:\\users", "\\u{005C}u{202E} c:\\users"),
        ],
    )
    def test_what_a_terminal_would_hide_or_obey_is_spelt(self, text, shown):
        assert escaped(text) == shown

    @given(st.text())
    def test_two_texts_never_look_the_same(self, text):
        spelt = escaped(text)
        read = re.sub(r"\\u\{([0-9A-F]+)\}", lambda found: chr(int(found[1], 16)), spelt)
        assert read == text
