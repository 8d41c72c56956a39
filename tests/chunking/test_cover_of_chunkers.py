from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.chunking import Chunker, MarkdownChunker, PlainTextChunker, WholeChunker
from prism_graph.chunking.cover import pieces_of
from prism_graph.chunking.lines import LineIndex
from prism_graph.chunking.seams import boundary
from prism_graph.errors import InvalidInput
from tests.chunking.texts import MAX_CHARS, assert_exact_cover, documents, slices

CHUNKERS = (MarkdownChunker, PlainTextChunker, WholeChunker)


@given(documents, st.sampled_from(MAX_CHARS))
def test_markdown_is_covered_exactly_by_pieces_within_the_limit(text: str, max_chars: int) -> None:
    pieces = MarkdownChunker(max_chars).split(text)
    assert_exact_cover(text, pieces, max_chars)
    assert pieces_of(MarkdownChunker(max_chars), text) == pieces


@given(documents, st.sampled_from(MAX_CHARS))
def test_plain_text_is_covered_exactly_by_pieces_within_the_limit(
    text: str, max_chars: int
) -> None:
    pieces = PlainTextChunker(max_chars).split(text)
    assert_exact_cover(text, pieces, max_chars)
    assert pieces_of(PlainTextChunker(max_chars), text) == pieces


@given(documents)
def test_a_whole_text_is_one_piece(text: str) -> None:
    assert_exact_cover(text, WholeChunker(16_000).split(text), 16_000)
    assert slices(text, WholeChunker().split(text)) == ([text] if text else [])


@given(documents, st.sampled_from((20, 64)))
def test_a_line_end_of_two_characters_is_never_cut(text: str, max_chars: int) -> None:
    for chunker in (MarkdownChunker(max_chars), PlainTextChunker(max_chars)):
        pieces = slices(text, chunker.split(text))
        for before, after in pairwise(pieces):
            assert not (before.endswith("\r") and after.startswith("\n"))


@given(documents, st.sampled_from((20, 1600)))
def test_the_lines_of_the_pieces_cover_the_lines_of_the_text(text: str, max_chars: int) -> None:
    index = LineIndex(text)
    spans = [index.span(piece.start, piece.end) for piece in MarkdownChunker(max_chars).split(text)]
    last = 1
    for position, span in enumerate(spans):
        assert span[0] in ((1,) if position == 0 else (last, last + 1))
        assert span[1] >= span[0]
        last = span[1]
    assert last == index.span(0, len(text))[1]


@pytest.mark.parametrize("chunker", [MarkdownChunker(), PlainTextChunker(), WholeChunker()])
def test_an_empty_text_has_no_pieces(chunker: Chunker) -> None:
    assert list(chunker.split("")) == []


@pytest.mark.parametrize("chunker", [MarkdownChunker(9), PlainTextChunker(9), WholeChunker(9)])
@pytest.mark.parametrize("text", [" ", "\n\n", " \t\r\n\x0c\u2028"])
def test_white_space_alone_is_one_piece(chunker: Chunker, text: str) -> None:
    assert slices(text, pieces_of(chunker, text)) == [text]


@pytest.mark.parametrize("chunker", [MarkdownChunker(4), PlainTextChunker(4)])
def test_more_white_space_than_a_piece_holds_is_cut(chunker: Chunker) -> None:
    text = "\n" * 10
    assert [len(each) for each in slices(text, pieces_of(chunker, text))] == [4, 4, 2]


@pytest.mark.parametrize("chunker", [MarkdownChunker(20), PlainTextChunker(20)])
def test_white_space_goes_with_the_text_before_it_and_at_the_start_with_the_first(
    chunker: Chunker,
) -> None:
    text = "\n\n  first one here\n\n\n\nsecond\n\n"
    assert slices(text, pieces_of(chunker, text)) == [
        "\n\n  first one here\n\n",
        "\n\nsecond\n\n",
    ]


@pytest.mark.parametrize("chunker", [MarkdownChunker(10), PlainTextChunker(10)])
def test_a_text_without_spaces_is_cut_at_the_limit_but_not_inside_a_grapheme(
    chunker: Chunker,
) -> None:
    family = "👩\u200d👩\u200d👧"
    for text in ("x" * 25, "e\u0301" * 12, "a" + family * 5, "a" + "🇫🇷" * 12, "a" + "👍🏽" * 12):
        pieces = pieces_of(chunker, text)
        assert_exact_cover(text, pieces, 10)
        assert all(piece.end - piece.start >= 5 for piece in pieces[:-1])
        for each in slices(text, pieces)[1:]:
            assert each[0] in "xe👩🇫👍"


def test_a_grapheme_longer_than_a_piece_is_cut() -> None:
    assert boundary("e" + "\u0301" * 100, 0, 50) == 50
    assert boundary("\r\n", 0, 1) == 1


@pytest.mark.parametrize("max_chars", [0, -1, 16_001, True, 1.5, "9"])
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_a_limit_out_of_range_is_refused(chunker: type, max_chars: object) -> None:
    with pytest.raises(InvalidInput, match="from 1 to 16,000"):
        chunker(max_chars)


@pytest.mark.parametrize("chunker", [MarkdownChunker, PlainTextChunker])
def test_there_is_no_chunker_without_a_limit(chunker: type) -> None:
    with pytest.raises(InvalidInput):
        chunker(None)


def test_the_longest_pieces_are_within_the_byte_limit() -> None:
    text = "😀" * 40_000
    for chunker in (MarkdownChunker(16_000), PlainTextChunker(16_000)):
        assert [piece.end - piece.start for piece in pieces_of(chunker, text)] == [
            16_000,
            16_000,
            8_000,
        ]
