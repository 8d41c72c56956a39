"""GIN over a tsvector that is computed from the row, so that no trigger is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Final

import numpy as np
from django.db import models, transaction
from django.db.models import Aggregate, BinaryField, F
from django.db.models.expressions import RawSQL

from prism_graph.fulltext.base import (
    KIND_SHIFT,
    LENGTH_LIMIT,
    ORDINAL_LIMIT,
    ORDINAL_SHIFT,
    SOURCE_MASK,
    SOURCE_SHIFT,
    TRUST_SHIFT,
    Among,
    FullText,
    Numbers,
)
from prism_graph.scope import Scope

# As prism_graph.indexing computes it.
TERMS_OF: Final = "md5(heading || chr(31) || speaker || chr(31) || text)"
# A row changed without its analysis counts as no words: terms_of no longer names it.
WORDS: Final = (
    f"(CASE WHEN terms_of = {TERMS_OF} AND terms <> '' THEN "
    "array_to_tsvector(string_to_array(token || replace(terms, ' ', ' ' || token), ' ')) "
    "ELSE ''::tsvector END)"
)
# No limit on its pending list: one of the index's own would outrank those below.
GIN: Final = f"CREATE INDEX $fulltext ON $chunktext USING gin ({WORDS}) WITH (fastupdate = on)"
# Every search reads the whole pending list: 512 kB add a third to its time, 2 MB double it. A large write
# merges with 2 MB in half the time, and leaves nothing.
PENDING: Final = "512kB"
PENDING_OF_LARGE: Final = "2MB"
LARGE: Final = 200
_MERGEABLE: Final = (
    "FROM pg_class WHERE oid = to_regclass(%s) AND pg_has_role(relowner, 'USAGE') AND %s"
)
LOAD: Final = (
    "SELECT current_setting('gin_pending_list_limit'), set_config('gin_pending_list_limit', "
    f"CASE WHEN EXISTS (SELECT {_MERGEABLE}) THEN '{PENDING_OF_LARGE}' ELSE '{PENDING}' END, true)"
)
LOADED: Final = (
    "SELECT set_config('gin_pending_list_limit', %s, true), "
    f"(SELECT gin_clean_pending_list(oid::regclass) {_MERGEABLE})"
)
# pg_stats would show whole sentences, and digests that a guess confirms, to every role that may read the
# table, and after an erasure as well.
CONTENT: Final = {
    "$chunk": ("writer", "digest", "turn_digest"),
    "$chunktext": ("text", "heading", "speaker", "turn_id", "terms", "terms_of"),
    "$source": ("key", "key_digest", "uri", "title", "writer", "metadata"),
}
QUIET: Final = (
    *(
        f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0"
        for table, columns in CONTENT.items()
        for column in columns
    ),
    "ALTER INDEX $fulltext ALTER COLUMN 1 SET STATISTICS 0",
)
PACKED: Final = (
    f"((source_number & {SOURCE_MASK}) << {SOURCE_SHIFT})"
    f" | (least(ordinal, {ORDINAL_LIMIT})::bigint << {ORDINAL_SHIFT})"
    f" | (trust::bigint << {TRUST_SHIFT}) | (kind::bigint << {KIND_SHIFT})"
    f" | least(length, {LENGTH_LIMIT})"
)
LEVEL: Final = (
    f"SELECT %s, string_agg(int8send(number), ''), string_agg(int8send({PACKED}), '') FROM $chunk "
    "WHERE tenant = %s AND owner = %s AND agent = %s AND thread = %s AND ordinal >= 0 AND {when}"
)
ARRAY: Final = "%s::bigint[]"
POSTINGS: Final = (
    "SELECT (SELECT string_agg(int8send(number), '') FROM $chunktext "
    f"WHERE tenant = %s AND {WORDS} @@ wanted.word::tsquery) "
    "FROM unnest(%s::text[]) WITH ORDINALITY AS wanted(word, place) ORDER BY place"
)
STALE: Final = f"SELECT count(*) FROM $chunktext WHERE terms_of <> {TERMS_OF}"
# Without statistics the planner takes a scan of every text for cheap, and compiles it as well.
PLANNER: Final = "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)"


class Members(Among):
    """Numbers in one array."""

    operator = "= ANY"


class PostgreSQLFullText(FullText):
    """The index on PostgreSQL 15 or newer."""

    level_sql = LEVEL

    @staticmethod
    def listed(column: str) -> Aggregate:
        """Write each in eight bytes."""
        return Aggregate(
            F(column),
            template="string_agg(int8send(%(expressions)s), '')",
            output_field=BinaryField(),
        )

    @staticmethod
    def numbers(raw: Any) -> Numbers:
        """Read what string_agg(int8send()) wrote."""
        return np.frombuffer(bytes(raw or b""), dtype=">i8").astype(np.int64)

    def missing(self) -> list[str]:
        """Return the index if it is absent, not valid, or on another expression."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_get_expr(indexprs, indrelid) FROM pg_index "
                "WHERE indexrelid = to_regclass(%s) AND indrelid = to_regclass(%s) AND indisvalid",
                [self.named("$fulltext"), self.named("$chunktext")],
            )
            row = cursor.fetchone()
        return [] if row and _bare(row[0]) == _bare(WORDS) else [self.tables.index]

    def wanted_sql(self) -> list[str]:
        """Return CREATE INDEX, and what keeps content out of the statistics."""
        return [self.named(statement) for statement in (GIN, *QUIET)]

    def install_sql(self) -> list[str]:
        """Return the statements that create the index and silence the statistics."""
        if not self.missing():
            return []
        return [*self.remove_sql(), *self.wanted_sql()]

    def remove_sql(self) -> list[str]:
        """Return the statement that drops the index."""
        return [self.named("DROP INDEX IF EXISTS $fulltext")]

    def rebuild(self) -> None:
        """Build the index anew."""
        with self.connection.cursor() as cursor:
            cursor.execute(self.named("REINDEX INDEX $fulltext"))

    def size(self) -> int | None:
        """Ask the server."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_total_relation_size(to_regclass(%s))", [self.named("$fulltext")]
            )
            return cursor.fetchone()[0]  # type: ignore[no-any-return]

    @contextmanager
    def loading(self, count: int) -> Iterator[None]:
        """Bound the pending list meanwhile; merge it after a large write, where this role may."""
        large = count >= LARGE
        with self.connection.cursor() as cursor:
            cursor.execute(LOAD, [self.named("$fulltext"), large])
            callers = cursor.fetchone()[0]
            yield
            # After a failure the savepoint around the write gives the caller's setting back.
            cursor.execute(LOADED, [callers, self.named("$fulltext"), large])

    def drift(self) -> Iterator[str]:
        """Count texts that were changed without their analysis; the index follows the row itself."""
        with self.connection.cursor() as cursor:
            cursor.execute(self.named(STALE))
            stale = cursor.fetchone()[0]
        if stale:
            yield f"{stale} passages were changed without being analysed again"

    def reserve(self, count: int) -> list[int]:
        """Return the next values of the identity column."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT nextval(sequence) FROM generate_series(1, %s), "
                "CAST(pg_get_serial_sequence(%s, 'number') AS regclass) AS sequence",
                [count, self.named("$chunktext")],
            )
            return sorted(row[0] for row in cursor.fetchall())

    def insert(
        self, model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Stream the rows with COPY."""
        quote = self.connection.ops.quote_name
        columns = ", ".join(quote(member.column) for member in self.fields_of(model, fields))
        statement = f"COPY {quote(model._meta.db_table)} ({columns}) FROM STDIN"
        source = iter(rows)
        few = list(islice(source, LARGE))
        # COPY goes past Django's cursor, and so past what makes the driver's errors Django's own.
        with self.connection.wrap_database_errors, self.connection.cursor() as cursor:
            writer = _writer(cursor.cursor, len(few))
            with cursor.cursor.copy(statement, writer=writer) as copy:
                for row in chain(few, source):
                    copy.write_row(row)

    def among(self, column: str, numbers: Iterable[int]) -> Among:
        """Bind the numbers as one array, which an index can be asked for."""
        return Members(F(column), RawSQL(ARRAY, [list(numbers)]))  # noqa: S611

    @staticmethod
    def nested_join(table: str, alias: str, on: str) -> str:
        """Join sideways; OFFSET 0 keeps the planner from turning it round."""
        return f"CROSS JOIN LATERAL (SELECT * FROM {table} {alias} WHERE {on} OFFSET 0) {alias} "

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Forbid sequential scans until the block ends, in the caller's transaction as well."""
        using = self.connection.alias
        with transaction.atomic(using=using):
            with self.connection.cursor() as cursor:
                cursor.execute(PLANNER)
            yield
            # Nothing was written; rolling back to the savepoint gives the caller's settings back.
            transaction.set_rollback(True, using=using)

    def postings(self, scopes: Sequence[Scope], words: Sequence[str]) -> list[Numbers]:
        """Match every word under the scopes' tokens in one statement."""
        tokens = [scope.token for scope in scopes]
        queries = [" | ".join(_quoted(token, word) for token in tokens) for word in words]
        with self.connection.cursor() as cursor:
            cursor.execute(self.named(POSTINGS), [scopes[0].tenant, queries])
            return [self.numbers(row[0]) for row in cursor.fetchall()]


def _writer(cursor: Any, count: int) -> Any:
    """Return what sends rows: of many, through a thread, so that rows are made while words are merged."""
    # The driver is there where PostgreSQL is.
    from psycopg.copy import LibpqWriter, QueuedLibpqWriter

    return (QueuedLibpqWriter if count >= LARGE else LibpqWriter)(cursor)


def _bare(expression: str) -> str:
    """Return an expression without the casts, parentheses and spaces that PostgreSQL adds."""
    return re.sub(r"::\w+|[\s()]", "", expression)


def _quoted(token: str, word: str) -> str:
    prefix = word.endswith("*")
    literal = (token + word.removesuffix("*")).replace("\\", "\\\\").replace("'", "''")
    return f"'{literal}'{':*' if prefix else ''}"
