"""What an engine does: install the index, read postings, and say what is wrong with either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from django.db import models
from django.db.models import Aggregate, Lookup
from numpy.typing import NDArray

from prism_graph.scope import Scope
from prism_graph.tables import Tables, current

# One integer for what ranking needs of a chunk: source 24 bits, ordinal 23, trust 3, kind 1, length 12.
SOURCE_SHIFT: Final = 39
ORDINAL_SHIFT: Final = 16
TRUST_SHIFT: Final = 13
KIND_SHIFT: Final = 12
LENGTH_LIMIT: Final = (1 << KIND_SHIFT) - 1
ORDINAL_LIMIT: Final = (1 << (SOURCE_SHIFT - ORDINAL_SHIFT)) - 1
SOURCE_MASK: Final = (1 << (63 - SOURCE_SHIFT)) - 1

Numbers = NDArray[np.int64]

# Django's classes take type arguments in the stubs only.
if TYPE_CHECKING:
    AnyLookup = Lookup[Any]
else:
    AnyLookup = Lookup


class Among(AnyLookup):
    """A column, an operator, and one parameter that holds all members.

    A lookup, because Django compares any other condition with 1 on SQLite, which no index serves.
    """

    operator: ClassVar[str]

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Return the condition."""
        column, parameters = self.process_lhs(compiler, connection)
        members, more = self.process_rhs(compiler, connection)
        return f"{column} {self.operator} {members}", (*parameters, *more)


LIVE: Final = "retired_at IS NULL"
LIVE_AT: Final = "recorded_at <= %s AND (retired_at IS NULL OR retired_at > %s)"
SINCE: Final = "coalesce(occurred_at, recorded_at) >= %s"
UNTIL: Final = "coalesce(occurred_at, recorded_at) < %s"


@dataclass(frozen=True, slots=True)
class Level:
    """The visible chunks of one scope: its place in the chain, their numbers, what `packed` says of each."""

    depth: int
    numbers: Numbers
    packed: Numbers


class FullText(ABC):
    """Index words that each carry their scope's token, and read them for the scopes of one reader."""

    # One scope's part of the directory; {when} says which rows are live.
    level_sql: ClassVar[str]

    def __init__(self, connection: Any, tables: Tables | None = None) -> None:
        self.connection = connection
        self.tables = tables or current()
        self.named = self.tables.fill

    # the index itself

    @abstractmethod
    def wanted_sql(self) -> list[str]:
        """Return the statements that create the index where nothing of it exists."""

    @abstractmethod
    def install_sql(self) -> list[str]:
        """Return the statements that create whatever of the index is missing."""

    @abstractmethod
    def remove_sql(self) -> list[str]:
        """Return the statements that drop the index."""

    @abstractmethod
    def missing(self) -> list[str]:
        """Return the names of the index's parts that the database lacks or has otherwise."""

    @abstractmethod
    def drift(self) -> Iterator[str]:
        """Yield a sentence for each way in which the index differs from the rows."""

    @abstractmethod
    def rebuild(self) -> None:
        """Empty the index and fill it from the rows."""

    @abstractmethod
    def size(self) -> int | None:
        """Return how many bytes the index takes; None if there is none."""

    # writing rows

    @abstractmethod
    def loading(self, count: int) -> AbstractContextManager[None]:
        """Index that many texts in the block, and leave the next reader little to merge."""

    @abstractmethod
    def reserve(self, count: int) -> list[int]:
        """Return that many unused numbers for texts, ascending. Call it in a writing transaction."""

    @abstractmethod
    def insert(
        self, model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Insert tuples of the named fields, all rows in one command."""

    # reading

    @abstractmethod
    def among(self, column: str, numbers: Iterable[int]) -> Among:
        """Return the condition that a column is one of these numbers, in one parameter."""

    @staticmethod
    @abstractmethod
    def nested_join(table: str, alias: str, on: str) -> str:
        """Return a join to the rows for which `on` holds, looked up by index for each row before it.

        `table` is a name or what stands for one in a template.

        Digests are kept out of the statistics, so that PostgreSQL would rather read the whole table.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Keep the planner on the index while the block runs."""

    def directory(
        self,
        scopes: Sequence[Scope],
        known_at: datetime | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Level]:
        """Return what is live in each scope, now or at an instant, in one statement on one index.

        `since` and `until` keep what occurred, or else was recorded, in [since, until).
        """
        bounds = [
            (LIVE, []) if known_at is None else (LIVE_AT, [known_at, known_at]),
            *([(SINCE, [since])] if since is not None else []),
            *([(UNTIL, [until])] if until is not None else []),
        ]
        adapt = self.connection.ops.adapt_datetimefield_value
        times = [adapt(instant) for _, instants in bounds for instant in instants]
        level = self.named(self.level_sql).format(
            when=" AND ".join(condition for condition, _ in bounds)
        )
        parameters: list[Any] = []
        for depth, scope in enumerate(scopes):
            parameters += [depth, *map(str, scope.parts), *times]
        with self.connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join([level] * len(scopes)), parameters)
            return [
                Level(depth, self.numbers(numbers), self.numbers(packed))
                for depth, numbers, packed in cursor.fetchall()
            ]

    @staticmethod
    @abstractmethod
    def listed(column: str) -> Aggregate:
        """Return the aggregate of all values of a column, which `numbers` reads."""

    def numbers_of(self, rows: Any) -> Numbers:
        """Return the `number` of each of these rows, ascending, in one value of one statement."""
        raw = rows.order_by().aggregate(found=self.listed("number"))["found"]
        return np.sort(self.numbers(raw))

    @staticmethod
    @abstractmethod
    def numbers(raw: Any) -> Numbers:
        """Return the integers that one aggregated column holds; none for NULL."""

    @abstractmethod
    def postings(self, scopes: Sequence[Scope], words: Sequence[str]) -> list[Numbers]:
        """Return, for each word, the numbers of texts in these scopes that hold it.

        A word ending in `*` stands for all that begin with it.
        """

    def fields_of(self, model: type[models.Model], names: Sequence[str]) -> list[Any]:
        """Return the model's fields of these names."""
        return [model._meta.get_field(name) for name in names]
