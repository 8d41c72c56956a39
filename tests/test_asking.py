"""The vectors of questions: what is kept of them, for whom and for how long."""

from __future__ import annotations

import numpy as np
import pytest

from prism_graph import Scope, asking
from prism_graph.asking import MAX_AGE, MAX_KEPT, QueryVectors
from tests.vectors.doubles import Choosy, vectors

ACME = Scope("acme")
ROW = np.ones(3, dtype=np.float32)


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(asking, "time", made)
    return made


def test_a_vector_is_kept_for_five_minutes_and_no_longer(clock: Clock) -> None:
    kept = QueryVectors()
    kept.put("a", ROW)
    clock.now += MAX_AGE - 1
    assert kept.get("a") is ROW
    clock.now += 2
    assert kept.get("a") is None
    assert MAX_AGE <= 300


def test_what_is_too_old_goes_when_something_new_comes(clock: Clock) -> None:
    kept = QueryVectors()
    kept.put("a", ROW)
    clock.now += MAX_AGE + 1
    kept.put("b", ROW)
    assert list(kept._kept) == ["b"]


def test_the_oldest_go_when_there_are_too_many() -> None:
    kept = QueryVectors()
    for number in range(MAX_KEPT + 10):
        kept.put(str(number), ROW)
    assert len(kept._kept) == MAX_KEPT
    assert kept.get("0") is None
    assert kept.get(str(MAX_KEPT + 9)) is ROW


def test_the_key_of_a_question_is_the_reader_s_own_and_needs_the_project_s_secret(
    settings: object,
) -> None:
    below = ACME.for_owner("ana")
    asked = [
        (ACME, "hashing/1/8", "a question"),
        (below, "hashing/1/8", "a question"),
        (Scope("acme-2"), "hashing/1/8", "a question"),
        (ACME, "hashing/1/9", "a question"),
        (ACME, "hashing/1/8", "a question "),
        # The same characters, cut elsewhere.
        (ACME, "hashing/1/8a", " question"),
    ]
    keys = [QueryVectors.key(*each) for each in asked]
    assert len(set(keys)) == len(asked)
    settings.SECRET_KEY = "another"  # type: ignore[attr-defined]
    assert QueryVectors.key(*asked[0]) != keys[0]


def test_a_lone_surrogate_has_a_key() -> None:
    assert QueryVectors.key(ACME, "x", "\ud800")


def test_questions_are_answered_from_what_is_kept_while_the_embedder_is_down() -> None:
    embedder = Choosy()
    with vectors(embedder):
        first = asking.vector_of(ACME, embedder, "a question")
        embedder.unfit = "question"
        assert asking.vector_of(ACME, embedder, "a question") is first
        assert asking.vector_of(ACME, embedder, "another question") is None


def test_no_more_is_asked_while_earlier_questions_are_unanswered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Late:
        def is_alive(self) -> bool:
            return True

    embedder = Choosy()
    monkeypatch.setattr(asking._Call, "late", {Late() for _ in range(asking.MAX_LATE)})
    with vectors(embedder):
        assert asking.vector_of(ACME, embedder, "a question") is None
    assert embedder.calls == 0


def test_a_long_question_is_cut_before_it_is_embedded() -> None:
    embedder = Choosy()
    with vectors(embedder):
        asking.vector_of(ACME, embedder, "word " * 200_000)
    assert [len(text) for text in embedder.asked] == [asking.MAX_CHARACTERS]
