"""Vectors in pgvector against numpy: `python -m tests.benchmarks.pgvector postgresql [part …]`.

200,000 made-up vectors of 384 dimensions, in clusters that a thousand scopes share. Parts: readers (time
and recall of one who owns 0.1 %, and of one who owns half), threshold (comparing against the index, by how
much a reader may see).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any, Final

import numpy as np

from tests.benchmarks import measuring
from tests.benchmarks.speed import fill, settle

USING: Final = "default"
WIDTH: Final = 384
LARGE: Final = 100_000
SMALL: Final = 200
# One scope owns half; 250 own 0.1 % each; the others less.
OWNED: Final = (LARGE, *[SMALL] * 250, *[66] * 749)
CLUSTERS: Final = 500
QUERIES: Final = 200
LIMIT: Final = 200
BATCH: Final = 10_000
MEMORY: Final = "1GB"
ALWAYS: Final = 10**9


def unit(rows: Any) -> Any:
    """Return rows of length one."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(random: Any, centres: Any, rows: int, spread: float) -> Any:
    """Draw vectors around the centres: 1 is as far from its centre as the centre is from nought."""
    noise = random.standard_normal((rows, WIDTH), dtype=np.float32) / np.sqrt(WIDTH)
    return unit(centres[random.integers(len(centres), size=rows)] + spread * noise)


@cache
def state() -> dict[Any, tuple[Any, Any, Any]]:
    """Store everything; return each scope's partition, chunk numbers and vectors."""
    from prism_graph import Scope
    from prism_graph.models import Chunk
    from prism_graph.vectors import Partition, Space

    random = np.random.default_rng(1)
    centres = unit(random.standard_normal((CLUSTERS, WIDTH)))
    texts: Iterator[str] = (f"line {number}" for number in count())
    space, found, store = Space("pgvector", f"made-up/1/{WIDTH}", WIDTH), {}, made()
    for place, rows in enumerate(OWNED):
        scope = Scope("acme", f"owner-{place}")
        fill(USING, scope, texts, rows)
        listed = Chunk.objects.db_manager(USING).at(scope).values_list("number", flat=True)
        numbers = np.sort(np.fromiter(listed, dtype=np.int64))
        vectors, partition = clustered(random, centres, rows, 1.0), Partition(scope, space, "1")
        for start in range(0, rows, BATCH):
            part = slice(start, start + BATCH)
            store.put(partition, numbers[part].tolist(), vectors[part])
        found[place] = partition, numbers, vectors
    _index(store)
    return found


def made(**options: Any) -> Any:
    """Return a store."""
    from prism_graph.pgvector.store import PgVectorStore

    return PgVectorStore(USING, WIDTH, **options)


def _index(store: Any) -> None:
    from django.db import connections

    with connections[USING].cursor() as cursor:
        cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [MEMORY])
    began = time.perf_counter()
    store.prepare()
    print(f"index built in {time.perf_counter() - began:.0f} s")
    settle(USING, "postgresql")


@cache
def questions() -> Any:
    """Return queries, each beside a vector of anybody's."""
    random = np.random.default_rng(2)
    every = np.concatenate([vectors for _, _, vectors in state().values()])
    return clustered(random, every, QUERIES, 0.5)


def asked(store: Any, place: int, share: Any = None) -> Callable[[Any], Any]:
    """Return what asks a store for what is nearest, as a search does."""
    from django.db import connections

    from prism_graph.fulltext import engine

    partition, numbers, _ = state()[place]
    allowed = numbers if share is None else share

    def ask(query: Any) -> Any:
        with engine(connections[USING]).reading():
            return store.nearest([partition], query, LIMIT, allowed)

    return ask


def compared(place: int) -> Callable[[Any], Any]:
    """Return what compares by numpy all that a scope has, in memory."""
    from prism_graph.vectors import Nearest

    _, numbers, vectors = state()[place]

    def ask(query: Any) -> Any:
        cosines = vectors @ query
        order = np.argsort(-cosines, kind="stable")[:LIMIT]
        return Nearest(numbers[order], cosines[order])

    return ask


def recall(found: Any, expected: Any, many: int) -> float:
    """Return how many of the best are among as many that were found."""
    best = expected.numbers[:many]
    return len(np.intersect1d(found.numbers[:many], best)) / len(best)


def readers(_: str) -> None:
    """Print time and recall of a reader of little, and of one of much."""
    rows = []
    for name, places in (("0.1 %", range(1, 101)), ("half", (0,))):
        ways = {"pgvector": made(), "pgvector, compared": made(exact=ALWAYS), "numpy": None}
        for way, store in ways.items():
            times, ten, all_of_them = [], [], []
            for at, query in enumerate(questions()):
                place = places[at % len(places)]
                exact = compared(place)
                ask = asked(store, place) if store else exact
                ask(query)
                began = time.perf_counter()
                found = ask(query)
                times.append((time.perf_counter() - began) * 1000)
                ten.append(recall(found, exact(query), 10))
                all_of_them.append(recall(found, exact(query), LIMIT))
            spent = measuring.percentile(times, 0.5), measuring.percentile(times, 0.95)
            rows.append((name, way, *spent, f"{np.mean(ten):.4f}", f"{np.mean(all_of_them):.4f}"))
    measuring.table(
        f"The nearest {LIMIT} of {sum(OWNED):,} x {WIDTH}, milliseconds",
        ("reader owns", "by", "p50", "p95", "recall@10", f"recall@{LIMIT}"),
        rows,
    )


def threshold(_: str) -> None:
    """Print what comparing and the index take where a reader may see less and less of half."""
    from unittest import mock

    _, numbers, _ = state()[0]
    rows = []
    for many in (1_000, 5_000, 10_000, 20_000, 50_000, LARGE):
        share = np.sort(np.random.default_rng(3).choice(numbers, many, replace=False))
        by_index, by_all = asked(made(exact=0), 0, share), asked(made(exact=ALWAYS), 0, share)
        times: dict[str, list[float]] = {"index": [], "all": []}
        for query in questions()[:20]:
            with mock.patch("prism_graph.pgvector.queries.Queries.indexed", return_value=0):
                times["index"].append(measuring.milliseconds(lambda: by_index(query)))  # noqa: B023
            times["all"].append(measuring.milliseconds(lambda: by_all(query)))  # noqa: B023
        rows.append((f"{many:,}", *(measuring.percentile(each, 0.5) for each in times.values())))
    header = ("allowed", "by the index, or both", "compared")
    measuring.table("p50 by what is allowed of half, milliseconds", header, rows)


if __name__ == "__main__":
    measuring.run({"readers": readers, "threshold": threshold})
