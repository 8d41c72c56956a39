"""This package's embedders against the contract that a project's own can be tested with."""

from __future__ import annotations

import base64
import json
import unittest
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from prism_graph.embedders import Embedder, complaint, make
from prism_graph.embedders.hashing import HashingEmbedder
from prism_graph.testing import EmbedderContract


@cache
def made(name: str) -> Embedder:
    if missing := complaint(name):
        pytest.skip(f"{name} {missing}")
    return make(name)


class TestHashing(EmbedderContract):
    def embedder(self) -> Embedder:
        return HashingEmbedder()


class TestWordLlama(EmbedderContract):
    def embedder(self) -> Embedder:
        return made("wordllama")


class TestMiniLM(EmbedderContract):
    def embedder(self) -> Embedder:
        return made("minilm")


class TestOpenAI(EmbedderContract):
    def embedder(self) -> Embedder:
        import httpx2

        def answer(request: httpx2.Request) -> httpx2.Response:
            asked = json.loads(request.content)
            rows = HashingEmbedder(asked["dimensions"]).embed(asked["input"])
            data = [
                {
                    "index": place,
                    "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode(),
                }
                for place, row in enumerate(rows)
            ]
            return httpx2.Response(200, json={"data": data[::-1]})

        options = {"base_url": "http://localhost/v1", "send_dimensions": True, "batch_size": 2}
        options["transport"] = httpx2.MockTransport(answer)
        return make({"provider": "openai", "dimensions": 64, "options": options})


class Broken(HashingEmbedder):
    """What a test of the contract must notice, one kind at a time."""

    def __init__(self, kind: str) -> None:
        super().__init__(16)
        self.kind, self.calls = kind, 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        found = super().embed(texts)
        if self.kind == "always the same":
            return [found[0] for _ in texts]
        if self.kind == "another every time":
            return [row + self.calls for row in found]
        if self.kind == "by the company":
            return [row + len(texts) for row in found]
        if self.kind == "by the order":
            return [row + place for place, row in enumerate(found)]
        if self.kind == "one for nothing":
            return found or [[1.0] * 16]
        return [row[:8] for row in found]


@pytest.mark.parametrize(
    "kind",
    [
        "always the same",
        "another every time",
        "by the company",
        "by the order",
        "one for nothing",
        "too narrow",
    ],
)
def test_what_breaks_the_contract_fails_it(kind: str) -> None:
    class Contract(EmbedderContract, unittest.TestCase):
        def embedder(self) -> Embedder:
            return Broken(kind)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Contract).run(result)
    assert result.testsRun == 7
    assert not result.wasSuccessful()


def test_who_defines_no_embedder_is_told() -> None:
    with pytest.raises(NotImplementedError):
        EmbedderContract().embedder()
