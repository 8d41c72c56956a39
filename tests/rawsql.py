"""SQL of the tests' own: what a person at a database shell could do.

It goes to the driver's cursor, past Django's wrappers, so that guards on this package's statements
see this package's statements only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections

TABLES = (
    "prism_graph_source",
    "prism_graph_chunk",
    "prism_graph_chunktext",
    "prism_graph_derivation",
    "prism_graph_scopeclock",
    "prism_graph_fact",
    "prism_graph_factversion",
    "prism_graph_standing",
    "prism_graph_citation",
    "prism_graph_receipt",
)


def sql(statement: str, *parameters: Any, using: str = "default") -> list[tuple[Any, ...]]:
    """Run a statement and return its rows."""
    with connections[using].cursor() as cursor:
        raw = cursor.cursor
        if parameters:
            raw.execute(statement, parameters)
        else:
            raw.execute(statement)
        return list(raw.fetchall()) if raw.description else []


def stored(using: str = "default", tables: Sequence[str] = TABLES) -> dict[str, list[Any]]:
    """Return every row of the package's tables, as the database holds them."""
    return {
        table: sorted(map(repr, sql(f"SELECT * FROM {table}", using=using))) for table in tables
    }


def vocabulary(using: str = "default") -> set[str]:
    """Return every word that the database can be asked for: of the index, and of its statistics."""
    if connections[using].vendor == "sqlite":
        create = (
            "CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'prism_graph_fulltext', {})"
        )
        found = set()
        for kind in ("row", "instance"):
            sql(create.format(kind), using=using)
            found |= {term for (term,) in sql("SELECT term FROM temp.words", using=using)}
            sql("DROP TABLE temp.words", using=using)
        return found
    from prism_graph.fulltext.postgresql import WORDS

    query = f"SELECT {WORDS} FROM prism_graph_chunktext"
    words = {word for (word,) in sql("SELECT word FROM ts_stat(%s)", query, using=using)}
    sql("ANALYZE", using=using)
    statistics = sql(
        "SELECT coalesce(most_common_vals::text, '') || coalesce(histogram_bounds::text, '') "
        "|| coalesce(most_common_elems::text, '') FROM pg_stats WHERE tablename LIKE 'prism_graph%'",
        using=using,
    )
    return words | {text for (text,) in statistics}
