"""Erasing for an operator: what goes here and below, and the same without anything going."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prism_graph.models import Receipt
from prism_graph.records import ErasureReport
from prism_graph.scope import Scope
from prism_graph.transactions import rehearsal, write_block


@dataclass(frozen=True, slots=True)
class Removal:
    """What an erasure removed, or would: whether there was anything, and counts as in its receipt.

    `here` counts the scope itself, `below` the scopes below it, which an agent's code is not told of.
    """

    found: bool
    here: Mapping[str, int]
    below: Mapping[str, int]


def carry_out(
    scope: Scope, using: str, erase: Callable[[], ErasureReport], *, rehearse: bool = False
) -> Removal:
    """Run an erasure of a scope; to rehearse it, run it all the same and roll it back.

    So a rehearsal counts what the erasure counts, holds its locks meanwhile, and leaves no receipt and
    sends no signal.
    """
    with (rehearsal if rehearse else write_block)(using):
        before = _newest(scope, using)
        report = erase()
        receipt = _newest(scope, using)
    if receipt is None or receipt == before or not report.source_found:
        nothing = ErasureReport(source_found=False).counts
        return Removal(False, nothing, nothing)
    return Removal(True, receipt.counts, receipt.counts_below)


def _newest(scope: Scope, using: str) -> Any:
    # Recorded instants of one scope strictly increase.
    return Receipt.objects.db_manager(using).at(scope).order_by("erased_at").last()
