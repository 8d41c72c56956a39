"""Search by words and meaning against bare products: `python -m tests.benchmarks.meaning VENDOR [part …]`.

Parts: hybrid, flat, exact, embedding. Ratios are of interleaved calls within one run, medians of rounds.
The embedder is `hashing`, 384 wide, whose questions are embedded beforehand: providers' times are not ours.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from tests.benchmarks import corpus, measuring
from tests.benchmarks.speed import ROUNDS, bare_postgresql_search, bare_sqlite_search, fill, settle

WIDTH: Final = 384
EMBEDDER: Final = {"provider": "hashing", "dimensions": WIDTH}


@contextmanager
def meant() -> Iterator[None]:
    """Search by vectors; they are made when `embed` is called, not at each commit."""
    from django.test import override_settings

    with override_settings(PRISM_GRAPH={"VECTORS": "exact", "EMBEDDER": EMBEDDER}):
        yield


def stored(using: str, scope: Any, texts: Iterator[str], many: int) -> None:
    """Ingest passages and make their vectors."""
    from prism_graph import Memory

    fill(using, scope, texts, many)
    with meant():
        Memory(scope, using).embed_pending()


def bare_arms(vendor: str, texts: list[str], visible: int) -> Any:
    """Return a bare text query and a bare product over the same rows, one after the other."""
    from prism_graph import embedders

    embedder = embedders.make(EMBEDDER)
    vectors = embedders.vectors(embedder, texts[:visible])
    asked = {query: embedders.vectors(embedder, [query])[0] for query in corpus.queries()}
    engines = {"sqlite": bare_sqlite_search, "postgresql": bare_postgresql_search}
    text = list(engines[vendor](texts).values())[-1]

    def product(query: str) -> Any:
        scores = vectors @ asked[query]
        best = np.argpartition(-scores, 10)[:10]
        return best[np.argsort(-scores[best])]

    return text, product


def hybrid(vendor: str) -> None:
    """Compare p95 of a reader of 10,000 of 100,000 chunks with a bare product and a bare text query."""
    from prism_graph import Memory, Scope

    reader = Scope("hybrid-0").for_owner("reader")
    source = corpus.endless()
    everything = [next(source) for _ in range(100_000)]
    rows = iter(everything)
    stored("default", reader, rows, 10_000)
    for place in range(9):
        stored("default", Scope(f"hybrid-{place}").for_owner("other"), rows, 10_000)
    settle("default", vendor)
    text, product = bare_arms(vendor, everything, 10_000)
    calls = {
        "ours": Memory(reader).search,
        "bare": lambda query: (text(query), product(query)),
    }
    with meant():
        times = _warm(calls)
    _table(f"Hybrid search, 10k visible x {WIDTH} of 100k, {vendor}, ms", times, "ours", "bare")


def _warm(calls: dict[str, Any]) -> dict[str, list[list[float]]]:
    """Time the calls once every question's vector is known and what is visible has been read."""
    for call in calls.values():
        for query in corpus.queries():
            call(query)
    return measuring.interleaved(calls, corpus.queries(), ROUNDS)


def _table(title: str, times: dict[str, list[list[float]]], over: str, under: str) -> None:
    rows = [
        (name, *(measuring.median_of_rounds(times[name], share) for share in (0.5, 0.95)))
        for name in times
    ]
    found = {name: numbers for name, *numbers in rows}
    ratios = (a / b for a, b in zip(found[over], found[under], strict=True))
    rows.append((f"{over} / {under}", *ratios))
    measuring.table(title, ("", "p50", "p95"), rows)


def flat(vendor: str) -> None:
    """Compare p95 of one reader of 2,000 chunks beside 2,000 and beside 200,000 of others'."""
    from prism_graph import Memory, Scope

    reader = Scope("tenant-0").for_owner("reader")
    for using, others in (("small", 2_000), ("default", 200_000)):
        texts = corpus.endless()
        stored(using, reader, texts, 2_000)
        for place in range(10):
            stored(using, Scope(f"tenant-{place}").for_owner("other"), texts, others // 10)
        settle(using, vendor)
    names = {"others 200k": "default", "others 2k": "small"}
    calls = {name: Memory(reader, using).search for name, using in names.items()}
    with meant():
        times = _warm(calls)
    _table(f"Hybrid search, 2k visible, {vendor}, ms", times, "others 200k", "others 2k")


def exact(vendor: str) -> None:
    """Compare the store alone with the product it makes, and with reading the same bytes."""
    from django.db import connection

    from prism_graph import Scope, embedders, spaces
    from prism_graph.vectors.blocks import BLOCKS

    reader = Scope("exact").for_owner("reader")
    stored("default", reader, corpus.endless(), 10_000)
    settle("default", vendor)
    with meant():
        space, partitions = spaces.seen_from(reader, "default")
        assert space is not None
        store = spaces.fitting(space, "default").store
        query = embedders.vectors(embedders.make(EMBEDDER), [corpus.queries()[0]])[0]
        held = store._block(partitions[0])
        calls = {
            "warm": lambda _: store.nearest(partitions, query, 200, held.numbers),
            "product": lambda _: held.vectors @ query,
        }
        times = measuring.interleaved(calls, ["x"] * 200, ROUNDS)
        _table(f"exact, 10k x {WIDTH}, {vendor}, ms", times, "warm", "product")

        def cold(_: str) -> None:
            BLOCKS.clear()
            store.nearest(partitions, query, 200, held.numbers)

        def read(_: str) -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT vector FROM prism_graph_embedding WHERE tenant = 'exact'")
                cursor.fetchall()

        times = measuring.interleaved({"cold": cold, "one query": read}, ["x"] * 10, ROUNDS)
        _table(f"exact, 10k x {WIDTH} read anew, {vendor}, ms", times, "cold", "one query")


def embedding(vendor: str) -> None:
    """Compare making and storing 20,000 vectors with `hashing` with the same done bare."""
    from prism_graph import Memory, Scope

    texts = corpus.passages()[:20_000]
    rows, ratios = [], []
    bare = {"sqlite": bare_sqlite_vectors, "postgresql": bare_postgresql_vectors}[vendor]
    for turn in range(ROUNDS):
        plain = len(texts) / bare(texts)
        scope = Scope(f"embedding-{turn}")
        fill("default", scope, iter(texts), len(texts))
        with meant():
            began = time.perf_counter()
            assert Memory(scope).embed_pending() == len(texts)
            ours = len(texts) / (time.perf_counter() - began)
        ratios.append(ours / plain)
        rows.append((turn + 1, round(ours), round(plain), ours / plain))
    rows.append(("median", "", "", statistics.median(ratios)))
    measuring.table(
        f"Embedding with hashing, {vendor}, texts a second",
        ("round", "ours", "bare", "ratio"),
        rows,
    )


def _bare_rows(texts: list[str]) -> Iterator[tuple[int, bytes]]:
    from prism_graph import embedders

    embedder = embedders.make(EMBEDDER)
    for start in range(0, len(texts), 64):
        for place, row in enumerate(embedder.embed(texts[start : start + 64]), start):
            yield place, np.asarray(row, dtype="<f4").tobytes()


def bare_sqlite_vectors(texts: list[str]) -> float:
    """Return the seconds that embedding and storing takes with sqlite3 in a table of two columns."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE vector (id INTEGER PRIMARY KEY, vector BLOB)")
    began = time.perf_counter()
    with connection:
        connection.executemany("INSERT INTO vector VALUES (?, ?)", _bare_rows(texts))
    spent = time.perf_counter() - began
    connection.close()
    return spent


def bare_postgresql_vectors(texts: list[str]) -> float:
    """Return the seconds that embedding and storing takes with COPY in a table of two columns."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bare_vector")
        cursor.execute("CREATE TABLE bare_vector (id bigint PRIMARY KEY, vector bytea)")
        began = time.perf_counter()
        with cursor.copy("COPY bare_vector FROM STDIN") as copy:
            for row in _bare_rows(texts):
                copy.write_row(row)
        return time.perf_counter() - began


PARTS = {"hybrid": hybrid, "flat": flat, "exact": exact, "embedding": embedding}

if __name__ == "__main__":
    measuring.run(PARTS)
