from __future__ import annotations

import pytest

from prism_graph.chunking import PlainTextChunker
from tests.chunking.texts import slices


def cut(text: str, max_chars: int) -> list[str]:
    pieces = PlainTextChunker(max_chars).split(text)
    assert all(piece.heading == "" for piece in pieces)
    return slices(text, pieces)


def test_paragraphs_are_packed_together_up_to_the_limit() -> None:
    text = "one one\n\ntwo two\n\nthree three\n"
    assert cut(text, 100) == [text]
    assert cut(text, 20) == ["one one\n\ntwo two\n\n", "three three\n"]
    assert cut(text, 12) == ["one one\n\n", "two two\n\n", "three three\n"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_blank_line_may_hold_spaces_and_any_line_end(end: str) -> None:
    text = f"one{end}one{end} \t{end}{end}two{end}two and more"
    assert cut(text, 20) == [f"one{end}one{end} \t{end}{end}", f"two{end}two and more"]


def test_a_line_end_of_two_characters_is_no_blank_line() -> None:
    assert cut("one one\r\ntwo. two", 14) == ["one one\r\ntwo. ", "two"]


def test_a_paragraph_that_fits_is_not_cut_to_fill_the_piece_before_it() -> None:
    assert cut("one.\n\ntwo two. three three.", 22) == ["one.\n\n", "two two. three three."]


def test_a_long_paragraph_is_cut_after_sentences() -> None:
    text = 'Pi is 3.14 or so. "Is it?" Yes (it is.) No… Well. '
    assert cut(text, 22) == ["Pi is 3.14 or so. ", '"Is it?" Yes (it is.) ', "No… Well. "]


def test_a_full_stop_at_the_limit_is_an_end_only_before_a_space() -> None:
    assert cut("It costs 13.50 now", 12) == ["It costs ", "13.50 now"]
    assert cut("It costs 13. No more", 12) == ["It costs 13.", " No more"]


@pytest.mark.parametrize(
    "sentences",
    [
        ["これは文です。", "「次の文！」", "もう最後？", "これで終わり｡"],
        ["यह वाक्य है। ", "वह दूसरा है॥ ", "वह तीसरा है। "],
        ["هل هذا سؤال؟ ", "نعم هو كذلك۔ ", "حسنا حسنا؟ "],
        ["Սա է այն։ ", "Այո այո։ ", "Ոչ ոչ։ "],
        ["ይህ ነው። ", "ያ ነው። ", "ሌላ ነው። "],
    ],
)
def test_sentences_of_other_scripts_end_too(sentences: list[str]) -> None:
    text = "".join(sentences)
    assert cut(text, max(map(len, sentences))) == sentences


def test_a_long_sentence_is_cut_after_a_line_then_a_word_then_at_the_limit() -> None:
    assert cut("aaa bbb\nccc ddd eee", 11) == ["aaa bbb\n", "ccc ddd eee"]
    assert cut("aaa bbb ccc ddd", 9) == ["aaa bbb ", "ccc ddd"]
    assert cut("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_white_space_that_no_longer_fits_goes_to_the_next_piece() -> None:
    assert cut("aaaa bbbb\n\ncccc", 10) == ["aaaa bbbb\n", "\ncccc"]
    assert cut("aaaaa\n\nbbbbb", 5) == ["aaaaa", "\n\n", "bbbbb"]
