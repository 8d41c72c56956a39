from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.parser_block import ParserBlock

from prism_graph.chunking import MarkdownChunker, PlainTextChunker, outline
from prism_graph.chunking.block_rules import block_parser
from tests.chunking.texts import documents, slices

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
FENCE = "```py\nx = 1\n\n# no heading\n```\n"
LIST = "- one\n  - inner\n\n  more of one\n- two\n"
QUOTE = "> quote\n> # no heading\nlazy\n"


def cut(text: str, max_chars: int = 1600) -> list[str]:
    return slices(text, MarkdownChunker(max_chars).split(text))


def headings(text: str, max_chars: int = 1600) -> list[str]:
    return [piece.heading for piece in MarkdownChunker(max_chars).split(text)]


def test_every_section_is_under_the_path_of_its_headings() -> None:
    text = (
        "Preface\n\n# Guide\nIntro\n\n## Install\n\nRun it.\n\n### On Linux\n\nSo.\n\n"
        "## Use\n\nDo.\n\n# Reference\n"
    )
    assert list(zip(cut(text), headings(text), strict=True)) == [
        ("Preface\n\n", ""),
        ("# Guide\nIntro\n\n", "Guide"),
        ("## Install\n\nRun it.\n\n", "Guide › Install"),
        ("### On Linux\n\nSo.\n\n", "Guide › Install › On Linux"),
        ("## Use\n\nDo.\n\n", "Guide › Use"),
        ("# Reference\n", "Reference"),
    ]


def test_underlined_headings_count() -> None:
    text = "The\nguide\n=====\n\nIntro\n\nInstall\n---\n\nRun it.\n"
    assert headings(text) == ["The guide", "The guide › Install"]


def test_a_level_left_out_does_not_matter() -> None:
    assert headings("### C\n\n# A\n\n### D\n\n## B\n") == ["C", "A", "A › D", "A › B"]


def test_every_piece_of_a_section_is_under_its_path() -> None:
    text = "# Guide\n\nOne sentence.\n\nTwo sentences.\n"
    assert headings(text, 26) == ["Guide", "Guide"]


def test_headings_in_lists_quotes_and_code_do_not_change_the_path() -> None:
    text = f"# Guide\n\n- # Item\n\n> # Quote\n\n{FENCE}\n    # indented\n\n<div>\n# html\n</div>\n"
    assert headings(text) == ["Guide"]


def test_a_heading_that_no_text_follows_is_a_piece() -> None:
    assert cut("# A\n## B\n#\n") == ["# A\n", "## B\n", "#\n"]
    assert headings("# A\n#\n## B\n") == ["A", "", "B"]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("Install **it** _now_", "Install it now"),
        ("The `__init__` of ``a`b``", "The __init__ of a`b"),
        ("snake_case 2 * 3 * 4", "snake_case 2 * 3 * 4"),
        ("[Guide](https://example.org/a_(b)) and [ref][1]", "Guide and ref"),
        ("[![Logo](logo.png)](/) Home", "Logo Home"),
        ("[1.2.0] - 2026-01-01", "[1.2.0] - 2026-01-01"),
        ("<https://example.org> <b>bold</b> a < b", "https://example.org bold a < b"),
        (r"\*not\* &amp; ~~gone~~ C\#", "*not* & gone C#"),
        ("Closed ##", "Closed"),
        ("Spaces \t between", "Spaces between"),
    ],
)
def test_a_path_is_plain_text(source: str, title: str) -> None:
    assert headings(f"# {source}\n") == [title]


def test_a_path_has_a_limit_and_keeps_the_innermost_titles() -> None:
    long = "t" * 300
    assert headings(f"# A{long}\n## B{long}\n### C\n") == [f"A{long}", f"B{long}", f"B{long} › C"]
    assert headings("# " + "t" * 2000) == ["t" * 499 + "…"] * 2


def test_blocks_of_a_section_are_packed_together_up_to_the_limit() -> None:
    text = f"One.\n\n{FENCE}\n{TABLE}\n{LIST}\n{QUOTE}"
    assert cut(text) == [text]
    assert cut(text, 90) == [f"One.\n\n{FENCE}\n{TABLE}\n", f"{LIST}\n{QUOTE}"]


@pytest.mark.parametrize("block", [TABLE, FENCE, LIST, QUOTE, FENCE.removesuffix("```\n")])
def test_a_block_that_fits_is_kept_whole(block: str) -> None:
    text = f"Some words.\n\n{block}"
    assert cut(text, len(block)) == ["Some words.\n\n", block]


def test_a_block_that_fits_is_kept_whole_even_from_its_heading() -> None:
    assert cut(f"# Table\n\n{TABLE}", len(TABLE)) == ["# Table\n\n", TABLE]


def test_a_block_too_long_in_any_case_starts_below_its_heading() -> None:
    assert cut("# A\n\nOne one. Two two. Three. Four.\n", 24) == [
        "# A\n\nOne one. Two two. ",
        "Three. Four.\n",
    ]
    assert cut("# A\n\n" + "x" * 20, 16) == ["# A\n\n" + "x" * 11, "x" * 9]


def test_a_block_too_long_in_any_case_does_not_fill_the_piece_of_another() -> None:
    assert cut("Zero.\n\nOne one. Two two. Three.\n", 20) == [
        "Zero.\n\n",
        "One one. Two two. ",
        "Three.\n",
    ]


def test_a_long_paragraph_is_cut_after_sentences() -> None:
    sentences = [f"This is sentence number {number}, no more. " for number in range(100)]
    pieces = cut("".join(sentences), 300)
    assert all(piece.endswith("no more. ") for piece in pieces)
    assert all(len(piece) > 200 for piece in pieces[:-1])


def test_a_long_paragraph_without_spaces_is_cut_after_sentences() -> None:
    assert cut("最初の文です。二つ目の文！三つ目？", 8) == [
        "最初の文です。",
        "二つ目の文！",
        "三つ目？",
    ]


def test_code_and_tables_are_cut_at_line_ends() -> None:
    code = "```\n" + "a. b. c\n" * 10 + "```\n"
    assert cut(code, 30) == ["```\n" + "a. b. c\n" * 3] + ["a. b. c\n" * 3] * 2 + ["a. b. c\n```\n"]
    rows = "|a|b|\n|-|-|\n" + "|1|2|\n" * 6
    assert cut(rows, 20) == ["|a|b|\n|-|-|\n|1|2|\n", "|1|2|\n" * 3, "|1|2|\n" * 2]


def test_a_list_is_cut_before_an_item_if_there_is_one() -> None:
    text = "- one\n  and\n- two\n  and\n- three\n  and\n"
    assert cut(text, 23) == [
        "- one\n  and\n",
        "- two\n  and\n",
        "- three\n  and\n",
    ]
    long_item = "- one\n- two\n  more\n  more\n  more\n- three\n"
    assert cut(long_item, 16) == ["- one\n", "- two\n  more\n", "  more\n  more\n", "- three\n"]


def test_white_space_left_over_goes_before_the_next_heading() -> None:
    assert cut("aaaa bbbb\n\n# c\n", 10) == ["aaaa bbbb\n", "\n# c\n"]
    assert headings("aaaa bbbb\n\n# c\n", 10) == ["", "c"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("fences", [("---", "---"), ("---", "..."), ("+++", "+++")])
def test_front_matter_is_a_block_without_a_heading(fences: tuple[str, str], end: str) -> None:
    matter = end.join([fences[0], "title: x", "# comment", "", "tags: y", fences[1], ""])
    text = f"{matter}# Guide{end}"
    assert cut(text) == [matter, f"# Guide{end}"]
    assert headings(text) == ["", "Guide"]
    assert cut(matter) == [matter]
    assert cut(f"\ufeff{text}")[1:] == [f"# Guide{end}"]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: x\n\n# Guide\n",
        "---\n\n# Guide\n\n---\n",
        "\n---\n# Guide\n---\n",
        "--- x\n# Guide\n---\n",
        "---\n# Guide\n+++\n",
        "***\n# Guide\n***\n",
    ],
)
def test_what_is_no_front_matter_may_have_headings(text: str) -> None:
    assert headings(text)[-1] == "Guide"


def test_a_byte_order_mark_does_not_hide_a_heading() -> None:
    assert headings("\ufeff# Guide\n") == ["Guide"]


def test_characters_that_end_no_line_move_no_block() -> None:
    text = "form\x0cfeed\x0b \u2028 \u2029 \x85 \x1c\r\rmore\r\n\r\n# Guide\r\rText\n\n## Use\n"
    assert cut(text) == [text[: text.index("#")], "# Guide\r\rText\n\n", "## Use\n"]


@pytest.mark.parametrize("error", [RecursionError, RuntimeError, IndexError])
def test_what_the_parser_fails_on_is_cut_as_plain_text(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise error

    text = "# Guide\n\nOne.\n\nTwo two.\n"
    monkeypatch.setattr(ParserBlock, "tokenize", fail)
    assert MarkdownChunker(14).split(text) == PlainTextChunker(14).split(text)


def test_memory_that_runs_out_is_no_reason_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ParserBlock, "tokenize", fail)
    with pytest.raises(MemoryError):
        MarkdownChunker().split("text")


@given(documents, st.sampled_from((7, 64)))
def test_the_same_text_is_always_cut_alike(text: str, max_chars: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        first = MarkdownChunker(max_chars).split(text)
        patch.setattr(outline, "_PARSER", block_parser())
        assert MarkdownChunker(max_chars).split(text) == first
