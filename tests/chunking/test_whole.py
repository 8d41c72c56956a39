from __future__ import annotations

import pytest

from prism_graph.chunking import Piece, WholeChunker
from prism_graph.errors import LimitExceeded


def test_a_text_up_to_the_limit_is_one_piece_without_a_heading() -> None:
    assert WholeChunker(4).split("# ab") == [Piece(0, 4, "")]


def test_a_text_over_the_limit_is_refused_without_repeating_it() -> None:
    with pytest.raises(LimitExceeded, match="over 4 characters") as refusal:
        WholeChunker(4).split("secret")
    assert "secret" not in str(refusal.value)


def test_without_a_limit_the_bytes_count() -> None:
    assert WholeChunker().split("é" * 32_768) == [Piece(0, 32_768)]
    with pytest.raises(LimitExceeded, match="65,536 bytes"):
        WholeChunker().split("é" * 32_768 + "a")
    with pytest.raises(LimitExceeded):
        WholeChunker().split("a" * 65_537)
