"""Retrieval through a database: `python -m tests.benchmarks.stored sqlite|postgresql [file …]`.

Each collection of PRISM_GRAPH_DATA is stored with Memory.ingest or, where its documents are turns,
Memory.record, and asked with Memory.search. Prints recall@10 and binary nDCG@10 per file, and the same for
questions with 3,000 characters of another collection's prose around them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from tests.benchmarks import corpus, measuring

FILES = ("locomo", "scifact", "cranfield", *(f"xquad-{x}" for x in "en zh th ar de ru hi".split()))
PROSE = 3_000
SAMPLE = 200


def collections(name: str) -> list[dict[str, Any]]:
    """Return a file's collections."""
    return json.loads((corpus.DATA / f"{name}.json").read_text())  # type: ignore[no-any-return]


def store(scope: Any, collection: dict[str, Any]) -> Callable[[Any], str]:
    """Store a collection; return what names a found passage's document."""
    from prism_graph import Memory, Origin, Trust
    from prism_graph.chunking import WholeChunker

    memory = Memory(scope)
    if "when" not in collection["docs"][0]:
        for doc in collection["docs"]:
            origin = Origin(Trust.DOCUMENT, "benchmark")
            memory.ingest(doc["id"], doc["text"], origin=origin, chunker=WholeChunker())
        return lambda chunk: str(chunk.source_key)
    for doc in collection["docs"]:
        speaker, _, text = doc["text"].partition(": ")
        memory.record(
            collection["name"],
            text,
            origin=Origin(Trust.USER, speaker),
            speaker=speaker,
            turn_id=doc["id"],
            occurred_at=_instant(doc["when"]),
        )
    return lambda chunk: str(chunk.turn_id)


def _instant(when: str) -> datetime:
    return datetime.strptime(when, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def prose() -> Iterator[str]:
    """Yield 3,000 characters of other text for each question, without end."""
    texts = [doc["text"] for each in collections("xquad-en") for doc in each["docs"]]
    every = " ".join(texts)
    at = 0
    while True:
        yield every[at : at + PROSE]
        at = (at + PROSE) % (len(every) - PROSE)


def measure(name: str) -> tuple[float, float, float]:
    """Return recall@10, nDCG@10, and recall@10 of pasted questions against the same ones alone."""
    from prism_graph import Memory, Scope

    recalls, gains, alone, pasted = [], [], [], []
    around = prose()
    for collection in collections(name):
        scope = Scope(f"{name}/{collection['name']}")
        names = store(scope, collection)
        search = Memory(scope).search
        for place, query in enumerate(collection["queries"]):
            found = [names(hit.chunk) for hit in search(query["text"])]
            recalls.append(recall(found, query["relevant"]))
            gains.append(gain(found, query["relevant"]))
            if place < SAMPLE:
                text = next(around)
                middle = f"{text[: PROSE // 2]}\n\n{query['text']}\n\n{text[PROSE // 2 :]}"
                alone.append(recalls[-1])
                hits = search(middle)
                pasted.append(recall([names(hit.chunk) for hit in hits], query["relevant"]))
    return _mean(recalls), _mean(gains), _mean(pasted) / _mean(alone)


def recall(found: list[str], relevant: list[str]) -> float:
    """Return the share of relevant documents found."""
    return len(set(found) & set(relevant)) / len(relevant)


def gain(found: list[str], relevant: list[str]) -> float:
    """Return binary nDCG@10."""
    won = sum(1 / math.log2(at + 2) for at, doc in enumerate(found) if doc in relevant)
    return won / sum(1 / math.log2(at + 2) for at in range(min(len(relevant), 10)))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    vendor, *names = sys.argv[1:]
    measuring.start(vendor)
    try:
        rows = [(name, *(f"{value:.4f}" for value in measure(name))) for name in names or FILES]
        measuring.table(f"Retrieval, {vendor}", ("file", "R@10", "nDCG@10", "pasted / alone"), rows)
    finally:
        measuring.stop()
