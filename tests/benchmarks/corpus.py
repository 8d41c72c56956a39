"""Texts and queries for the benchmarks: real prose where PRISM_GRAPH_DATA has it, else made-up words."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path

DATA = Path(os.environ.get("PRISM_GRAPH_DATA", Path(__file__).parents[3] / "shared" / "data"))
WORDS = 60


@cache
def passages() -> list[str]:
    """Return passages of 60 words."""
    path = DATA / "scifact.json"
    if not path.exists():
        return [_invented(seed) for seed in range(20_000)]
    words = " ".join(doc["text"] for doc in json.loads(path.read_text())[0]["docs"]).split()
    return [" ".join(words[at : at + WORDS]) for at in range(0, len(words) - WORDS, WORDS)]


@cache
def queries() -> list[str]:
    """Return 150 questions."""
    path = DATA / "scifact.json"
    if not path.exists():
        return [" ".join(_invented(seed).split()[:10]) for seed in range(10**6, 10**6 + 150)]
    return [query["text"] for query in json.loads(path.read_text())[0]["queries"]][:150]


def endless() -> Iterator[str]:
    """Yield passages without end: the real ones first, then mixtures of two of them."""
    yield from passages()
    for seed in count():
        rng = random.Random(seed)
        first, second = rng.choice(passages()).split(), rng.choice(passages()).split()
        yield " ".join(first[: WORDS // 2] + second[WORDS // 2 :])


def _invented(seed: int) -> str:
    rng = random.Random(seed)
    ranks = (int(rng.paretovariate(0.9)) % 60_000 for _ in range(WORDS))
    return " ".join(_word(rank) for rank in ranks)


def _word(rank: int) -> str:
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    text = ""
    while rank or not text:
        rank, digit = divmod(rank, 26)
        text += letters[digit]
    return text + "er"
