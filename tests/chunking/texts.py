"""Texts for the chunkers, and what must hold for any of them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from prism_graph.chunking import Piece

MAX_CHARS = (1, 2, 3, 7, 20, 64, 1600)

_LINES = (
    "# Guide", "## Install #", "### `a_b` *c*", "#", "Title", "===", "---", "+++", "...", "a: b",
    "Some words. More of them! And 3.14 of it?", "一つの文。二つ目！三つ目？", "word " * 30, "x" * 90,
    "- item", "* other", "  - nested", "-", "1. one", "2) two", "   continued", "    code", "\tcode",
    "> quote", ">", "> - list", "> # not a section", "- # nor this", "```", "``` py", "~~~", "| a | b |",
    "|---|---|", "| 1 | 2 |", "<div>", "</div>", "<!--", "-->", "* * *", "[a]: /url", "[", "", "", " ",
    "\x0c", "\x0bform\x0cfeed", "\u2028", "e\u0301\u0301", "👩‍👩‍👧🏽🇫🇷🇩🇪", "\ufeff", "\x85", "\x1c",
)  # fmt: skip
_LINE_ENDS = ("\n", "\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "")

lines = st.sampled_from(_LINES) | st.text(st.characters(exclude_characters="\0"), max_size=30)
documents = st.lists(st.tuples(lines, st.sampled_from(_LINE_ENDS)), max_size=25).map(
    lambda parts: "".join(line + end for line, end in parts)
)


def slices(text: str, pieces: Sequence[Piece]) -> list[str]:
    return [text[piece.start : piece.end] for piece in pieces]


def assert_exact_cover(text: str, pieces: Sequence[Piece], max_chars: int) -> None:
    offset = 0
    for piece in pieces:
        assert piece.start == offset
        assert 0 < piece.end - piece.start <= max_chars
        offset = piece.end
    assert offset == len(text)
    assert "".join(slices(text, pieces)) == text
