"""Facts: asserted with evidence, superseded, retracted, decided on; and what was in force when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import connections
from django.db.models import Max
from django.dispatch import Signal

from prism_graph import clock, conf, factrows, limits
from prism_graph.errors import (
    AmbiguousFact,
    FactConflict,
    FactNotFound,
    InvalidEvidence,
    InvalidInput,
    SupersedeRefused,
)
from prism_graph.fulltext import engine
from prism_graph.intervals import Stated, contested, held, in_force, overlaps
from prism_graph.lineage import Lineage, trace
from prism_graph.models import Citation, Fact, FactVersion, Standing
from prism_graph.models.base import random_id
from prism_graph.models.citing import CITED
from prism_graph.policy import UNDECIDED, FactStatus, judged, name_of
from prism_graph.records import FactView
from prism_graph.scope import COLUMNS, Scope
from prism_graph.signals import (
    announce,
    fact_accepted,
    fact_proposed,
    fact_rejected,
    fact_retracted,
)
from prism_graph.transactions import stamp, write_block
from prism_graph.writing import digest

ACCEPTED: Final = FactStatus.ACCEPTED
_CITATION_FIELDS: Final = ("id", *COLUMNS, "fact_number", "version", *CITED, "cited_number")
_SIGNALS: Final[dict[FactStatus, Signal]] = {
    ACCEPTED: fact_accepted,
    FactStatus.BELIEF: fact_proposed,
    FactStatus.PROPOSAL: fact_proposed,
    FactStatus.REJECTED: fact_rejected,
    FactStatus.RETRACTED: fact_retracted,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a new version states."""

    subject: str
    predicate: str
    value: str
    valid_from: datetime | None
    valid_to: datetime | None

    @classmethod
    def checked(
        cls,
        subject: object,
        predicate: object,
        value: object,
        valid_from: datetime | str | None,
        valid_to: datetime | str | None,
    ) -> Claim:
        """Return the claim, or raise InvalidInput or LimitExceeded."""
        return cls(
            limits.check_key(subject, "subject"),
            limits.check_key(predicate, "predicate"),
            limits.check_text(value, "value", limits.MAX_VALUE),
            limits.check_instant(valid_from, "valid_from"),
            limits.check_instant(valid_to, "valid_to"),
        )

    def interval(self, at: datetime) -> tuple[datetime, datetime | None]:
        """Return the stated [start, end); the start is `at` by default."""
        start = self.valid_from or at
        if self.valid_to is not None and self.valid_to <= start:
            raise InvalidInput("valid_to must lie after valid_from (by default, after now).")
        return start, self.valid_to


@dataclass(frozen=True, slots=True)
class Decision:
    """A status, and who gave it why: the project, or the policy of that name."""

    status: FactStatus
    actor: str = ""
    reason: str = ""
    policy: str = ""

    @classmethod
    def by(cls, status: FactStatus, actor: object, reason: object, policy: str = "") -> Decision:
        """Return the decision, or raise InvalidInput or LimitExceeded."""
        return cls(
            status,
            limits.check_text(actor, "actor", limits.MAX_LABEL),
            limits.check_text(reason, "reason", limits.MAX_VALUE),
            policy,
        )


@dataclass(slots=True)
class Ledger:
    """One fact of exactly one scope, under the scope's lock: its versions with their open standings."""

    scope: Scope
    using: str
    at: datetime
    fact: Fact | None
    stated: Sequence[Stated]

    @classmethod
    def open(cls, scope: Scope, using: str, key: str) -> Ledger:
        """Lock the scope and read the fact of a key."""
        at = stamp(scope, using)
        facts = Fact.objects.db_manager(using).at(scope)
        fact = facts.filter(key_digest=digest(key), key=key).first()
        if fact is None:
            return cls(scope, using, at, None, [])
        standings = Standing.objects.db_manager(using).at(scope)
        rows = standings.filter(fact_number=fact.number, until=None).values_list(
            *("version", "stated__valid_from", "stated__valid_to", "status"),
            *("stated__contests", "since", "stated__weakened_at"),
        )
        return cls(scope, using, at, fact, [Stated(*row) for row in rows])

    def existing(self) -> Fact:
        """Return the fact. Raises FactNotFound."""
        if self.fact is None:
            raise FactNotFound
        return self.fact

    @property
    def newest_accepted(self) -> int | None:
        """The highest number among the accepted versions."""
        return max((each.number for each in self.stated if each.status is ACCEPTED), default=None)

    def one(self, version: int | None, statuses: Sequence[FactStatus]) -> Stated:
        """Return the version of a number, or the only one there is, in one of these statuses.

        Raises FactNotFound, or AmbiguousFact when none is named and there are several.
        """
        fitting = [each for each in self.stated if each.status in statuses]
        if version is not None:
            fitting = [each for each in fitting if each.number == version]
        if not fitting:
            raise FactNotFound
        if len(fitting) > 1:
            raise AmbiguousFact
        return fitting[0]

    def state(self, key: str, claim: Claim, contests: int | None, decision: Decision) -> int:
        """Store one more version with its first standing; return its number."""
        start, end = claim.interval(self.at)
        fact = self._counted(key)
        versions = FactVersion.objects.db_manager(self.using).at(self.scope)
        version = versions.create(
            fact_number=fact.number,
            number=fact.last_version,
            subject=claim.subject,
            subject_digest=digest(claim.subject),
            predicate=claim.predicate,
            value=claim.value,
            valid_from=start,
            valid_to=end,
            recorded_at=self.at,
            contests=contests,
        )
        self._stand(version.number, decision)
        return version.number

    def _counted(self, key: str) -> Fact:
        """Return the fact, a new one if need be, with the next version's number."""
        facts = Fact.objects.db_manager(self.using).at(self.scope)
        if self.fact is None:
            # The scope is locked, so the next number is free.
            number = (facts.aggregate(last=Max("number"))["last"] or 0) + 1
            self.fact = facts.create(number=number, key=key, key_digest=digest(key), last_version=1)
        else:
            self.fact.last_version += 1
            self.fact.save(using=self.using, update_fields=["last_version"])
        return self.fact

    def decide(self, version: int, decision: Decision) -> None:
        """End a version's standing and open the next one."""
        standings = Standing.objects.db_manager(self.using).at(self.scope)
        ended = standings.filter(fact_number=self.existing().number, version=version, until=None)
        ended.update(until=self.at)
        self._stand(version, decision)

    def _stand(self, version: int, decision: Decision) -> None:
        Standing.objects.db_manager(self.using).at(self.scope).create(
            fact_number=self.existing().number,
            version=version,
            status=decision.status,
            since=self.at,
            decided_by=decision.actor,
            reason=decision.reason,
            policy=decision.policy,
        )

    def cite(self, version: int, cited: Lineage) -> None:
        """Store what a version rests on."""
        parts, number = tuple(map(str, self.scope.parts)), self.existing().number
        rows = [
            (random_id(), *parts, number, version, *map(str, where.parts[1:]), chunk)
            for where, chunk, _ in cited.cited
        ]
        engine(connections[self.using]).insert(Citation, _CITATION_FIELDS, rows)

    def view(self, key: str, version: int) -> FactView:
        """Return a version as it stands now, and send the signal of its status once this commits."""
        question = factrows.Question(key=key)
        views = factrows.standing(self.scope, self.using, question)
        found = next(each for each in views if (each.scope, each.version) == (self.scope, version))
        ids = {"fact": self.existing().id, "version": found.id}
        announce(_SIGNALS[found.status], FactVersion, self.scope, self.using, **ids)
        return found


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
        version = ledger.state(key, claim, contests, decision)
        ledger.cite(version, cited)
        return ledger.view(key, version)


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
        version = ledger.state(key, claim, contests, decision)
        ledger.cite(version, cited)
        return ledger.view(key, version)


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
        ledger.decide(number, decision)
        return ledger.view(key, number)


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
        ledger.decide(number, decision)
        return ledger.view(key, number)


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
        views = factrows.standing(scope, using, factrows.Question(key=key))
        claimed = next(
            each for each in views if (each.scope, each.version) == (scope, stated.number)
        )
        if claimed.stale or stated.weakened:
            raise InvalidEvidence(
                "Some of its evidence was retired or erased since: state it again."
            )
        there = contested(held(ledger.stated), stated.valid_from, stated.valid_to, ledger.at)
        if there != over if over is not None else there not in (None, stated.contests):
            raise FactConflict(
                "It contests another version than the one that holds: name it with over=."
            )
        ledger.decide(stated.number, decision)
        return ledger.view(key, stated.number)


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
    found = [
        view
        for view in _shaded(factrows.standing(scope, using, question), now or clock.now())
        if _is_about(view, subject, predicate)
    ]
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


def _shaded(views: Sequence[FactView], at: datetime | None = None) -> list[FactView]:
    """Mark what a nearer scope's version in force stands before; with `at`, of versions of any time."""
    nearest: dict[str, Scope] = {}
    for view in views:
        holds = at is None or (
            view.valid_from <= at and (view.valid_to is None or at < view.valid_to)
        )
        if view.status is ACCEPTED and holds:
            nearest.setdefault(view.key, view.scope)
    order = {scope: place for place, scope in enumerate(dict.fromkeys(v.scope for v in views))}
    return [
        replace(view, shadowed=True)
        if view.key in nearest and order[nearest[view.key]] < order[view.scope]
        else view
        for view in views
    ]
