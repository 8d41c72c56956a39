"""SQL of the tests' own: what a person at a database shell could do.

It goes to the driver's cursor, past Django's wrappers, so that guards on this package's statements
see this package's statements only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections

from prism_graph.tables import current, named

MODELS = (
    *("source", "chunk", "chunktext", "derivation", "scopeclock", "fact", "factversion"),
    *("standing", "citation", "receipt", "vectorpartition", "embedding", "embeddingfailure"),
)
TABLES = tuple(current().names[model] for model in MODELS)
INDEX = current().index
# On PostgreSQL only, where prism_graph.pgvector is installed.
PGVECTOR = "prism_graph_pgvector_chunkvector"
# Of sqlite-vec: what follows is the width.
VECTORS = current().wide(0).names["vectors"].removesuffix("0")


def sql(statement: str, *parameters: Any, using: str = "default") -> list[tuple[Any, ...]]:
    """Run a statement and return its rows; `$chunk` stands for the table of Chunk."""
    statement = named(statement)
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
        table: sorted(map(repr, sql(f'SELECT * FROM "{table}"', using=using))) for table in tables
    }


def vocabulary(using: str = "default") -> set[str]:
    """Return every word that the database can be asked for: of the index, and of its statistics."""
    if connections[using].vendor == "sqlite":
        create = "CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', $fulltext, {})"
        found = set()
        for kind in ("row", "instance"):
            sql(create.format(kind), using=using)
            found |= {term for (term,) in sql("SELECT term FROM temp.words", using=using)}
            sql("DROP TABLE temp.words", using=using)
        return found
    from prism_graph.fulltext.postgresql import WORDS

    query = named(f"SELECT {WORDS} FROM $chunktext")
    words = {word for (word,) in sql("SELECT word FROM ts_stat(%s)", query, using=using)}
    sql("ANALYZE", using=using)
    statistics = sql(
        "SELECT coalesce(most_common_vals::text, '') || coalesce(histogram_bounds::text, '') "
        "|| coalesce(most_common_elems::text, '') FROM pg_stats WHERE tablename = ANY(%s) OR tablename = %s",
        [*TABLES],
        INDEX,
        using=using,
    )
    return words | {text for (text,) in statistics}
