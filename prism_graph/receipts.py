"""Receipts: proof that something was erased, without a word of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from django.utils.crypto import salted_hmac

from prism_graph import limits
from prism_graph.models import Receipt
from prism_graph.records import ErasureReport
from prism_graph.scope import Scope

SALT: Final = "prism_graph.receipt"


@dataclass(frozen=True, slots=True)
class Order:
    """Who ordered an erasure, and why."""

    actor: str = ""
    reason: str = ""

    @classmethod
    def by(cls, actor: object, reason: object) -> Self:
        """Return the order, or raise InvalidInput or LimitExceeded."""
        return cls(
            limits.check_text(actor, "actor", limits.MAX_LABEL),
            limits.check_text(reason, "reason", limits.MAX_VALUE),
        )


@dataclass(frozen=True, slots=True)
class Erasure:
    """What one erasure did: counts of the scope itself, of those below it, and its receipt's id.

    `told` is for the caller, who is not shown what went beside the scope. Without a receipt nothing went.
    """

    told: ErasureReport
    here: ErasureReport
    below: ErasureReport
    receipt: str = ""

    @classmethod
    def of_nothing(cls, *, source_found: bool = False) -> Self:
        """Return an erasure that found nothing to erase."""
        nothing = ErasureReport(source_found=source_found)
        return cls(nothing, nothing, nothing)


def target_of(scope: Scope, operation: str, *names: str) -> str:
    """Return the hash that a receipt keeps of what was named: HMAC-SHA256 under the project's SECRET_KEY."""
    # Each name with its length, so that no two lists of names spell the same text.
    spelt = "".join(f"{len(name)}:{name}" for name in (operation, *scope.parts, *names))
    return salted_hmac(SALT, spelt, algorithm="sha256").hexdigest()


def write(
    scope: Scope,
    using: str,
    at: datetime,
    order: Order,
    operation: str,
    *names: str,
    here: ErasureReport,
    below: ErasureReport,
) -> Erasure:
    """Store the receipt of one erasure: counts of the scope itself, and of those below it."""
    receipt = Receipt(
        operation=operation,
        target=target_of(scope, operation, *names),
        counts=here.counts,
        counts_below=below.counts,
        actor=order.actor,
        reason=order.reason,
        erased_at=at,
    )
    # In bulk, without Django's signals: a rehearsed erasure must not be heard of.
    Receipt.objects.db_manager(using).at(scope).bulk_create([receipt])
    return Erasure(here, here, below, receipt.id)
