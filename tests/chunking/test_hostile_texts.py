"""Texts made to be slow: work is counted, or compared between sizes far apart, never timed alone."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from prism_graph.chunking import Chunker, MarkdownChunker, PlainTextChunker
from prism_graph.chunking.lines import LineIndex
from prism_graph.chunking.outline import outline
from tests.chunking.texts import assert_exact_cover
from tests.effort import calls, growth

pytestmark = pytest.mark.exhaustive

# A text of about n code points each.
MANY_LINES: dict[str, Callable[[int], str]] = {
    "headings": lambda n: "# h\n" * (n // 4),
    "empty headings": lambda n: "#\n" * (n // 2),
    "underlines": lambda n: "a\n===\n" * (n // 6),
    "lines": lambda n: "a\n" * (n // 2),
    "lone carriage returns": lambda n: "a\r" * (n // 2),
    "blank lines": lambda n: "a" + "\n" * n + "b",
    "paragraphs": lambda n: "a\n\n" * (n // 3),
    "unclosed fence": lambda n: "```\n" + "code\n" * (n // 5),
    "fences": lambda n: "```\n" * (n // 4),
    "rows": lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * (n // 6),
    "tables of missing cells": lambda n: (
        ("|a" * 99 + "|\n" + "|-" * 99 + "|\n" + "|\n" * 99) * (n // 597)
    ),
    "almost tables": lambda n: "a|a\n--\n" * (n // 7),
    "items": lambda n: "- a\n" * (n // 4),
    "numbers": lambda n: "1. a\n" * (n // 5),
    "loose items": lambda n: "- a\n\n\n\n\n" * (n // 8),
    "deep items": lambda n: ("- " * 50 + "a\n") * (n // 102),
    "ever deeper items": lambda n: "".join(" " * 2 * i + "- a\n" for i in range(int(n**0.5))),
    "deep item gone on": lambda n: "- " * 50 + "a\n" + "b\n" * (n // 2),
    "deep quotes": lambda n: (">" * 50 + " a\n") * (n // 53),
    "deep quote gone on": lambda n: ">" * 50 + "a\n" + "b\n" * (n // 2),
    "quotes gone on": lambda n: "> a\nb\n" * (n // 6),
    "quoted fences": lambda n: "> ```\nb\n" * (n // 8),
    "indented code": lambda n: "    code\n\n" * (n // 10),
    "brackets": lambda n: "[\n" * (n // 2),
    "definitions": lambda n: "[a]: b '\n" * (n // 9),
    "comments": lambda n: "<!--\n" * (n // 5),
    "tags": lambda n: "<a b='\n" * (n // 7),
    "front matter": lambda n: "---\na: b\n" + "---x\n" * (n // 5),
    "breaks": lambda n: "* * *\n" * (n // 6),
}
ONE_LINE: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "x" * n,
    "words": lambda n: "word " * (n // 5),
    "spaces": lambda n: "a" + " " * n + "b",
    "full stops": lambda n: "." * n,
    "sentences without spaces": lambda n: ".)" * (n // 2),
    "backticks": lambda n: "`" * n,
    "spaced backticks": lambda n: "` " * (n // 2),
    "brackets": lambda n: "[" * n,
    "links": lambda n: "[](" * (n // 3),
    "quotes": lambda n: ">" * n,
    "items": lambda n: "- " * (n // 2) + "x",
    "break": lambda n: "-" * n,
    "pipes": lambda n: "|" * n + "\n" + "|-" * (n // 2),
    "attributes": lambda n: "<a" + " b" * (n // 2),
    "attribute": lambda n: "<a " + "b" * n,
    "marks in a heading": lambda n: "# " + "_*`[" * (n // 4),
    "marks in headings": lambda n: ("# " + "_*`[<" * 200 + "\n") * (n // 1003),
    "marks on a letter": lambda n: "a" + "\u0301" * n,
    "flags": lambda n: "🇫🇷" * (n // 2),
    "joiners": lambda n: "\u200d" * n,
    "tabs": lambda n: "a" + "\t" * n,
    "front matter": lambda n: "---" + " " * n + "x\n---\n",
}
CHUNKERS = pytest.mark.parametrize(
    "chunker", [MarkdownChunker(100), PlainTextChunker(100)], ids=["markdown", "plain"]
)


@pytest.mark.parametrize("kind", MANY_LINES)
@CHUNKERS
def test_the_work_grows_with_the_lines(chunker: Chunker, kind: str) -> None:
    small, large = (MANY_LINES[kind](size) for size in (1_500, 6_000))
    assert_exact_cover(large, list(chunker.split(large)), 100)
    work = [calls(lambda text=text: chunker.split(text)) for text in (small, large)]
    assert work[1] < 8 * work[0]


@pytest.mark.parametrize("kind", MANY_LINES)
def test_reading_in_windows_stays_in_proportion(kind: str) -> None:
    small, large = (MANY_LINES[kind](size) for size in (1_500, 6_000))
    work = [
        calls(lambda text=text: list(outline(text, LineIndex(text).starts, 0, window=100)))
        for text in (small, large)
    ]
    assert work[1] < 8 * work[0]


@pytest.mark.parametrize("kind", ONE_LINE)
@CHUNKERS
def test_a_line_sixteen_times_as_long_takes_about_as_much_longer(
    chunker: Chunker, kind: str
) -> None:
    small, large = (ONE_LINE[kind](size) for size in (8_000, 128_000))
    assert_exact_cover(large, list(chunker.split(large)), 100)
    # Were it to grow with the square, this would be 256.
    assert growth(chunker.split, small, large) < 64


@pytest.mark.parametrize("kind", ["tables of missing cells", "items", "rows", "lines"])
def test_memory_follows_the_text(kind: str) -> None:
    text = MANY_LINES[kind](20_000)
    tracemalloc.start()
    try:
        MarkdownChunker().split(text)
        assert tracemalloc.get_traced_memory()[1] < 200 * len(text)
    finally:
        tracemalloc.stop()


@CHUNKERS
def test_a_megabyte_on_one_line_is_cut(chunker: Chunker) -> None:
    for text in ("`" * 1_000_000, "[" * 1_000_000, "x" * 1_000_000):
        assert_exact_cover(text, list(chunker.split(text)), 100)
