from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.embedders import check_space, space_of, vectors
from prism_graph.errors import (
    EmbedderUnavailable,
    EmbeddingFailed,
    EmbeddingSpaceMismatch,
    InvalidVector,
    PrismGraphError,
)

SECRET = "the launch code is 0000"
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


class Replying:
    """An embedder whose reply is given, or made of the texts."""

    name, model = "replying", "any"

    def __init__(self, reply: Any, dimensions: int = 2) -> None:
        self.reply, self.dimensions = reply, dimensions

    def embed(self, texts: Sequence[str]) -> Any:
        return self.reply(texts) if callable(self.reply) else self.reply


class Asking(Replying):
    def embed_query(self, texts: Sequence[str]) -> Any:
        return [[0.0, 1.0] for _ in texts]


def raising(error: BaseException) -> Callable[..., Any]:
    def embed(texts: Sequence[str]) -> Any:
        try:
            raise ValueError(f"while at {texts}")
        except ValueError:
            raise error  # noqa: B904

    return embed


def later(texts: Sequence[str]) -> Any:
    yield [1.0, 0.0]
    raise RuntimeError(SECRET)


def endless(texts: Sequence[str]) -> Any:
    while True:
        yield [1.0, 0.0]


class OfAnotherDevice:
    def __array__(self, *_: Any) -> Any:
        raise TypeError(SECRET)


def test_vectors_come_in_order_each_of_length_one() -> None:
    found = vectors(Replying([[3, 4], np.array([0.0, -2.0])]), ["a", "b"])
    assert found.dtype == np.float32
    assert found.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, -1.0]]


@pytest.mark.parametrize(
    "reply",
    [
        *(((1.0, 0.0), (0.0, 1.0)), np.eye(2), np.eye(2, dtype=np.int8), ["AACAPwAAAAA=", [0, 9]]),
        lambda texts: ([1.0, 0.0] if text == "a" else [0.0, 5.0] for text in texts),
    ],
)
def test_replies_of_every_kind_are_read(reply: Any) -> None:
    assert vectors(Replying(reply), ["a", "b"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_nothing_is_asked_for_no_texts() -> None:
    found = vectors(Replying(raising(RuntimeError())), [])
    assert (found.shape, found.dtype) == ((0, 2), np.float32)


def test_questions_are_asked_apart_where_the_model_treats_them_so() -> None:
    reply = [[1.0, 0.0]]
    assert vectors(Asking(reply), ["a"]).tolist() == reply
    assert vectors(Asking(reply), ["a"], query=True).tolist() == [[0.0, 1.0]]
    assert vectors(Replying(reply), ["a"], query=True).tolist() == reply


@given(st.lists(st.lists(finite, min_size=3, max_size=3).filter(any), min_size=1, max_size=5))
def test_every_row_has_length_one_and_its_own_direction(rows: list[list[float]]) -> None:
    found = vectors(Replying(rows, 3), ["text"] * len(rows))
    wide = found.astype(np.float64)
    assert np.linalg.norm(wide, axis=1) == pytest.approx(1.0, abs=1e-6)
    for row, vector in zip(rows, wide, strict=True):
        scaled = np.array(row) / max(map(abs, row))
        assert vector == pytest.approx(scaled / np.linalg.norm(scaled), abs=1e-6)


@pytest.mark.parametrize("size", [3e38, 1e-45, 5e-324])
def test_neither_very_large_nor_very_small_numbers_lose_their_direction(size: float) -> None:
    assert vectors(Replying([[size, -size]]), ["a"])[0] == pytest.approx([0.5**0.5, -(0.5**0.5)])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        *((reply, "no list") for reply in (None, 7, "AACAPwAAAAA=", b"ab", {}, {1.0}, object())),
        ([], "0 vectors for 2 texts"),
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0, 0.0]] * 3, "more vectors for 2 texts"),
        (endless, "more vectors for 2 texts"),
        ([[1.0, 0.0], [1.0]], "Item 1: the vector has 1 dimensions, and 2 are wanted"),
        (np.ones((2, 3)), "Item 0: the vector has 3 dimensions, and 2 are wanted"),
        ([[1.0, 0.0], [0.0, -0.0]], "Item 1: the vector is zero"),
        ([[1.0, 0.0], "AAAAAAAAAAA="], "Item 1: the vector is zero"),
        ([[1.0, float("nan")], [1.0, 0.0]], "Item 0: The vector holds NaN"),
        ([[1.0, 0.0], [1.0, 1e39]], "Item 1: The vector holds"),
        ([[1.0, 0.0], [True, False]], "Item 1: The vector is neither"),
        ([[1.0, 0.0], SECRET], "Item 1: The vector is text, and not base64."),
        ([[1.0, 0.0], None], "Item 1"),
        ([[1.0, 0.0], {"embedding": [1.0, 0.0]}], "Item 1"),
        (np.array([[True, False], [True, True]]), "Item 0"),
        (np.ones(2), "Item 0"),
        (np.ones((2, 2), dtype=complex), "Item 0"),
    ],
    ids=str,
)
def test_what_is_no_vector_is_refused_by_its_place(reply: Any, said: str) -> None:
    with pytest.raises(InvalidVector) as refusal:
        vectors(Replying(reply), [SECRET, "b"])
    assert said in str(refusal.value)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        *(
            (ConnectionResetError(SECRET), EmbedderUnavailable),
            (TimeoutError(SECRET), EmbedderUnavailable),
        ),
        *(
            (error(SECRET), EmbeddingFailed)
            for error in (ValueError, RuntimeError, MemoryError, StopIteration)
        ),
        (OSError(SECRET), EmbeddingFailed),
        (UnicodeEncodeError("utf-8", SECRET, 0, 1, "no"), EmbeddingFailed),
    ],
    ids=repr,
)
def test_what_an_embedder_raises_is_told_by_its_type_alone(
    error: Exception, becomes: type[EmbeddingFailed], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbeddingFailed) as failure:
        vectors(Replying(raising(error)), [SECRET])
    assert type(failure.value) is becomes
    assert type(error).__name__ in str(failure.value)
    assert SECRET not in str(failure.value) + caplog.text
    assert (failure.value.__cause__, failure.value.__suppress_context__) == (None, True)


@pytest.mark.parametrize("reply", [later, [OfAnotherDevice()], lambda texts: OfAnotherDevice()])
def test_a_reply_that_fails_while_it_is_read_is_a_failure(reply: Any) -> None:
    with pytest.raises(EmbeddingFailed) as failure:
        vectors(Replying(reply), [SECRET])
    assert SECRET not in str(failure.value)


@pytest.mark.parametrize(
    "error", [EmbeddingFailed(), EmbedderUnavailable("Later."), InvalidVector()]
)
def test_refusals_of_the_tree_stay_what_they_are(error: PrismGraphError) -> None:
    with pytest.raises(EmbeddingFailed) as refusal:
        vectors(Replying(raising(error)), ["a"])
    assert refusal.value is error
    assert (error.__cause__, error.__suppress_context__) == (None, True)


def test_an_interruption_is_nobodys_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        vectors(Replying(raising(KeyboardInterrupt())), ["a"])


def test_vectors_are_comparable_within_one_space_only() -> None:
    embedder = Replying(None)
    assert space_of(embedder) == "replying/any/2"
    check_space("replying/any/2", embedder)
    with pytest.raises(EmbeddingSpaceMismatch) as mismatch:
        check_space("replying/any/3", embedder)
    for told in ("replying/any/3", "replying/any/2", "prism_graph_migrate_vectors"):
        assert told in str(mismatch.value)
