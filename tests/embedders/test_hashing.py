from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.embedders import make, vectors
from prism_graph.embedders.hashing import HashingEmbedder
from prism_graph.errors import InvalidSettings

PRINT = (
    "from prism_graph.embedders.hashing import HashingEmbedder as H;"
    "print([v.tolist() for v in H(8).embed(['Zürich is 12', '', '→'])])"
)


@given(st.text(st.characters()), st.integers(1, 16))
def test_no_text_is_without_a_vector(text: str, dimensions: int) -> None:
    assert vectors(HashingEmbedder(dimensions), [text]).shape == (1, dimensions)


@pytest.mark.parametrize("text", ["", " ", "→ !?", "\ud800", "\x00", "a", "日本", "word " * 1000])
def test_texts_of_every_kind_have_a_vector(text: str) -> None:
    assert vectors(HashingEmbedder(), [text]).shape == (1, 256)


def test_texts_are_near_that_share_words_or_parts_of_them() -> None:
    question = "where are invoices kept"
    texts = ["Invoices are kept in the safe.", "The invoicing of last year", "Cats sleep long"]
    same, related, other = (
        vectors(HashingEmbedder(), texts) @ vectors(HashingEmbedder(), [question])[0]
    )
    assert same > 0.5 > related > 0.05 > abs(other)


def test_vectors_are_the_same_in_every_process() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = [vector.tolist() for vector in HashingEmbedder(8).embed(["Zürich is 12", "", "→"])]
    assert printed == {f"{here}\n"}


def test_vectors_are_those_of_the_version_that_the_model_names() -> None:
    # Should this fail, the model needs another number.
    assert HashingEmbedder.model == "hashing-1"
    [vector] = HashingEmbedder(4).embed(["one two"])
    assert np.round(vector, 4).tolist() == VERSION_1


VERSION_1 = [0.0, -0.2887, -0.2887, 1.4226]


@pytest.mark.parametrize("dimensions", [0, -1, True, 1.5, "256", [256]])
def test_a_width_that_is_none_is_refused(dimensions: Any) -> None:
    with pytest.raises(InvalidSettings):
        HashingEmbedder(dimensions)
    with pytest.raises(InvalidSettings):
        make({"provider": "hashing", "dimensions": dimensions})
