from __future__ import annotations

import re
import sys
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from prism_graph import codepoints

EVERY = [chr(number) for number in range(sys.maxunicode + 1)]


def members(*tables: tuple[tuple[int, int], ...]) -> set[str]:
    return {
        chr(number)
        for table in tables
        for first, last in table
        for number in range(first, last + 1)
    }


class TestTables:
    def test_default_ignorable_has_the_4174_code_points_of_unicode_17(self):
        assert len(members(codepoints.DEFAULT_IGNORABLE)) == 4174

    def test_default_ignorable_is_what_the_unicode_database_says(self):
        found = regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(EVERY))
        assert members(codepoints.DEFAULT_IGNORABLE) == set(found)

    def test_controls_and_surrogates_are_what_every_python_says(self):
        for table, category in ((codepoints.CONTROL, "Cc"), (codepoints.SURROGATE, "Cs")):
            assert members(table) == {
                each for each in EVERY if unicodedata.category(each) == category
            }

    def test_spaces_are_what_the_unicode_database_says(self):
        found = regex.findall(r"\p{White_Space}", "".join(EVERY))
        assert members(codepoints.SPACE) == set(found)

    def test_ranges_are_sorted_and_do_not_overlap(self):
        for table in (codepoints.DEFAULT_IGNORABLE, codepoints.CONTROL, codepoints.SPACE):
            edges = [edge for span in table for edge in span]
            assert edges == sorted(edges)

    def test_a_class_of_characters_holds_its_ranges_and_nothing_else(self):
        pattern = re.compile(f"[{codepoints.character_class(codepoints.DEFAULT_IGNORABLE)}]")
        assert set(pattern.findall("".join(EVERY))) == members(codepoints.DEFAULT_IGNORABLE)


class TestRules:
    def test_only_nul_and_surrogates_cannot_be_stored(self):
        refused = {each for each in EVERY if not codepoints.is_storable(each)}
        assert refused == {"\x00"} | members(codepoints.SURROGATE)

    def test_an_identifier_shows_every_character_it_holds(self):
        hidden = members(codepoints.DEFAULT_IGNORABLE, codepoints.CONTROL, codepoints.SURROGATE)
        refused = {each for each in EVERY if not codepoints.is_identifier_safe(f"a{each}b")}
        assert refused == hidden

    def test_an_identifier_has_no_space_at_either_end(self):
        spaces = members(codepoints.SPACE)
        for each in spaces:
            assert not codepoints.is_identifier_safe(each + "a")
            assert not codepoints.is_identifier_safe("a" + each)
        inside = spaces - members(codepoints.CONTROL)
        assert all(codepoints.is_identifier_safe(f"a{each}a") for each in inside)

    @given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Cn"], max_codepoint=0x2FF)))
    def test_ordinary_text_can_be_stored(self, text):
        assert codepoints.is_storable(text)

    @pytest.mark.parametrize("text", ["a\x00", "\ud800", "x" * 10_000 + "\udfff", "\x00\x00"])
    def test_one_bad_character_is_enough(self, text):
        assert not codepoints.is_storable(text)
