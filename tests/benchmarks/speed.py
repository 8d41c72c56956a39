"""Search and ingest against bare engines: `python -m tests.benchmarks.speed sqlite|postgresql [part …]`.

Parts: memory, ingest, flat, bare. Ratios are of interleaved calls within one run, medians of rounds.
"""

from __future__ import annotations

import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.benchmarks import corpus, measuring

ROUNDS = 3
CALL = 10_000


def fill(using: str, scope: Any, texts: Iterator[str], many: int, per_call: int = CALL) -> None:
    """Ingest that many passages, each as one chunk, in calls of at most `per_call`."""
    from prism_graph import Memory, Origin, Trust

    memory, origin = Memory(scope, using), Origin(Trust.DOCUMENT, "benchmark")
    for start in range(0, many, per_call):
        batch = list(islice(texts, min(per_call, many - start)))
        memory.ingest(
            f"doc-{start}",
            "\n".join(batch),
            origin=origin,
            chunker=lambda _, batch=batch: _lines(batch),
        )


def _lines(batch: list[str]) -> list[str]:
    return [text + "\n" for text in batch[:-1]] + batch[-1:]


def settle(using: str, vendor: str) -> None:
    """Leave the database as an operator's routine would: PostgreSQL vacuumed and analysed."""
    from django.db import connections

    if vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


# ingest


def ingest(vendor: str) -> None:
    """Compare 20,000 passages through Memory.ingest with the bare engine on the same texts."""
    from prism_graph import Scope

    texts = corpus.passages()[:20_000]
    rows, ratios = [], []
    bare = {"sqlite": bare_sqlite_ingest, "postgresql": bare_postgresql_ingest}[vendor]
    for turn in range(ROUNDS):
        plain = len(texts) / bare(texts)
        began = time.perf_counter()
        fill("default", Scope(f"ingest-{turn}"), iter(texts), len(texts))
        ours = len(texts) / (time.perf_counter() - began)
        ratios.append(ours / plain)
        rows.append((turn + 1, round(ours), round(plain), ours / plain))
    rows.append(("median", "", "", statistics.median(ratios)))
    measuring.table(
        f"Ingest, {vendor}, passages a second", ("round", "ours", "bare", "ratio"), rows
    )


def bare_sqlite_ingest(texts: list[str]) -> float:
    """Return the seconds that sqlite3 with FTS5 (porter) needs, its index kept by a trigger as well."""
    with tempfile.TemporaryDirectory() as directory:
        connection = sqlite3.connect(Path(directory) / "bare.sqlite3")
        connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE chunk (id INTEGER PRIMARY KEY, tenant TEXT, text TEXT);"
            "CREATE VIRTUAL TABLE words USING fts5(text, content='chunk', content_rowid='id',"
            " tokenize='porter');"
            "CREATE TRIGGER keep AFTER INSERT ON chunk BEGIN"
            " INSERT INTO words(rowid, text) VALUES (NEW.id, NEW.text); END"
        )
        began = time.perf_counter()
        with connection:
            connection.executemany("INSERT INTO chunk VALUES (?, 't', ?)", enumerate(texts))
        spent = time.perf_counter() - began
        connection.close()
    return spent


def bare_postgresql_ingest(texts: list[str]) -> float:
    """Return the seconds that COPY into a table with a GIN index (`simple`) needs."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bare_ingest")
        cursor.execute("CREATE TABLE bare_ingest (id bigint PRIMARY KEY, tenant text, text text)")
        cursor.execute(
            "CREATE INDEX ON bare_ingest USING gin (to_tsvector('simple'::regconfig, text))"
        )
        began = time.perf_counter()
        with cursor.copy("COPY bare_ingest FROM STDIN") as copy:
            for row in enumerate(texts):
                copy.write_row((row[0], "t", row[1]))
        return time.perf_counter() - began


# search


def flat(vendor: str) -> None:
    """Compare p95 of one reader of 2,000 chunks beside 2,000 and beside 200,000 of others'."""
    from prism_graph import Memory, Scope

    reader = Scope("tenant-0").for_owner("reader")
    for using, others in (("small", 2_000), ("default", 200_000)):
        texts = corpus.endless()
        fill(using, reader, texts, 2_000)
        for place in range(10):
            fill(using, Scope(f"tenant-{place}").for_owner("other"), texts, others // 10)
        settle(using, vendor)
    calls = {using: Memory(reader, using).search for using in ("small", "default")}
    for call in calls.values():
        for query in corpus.queries()[:20]:
            call(query)
    times = measuring.interleaved(calls, corpus.queries(), ROUNDS)
    rows = [
        (name, *(measuring.median_of_rounds(times[using], share) for share in (0.5, 0.95)))
        for name, using in (("others 2k", "small"), ("others 200k", "default"))
    ]
    ratios = (rows[1][1] / rows[0][1], rows[1][2] / rows[0][2])
    rows.append(("ratio", *ratios))
    measuring.table(f"Search, 2k visible, {vendor}, ms", ("beside", "p50", "p95"), rows)


def bare(vendor: str) -> None:
    """Compare p50 of a reader of 10,000 of 300,000 chunks with the bare engine's ranked query."""
    from prism_graph import Memory, Scope

    reader = Scope("bare-0").for_owner("reader")
    texts = corpus.endless()
    everything = list(islice(texts, 300_000))
    source = iter(everything)
    fill("default", reader, source, 10_000)
    for place in range(29):
        fill("default", Scope(f"bare-{place}").for_owner("other"), source, 10_000)
    settle("default", vendor)
    plain = {"sqlite": bare_sqlite_search, "postgresql": bare_postgresql_search}[vendor](everything)
    calls = {"ours": Memory(reader).search, **plain}
    for call in calls.values():
        for query in corpus.queries()[:20]:
            call(query)
    times = measuring.interleaved(calls, corpus.queries(), ROUNDS)
    rows = [
        (name, *(measuring.median_of_rounds(times[name], share) for share in (0.5, 0.95)))
        for name in calls
    ]
    for name, *times_of in rows[1:]:
        rows.append(
            (f"{name} / ours", *(a / b for a, b in zip(times_of, rows[0][1:], strict=True)))
        )
    measuring.table(f"Search, 10k visible of 300k, {vendor}, ms", ("", "p50", "p95"), rows)


def _owned(texts: list[str]) -> Iterator[tuple[int, str, str]]:
    return ((at, "reader" if at < 10_000 else "other", text) for at, text in enumerate(texts))


def bare_sqlite_search(texts: list[str]) -> Any:
    """Return one MATCH … ORDER BY bm25() joined to the scope, over all texts."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE chunk (id INTEGER PRIMARY KEY, owner TEXT, text TEXT);"
        "CREATE INDEX chunk_owner ON chunk (owner);"
        "CREATE VIRTUAL TABLE words USING fts5(text, content='chunk', content_rowid='id',"
        " tokenize='porter')"
    )
    with connection:
        connection.executemany("INSERT INTO chunk VALUES (?, ?, ?)", _owned(texts))
        connection.execute("INSERT INTO words(words) VALUES ('rebuild')")

    def search(query: str) -> Any:
        words = ["".join(filter(str.isalnum, word)) for word in query.split()]
        match = " OR ".join(f'"{word}"' for word in words if word)
        return connection.execute(
            "SELECT chunk.id, chunk.text FROM words JOIN chunk ON chunk.id = words.rowid "
            "WHERE words MATCH ? AND chunk.owner = 'reader' ORDER BY bm25(words) LIMIT 10",
            [match],
        ).fetchall()

    return {"bare": search}


def bare_postgresql_search(texts: list[str]) -> Any:
    """Return one ts_rank() query joined to the scope, over all texts, on two bare tables.

    One has the index that the bare ingest builds, on the expression; one stores the tsvector as well.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bare_search (id bigint PRIMARY KEY, owner text, text text)")
        with cursor.copy("COPY bare_search FROM STDIN") as copy:
            for row in _owned(texts):
                copy.write_row(row)
        cursor.execute(
            "ALTER TABLE bare_search ADD words tsvector "
            "GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, text)) STORED"
        )
        for expression in ("(words)", "(to_tsvector('simple'::regconfig, text))", None):
            method = f"USING gin {expression}" if expression else "(owner)"
            cursor.execute(f"CREATE INDEX ON bare_search {method}")
        cursor.execute("VACUUM ANALYZE bare_search")

    def over(words: str) -> Any:
        def search(query: str) -> Any:
            asked = ["".join(filter(str.isalnum, word)).lower() for word in query.split()]
            match = " | ".join(f"'{word}'" for word in asked if word)
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT id, text FROM bare_search WHERE {words} @@ %s::tsquery "
                    f"AND owner = 'reader' ORDER BY ts_rank({words}, %s::tsquery) DESC LIMIT 10",
                    [match, match],
                )
                return cursor.fetchall()

        return search

    return {
        "bare": over("to_tsvector('simple'::regconfig, text)"),
        "bare, tsvector stored": over("words"),
    }


# memory


def memory(vendor: str) -> None:
    """Say how far 100,000 passages, in calls of at most 10 MB, lift this process above idle."""
    from prism_graph import Memory, Scope

    fill("default", Scope("warm"), iter(corpus.passages()), 100)
    Memory(Scope("warm")).search("warm up")
    texts = corpus.endless()
    idle = _peak()
    fill("default", Scope("memory"), texts, 100_000, per_call=20_000)
    measuring.table(
        f"Peak memory, {vendor}, MB",
        ("idle", "after 100k chunks", "over idle"),
        [(idle, _peak(), _peak() - idle)],
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PARTS = {"memory": memory, "ingest": ingest, "flat": flat, "bare": bare}

if __name__ == "__main__":
    measuring.run(PARTS)
