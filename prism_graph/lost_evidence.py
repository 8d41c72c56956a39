"""What facts lose when evidence is erased: they are judged again on what remains, and never raised."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connections
from django.dispatch import Signal

from prism_graph import conf, writing
from prism_graph.bases.citing import CITED, cited_at
from prism_graph.fulltext import engine
from prism_graph.models import Chunk, Citation, Fact, FactVersion, Standing
from prism_graph.policy import FactStatus, judged, lower, name_of
from prism_graph.records import ErasureReport
from prism_graph.scope import COLUMNS, Scope
from prism_graph.signals import announce, fact_erased, fact_proposed
from prism_graph.transactions import stamp
from prism_graph.trust import Trust

WHY: Final = "find the facts that rest on erased text, in the scopes below"
LOST: Final = "evidence was erased"

Doomed = Mapping[Scope, Sequence[int]]
# A version: its fact's number and its own; its id and its fact's.
Named = tuple[int, int]
Ids = tuple[str, str]
# Four columns as they are stored: raw SQL may have made them no scope.
Parts = tuple[str, ...]


@dataclass(slots=True)
class Loss:
    """One scope's versions that lose evidence: how many citations go, and the trust of those that stay."""

    scope: Scope
    gone: Counter[Named] = field(default_factory=Counter)
    remaining: dict[Named, list[Trust]] = field(default_factory=dict)

    @property
    def facts(self) -> list[int]:
        """The numbers of the facts concerned."""
        return sorted({fact for fact, _ in self.gone})


def lose(using: str, doomed: Doomed, stamps: dict[Scope, datetime]) -> dict[Scope, ErasureReport]:
    """Take these chunks from the facts that cite them; return what that did, by the facts' scope.

    Call it before the chunks are deleted. `stamps` holds the instants of the scopes that are locked; the
    others are locked here, in order.
    """
    for scope in sorted(_losses(using, doomed), key=lambda scope: scope.parts):
        if scope not in stamps:
            stamps[scope] = stamp(scope, using)
    # Read again: until its scope was locked, a fact could go and another one take its number.
    reports = {}
    for scope, loss in _losses(using, doomed).items():
        _weigh(using, loss, {where.parts: numbers for where, numbers in doomed.items()})
        reports[scope] = _apply(using, loss, stamps[scope])
    return reports


def lose_links(
    using: str, scope: Scope, links: Sequence[tuple[Any, ...]], at: datetime
) -> ErasureReport:
    """Take citations from the versions of one scope, as if what they name were erased.

    Each is (fact's number, version, cited owner, agent, thread and number). The scope is locked since the
    instant `at`. The rows are the caller's to delete.
    """
    loss = Loss(scope)
    gone: dict[Parts, set[int]] = defaultdict(set)
    for fact, version, *parts, number in links:
        loss.gone[fact, version] += 1
        gone[(scope.tenant, *parts)].add(number)
    _weigh(using, loss, gone)
    return _apply(using, loss, at)


def judge_again(
    using: str, scope: Scope, versions: Mapping[Named, Ids], at: datetime, reason: str
) -> None:
    """Give versions that a policy decided the lower of their status and what their evidence earns.

    The scope is locked since the instant `at`.
    """
    loss = Loss(scope, Counter(dict.fromkeys(versions, 0)))
    _weigh(using, loss, {})
    kept = [named for named in versions if named in loss.remaining]
    for named in _judge_again(using, loss, kept, at, reason):
        _announce(fact_proposed, loss, using, versions[named])


def _losses(using: str, doomed: Doomed) -> dict[Scope, Loss]:
    links = Citation.objects.db_manager(using).system(WHY)
    among = engine(connections[using]).among
    losses: dict[Scope, Loss] = {}
    for where, numbers in doomed.items():
        rows = links.filter(among("cited_number", numbers), **cited_at(where))
        for *parts, fact, version in rows.values_list(*COLUMNS, "fact_number", "version"):
            scope = Scope.from_columns(*parts)
            losses.setdefault(scope, Loss(scope)).gone[fact, version] += 1
    return losses


def _weigh(using: str, loss: Loss, gone: Mapping[Parts, Collection[int]]) -> None:
    """Find the trust of what remains of each version's evidence, without these chunks."""
    among = engine(connections[using]).among
    links = Citation.objects.db_manager(using).at(loss.scope)
    kept: dict[Named, list[tuple[Parts, int]]] = defaultdict(list)
    doomed = {where: set(numbers) for where, numbers in gone.items()}
    rows = links.filter(among("fact_number", loss.facts))
    for fact, version, *parts, number in rows.values_list(
        "fact_number", "version", *CITED, "cited_number"
    ):
        where = (loss.scope.tenant, *parts)
        if (fact, version) in loss.gone and number not in doomed.get(where, ()):
            kept[fact, version].append((where, number))
    wanted = {number for cited in kept.values() for _, number in cited}
    chunks = Chunk.objects.db_manager(using).visible_to(loss.scope)
    trust = {
        (tuple(parts), number): effective
        for *parts, number, effective in chunks.filter(among("number", wanted)).values_list(
            *COLUMNS, "number", "trust"
        )
    }
    # Raw SQL may have taken a chunk; what is not there is no evidence.
    found = {
        named: [trust[each] for each in cited if each in trust] for named, cited in kept.items()
    }
    loss.remaining = {named: each for named, each in found.items() if each}


def _apply(using: str, loss: Loss, at: datetime) -> ErasureReport:
    among = engine(connections[using]).among
    versions = FactVersion.objects.db_manager(using).at(loss.scope)
    rows = versions.filter(among("fact_number", loss.facts))
    ids = {
        (fact, number): (name, fact_id)
        for fact, number, name, fact_id in rows.values_list(
            "fact_number", "number", "id", "fact__id"
        )
        if (fact, number) in loss.gone
    }
    kept = [named for named in ids if named in loss.remaining]
    writing.weaken(using, loss.scope, kept, at)
    lowered = _judge_again(using, loss, kept, at, LOST)
    erased = [ids[named] for named in ids if named not in loss.remaining]
    forget(using, loss.scope, [name for name, _ in erased], loss.facts)
    for signal, sent in ((fact_proposed, [ids[named] for named in lowered]), (fact_erased, erased)):
        for each in sent:
            _announce(signal, loss, using, each)
    return ErasureReport(
        source_found=True,
        evidence_links=loss.gone.total(),
        facts_erased=len(erased),
        facts_kept=len(kept),
    )


def _announce(signal: Signal, loss: Loss, using: str, ids: Ids) -> None:
    version, fact = ids
    announce(signal, FactVersion, loss.scope, using, fact=fact, version=version)


def _judge_again(
    using: str, loss: Loss, kept: Sequence[Named], at: datetime, reason: str
) -> list[Named]:
    """Give each version the lower of its status and what its remaining evidence earns; return those."""
    policy = conf.acceptance_policy()
    standings = Standing.objects.db_manager(using).at(loss.scope)
    among = engine(connections[using]).among
    open_now = standings.filter(among("fact_number", loss.facts), until=None)
    held = {(each.fact_number, each.version): each for each in open_now}
    changed: dict[Named, FactStatus] = {}
    for named in kept:
        # Raw SQL may have taken its standing; the erasure goes on.
        if (before := held.get(named)) is None:
            continue
        status = _after(before, loss.remaining[named], policy)
        if status is not before.status:
            changed[named] = status
    writing.end_standings(using, loss.scope, changed, at)
    standings.bulk_create(
        [
            Standing(
                fact_number=fact,
                version=version,
                status=status,
                since=at,
                reason=reason,
                policy=name_of(policy),
            )
            for (fact, version), status in changed.items()
        ],
        batch_size=writing.BATCH,
    )
    return list(changed)


def _after(held: Standing, remaining: Sequence[Trust], policy: Any) -> FactStatus:
    if held.status is FactStatus.ACCEPTED and not held.policy:
        # A person accepted it on evidence that is no longer all there.
        return FactStatus.PROPOSAL
    return lower(held.status, judged(policy, remaining))


def forget(using: str, scope: Scope, versions: Sequence[str], facts: Sequence[int]) -> None:
    """Delete versions by id, with their standings and citations, and those facts that have none left."""
    rows = FactVersion.objects.db_manager(using).at(scope)
    for batch in writing.batches(versions):
        rows.filter(id__in=batch)._raw_delete(using)
    among = engine(connections[using]).among
    left = rows.filter(among("fact_number", facts)).values_list("fact_number", flat=True)
    empty = set(facts).difference(left.distinct())
    Fact.objects.db_manager(using).at(scope).filter(among("number", empty))._raw_delete(using)
