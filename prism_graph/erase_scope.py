"""Erasing a scope with every scope below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from django.db import connections
from django.db.models import Exists, OuterRef

from prism_graph import receipts, spaces
from prism_graph.erase import EMPTY
from prism_graph.errors import InvalidInput
from prism_graph.models import (
    MODELS,
    Chunk,
    Citation,
    Embedding,
    Fact,
    FactVersion,
    Receipt,
    ScopeClock,
    Source,
    VectorPartition,
)
from prism_graph.receipts import Erasure, Order
from prism_graph.records import ErasureReport
from prism_graph.scope import COLUMNS, Scope
from prism_graph.signals import announce, memory_erased
from prism_graph.transactions import stamp, write_block
from prism_graph.writing import batches

BELOW: Final = "erase every scope below one that is erased"
# What is counted, by table.
COUNTED: Final[dict[Any, str]] = {
    Chunk: "chunks",
    Embedding: "vectors",
    Citation: "evidence_links",
    FactVersion: "facts_erased",
}


def erase_everything(scope: Scope, using: str, include_owners: object, order: Order) -> Erasure:
    """Erase a scope and every scope below it. See Memory.erase_everything."""
    if not scope.owner and include_owners is not True:
        raise InvalidInput(
            "This erases every owner of the tenant: pass include_owners=True if that is meant."
        )
    subtree = {name: part for name, part in scope.columns.items() if part}
    with write_block(using):
        if not any(_rows(using, model, subtree).exists() for model in _tables()):
            return Erasure.of_nothing()
        at = stamp(scope, using)
        clocks = _closed(using, subtree)
        own = clocks.pop(scope)
        spaces.forget_all(scope, using, _rows(using, VectorPartition, subtree))
        here, below = EMPTY, EMPTY
        for model in _tables():
            here += _delete(using, model, subtree, [own])
            below += _delete(using, model, subtree, list(clocks.values()))
        # Its own stays, so that nothing recorded later seems to be from before the receipt.
        for batch in batches(list(clocks.values())):
            _rows(using, ScopeClock, subtree).filter(id__in=batch)._raw_delete(using)
        announce(memory_erased, Source, scope, using)
        done = receipts.write(scope, using, at, order, "erase_everything", here=here, below=below)
        told = replace(
            here, chunks=here.chunks + below.chunks, vectors=here.vectors + below.vectors
        )
        return replace(done, told=told)


def _tables() -> Iterator[Any]:
    """Yield every table with content; those that refer to others come before them."""
    for model in reversed(MODELS):
        if model not in (Receipt, ScopeClock):
            yield model


def _rows(using: str, model: Any, subtree: dict[str, str]) -> Any:
    return model.objects.db_manager(using).system(BELOW).filter(**subtree)


def _closed(using: str, subtree: dict[str, str]) -> dict[Scope, str]:
    """Lock every scope that has anything, and its chunks; return the id of each scope's clock.

    Whoever was writing there, or citing one of the chunks, has committed and is seen, or waits and finds
    nothing. A scope that somebody writes to for the first time from here on is left alone.
    """
    clocks: dict[Scope, str] | None = None
    while clocks != (found := _clocks(using, subtree)):
        clocks = found
        _lock(_rows(using, Chunk, subtree))
    return clocks or found


def _clocks(using: str, subtree: dict[str, str]) -> dict[Scope, str]:
    # Rows that a project created by itself have no clock yet, nor has what a worker opened meanwhile.
    for model in (Source, Fact, VectorPartition):
        place = {name: OuterRef(name) for name in COLUMNS}
        timed = Exists(_rows(using, ScopeClock, subtree).filter(**place))
        rows = _rows(using, model, subtree).exclude(timed).order_by(*COLUMNS)
        for parts in rows.values_list(*COLUMNS).distinct():
            stamp(Scope.from_columns(*parts), using)
    rows = _rows(using, ScopeClock, subtree).select_for_update().order_by(*COLUMNS)
    return {Scope.from_columns(*parts): name for *parts, name in rows.values_list(*COLUMNS, "id")}


def _lock(rows: Any) -> None:
    """Lock rows without keeping them, where the database has such locks."""
    if connections[rows.db].features.has_select_for_update:
        # In the order in which embedding and erasing lock them.
        for _ in rows.select_for_update().order_by("number").values_list("pk").iterator():
            pass


def _delete(
    using: str, model: Any, subtree: dict[str, str], clocks: Sequence[str]
) -> ErasureReport:
    """Delete a table's rows in the scopes of these clocks; return the count, if it is one of those kept."""
    count = 0
    for batch in batches(clocks):
        place = {name: OuterRef(name) for name in COLUMNS}
        closed = _rows(using, ScopeClock, subtree).filter(**place, id__in=batch)
        count += _rows(using, model, subtree).filter(Exists(closed))._raw_delete(using)
    counted: dict[str, Any] = {COUNTED[model]: count} if model in COUNTED else {}
    return replace(EMPTY, **counted)
