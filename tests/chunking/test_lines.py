from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.chunking.lines import LineIndex
from prism_graph.errors import InvalidInput
from tests.chunking.texts import documents


def line_of(text: str, offset: int) -> int:
    """Count the line ends that end before the code point at the offset."""
    line = 1
    for position in range(offset):
        if text[position] == "\n" or (text[position] == "\r" and text[position + 1 :][:1] != "\n"):
            line += 1
    return line


@given(documents, st.data())
def test_a_span_is_what_counting_line_ends_says(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    last = max(start, end - 1)
    assert LineIndex(text).span(start, end) == (line_of(text, start), line_of(text, last))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("one", (1, 1)),
        ("one\n", (1, 1)),
        ("one\r\n", (1, 1)),
        ("one\ntwo", (1, 2)),
        ("one\rtwo\r", (1, 2)),
        ("\n\n\n", (1, 3)),
        ("one\x0ctwo\x0bthree\u2028four\x85five\x1csix", (1, 1)),
    ],
)
def test_a_line_end_belongs_to_the_line_it_ends(text: str, span: tuple[int, int]) -> None:
    assert LineIndex(text).span(0, len(text)) == span


def test_both_halves_of_a_line_end_are_on_the_line_it_ends() -> None:
    index = LineIndex("a\r\nb")
    assert index.span(1, 2) == index.span(2, 3) == index.span(1, 3) == (1, 1)
    assert index.span(3, 4) == (2, 2)


def test_an_empty_slice_is_on_the_line_of_its_start() -> None:
    index = LineIndex("a\nb")
    assert [index.span(offset, offset) for offset in range(4)] == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert LineIndex("").span(0, 0) == (1, 1)


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (2, 1), (0, 4), (4, 4)])
def test_a_slice_outside_the_text_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidInput):
        LineIndex("abc").span(start, end)
