"""What the table of vectors has besides its model: a foreign key, silent statistics, an index per width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from prism_graph.tables import named

TABLE: Final = "prism_graph_pgvector_chunkvector"
KEY: Final = "prism_graph_pgvector_chunkvector_chunk"
# The first that goes on looking until a filter has let enough through.
OLDEST: Final = (0, 8)
# As far as HNSW indexes float32, and float16.
MAX_WIDTH: Final = 2000
MAX_HALF_WIDTH: Final = 4000

EXTENSION: Final = "CREATE EXTENSION IF NOT EXISTS vector"
VERSIONS: Final = (
    "SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
    "(SELECT default_version FROM pg_available_extensions WHERE name = 'vector')"
)
EXISTS: Final = "SELECT to_regclass(%s) IS NOT NULL"
KEYED: Final = (
    "SELECT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = %s AND conrelid = to_regclass(%s) "
    "AND confrelid = to_regclass(%s))"
)
INDEXED: Final = (
    "SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) "
    "AND indrelid = to_regclass(%s) AND indisvalid)"
)
UNKEYED: Final = f"ALTER TABLE {TABLE} DROP CONSTRAINT IF EXISTS {KEY}"
ADD_KEY: Final = (
    f"ALTER TABLE {TABLE} ADD CONSTRAINT {KEY} FOREIGN KEY (tenant, owner, agent, thread, number) "
    "REFERENCES $chunk (tenant, owner, agent, thread, number) ON DELETE CASCADE"
)
# pg_stats would show whole vectors, which tell of the texts that they were made of.
QUIET: Final = f"ALTER TABLE {TABLE} ALTER COLUMN embedding SET STATISTICS 0"
QUIET_INDEX: Final = "ALTER INDEX {index} ALTER COLUMN 1 SET STATISTICS 0"
DROP_INDEX: Final = "DROP INDEX IF EXISTS {index}"
ADD_INDEX: Final = (
    f"CREATE INDEX {{index}} ON {TABLE} USING hnsw "
    "((embedding::{kind}({width})) {kind}_cosine_ops) WHERE vector_dims(embedding) = {width}"
)


def kind_of(width: int) -> str:
    """Return the type that vectors of a width are indexed as; "" where none can be."""
    if width <= MAX_WIDTH:
        return "vector"
    return "halfvec" if width <= MAX_HALF_WIDTH else ""


def index_of(width: int) -> str:
    """Return the name of the index on the vectors of a width."""
    return f"prism_graph_pgvector_hnsw_{width:d}"


def exists(connection: Any) -> bool:
    """Say whether the database has the table."""
    return bool(_one(connection, EXISTS, TABLE))


def versions(connection: Any) -> tuple[str | None, str | None]:
    """Return the version of the extension in this database, and the one that the server can install."""
    with connection.cursor() as cursor:
        cursor.execute(VERSIONS)
        return cursor.fetchone()  # type: ignore[no-any-return]


def missing_key(connection: Any) -> list[str]:
    """Return the statements that tie vectors to the chunks in use, where there are any and it is not done."""
    chunks = named("$chunk")
    if not _one(connection, EXISTS, chunks) or _one(connection, KEYED, KEY, TABLE, chunks):
        return []
    return [UNKEYED, named(ADD_KEY)]


def missing_index(connection: Any, width: int) -> list[str]:
    """Return the statements that create the index on a width, if it is not there or not valid."""
    kind, index = kind_of(width), index_of(width)
    if not kind or _one(connection, INDEXED, index, TABLE):
        return []
    return [
        DROP_INDEX.format(index=index),
        ADD_INDEX.format(index=index, kind=kind, width=int(width)),
        QUIET_INDEX.format(index=index),
    ]


def missing(connection: Any, width: int) -> Iterator[str]:
    """Yield the statements for all that is missing for vectors of a width."""
    yield from missing_key(connection)
    yield from missing_index(connection, width)


def _one(connection: Any, statement: str, *parameters: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]
