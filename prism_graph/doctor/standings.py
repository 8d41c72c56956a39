"""Versions with two open standings or none, and statuses that the evidence does not earn."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from django.db.models import CharField, Exists, IntegerField, OuterRef, Subquery
from django.db.models.functions import Cast

from prism_graph import conf
from prism_graph.bases.citing import CITED
from prism_graph.bases.facts import STATUSES
from prism_graph.bases.rows import SCOPE_RULE
from prism_graph.doctor.check import Check, Finding, RowCheck
from prism_graph.doctor.place import DOCTOR, Place, same
from prism_graph.lost_evidence import judge_again
from prism_graph.models import Chunk, Citation, FactVersion, Standing
from prism_graph.policy import JUDGEMENTS, FactStatus, lower, name_of
from prism_graph.scope import COLUMNS, Scope
from prism_graph.trust import Trust
from prism_graph.writing import batches

logger = logging.getLogger(__name__)

_OF: Final = ("fact_number", "version")
_CODES: Final = {each.code for each in Trust}
_ABOVE_PROPOSAL: Final = (FactStatus.ACCEPTED, FactStatus.BELIEF)


class UnknownStatus(RowCheck):
    """Look for statuses that are none: reading one is an error."""

    id = "unknown-status"
    model = Standing
    what = "standing: a status that is none"
    fix = "set to rejected, the lowest"

    def wrong(self, place: Place) -> Any:
        """Return standings of other statuses than the five."""
        label = Cast("status", CharField())
        return place.rows(Standing).annotate(label=label).exclude(label__in=STATUSES)

    def put_right(self, place: Place) -> None:
        """Lower them."""
        field = Standing._meta.get_field("status")

        def reject(scope: Scope, at: datetime, rows: list[Any]) -> None:
            standings = place.at(Standing, scope).filter(pk__in=[key for (key,) in rows])
            standings._update([(field, None, FactStatus.REJECTED)])

        place.by_scope(self.wrong(place), reject)


class TwoOpen(RowCheck):
    """Look for versions that have two statuses now."""

    id = "two-open-standings"
    model = FactVersion
    what = "fact version: two open standings"
    fix = "the lowest status stays, the others end now"

    def wrong(self, place: Place) -> Any:
        """Return versions with an open standing beside another."""
        open_now = place.every(Standing).filter(until=None)
        second = open_now.filter(**same(*_OF), pk__gt=OuterRef("pk"))
        first = open_now.filter(Exists(second), **same("fact_number", version="number"))
        return place.rows(FactVersion).filter(SCOPE_RULE, Exists(first))

    def put_right(self, place: Place) -> None:
        """End all but one."""
        field = Standing._meta.get_field("until")

        def end(scope: Scope, at: datetime, rows: list[Any]) -> None:
            for _, fact, version in rows:
                open_now = place.at(Standing, scope).filter(
                    fact_number=fact, version=version, until=None
                )
                # Of equal statuses the newest stays.
                found = sorted(open_now.order_by("-since", "pk"), key=lambda each: each.status.rank)
                others = [each.pk for each in found[1:]]
                open_now.filter(pk__in=others)._update([(field, None, at)])

        place.by_scope(self.wrong(place), end, "fact_number", "number")


class NoStanding(RowCheck):
    """Look for versions that no standing is open of: readers do not see them."""

    id = "no-standing"
    model = FactVersion

    what = "fact version: without an open standing"
    fix = "retracted, which is what readers see already"

    def wrong(self, place: Place) -> Any:
        """Return versions without an open standing."""
        standings = place.every(Standing).filter(**same("fact_number", version="number"))
        rows = place.rows(FactVersion).filter(SCOPE_RULE)
        return rows.filter(~Exists(standings.filter(until=None)))

    def put_right(self, place: Place) -> None:
        """Say what readers see."""

        def retract(scope: Scope, at: datetime, rows: list[Any]) -> None:
            place.at(Standing, scope).bulk_create(
                Standing(
                    fact_number=fact,
                    version=version,
                    status=FactStatus.RETRACTED,
                    since=at,
                    decided_by=DOCTOR,
                    reason="its open standing was gone",
                )
                for _, fact, version in rows
            )

        place.by_scope(self.wrong(place), retract, "fact_number", "number")


class AboveEvidence(Check):
    """Look for statuses that the policy in use gave, and would not give to the evidence as it is.

    What a person accepted, or another policy, is theirs.
    """

    id = "status-above-evidence"
    what = "fact version: a higher status than its evidence earns"
    fix = "judged again, and given the lower status"

    def examine(self, place: Place) -> Finding | None:
        """Judge each version again, in one pass over the citations."""
        return self.told(_above_evidence(place))

    def put_right(self, place: Place) -> None:
        """Judge them again under the lock."""

        def judge(scope: Scope, at: datetime, rows: list[Any]) -> None:
            versions = {(fact, number): (key, name) for key, fact, number, name in rows}
            judge_again(place.using, scope, versions, at, "its evidence is trusted less")

        decided = Exists(_decided(place, name_of(conf.acceptance_policy()), "number"))
        for batch in batches(list(_above_evidence(place))):
            wrong = place.rows(FactVersion).filter(decided, pk__in=batch)
            place.by_scope(wrong, judge, "fact_number", "number", "fact__id")


def _decided(place: Place, policy: str, version: str) -> Any:
    """Return the open standings above a proposal that the policy gave to the outer row's version."""
    return place.every(Standing).filter(
        **same("fact_number", version=version),
        until=None,
        policy=policy,
        status__in=_ABOVE_PROPOSAL,
    )


def _above_evidence(place: Place) -> Iterator[str]:
    policy = conf.acceptance_policy()
    rows = _cited(place, name_of(policy)).iterator()
    for (key, status), group in groupby(rows, key=itemgetter(0, 1)):
        # What is gone is another check's.
        trust = [Trust.from_code(code) for *_, code in group if code in _CODES]
        earned = _earned(policy, trust) if trust else None
        if earned is not None and lower(status, earned) is not status:
            yield key


def _cited(place: Place, policy: str) -> Any:
    """Return (version's id, its status, a cited chunk's trust), each version's together."""
    standings = _decided(place, policy, "version")
    versions = place.every(FactVersion).filter(**same("fact_number", number="version"))
    chunks = place.every(Chunk).filter(
        tenant=OuterRef("tenant"),
        **{name.removeprefix("cited_"): OuterRef(name) for name in (*CITED, "cited_number")},
    )
    code = chunks.annotate(code=Cast("trust", IntegerField())).values("code")[:1]
    links = place.rows(Citation).annotate(
        key=Subquery(versions.values("pk")[:1]),
        status=Subquery(standings.values("status")[:1]),
        code=Subquery(code),
    )
    links = links.filter(Exists(standings), key__isnull=False)
    return links.order_by(*COLUMNS, *_OF).values_list("key", "status", "code")


def _earned(policy: Any, trust: list[Trust]) -> FactStatus | None:
    """Ask the policy; None when it fails, as a broken one must not lower every fact at once."""
    try:
        status = policy.judge(tuple(trust))
    except Exception:
        logger.exception("The acceptance policy failed; a fact is left as it is.")
        return None
    return status if status in JUDGEMENTS else None
