"""FTS5: contentless, rowids only, kept by triggers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

import numpy as np
from django.db import models
from django.db.models import Aggregate, F, TextField
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

# SQLite takes at most 500 SELECTs in one compound statement.
WORDS_PER_STATEMENT: Final = 200
# 22 columns at most: far below the 32,766 parameters that SQLite allows.
ROWS_PER_STATEMENT: Final = 1000


def _words(row: str) -> str:
    return f"{row}.token || replace({row}.terms, ' ', ' ' || {row}.token)"


TABLE: Final = (
    "CREATE VIRTUAL TABLE $fulltext USING fts5("
    "words, content='', columnsize=0, detail='none', tokenize='ascii')"
)
_ADD: Final = (
    f"INSERT INTO $fulltext(rowid, words) SELECT NEW.number, {_words('NEW')} WHERE NEW.terms <> '';"
)
_DROP: Final = (
    f"INSERT INTO $fulltext($fulltext, rowid, words) "
    f"SELECT 'delete', OLD.number, {_words('OLD')} WHERE OLD.terms <> '';"
)
TRIGGERS: Final = {
    "insert": f"AFTER INSERT ON $chunktext BEGIN {_ADD} END",
    "delete": f"AFTER DELETE ON $chunktext BEGIN {_DROP} END",
    "update": f"AFTER UPDATE OF number, token, terms ON $chunktext BEGIN {_DROP} {_ADD} END",
    # What changes without its analysis leaves the index: the update trigger sees the empty terms.
    "text": (
        "AFTER UPDATE OF text, heading, speaker ON $chunktext WHEN (NEW.text, NEW.heading, NEW.speaker) "
        "IS NOT (OLD.text, OLD.heading, OLD.speaker) "
        "AND NEW.terms_of IS OLD.terms_of AND NEW.terms <> '' "
        "BEGIN UPDATE $chunktext SET terms = '' WHERE number = NEW.number; END"
    ),
}
PACKED: Final = (
    f"((source_number & {SOURCE_MASK}) << {SOURCE_SHIFT})"
    f" | (min(ordinal, {ORDINAL_LIMIT}) << {ORDINAL_SHIFT})"
    f" | (trust << {TRUST_SHIFT}) | (kind << {KIND_SHIFT}) | min(length, {LENGTH_LIMIT})"
)
LEVEL: Final = (
    f"SELECT %s, group_concat(number), group_concat({PACKED}) FROM $chunk "
    "WHERE tenant = %s AND owner = %s AND agent = %s AND thread = %s AND ordinal >= 0 AND {when}"
)
MEMBERS: Final = "SELECT value FROM json_each(%s)"
POSTINGS: Final = "SELECT %s, group_concat(rowid) FROM $fulltext WHERE $fulltext MATCH %s"


EMPTY: Final = "INSERT INTO $fulltext($fulltext) VALUES ('delete-all')"
FILL: Final = (
    f"INSERT INTO $fulltext(rowid, words) SELECT number, {_words('$chunktext')} FROM $chunktext "
    "WHERE terms <> '' ORDER BY number"
)
TERMS: Final = "SELECT number, token, terms FROM $chunktext WHERE terms <> ''"
LIST: Final = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.$fulltext_words "
    "USING fts5vocab('main', $fulltext, 'instance')"
)
LISTED: Final = "SELECT doc, term FROM temp.$fulltext_words"


class Members(Among):
    """Numbers in one JSON array."""

    operator = "IN"


class SQLiteFullText(FullText):
    """The index on SQLite 3.40 or newer."""

    level_sql = LEVEL

    @staticmethod
    def listed(column: str) -> Aggregate:
        """Write them with commas."""
        return Aggregate(F(column), function="group_concat", output_field=TextField())

    @staticmethod
    def numbers(raw: Any) -> Numbers:
        """Read what group_concat() wrote."""
        return np.fromstring(raw or "", dtype=np.int64, sep=",")

    def _existing(self) -> dict[str, str]:
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, sql FROM sqlite_master WHERE name LIKE %s AND type IN ('table', 'trigger')",
                [f"{self.tables.index}%"],
            )
            return {name: _normal(text or "") for name, text in cursor.fetchall()}

    def wanted_sql(self) -> list[str]:
        """Return CREATE for the table and its triggers."""
        return list(self._wanted().values())

    def _wanted(self) -> dict[str, str]:
        triggers = {
            self._trigger(part): self.named(f"CREATE TRIGGER $fulltext_{part} {body}")
            for part, body in TRIGGERS.items()
        }
        return {self.tables.index: self.named(TABLE), **triggers}

    def _trigger(self, part: str) -> str:
        return self.tables.names[f"fulltext_{part}"]

    def missing(self) -> list[str]:
        """Return the table and triggers that are absent or differ from what is wanted."""
        existing = self._existing()
        return [
            name for name, text in self._wanted().items() if existing.get(name) != _normal(text)
        ]

    def install_sql(self) -> list[str]:
        """Return the statements that create what is missing; a part that differs is dropped first."""
        existing, statements = self._existing(), []
        quote = self.connection.ops.quote_name
        for name in self.missing():
            if name in existing:
                kind = "TABLE" if name == self.tables.index else "TRIGGER"
                statements.append(f"DROP {kind} {quote(name)}")
            statements.append(self._wanted()[name])
        return statements

    def remove_sql(self) -> list[str]:
        """Return the statements that drop triggers and table."""
        return [
            *(self.named(f"DROP TRIGGER IF EXISTS $fulltext_{part}") for part in TRIGGERS),
            self.named("DROP TABLE IF EXISTS $fulltext"),
        ]

    def rebuild(self) -> None:
        """Empty the index and fill it from the rows; 'rebuild' itself needs stored content."""
        with self.connection.cursor() as cursor:
            cursor.execute(self.named(EMPTY))
            cursor.execute(self.named(FILL))

    def size(self) -> int | None:
        """Add up FTS5's blocks; the table of sizes, dbstat, is not in every build."""
        if self.tables.index not in self._existing():
            return None
        with self.connection.cursor() as cursor:
            cursor.execute(self.named("SELECT sum(length(block)) FROM $fulltext_data"))
            return int(cursor.fetchone()[0])

    def loading(self, count: int) -> AbstractContextManager[None]:
        """Do nothing: FTS5 merges a share with every write."""
        return nullcontext()

    def drift(self) -> Iterator[str]:
        """Compare the words of each row with the words indexed for its rowid."""
        wanted, found = _Tally(), _Tally()
        with self.connection.cursor() as cursor:
            cursor.execute(self.named(TERMS))
            for number, token, terms in _batches(cursor):
                for term in terms.split(" "):
                    wanted.add(number, token + term)
            cursor.execute(self.named(LIST))
            cursor.execute(self.named(LISTED))
            for number, term in _batches(cursor):
                found.add(number, term)
            cursor.execute(self.named("DROP TABLE temp.$fulltext_words"))
        stale = sum(1 for number in found.sums if number not in wanted.sums)
        wrong = sum(1 for number, total in wanted.sums.items() if found.sums.get(number) != total)
        if stale:
            yield f"{stale} indexed passages have no row"
        if wrong:
            yield f"{wrong} passages are indexed with other words than theirs, or not at all"

    def reserve(self, count: int) -> list[int]:
        """Return numbers above every one ever used; the caller's write lock keeps them free."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = %s", [self.tables.names["chunktext"]]
            )
            row = cursor.fetchone()
        first = (row[0] if row else 0) + 1
        return list(range(first, first + count))

    def insert(
        self, model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Insert many rows with each run of one prepared statement, and the rest with another.

        FTS5 writes out what it has gathered before every statement that fires a trigger, so a row a
        statement would cost five times as much.
        """
        quote = self.connection.ops.quote_name
        columns = [quote(member.column) for member in self.fields_of(model, fields)]
        insert = f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(columns)}) VALUES "
        row = f"({', '.join(['%s'] * len(columns))})"
        source = iter(rows)
        batch = list(islice(source, ROWS_PER_STATEMENT))

        def full() -> Iterator[list[Any]]:
            nonlocal batch
            while len(batch) == ROWS_PER_STATEMENT:
                yield [value for values in batch for value in values]
                batch = list(islice(source, ROWS_PER_STATEMENT))

        with self.connection.cursor() as cursor:
            if len(batch) == ROWS_PER_STATEMENT:
                cursor.executemany(insert + ", ".join([row] * ROWS_PER_STATEMENT), full())
            if batch:
                values = [value for each in batch for value in each]
                cursor.execute(insert + ", ".join([row] * len(batch)), values)

    def among(self, column: str, numbers: Iterable[int]) -> Among:
        """Spell the numbers as one JSON array."""
        return Members(F(column), RawSQL(MEMBERS, [json.dumps(list(numbers))]))  # noqa: S611

    @staticmethod
    def nested_join(table: str, alias: str, on: str) -> str:
        """Join: SQLite knows no other way, and CROSS keeps the order."""
        return f"CROSS JOIN {table} {alias} ON {on} "

    def reading(self) -> AbstractContextManager[None]:
        """Do nothing: SQLite's planner keeps to the indexes."""
        return nullcontext()

    def postings(self, scopes: Sequence[Scope], words: Sequence[str]) -> list[Numbers]:
        """Match each word under the scopes' tokens, many words to a statement."""
        tokens = [scope.token for scope in scopes]
        found: list[Numbers] = []
        posting = self.named(POSTINGS)
        with self.connection.cursor() as cursor:
            for start in range(0, len(words), WORDS_PER_STATEMENT):
                batch = words[start : start + WORDS_PER_STATEMENT]
                parameters: list[Any] = []
                for place, word in enumerate(batch):
                    parameters += [place, " OR ".join(_quoted(token, word) for token in tokens)]
                cursor.execute(" UNION ALL ".join([posting] * len(batch)), parameters)
                lists = dict(cursor.fetchall())
                found += [self.numbers(lists[place]) for place in range(len(batch))]
        return found


class _Tally:
    """Sum a digest of each word by number: equal sums mean equal sets, in little memory."""

    def __init__(self) -> None:
        self.sums: dict[int, int] = {}

    def add(self, number: int, word: str) -> None:
        digest = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
        self.sums[number] = (self.sums.get(number, 0) + digest) & 0xFFFFFFFFFFFFFFFF


def _batches(cursor: Any) -> Iterator[Any]:
    while rows := cursor.fetchmany(2000):
        yield from rows


def _normal(statement: str) -> str:
    return re.sub(r"\s+", " ", statement.replace('"', "")).strip()


def _quoted(token: str, word: str) -> str:
    prefix = word.endswith("*")
    literal = (token + word.removesuffix("*")).replace('"', '""')
    return f'"{literal}"{"*" if prefix else ""}'
