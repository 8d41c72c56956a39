"""Measure retrieval over the reference sets, in memory.

    PRISM_GRAPH_DATA=../shared/data python -m tests.benchmarks.retrieval [set ... | pasted]
    PRISM_GRAPH_DATA=../shared/data python -m tests.benchmarks.retrieval hybrid [embedder ... set ...]

Prints recall@10 and binary nDCG@10 of every set beside its bar, and recall of questions with 3,000
characters of other prose pasted around them against the same questions alone: by text alone. With
`hybrid`, by text, by vectors and by both, for each embedder of tests.benchmarks.embedding.
"""

from __future__ import annotations

import bisect
import json
import math
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph import embedders
from prism_graph.analysis import PREFIX, index_terms, query_terms
from prism_graph.ranking import CANDIDATES, Directory, Fusion, contrast, fuse, rank
from tests.benchmarks import embedding

ROOT: Final = Path(__file__).parents[2]
DATA: Final = Path(os.environ.get("PRISM_GRAPH_DATA", ROOT.parent / "shared" / "data"))
CHATS: Final = frozenset({"locomo"})
# Set: recall@10 and nDCG@10 to reach.
BARS: Final = {
    "locomo": (0.74, 0.56),
    "scifact": (0.0, 0.68),
    "cranfield": (0.0, 0.36),
    "xquad-en": (0.0, 0.0),
    "xquad-zh": (0.99, 0.0),
    "xquad-th": (0.99, 0.0),
    "xquad-ar": (0.98, 0.0),
    "xquad-de": (0.98, 0.0),
    "xquad-ru": (0.98, 0.0),
    "xquad-hi": (0.98, 0.0),
}
# The same by text and MiniLM, and how far both may be below the better arm, with any embedder.
HYBRID_BARS: Final = {"locomo": (0.765, 0.575), "scifact": (0.0, 0.71)}
BELOW: Final = 0.005
PASTED: Final = 3_000
PASTED_BAR: Final = 0.9
# Where the question comes from, where the prose does; "same" is the question's own collection.
PAIRS: Final = (
    ("locomo", "xquad-en"), ("locomo", "scifact"), ("locomo", "same"),
    ("scifact", "xquad-en"), ("scifact", "cranfield"), ("scifact", "same"),
    ("cranfield", "xquad-en"), ("cranfield", "scifact"), ("cranfield", "same"),
    ("xquad-en", "locomo"), ("xquad-en", "scifact"), ("xquad-en", "same"),
    ("xquad-de", "same"), ("xquad-zh", "same"), ("xquad-th", "same"), ("xquad-th", "xquad-en"),
    ("xquad-hi", "same"), ("xquad-ar", "same"), ("xquad-ru", "xquad-de"),
)  # fmt: skip
PLACES: Final = ("before", "after", "around")
JOINTS: Final = ("\n\n", "\n", " ")


class Postings:
    """An in-memory index of terms strings, that looks words up as the databases do."""

    def __init__(self, rows: Sequence[str]) -> None:
        found: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(rows):
            for term in filter(None, terms.split(" ")):
                found[term].append(number)
        self._lists = {term: np.array(numbers) for term, numbers in found.items()}
        self._vocabulary = sorted(self._lists)
        self._prefixes: dict[str, NDArray[np.int64]] = {}

    def __call__(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        return [self._one(word) for word in words]

    def _one(self, word: str) -> NDArray[np.int64]:
        empty = np.empty(0, dtype=np.int64)
        if not word.endswith(PREFIX):
            return self._lists.get(word, empty)
        if word not in self._prefixes:
            start = bisect.bisect_left(self._vocabulary, word[:-1])
            end = bisect.bisect_left(self._vocabulary, word[:-1] + "\U0010ffff")
            lists = [self._lists[term] for term in self._vocabulary[start:end]]
            self._prefixes[word] = np.unique(np.concatenate(lists)) if lists else empty
        return self._prefixes[word]


@dataclass
class Collection:
    """One collection, indexed: ids and texts in row order, queries with what is relevant."""

    ids: list[str]
    texts: list[str]
    directory: Directory
    postings: Postings
    queries: list[tuple[str, set[str]]]

    def search(self, query: str, limit: int = 10) -> list[str]:
        """Return the ids of the best rows, ties by row."""
        return self.best(*self.by_text(query), limit)

    def by_text(self, query: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the positions that the words find, and their scores."""
        scores = rank(self.directory, query_terms(query), self.postings).scores
        found = np.flatnonzero(scores > 0)
        return found, scores[found]

    def best(self, positions: Any, scores: Any, limit: int = 10) -> list[str]:
        """Return the ids of the best positions, ties by row."""
        order = np.lexsort((positions, -scores))[:limit]
        return [self.ids[at] for at in positions[order]]


def parse_when(text: str) -> datetime | None:
    """Read LoCoMo's dates, such as `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y") if text else None


def collection(raw: dict[str, Any], chat: bool, speaker_apart: bool) -> Collection:
    """Index a collection: a chat as one conversation with dates, else every text a document."""
    docs, n = raw["docs"], len(raw["docs"])
    rows = []
    for doc in docs:
        text, context = doc["text"], ()
        if chat and speaker_apart:
            speaker, _, text = text.partition(": ")
            context = (speaker,)
        rows.append(index_terms(text, context, parse_when(doc.get("when", ""))))
    places = np.arange(n)
    directory = Directory(
        numbers=places,
        lengths=np.array([length for _, length in rows]),
        sources=np.zeros(n, dtype=np.int64) if chat else places,
        ordinals=places,
        trust=np.zeros(n, dtype=np.int64),
        votes=np.full(n, chat),
    )
    return Collection(
        ids=[doc["id"] for doc in docs],
        texts=[doc["text"] for doc in docs],
        directory=directory,
        postings=Postings([terms for terms, _ in rows]),
        queries=[(q["text"], set(q["relevant"])) for q in raw["queries"] if q["relevant"]],
    )


@cache
def load(name: str, speaker_apart: bool = False) -> list[Collection]:
    """Index every collection of a set."""
    raw = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return [collection(each, name in CHATS, speaker_apart) for each in raw]


def measures(found: Sequence[str], relevant: set[str]) -> tuple[float, float]:
    """Return recall@10 and binary nDCG@10."""
    hits = [place for place, id_ in enumerate(found[:10]) if id_ in relevant]
    gain = sum(1 / math.log2(place + 2) for place in hits)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return len(hits) / len(relevant), gain / ideal


def evaluate(collections: Sequence[Collection]) -> tuple[float, float]:
    """Return mean recall@10 and nDCG@10 over all queries."""
    results = [measures(c.search(q), relevant) for c in collections for q, relevant in c.queries]
    recall, gain = np.mean(results, axis=0)
    return float(recall), float(gain)


def prose(rng: random.Random, texts: Sequence[str], avoid: set[str]) -> str:
    """Return 3,000 characters of neighbouring texts, none of them to be avoided."""
    start, found = rng.randrange(len(texts)), ""
    for step in range(len(texts)):
        text = texts[(start + step) % len(texts)]
        if text not in avoid:
            found += text.strip() + "\n"
        if len(found) >= PASTED:
            break
    return found[:PASTED].rstrip()


def paste(question: str, text: str, place: str, joint: str) -> str:
    """Return the question with the prose before, after or around it."""
    if place == "before":
        return text + joint + question
    if place == "after":
        return question + joint + text
    half = max(text.rfind(" ", 0, len(text) // 2), 1)
    return text[:half] + joint + question + joint + text[half:]


def pasted(target: str, source: str, each: int = 12) -> dict[str, float]:
    """Return recall with prose pasted ÷ recall alone: by place, by joint and over all."""
    rng = random.Random(f"{target} {source}")
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for place, joint, _ in ((p, j, n) for p in PLACES for j in JOINTS for n in range(each)):
        own = rng.choice(load(target))
        question, relevant = rng.choice(own.queries)
        other = own if source == "same" else rng.choice(load(source))
        avoid = {text for id_, text in zip(own.ids, own.texts, strict=True) if id_ in relevant}
        text = paste(question, prose(rng, other.texts, avoid), place, joint)
        alone = measures(own.search(question), relevant)[0]
        with_prose = measures(own.search(text), relevant)[0]
        for key in ("all", place, repr(joint)):
            sums[key][0] += alone
            sums[key][1] += with_prose
    return {key: found / max(alone, 1e-9) for key, (alone, found) in sums.items()}


def verdict(figures: Sequence[float], bars: Sequence[float]) -> str:
    return "pass" if all(f >= b for f, b in zip(figures, bars, strict=True)) else "FAIL"


def set_rows(names: Sequence[str]) -> Iterator[str]:
    """Yield one line per set."""
    for name in names:
        start = time.process_time()
        collections = load(name)
        indexed = time.process_time() - start
        start = time.process_time()
        recall, gain = evaluate(collections)
        asked = time.process_time() - start
        docs = sum(len(c.ids) for c in collections)
        queries = sum(len(c.queries) for c in collections)
        yield (
            f"{name:10} R@10 {recall:.4f}  nDCG@10 {gain:.4f}  "
            f"{verdict((recall, gain), BARS[name])}  index {indexed / docs * 1e6:5.0f} µs/text  "
            f"query {asked / queries * 1e3:.2f} ms"
        )
        if name in CHATS:
            recall, gain = evaluate(load(name, speaker_apart=True))
            yield f"  speaker apart R@10 {recall:.4f}  nDCG@10 {gain:.4f}"


def arms(
    each: Collection, query: str, similarities: NDArray[np.float64], fusion: Fusion
) -> tuple[list[str], list[str], list[str]]:
    """Return what text finds, what vectors find, and what both do."""
    candidates = np.argsort(-similarities, kind="stable")[:CANDIDATES]
    vector = contrast(each.directory, candidates, similarities[candidates])
    found, scores = each.by_text(query)
    both = fuse(fusion.among(len(candidates)), found, scores, vector.positions, vector.scores)
    return (
        each.best(found, scores),
        each.best(vector.positions, vector.scores),
        each.best(both.positions, both.scores),
    )


def evaluate_arms(
    collections: Sequence[Collection], embed: embedding.Embed, fusion: Fusion
) -> NDArray[np.float64]:
    """Return mean recall@10 and nDCG@10 by text, by vectors and by both."""
    results = []
    for each in collections:
        texts = embed(each.texts)
        asked = embed([query for query, _ in each.queries])
        for (query, relevant), vector in zip(each.queries, asked, strict=True):
            similarities = np.round((texts @ vector).astype(np.float64), 9)
            found = arms(each, query, similarities, fusion)
            results.append([measures(ids, relevant) for ids in found])
    return np.asarray(np.mean(results, axis=0))


def hybrid_rows(models: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield one line per embedder and set."""
    for embedder in models:
        if missing := embedders.complaint(embedder):
            yield f"skipped {embedder}: it {missing}"
            continue
        embed = embedding.embedder(embedder)
        for name in names:
            text, vector, both = evaluate_arms(load(name), embed, Fusion())
            bars = np.maximum(text, vector) - BELOW
            if embedder == "minilm":
                bars = np.maximum(bars, HYBRID_BARS.get(name, (0.0, 0.0)))
            figures = "  ".join(
                f"{label} {recall:.4f} {gain:.4f}"
                for label, (recall, gain) in (("text", text), ("vector", vector), ("both", both))
            )
            yield f"{embedder:9} {name:10} R@10, nDCG@10: {figures}  {verdict(both, bars)}"


def pasted_rows() -> Iterator[str]:
    """Yield one line per kind of prose."""
    for target, source in PAIRS:
        shares = pasted(target, source)
        mark = "pass" if shares["all"] >= PASTED_BAR else "FAIL"
        detail = "  ".join(f"{key} {share:.2f}" for key, share in shares.items())
        yield f"{target:10} in {source:10} {mark}  {detail}"


def main(arguments: Sequence[str]) -> None:
    if not DATA.is_dir():
        print(f"skipped: no data in {DATA}; set PRISM_GRAPH_DATA")
        return
    names = [name for name in arguments if name in BARS]
    if "hybrid" in arguments:
        models = [name for name in arguments if name in embedding.NAMES]
        for row in hybrid_rows(models or list(embedding.NAMES), names or list(BARS)):
            print(row, flush=True)
        return
    if not arguments or names:
        for row in set_rows(names or list(BARS)):
            print(row, flush=True)
    if not arguments or "pasted" in arguments:
        for row in pasted_rows():
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
