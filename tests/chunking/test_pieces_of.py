from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import repeat

import pytest

from prism_graph.chunking import Piece, WholeChunker
from prism_graph.chunking.cover import pieces_of
from prism_graph.errors import InvalidChunking, LimitExceeded

TEXT = "one two"


class ByWord:
    def split(self, text: str) -> Iterator[str]:
        for word in text.split(" "):
            yield word if text.endswith(word) else word + " "


def test_a_chunker_may_give_pieces_text_or_both() -> None:
    whole = [Piece(0, 4, "Guide"), Piece(4, 7)]
    assert pieces_of(lambda text: whole, TEXT) == whole
    assert pieces_of(lambda text: ["one ", Piece(4, 7)], TEXT) == [Piece(0, 4), Piece(4, 7)]
    assert pieces_of(ByWord(), TEXT) == [Piece(0, 4), Piece(4, 7)]


def test_a_function_will_do_for_a_chunker() -> None:
    def halves(text: str) -> Iterable[str]:
        return text[:3], text[3:]

    assert pieces_of(halves, TEXT) == [Piece(0, 3), Piece(3, 7)]


def test_an_empty_text_has_no_pieces_and_may_have_none() -> None:
    assert pieces_of(lambda text: [], "") == []
    with pytest.raises(InvalidChunking):
        pieces_of(lambda text: [""], "")


@pytest.mark.parametrize(
    "items",
    [
        (),
        (Piece(0, 3),),
        (Piece(1, 7),),
        (Piece(0, 3), Piece(4, 7)),
        (Piece(0, 4), Piece(3, 7)),
        (Piece(0, 7), Piece(0, 7)),
        (Piece(4, 7), Piece(0, 4)),
        (Piece(0, 0), Piece(0, 7)),
        (Piece(0, 7), Piece(7, 7)),
        (Piece(0, 8),),
        (Piece(0, 7), Piece(7, 8)),
        (Piece(4, 0),),
        ("one", "two"),
        ("one ", "TWO"),
        ("", "one two"),
        ("one two", ""),
        ("one two", "x"),
        ("one two three",),
        (b"one two",),
        (None,),
        ((0, 7),),
        (7,),
        (Piece(0, 7.0),),  # type: ignore[arg-type]
        (Piece(False, 7),),
        (Piece(0, 7, None),),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_pieces_that_do_not_cover_the_text_one_after_another_are_refused(
    items: tuple[object, ...],
) -> None:
    with pytest.raises(InvalidChunking) as refusal:
        pieces_of(lambda text: items, TEXT)  # type: ignore[arg-type, return-value]
    assert not re.search("one two|TWO|three", str(refusal.value))


@pytest.mark.parametrize("result", [TEXT, None, 7, b"one two"], ids=repr)
def test_a_result_that_is_no_list_of_pieces_is_refused(result: object) -> None:
    with pytest.raises(InvalidChunking):
        pieces_of(lambda text: result, TEXT)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("chunker", [None, 7, {}], ids=repr)
def test_what_is_no_chunker_is_refused(chunker: object) -> None:
    with pytest.raises(InvalidChunking):
        pieces_of(chunker, TEXT)  # type: ignore[arg-type]


def test_a_chunker_that_never_ends_is_stopped() -> None:
    with pytest.raises(InvalidChunking):
        pieces_of(lambda text: repeat(text), TEXT)


@pytest.mark.parametrize("character", ["a", "é", "語", "😀"])
def test_a_piece_over_the_byte_limit_is_refused(character: str) -> None:
    fits = character * (65_536 // len(character.encode()))
    assert pieces_of(lambda text: [text], fits) == [Piece(0, len(fits))]
    with pytest.raises(LimitExceeded):
        pieces_of(lambda text: [text], fits + character)


def test_what_the_chunker_raises_is_passed_on() -> None:
    def broken(text: str) -> list[str]:
        raise ZeroDivisionError

    def breaking(text: str) -> Iterator[str]:
        yield text[:1]
        raise ZeroDivisionError

    for chunker in (broken, breaking):
        with pytest.raises(ZeroDivisionError):
            pieces_of(chunker, TEXT)
    with pytest.raises(LimitExceeded):
        pieces_of(WholeChunker(3), TEXT)
