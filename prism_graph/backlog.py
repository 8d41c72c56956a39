"""What waits for vectors over all scopes, and working it off: for operators and cron."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q

from prism_graph import clock, embedding, spaces
from prism_graph.doors import scope_of
from prism_graph.embedding import Embedded
from prism_graph.errors import EmbedderUnavailable, EmbeddingSpaceMismatch, InvalidScope
from prism_graph.models import Chunk, Embedding, EmbeddingFailure, VectorPartition
from prism_graph.repair import Progress, quietly
from prism_graph.scope import COLUMNS, Scope

WHY: Final = "find what waits for its vector, in every scope"
# Seconds between two looks at a lease that somebody holds.
PAUSE: Final = 1.0

# The columns of a scope that are given: it, and all below it. None for all scopes.
Only = Mapping[str, str]
Say = Callable[[str], None]


def quiet(said: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A scope and how many of its chunks wait for a vector, or failed to get one."""

    scope: Scope
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A chunk that got no vector, by its id; nothing of what it says."""

    id: str
    tenant: str
    embedder: str
    attempts: int
    reason: str
    failed_at: datetime


@dataclass(frozen=True, slots=True)
class Outage:
    """A scope whose embedder could not be reached the last times that it was asked."""

    scope: Scope
    embedder: str
    failures: int
    reason: str
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Worked:
    """What a run did: vectors made, chunks that got none; and how many still wait."""

    made: int
    failed: int
    pending: int


def waiting(using: str, only: Only) -> list[Waiting]:
    """Return the scopes with chunks that wait or failed, in one statement for each space in use.

    There are none where the settings name no vectors.
    """
    if not (known := spaces.setups(using)):
        return []
    serving = _serving(using)
    own = known[0].space.key
    found: list[Waiting] = []
    for space in sorted({own, *serving.values()}):
        theirs = [tenant for tenant, key in serving.items() if key == space]
        among = Q(tenant__in=theirs)
        if space == own:
            among = ~Q(tenant__in=[tenant for tenant in serving if tenant not in theirs])
        found += _waiting_in(space, _rows(Chunk, using, only).filter(among))
    return sorted(found, key=lambda each: each.scope.parts)


def _waiting_in(space: str, chunks: Any) -> Iterator[Waiting]:
    def there(model: Any) -> Exists:
        same = {name: OuterRef(name) for name in (*COLUMNS, "number")}
        return Exists(_rows(model, chunks.db, {}).filter(space=space, **same))

    live = chunks.filter(~there(Embedding), retired_at=None).order_by().values_list(*COLUMNS)
    failed = Count("pk", filter=there(EmbeddingFailure))
    for *parts, every, bad in live.annotate(every=Count("pk"), bad=failed):
        # What is no scope is the doctor's.
        with suppress(InvalidScope):
            yield Waiting(Scope.from_columns(*parts), every - bad, bad)


def failures(using: str, only: Only) -> Iterator[Failure]:
    """Yield what failed in the spaces that tenants are searched in or move to, as it was stored."""
    serving, names = _serving(using), embedders(using)
    own = {setup.space.key for setup in spaces.setups(using)[:1]}
    rows = _rows(EmbeddingFailure, using, only).order_by("number")
    told = rows.values_list(
        "chunk__id", "tenant", "space", "attempts", "reason", "failed_at"
    ).iterator()
    for name, tenant, space, *rest in told:
        if space in {serving.get(tenant), *own}:
            yield Failure(name, tenant, names.get(space, ""), *rest)


def outages(using: str, only: Only) -> list[Outage]:
    """Return the partitions whose embedder could not be reached when it was asked last."""
    rows = _rows(VectorPartition, using, only).filter(failures__gt=0).order_by(*COLUMNS, "space")
    return [
        Outage(scope_of(row), row.embedder, row.failures, row.reason, row.failed_at) for row in rows
    ]


def work_off(
    using: str,
    only: Only,
    *,
    retry: bool = False,
    say: Say = quiet,
    progress: Progress = quietly,
) -> Worked:
    """Embed what waits, what failed before only with `retry`, scope by scope; count what came of it.

    Where another worker is at it, wait until that one is through, or was killed and its lease has run out.
    An embedder that cannot be reached ends the run. Raises EmbeddingSpaceMismatch after all other tenants
    had their turn.
    """
    todo = [each.scope for each in waiting(using, only) if each.pending or (retry and each.failed)]
    done, unfit = Embedded(), None
    for scope in progress(todo, len(todo)):
        try:
            done += _embed(scope, using, retry, say)
        except EmbedderUnavailable as error:
            say(str(error))
            break
        except EmbeddingSpaceMismatch as error:
            unfit = unfit or error
    if unfit:
        raise unfit
    return Worked(done.made, done.failed, sum(each.pending for each in waiting(using, only)))


def _embed(scope: Scope, using: str, retry: bool, say: Say) -> Embedded:
    """Embed a scope; while somebody else holds it, wait."""
    done, told = Embedded(), False
    while True:
        run = embedding.embed(scope, using, retry=retry)
        done += run
        acted = bool(run.made or run.failed)
        if not run.left or (acted and not _is_held(scope, using)):
            return done
        retry = retry and not acted
        if not told:
            say("Another worker holds a scope, or was killed: waiting until it lets go.")
            told = True
        time.sleep(PAUSE)


def _is_held(scope: Scope, using: str) -> bool:
    rows = VectorPartition.objects.db_manager(using).at(scope)
    return rows.filter(leased_until__gte=clock.now()).exists()


def _rows(model: Any, using: str, only: Only) -> Any:
    return model.objects.db_manager(using).system(WHY).filter(**only)


def _serving(using: str) -> dict[str, str]:
    rows = VectorPartition.objects.db_manager(using).system(WHY)
    return dict(rows.filter(serving=True, owner="").order_by().values_list("tenant", "space"))


def embedders(using: str) -> dict[str, str]:
    """Return what the embedder of each space calls itself."""
    rows = VectorPartition.objects.db_manager(using).system(WHY).order_by()
    return dict(rows.values_list("space", "embedder").distinct())


def by_tenant(found: Iterable[Waiting]) -> dict[str, dict[str, int]]:
    """Return pending and failed, summed up by tenant."""
    total: dict[str, dict[str, int]] = defaultdict(lambda: {"pending": 0, "failed": 0})
    for each in found:
        total[each.scope.tenant]["pending"] += each.pending
        total[each.scope.tenant]["failed"] += each.failed
    return dict(total)
