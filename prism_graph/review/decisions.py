"""Decisions of a reviewer: rehearsed for the page to be confirmed, and made if they still do the same.

To rehearse is to decide, look, and take it back. So what a page announces is what happens, by construction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

from django.utils.crypto import constant_time_compare, salted_hmac

from prism_graph.errors import FactConflict, PrismGraphError, StaleReview, WriteConflict
from prism_graph.receipts import Order
from prism_graph.records import ErasureReport, FactView
from prism_graph.review.targets import Decision, Target
from prism_graph.transactions import rehearsal, stamp, write_block

SALT: Final = "prism_graph.review"


@dataclass(frozen=True, slots=True)
class Change:
    """One version before and after a decision; None where it is not there."""

    before: FactView | None
    after: FactView | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decision does, or why memory refuses it.

    `changes` are the versions of the same key that the decision touches. `erased` counts what goes from the
    target's own scope, `erased_below` from the scopes below. `over` is the version to name for a refused
    acceptance to succeed. `token` stands for all that the decision rests on and does, `receipt` names an
    erasure's receipt.
    """

    token: str
    changes: tuple[Change, ...] = ()
    erased: ErasureReport | None = None
    erased_below: ErasureReport | None = None
    refusal: str = ""
    over: int | None = None
    receipt: str = ""


def rehearse(target: Target, decision: Decision) -> Outcome:
    """Return what a decision would do, and write nothing that stays."""
    with rehearsal(target.using):
        return _outcome(target, decision)


def decide(target: Target, decision: Decision, token: str) -> Outcome:
    """Make a decision whose rehearsal had this token.

    Raises StaleReview when it would rest on anything else or do anything else by now, and PrismGraphError
    with memory's own words when it was refused in rehearsal too.
    """
    # First: a reason that memory cannot keep is no change of what the decision rests on.
    Order.by(decision.actor, decision.reason)
    with write_block(target.using):
        outcome = _outcome(target, decision)
        if not constant_time_compare(outcome.token, token):
            raise StaleReview
        if outcome.refusal:
            kind = PrismGraphError if outcome.over is None else FactConflict
            raise kind(outcome.refusal)
    return outcome


def _outcome(target: Target, decision: Decision) -> Outcome:
    """Carry a decision out inside the caller's transaction and say what that did."""
    # The lock comes first: until the transaction ends, what is read of this scope stays true.
    stamp(target.scope, target.using)
    state, before = target.state(), target.versions()
    try:
        erased = target.carry_out(decision)
    except WriteConflict:
        raise
    except PrismGraphError as refusal:
        over = target.in_its_place() if isinstance(refusal, FactConflict) else None
        return _sealed(decision, state, Outcome("", refusal=str(refusal), over=over))
    outcome = Outcome("", tuple(_changes(before, target.versions())))
    if erased is not None:
        outcome = replace(
            outcome, erased=erased.here, erased_below=erased.below, receipt=erased.receipt
        )
    return _sealed(decision, state, outcome)


def seen(target: Target) -> str:
    """Return what stands for all that a decision on a target rests on, for a page to bring back."""
    return _keyed([_spelt(each) for each in target.state()])


def _changes(before: Sequence[FactView], after: Sequence[FactView]) -> Iterator[Change]:
    then, now = ({view.version: view for view in views} for views in (before, after))
    for number in sorted(then.keys() | now.keys()):
        change = Change(then.get(number), now.get(number))
        if _essence(change.before) != _essence(change.after):
            yield change


def _essence(view: FactView | None) -> tuple[Any, ...]:
    return () if view is None else (view.id, view.status.value, view.valid_from, view.valid_to)


def _sealed(decision: Decision, state: tuple[Any, ...], outcome: Outcome) -> Outcome:
    """Give an outcome its token: a keyed hash, which says nothing of what it was made from."""
    spelt = [
        (decision.verb.value, decision.over, outcome.refusal),
        [_spelt(each) for each in state],
        [(_essence(change.before), _essence(change.after)) for change in outcome.changes],
        [each and each.counts for each in (outcome.erased, outcome.erased_below)],
    ]
    return replace(outcome, token=_keyed(spelt))


def _spelt(value: Any) -> Any:
    return astuple(value) if isinstance(value, FactView) else value


def _keyed(values: Sequence[Any]) -> str:
    return str(salted_hmac(SALT, repr(values), algorithm="sha256").hexdigest())
