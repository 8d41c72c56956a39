"""Cases: a claim with all that a reviewer needs to decide on it; and lists of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connections
from django.db.models import Q

from prism_graph import conf, reading
from prism_graph.bases.citing import CITED
from prism_graph.doors import ReviewGrant
from prism_graph.fulltext import engine
from prism_graph.lost_evidence import LOST
from prism_graph.models import Chunk, Citation, FactVersion, Standing
from prism_graph.policy import UNDECIDED, FactStatus, name_of
from prism_graph.records import ChunkView, FactView
from prism_graph.review.targets import VersionTarget, place_taken
from prism_graph.scope import COLUMNS
from prism_graph.trust import Trust

WHY: Final = "the evidence of granted facts, which stands at their own level or above"

# Where a version stands: its scope's parts, its fact's number and its own.
Place = tuple[tuple[str, ...], int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """One version for review.

    `evidence` are its passages, verbatim. `instead_of` is the accepted version whose place it contests, or
    would take now, with passages of its own. `versions` are all of the key at this scope. `why` is a
    sentence on the judgement, without stored text.
    """

    claim: FactView
    evidence: tuple[ChunkView, ...]
    instead_of: FactView | None
    instead_of_evidence: tuple[ChunkView, ...]
    versions: tuple[FactView, ...]
    why: str


def case_of(target: VersionTarget) -> Case:
    """Return the case of a version. Raises FactNotFound when it is gone."""
    views = target.state()
    claim = next(view for view in views if view.id == target.id)
    number = claim.contests
    if claim.status in UNDECIDED:
        number = place_taken(claim, views) or number
    instead = next((view for view in views if view.version == number and view.id != claim.id), None)
    return Case(
        claim=claim,
        evidence=evidence_of(claim, target.using),
        instead_of=instead,
        instead_of_evidence=() if instead is None else evidence_of(instead, target.using),
        versions=views,
        why=_why(claim),
    )


def evidence_of(view: FactView, using: str) -> tuple[ChunkView, ...]:
    """Return the passages that a version cites, in the order in which it names them."""
    return tuple(reading.get(view.scope, using, [cited.id for cited in view.evidence]))


def _why(claim: FactView) -> str:
    if claim.policy and claim.reason == LOST:
        return "It lost some of its evidence and was judged again on what remained."
    if not claim.policy:
        return "The project decided."
    policy, told = conf.acceptance_policy(), None
    if name_of(policy) == claim.policy:
        # The project's code, and it may do without; the page goes on without its sentence.
        with suppress(Exception):
            told = policy.why(tuple(cited.trust for cited in claim.evidence))
    if not isinstance(told, str):
        return f"The policy {claim.policy} judged it."
    return str.__str__(told)  # its characters, whether or not it calls itself safe


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says of a version beside the row: its open standing and its evidence in short.

    `trust` is the least among the passages and `writer` the writer of one of those; None and `""` where
    evidence was deleted past Memory.
    """

    status: FactStatus | None = None
    decided_at: datetime | None = None
    decided_by: str = ""
    trust: Trust | None = None
    writer: str = ""
    passages: int = 0
    stale: bool = False


def listed(grant: ReviewGrant, using: str, rows: Sequence[FactVersion]) -> dict[str, Listed]:
    """Return, by id, what a list says of versions of a page: three statements, however many they are."""
    if not rows:
        return {}
    places = {row.pk: _place(row, row.fact_number, row.number) for row in rows}
    standings = _standings(grant, using, places.values())
    passages = _passages(grant, using, places.values())
    return {name: _listed(standings.get(at), passages.get(at, [])) for name, at in places.items()}


def _listed(standing: Standing | None, passages: Sequence[tuple[Any, ...]]) -> Listed:
    least = min(passages, key=lambda passage: passage[0].level, default=(None, "", None))
    return Listed(
        status=standing.status if standing else None,
        decided_at=standing.since if standing else None,
        decided_by=standing.decided_by if standing else "",
        trust=least[0],
        writer=least[1],
        passages=len(passages),
        stale=any(retired is not None for _, _, retired in passages),
    )


def _place(row: Any, fact: int, version: int) -> Place:
    return tuple(getattr(row, name) for name in COLUMNS), fact, version


def _at(places: Iterable[Place]) -> Q:
    """Return one alternative for each version."""
    return reading.any_of(
        {**dict(zip(COLUMNS, parts, strict=True)), "fact_number": fact, "version": version}
        for parts, fact, version in places
    )


def _standings(grant: ReviewGrant, using: str, places: Iterable[Place]) -> dict[Place, Standing]:
    rows = Standing.objects.db_manager(using).for_review(grant).filter(_at(places), until=None)
    return {_place(row, row.fact_number, row.version): row for row in rows}


def _passages(
    grant: ReviewGrant, using: str, places: Iterable[Place]
) -> dict[Place, list[tuple[Any, ...]]]:
    links = Citation.objects.db_manager(using).for_review(grant).filter(_at(places))
    cited = defaultdict(list)
    for link in links:
        where = (link.tenant, *(getattr(link, name) for name in CITED), link.cited_number)
        cited[where].append(_place(link, link.fact_number, link.version))
    found: dict[Place, list[tuple[Any, ...]]] = defaultdict(list)
    among = engine(connections[using]).among
    chunks = Chunk.objects.db_manager(using).system(WHY)
    wanted = chunks.filter(
        among("number", [where[-1] for where in cited]), tenant__in={where[0] for where in cited}
    )
    for *where, trust, writer, retired_at in wanted.values_list(
        *COLUMNS, "number", "trust", "writer", "retired_at"
    ):
        for place in cited.get(tuple(where), ()):
            found[place].append((trust, writer, retired_at))
    return found
