"""The exact store: what it reads, what it holds, and that nothing but the vectors decides its answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph import Scope
from prism_graph.vectors import Partition, Space
from prism_graph.vectors.base import best, cosines_of
from prism_graph.vectors.blocks import Block, Blocks
from prism_graph.vectors.exact import ExactStore

SPACE = Space("exact", "test/1/8", 8)
ACME = Scope("acme").for_owner("ana")


def rows(count: int, seed: int = 0) -> Any:
    found = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def block(count: int, version: str = "1", first: int = 1) -> Block:
    numbers = np.arange(first, first + count)
    return Block(version, numbers, numbers.astype("S26"), rows(count))


def partition(scope: Scope = ACME, version: str = "1") -> Partition:
    return Partition(scope, SPACE, version)


class TestBlocks:
    def test_the_oldest_go_when_there_is_too_much(self) -> None:
        blocks = Blocks(max_bytes=3 * block(10).size)
        for place in range(5):
            blocks.put("default", partition(Scope(f"t{place}")), block(10))
            blocks.get("default", partition(Scope("t0")))
        held = [blocks.get("default", partition(Scope(f"t{place}"))) for place in range(5)]
        assert [each is not None for each in held] == [True, False, False, True, True]

    def test_what_is_larger_than_all_may_be_is_not_held(self) -> None:
        blocks = Blocks(max_bytes=block(10).size)
        blocks.put("default", partition(), block(10))
        blocks.put("default", partition(), block(11))
        assert blocks.get("default", partition()) is None
        assert blocks._bytes == 0

    def test_dropping_a_scope_drops_what_is_below_and_nothing_else(self) -> None:
        blocks = Blocks()
        scopes = [
            *ACME.for_agent("a").for_thread("t").chain,
            Scope("acme", "ana2"),
            Scope("acme2", "ana"),
        ]
        for scope in scopes:
            blocks.put("default", partition(scope), block(1))
            blocks.put("other", partition(scope), block(1))
        blocks.drop("default", ACME.parts)
        left = {scope for scope in scopes if blocks.get("default", partition(scope))}
        assert left == {Scope("acme"), Scope("acme", "ana2"), Scope("acme2", "ana")}
        assert all(blocks.get("other", partition(scope)) for scope in scopes)


class TestAnswers:
    @given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 2**32 - 1), st.data())
    def test_they_are_those_of_comparing_everything(
        self, count: int, limit: int, seed: int, data: Any
    ) -> None:
        held, query = block(count), rows(1, seed)[0]
        allowed = data.draw(st.lists(st.sampled_from(range(1, count + 5)), unique=True))
        found = ExactStore("default", 8)._near(held, query, limit, np.sort(np.array(allowed, int)))
        every = {
            number: float(np.round(np.dot(row.astype(float), query.astype(float)), 9))
            for number, row in zip(held.numbers.tolist(), held.vectors, strict=True)
            if number in allowed
        }
        for number, cosine in zip(found.numbers.tolist(), found.cosines, strict=True):
            assert every[number] == pytest.approx(cosine, abs=2e-9)
        assert len(found.numbers) == min(limit, len(every))
        ordered = sorted(every.values(), reverse=True)
        assert found.cosines.tolist() == pytest.approx(ordered[:limit], abs=2e-9)

    def test_a_row_s_cosine_is_the_same_whatever_stands_around_it(self) -> None:
        many, query = rows(501), rows(1, 7)[0]
        alone = [cosines_of(many[at : at + 1], query)[0] for at in range(501)]
        assert cosines_of(many, query).tolist() == alone
        assert cosines_of(many[::-1], query).tolist() == alone[::-1]

    def test_all_that_equal_the_last_are_kept(self) -> None:
        numbers, cosines = np.arange(6), np.array([0.1, 0.5, 0.5, 0.9, 0.5, 0.2])
        assert best(numbers, cosines, 2).numbers.tolist() == [3, 1, 2, 4]
        assert best(numbers, cosines, 10).numbers.tolist() == [3, 1, 2, 4, 5, 0]
