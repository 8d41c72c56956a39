"""Facts: asserted with evidence, superseded, retracted, decided on; and what was in force when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from prism_graph import clock, conf, factrows, limits
from prism_graph.errors import FactConflict, FactNotFound, InvalidEvidence, SupersedeRefused
from prism_graph.intervals import contested, held, in_force, overlaps
from prism_graph.ledger import Claim, Decision, Ledger
from prism_graph.lineage import Lineage, trace
from prism_graph.policy import UNDECIDED, FactStatus, judged, name_of
from prism_graph.records import FactView
from prism_graph.scope import Scope
from prism_graph.transactions import write_block

ACCEPTED: Final = FactStatus.ACCEPTED


def assert_fact(
    scope: Scope,
    using: str,
    key: str,
    claim: Claim,
    evidence: Iterable[Any],
) -> FactView:
    """State a fact. See Memory.assert_fact."""
    key = limits.check_key(key)
    with write_block(using):
        ledger = Ledger.open(scope, using, key)
        start, end = claim.interval(ledger.at)
        cited, decision = _judge(scope, using, evidence)
        intervals = held(ledger.stated)
        contests = None
        if decision.status is not ACCEPTED:
            contests = contested(intervals, start, end, ledger.at)
        elif any(overlaps(each, start, end) for each in intervals):
            raise FactConflict
        return ledger.state(key, claim, cited, contests, decision)


def supersede(
    scope: Scope,
    using: str,
    key: str,
    claim: Claim,
    evidence: Iterable[Any],
    *,
    expected: int | None = None,
    actor: str = "",
    reason: str = "",
) -> FactView:
    """State what a fact has become. See Memory.supersede."""
    key, expected = limits.check_key(key), limits.check_version(expected, "expected")
    Decision.by(ACCEPTED, actor, reason)
    with write_block(using):
        ledger = Ledger.open(scope, using, key)
        start, end = claim.interval(ledger.at)
        cited, decision = _judge(scope, using, evidence, actor, reason)
        ledger.existing()
        newest = ledger.newest_accepted
        if expected is not None and expected != newest:
            raise FactConflict("Another version came between: read the fact again.")
        contests = None
        if decision.status is not ACCEPTED:
            if newest is not None:
                raise SupersedeRefused
            contests = contested(held(ledger.stated), start, end, ledger.at)
        return ledger.state(key, claim, cited, contests, decision)


def retract(
    scope: Scope,
    using: str,
    key: str,
    *,
    version: int | None = None,
    actor: str = "",
    reason: str = "",
) -> FactView:
    """Take a version back. See Memory.retract."""
    key, version = limits.check_key(key), limits.check_version(version, "version")
    decision = Decision.by(FactStatus.RETRACTED, actor, reason)
    with write_block(using):
        ledger = Ledger.open(scope, using, key)
        if version is None:
            version = in_force(held(ledger.stated), ledger.at)
        number = ledger.one(version, (ACCEPTED, *UNDECIDED)).number
        return ledger.decide(key, number, decision)


def reject(
    scope: Scope,
    using: str,
    key: str,
    *,
    version: int | None = None,
    actor: str = "",
    reason: str = "",
) -> FactView:
    """Turn a belief or proposal down. See Memory.reject."""
    key, version = limits.check_key(key), limits.check_version(version, "version")
    decision = Decision.by(FactStatus.REJECTED, actor, reason)
    with write_block(using):
        ledger = Ledger.open(scope, using, key)
        number = ledger.one(version, UNDECIDED).number
        return ledger.decide(key, number, decision)


def accept(
    scope: Scope,
    using: str,
    key: str,
    *,
    version: int | None = None,
    over: int | None = None,
    actor: str = "",
    reason: str = "",
) -> FactView:
    """Accept a belief or proposal. See Memory.accept."""
    key, version, over = (
        limits.check_key(key),
        limits.check_version(version, "version"),
        limits.check_version(over, "over"),
    )
    decision = Decision.by(ACCEPTED, actor, reason)
    with write_block(using):
        ledger = Ledger.open(scope, using, key)
        stated = ledger.one(version, UNDECIDED)
        if ledger.seen(key, stated.number).stale or stated.weakened:
            raise InvalidEvidence(
                "Some of its evidence was retired or erased since: state it again."
            )
        there = contested(held(ledger.stated), stated.valid_from, stated.valid_to, ledger.at)
        if there != over if over is not None else there not in (None, stated.contests):
            raise FactConflict(
                "It contests another version than the one that holds: name it with over=."
            )
        return ledger.decide(key, stated.number, decision)


def _judge(
    scope: Scope, using: str, evidence: Iterable[Any], actor: str = "", reason: str = ""
) -> tuple[Lineage, Decision]:
    """Return what is cited and the policy's decision on it. Raises InvalidEvidence."""
    cited = trace(scope, using, evidence, argument="evidence", live=True)
    if not cited.cited:
        raise InvalidEvidence("A fact must cite at least one chunk.")
    policy = conf.acceptance_policy()
    status = judged(policy, [trust for _, _, trust in cited.cited])
    return cited, Decision.by(status, actor, reason, name_of(policy))


# reading


def facts(
    scope: Scope,
    using: str,
    subject: str | None = None,
    *,
    predicate: str | None = None,
    at: datetime | str | None = None,
    known_at: datetime | str | None = None,
    unaccepted: bool = False,
) -> list[FactView]:
    """Return what is in force. See Memory.facts."""
    subject, predicate = _label(subject, "subject"), _label(predicate, "predicate")
    known, moment = _moments(at, known_at)
    question = factrows.Question(subject=subject, known_at=known)
    found = _shaded(factrows.holding(scope, using, question, moment, unaccepted))
    return [view for view in found if _is_about(view, subject, predicate)]


def fact(
    scope: Scope,
    using: str,
    key: str,
    *,
    at: datetime | str | None = None,
    known_at: datetime | str | None = None,
    unaccepted: bool = False,
) -> FactView:
    """Return the version of a key that is in force. See Memory.fact."""
    known, moment = _moments(at, known_at)
    question = factrows.Question(key=limits.check_key(key), known_at=known)
    found = _shaded(factrows.holding(scope, using, question, moment, unaccepted))
    accepted = [view for view in found if view.status is ACCEPTED]
    if accepted:
        return accepted[0]
    if not found:
        raise FactNotFound("No version of this fact is in force (unaccepted=True looks further).")
    return max((view for view in found if view.scope == found[0].scope), key=lambda v: v.version)


def timeline(
    scope: Scope,
    using: str,
    subject: str,
    *,
    predicate: str | None = None,
    known_at: datetime | str | None = None,
) -> list[FactView]:
    """Return every version about a subject. See Memory.timeline."""
    subject, predicate = limits.check_key(subject, "subject"), _label(predicate, "predicate")
    known, now = _moments(None, known_at)
    question = factrows.Question(subject=subject, known_at=known)
    views = factrows.standing(scope, using, question)
    shaded = _shaded(views, _holding(views, now or clock.now()))
    found = [view for view in shaded if _is_about(view, subject, predicate)]
    # The sort is stable: nearest scope first, then by key, where all else is equal.
    return sorted(found, key=lambda view: (view.valid_from, view.recorded_from))


def _label(text: object, argument: str) -> str | None:
    return None if text is None else limits.check_key(text, argument)


def _moments(at: Any, known_at: Any) -> tuple[datetime | None, datetime | None]:
    """Return what is known when, and the instant asked about: None is now."""
    known = limits.check_instant(known_at, "known_at")
    return known, limits.check_instant(at, "at") or known


def _is_about(view: FactView, subject: str | None, predicate: str | None) -> bool:
    return subject in (None, view.subject) and predicate in (None, view.predicate)


def _shaded(
    views: Sequence[FactView], in_force: Collection[FactView] | None = None
) -> list[FactView]:
    """Mark what a nearer scope's version in force stands before; all accepted ones are, unless told."""
    nearest: dict[str, Scope] = {}
    for view in views if in_force is None else in_force:
        if view.status is ACCEPTED:
            nearest.setdefault(view.key, view.scope)
    order = {scope: place for place, scope in enumerate(dict.fromkeys(v.scope for v in views))}
    return [
        replace(view, shadowed=True)
        if view.key in nearest and order[nearest[view.key]] < order[view.scope]
        else view
        for view in views
    ]


def _holding(views: Sequence[FactView], at: datetime) -> list[FactView]:
    """Return those that hold at an instant, or at their fact's last recorded one if that is later."""
    last: dict[tuple[Scope, str], datetime] = {}
    for view in views:
        place = (view.scope, view.key)
        last[place] = max(view.recorded_from, last.get(place, at))
    return [
        view
        for view in views
        if view.valid_from <= last[view.scope, view.key]
        and (view.valid_to is None or last[view.scope, view.key] < view.valid_to)
    ]
