"""Measure retrieval by text alone over the reference sets, in memory.

    PRISM_GRAPH_DATA=../shared/data python tests/benchmarks/retrieval.py [set ...]
"""

from __future__ import annotations

import bisect
import json
import math
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from prism_graph.analysis import index_terms, query_terms
from prism_graph.ranking import Directory, rank

DATA: Final = Path(
    os.environ.get("PRISM_GRAPH_DATA", Path(__file__).parents[2] / ".." / "shared" / "data")
)
SETS: Final = (
    "locomo", "scifact", "cranfield", "xquad-en", "xquad-zh", "xquad-th", "xquad-ar",
    "xquad-de", "xquad-ru", "xquad-hi",
)  # fmt: skip


class Postings:
    """An in-memory index of terms strings, that looks words up as the databases do."""

    def __init__(self, rows: Sequence[str]) -> None:
        found: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(rows):
            for term in terms.split(" "):
                if term:
                    found[term].append(number)
        self._lists = {term: np.array(numbers) for term, numbers in found.items()}
        self._vocabulary = sorted(self._lists)
        self._prefixes: dict[str, Any] = {}

    def __call__(self, words: Sequence[str]) -> list[Any]:
        return [self._one(word) for word in words]

    def _one(self, word: str) -> Any:
        if not word.endswith("*"):
            return self._lists.get(word, np.empty(0, dtype=np.int64))
        if word not in self._prefixes:
            start = bisect.bisect_left(self._vocabulary, word[:-1])
            end = bisect.bisect_left(self._vocabulary, word[:-1] + "\U0010ffff")
            lists = [self._lists[term] for term in self._vocabulary[start:end]]
            self._prefixes[word] = (
                np.unique(np.concatenate(lists)) if lists else np.empty(0, dtype=np.int64)
            )
        return self._prefixes[word]


@dataclass
class Collection:
    """One collection of a set, indexed: ids in row order, queries with what is relevant."""

    name: str
    ids: list[str]
    texts: list[str]
    directory: Directory
    postings: Postings
    queries: list[tuple[str, set[str]]]

    def search(self, query: str, limit: int = 10) -> list[str]:
        """Return the ids of the best rows, ties by row."""
        scores = rank(self.directory, query_terms(query), self.postings).scores
        best = np.lexsort((np.arange(len(scores)), -scores))[:limit]
        return [self.ids[i] for i in best if scores[i] > 0]


def parse_when(text: str) -> datetime | None:
    """Read LoCoMo's dates, such as `1:56 pm on 8 May, 2023`."""
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y")
    except ValueError:
        return None


def load(name: str, speaker_apart: bool = False) -> list[Collection]:
    """Index a set: chats as conversations with dates, everything else as documents."""
    collections = []
    for raw in json.loads((DATA / f"{name}.json").read_text()):
        docs, chat = raw["docs"], name == "locomo"
        terms, lengths = [], []
        for doc in docs:
            text, context = doc["text"], ()
            if speaker_apart and chat:
                speaker, _, text = text.partition(": ")
                context = (speaker,)
            row, length = index_terms(text, context, parse_when(doc.get("when", "")))
            terms.append(row)
            lengths.append(length)
        n = len(docs)
        directory = Directory(
            np.arange(n), np.array(lengths), np.zeros(n, int) if chat else np.arange(n),
            np.arange(n), np.zeros(n, int), np.full(n, chat),
        )  # fmt: skip
        queries = [(q["text"], set(q["relevant"])) for q in raw["queries"]]
        ids = [d["id"] for d in docs]
        texts = [d["text"] for d in docs]
        collections.append(Collection(raw["name"], ids, texts, directory, Postings(terms), queries))
    return collections


def measures(found: Sequence[str], relevant: set[str]) -> tuple[float, float]:
    """Return recall@10 and binary nDCG@10."""
    hits = [rank for rank, id_ in enumerate(found[:10]) if id_ in relevant]
    gain = sum(1 / math.log2(r + 2) for r in hits)
    ideal = sum(1 / math.log2(r + 2) for r in range(min(10, len(relevant))))
    return len(hits) / len(relevant), gain / ideal


def evaluate(
    collections: Sequence[Collection], change: Callable[[str], str] = lambda q: q
) -> tuple[float, float]:
    """Return mean recall@10 and nDCG@10 over all queries, each changed as told."""
    results = [
        measures(c.search(change(q)), relevant) for c in collections for q, relevant in c.queries
        if relevant
    ]
    return tuple(float(v) for v in np.mean(results, axis=0))  # type: ignore[return-value]


def main(names: Sequence[str]) -> None:
    for name in names or SETS:
        start = time.perf_counter()
        collections = load(name)
        indexed = time.perf_counter() - start
        rows = sum(len(c.ids) for c in collections)
        start = time.perf_counter()
        r, n = evaluate(collections)
        per = (time.perf_counter() - start) / sum(len(c.queries) for c in collections)
        print(f"{name:12} R@10 {r:.4f}  nDCG@10 {n:.4f}  index {indexed / rows * 1e6:.0f} us/doc  query {per * 1e3:.2f} ms", flush=True)
        if name == "locomo":
            print("%12s R@10 %.4f  nDCG@10 %.4f" % ("  apart", *evaluate(load(name, True))))


if __name__ == "__main__":
    main(sys.argv[1:])
