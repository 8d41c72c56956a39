"""Where the doctor looks, and how it writes: scope by scope, under each scope's lock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import OuterRef

from prism_graph import receipts
from prism_graph.errors import InvalidScope
from prism_graph.receipts import Order
from prism_graph.records import ErasureReport
from prism_graph.repair import Progress, quietly
from prism_graph.scope import COLUMNS, Scope
from prism_graph.transactions import stamp, write_block
from prism_graph.writing import BATCH

WHY: Final = "look for rows that contradict each other, and put them right"
DOCTOR: Final = "prism_graph_doctor"

# Puts right the rows of one scope, given its next recorded instant and the rows as tuples.
Act = Callable[[Scope, datetime, list[Any]], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and one tenant of it or all."""

    using: str
    tenant: str | None = None
    progress: Progress = quietly

    def every(self, model: Any) -> Any:
        """Return all rows of a model, for what may stand anywhere."""
        return model.objects.db_manager(self.using).system(WHY).order_by()

    def rows(self, model: Any) -> Any:
        """Return the rows of a model that are looked at."""
        rows = self.every(model)
        return rows if self.tenant is None else rows.filter(tenant=self.tenant)

    def at(self, model: Any, scope: Scope) -> Any:
        """Return the rows of exactly one scope."""
        return model.objects.db_manager(self.using).at(scope)

    def by_scope(self, wrong: Any, act: Act, *names: str) -> int:
        """Act on what is wrong in each scope, in a transaction that holds its lock; count the rows.

        What is still wrong once the lock is held is passed to `act` as tuples of the primary key and the
        named fields. Rows whose columns are no scope are left.
        """
        count = 0
        for scope, keys in _pages(wrong):
            with write_block(self.using):
                at = stamp(scope, self.using)
                still = list(wrong.filter(pk__in=keys).values_list("pk", *names))
                if still:
                    act(scope, at, still)
                    count += len(still)
        return count

    def receipt(
        self, scope: Scope, at: datetime, check: str, here: ErasureReport, below: ErasureReport
    ) -> None:
        """Leave proof of what a fix erased."""
        order = Order(DOCTOR, check)
        receipts.write(scope, self.using, at, order, "doctor", check, here=here, below=below)


def _pages(wrong: Any) -> Iterator[tuple[Scope, Sequence[Any]]]:
    """Yield scopes with primary keys, page by page in the order of the keys."""
    every, last = wrong.order_by("pk").values_list("pk", *COLUMNS), None
    while page := list((every if last is None else every.filter(pk__gt=last))[:BATCH]):
        last, places = page[-1][0], defaultdict(list)
        for key, *parts in page:
            with suppress(InvalidScope):
                places[Scope.from_columns(*parts)].append(key)
        yield from sorted(places.items(), key=lambda place: place[0].parts)


def same(*names: str, **pairs: str) -> dict[str, OuterRef]:
    """Return lookups for the outer row's scope, and for fields that equal the outer row's."""
    columns = {name: name for name in (*COLUMNS, *names)}
    return {name: OuterRef(theirs) for name, theirs in {**columns, **pairs}.items()}
