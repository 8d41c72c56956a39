"""One fact under its scope's lock: what is written, and who decided it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connections
from django.db.models import Max
from django.dispatch import Signal

from prism_graph import factrows, limits, writing
from prism_graph.bases.citing import CITED
from prism_graph.bases.rows import random_id
from prism_graph.errors import AmbiguousFact, FactNotFound, InvalidInput
from prism_graph.fulltext import engine
from prism_graph.intervals import Stated
from prism_graph.lineage import Lineage
from prism_graph.models import Citation, Fact, FactVersion, Standing
from prism_graph.policy import FactStatus
from prism_graph.records import FactView
from prism_graph.scope import COLUMNS, Scope
from prism_graph.signals import (
    announce,
    fact_accepted,
    fact_proposed,
    fact_rejected,
    fact_retracted,
)
from prism_graph.transactions import stamp
from prism_graph.writing import digest

_CITATION_FIELDS: Final = ("id", *COLUMNS, "fact_number", "version", *CITED, "cited_number")
_SIGNALS: Final[dict[FactStatus, Signal]] = {
    FactStatus.ACCEPTED: fact_accepted,
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
        return max(
            (each.number for each in self.stated if each.status is FactStatus.ACCEPTED),
            default=None,
        )

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

    def state(
        self, key: str, claim: Claim, cited: Lineage, contests: int | None, decision: Decision
    ) -> FactView:
        """Store one more version, its first standing and what it rests on."""
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
        self._cite(version.number, cited)
        return self._told(key, version.number)

    def _counted(self, key: str) -> Fact:
        """Return the fact, a new one if need be, with the next version's number."""
        facts = Fact.objects.db_manager(self.using).at(self.scope)
        if self.fact is None:
            # The scope is locked, so the next number is free.
            number = (facts.aggregate(last=Max("number"))["last"] or 0) + 1
            self.fact = facts.create(number=number, key=key, key_digest=digest(key), last_version=1)
        else:
            self.fact.last_version += 1
            writing.count_versions(self.using, self.scope, self.fact.number, self.fact.last_version)
        return self.fact

    def decide(self, key: str, version: int, decision: Decision) -> FactView:
        """End a version's standing and open the next one."""
        named = (self.existing().number, version)
        writing.end_standings(self.using, self.scope, [named], self.at)
        self._stand(version, decision)
        return self._told(key, version)

    def _stand(self, version: int, decision: Decision) -> None:
        standing = Standing(
            fact_number=self.existing().number,
            version=version,
            status=decision.status,
            since=self.at,
            decided_by=decision.actor,
            reason=decision.reason,
            policy=decision.policy,
        )
        # In bulk, without Django's signals: a rehearsed decision must not be heard of.
        Standing.objects.db_manager(self.using).at(self.scope).bulk_create([standing])

    def _cite(self, version: int, cited: Lineage) -> None:
        parts, number = tuple(map(str, self.scope.parts)), self.existing().number
        rows = [
            (random_id(), *parts, number, version, *map(str, where.parts[1:]), chunk)
            for where, chunk, _ in cited.cited
        ]
        engine(connections[self.using]).insert(Citation, _CITATION_FIELDS, rows)

    def seen(self, key: str, version: int) -> FactView:
        """Return a version as it stands now. Raises FactNotFound if raw SQL took its evidence."""
        views = factrows.standing(self.scope, self.using, factrows.Question(key=key))
        for each in views:
            if (each.scope, each.version) == (self.scope, version):
                return each
        raise FactNotFound

    def _told(self, key: str, version: int) -> FactView:
        """Return a version as it stands now, and send the signal of its status once this commits."""
        found = self.seen(key, version)
        ids = {"fact": self.existing().id, "version": found.id}
        announce(_SIGNALS[found.status], FactVersion, self.scope, self.using, **ids)
        return found
