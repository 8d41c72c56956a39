"""How much memory holds, by tenant, in a fixed number of statements; never what it holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.db import connections
from django.db.models import CharField, Count, F, IntegerField, Q
from django.db.models.functions import Cast

from prism_graph import backlog
from prism_graph.fulltext import engine
from prism_graph.models import (
    Chunk,
    ChunkText,
    Citation,
    Derivation,
    Embedding,
    EmbeddingFailure,
    Fact,
    FactVersion,
    Receipt,
    ScopeClock,
    Source,
    SourceKind,
    Standing,
)
from prism_graph.policy import UNDECIDED, FactStatus
from prism_graph.trust import Trust

WHY: Final = "count rows by tenant"
UNKNOWN: Final = "unknown"

# Where a count stands: ("chunks", "by_trust", "user").
Path = tuple[str, ...]
Tallies = defaultdict[str, Counter[Path]]

_PLAIN: Final[Mapping[str, Any]] = {
    "scopes": ScopeClock,
    "derivations": Derivation,
    "facts": Fact,
    "versions": FactVersion,
    "citations": Citation,
    "receipts": Receipt,
}
_TRUST: Final = {each.code: each.value for each in Trust}
_WAITING: Final = {each.value for each in UNDECIDED}
# What is shown also where there is none of it.
_PATHS: Final[tuple[Path, ...]] = (
    ("scopes",),
    *(("sources", name) for name in ("all", "retired", *SourceKind.values)),
    *(("chunks", name) for name in ("in_search", "retired")),
    *(("chunks", "by_trust", each.value) for each in Trust),
    ("vectors", "all"),
    ("vectors", "failed"),
    ("derivations",),
    ("facts",),
    ("versions",),
    *(("by_status", each.value) for each in FactStatus),
    ("waiting",),
    ("citations",),
    ("receipts",),
)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts over all tenants and for each, and the bytes of the index on words, if they can be told.

    `scopes` are those ever written to. `by_trust` and `analysers` count passages in search, and all.
    `by_status` counts versions by their open standing, and `waiting` those that want a decision. `vectors`
    counts those of every space, `embedders` by what made them, and `failed` the chunks that got none.
    """

    index_bytes: int | None
    total: dict[str, Any]
    tenants: dict[str, dict[str, Any]]


def stats(using: str, tenant: str | None = None) -> Stats:
    """Count what memory holds, of one tenant or of all."""
    tallies: Tallies = defaultdict(Counter)
    for name, path, count in _counts(using, {} if tenant is None else {"tenant": tenant}):
        tallies[name][path] += count
    total: Counter[Path] = Counter()
    for each in tallies.values():
        total.update(each)
    return Stats(
        engine(connections[using]).size(),
        _nested(total),
        {name: _nested(tallies[name]) for name in sorted(tallies)},
    )


def _counts(using: str, only: Mapping[str, str]) -> Iterator[tuple[str, Path, int]]:
    """Yield (tenant, path, count), from one grouped statement for each table."""
    grouped = partial(_grouped, using, only)
    for name, model in _PLAIN.items():
        for tenant, count in grouped(model):
            yield tenant, (name,), count
    yield from _evidence(using, only)
    yield from _vectors(using, only)
    label = Cast("status", CharField())
    for tenant, status, count in grouped(Standing, label, open=Count("pk", filter=Q(until=None))):
        yield tenant, ("by_status", status), count
        if status in _WAITING:
            yield tenant, ("waiting",), count


def _evidence(using: str, only: Mapping[str, str]) -> Iterator[tuple[str, Path, int]]:
    grouped = partial(_grouped, using, only)
    retired = Count("pk", filter=Q(retired_at__isnull=False))
    for tenant, kind, count, gone in grouped(Source, F("kind"), all=Count("pk"), gone=retired):
        yield tenant, ("sources", "all"), count
        yield tenant, ("sources", kind), count
        yield tenant, ("sources", "retired"), gone
    # As numbers and text: raw SQL may have stored what no member stands for.
    code = Cast("trust", IntegerField())
    for tenant, number, live, gone in grouped(
        Chunk, code, live=Count("pk", filter=Q(retired_at=None)), gone=retired
    ):
        yield tenant, ("chunks", "in_search"), live
        yield tenant, ("chunks", "retired"), gone
        yield tenant, ("chunks", "by_trust", _TRUST.get(number, UNKNOWN)), live
    for tenant, analyser, count in grouped(ChunkText, F("analyser")):
        yield tenant, ("analysers", analyser), count


def _grouped(using: str, only: Mapping[str, str], model: Any, *by: Any, **counts: Any) -> Any:
    rows = model.objects.db_manager(using).system(WHY).filter(**only).order_by()
    return rows.values_list("tenant", *by).annotate(**(counts or {"all": Count("pk")}))


def _vectors(using: str, only: Mapping[str, str]) -> Iterator[tuple[str, Path, int]]:
    embedders = backlog.embedders(using)
    for tenant, space, count in _grouped(using, only, Embedding, F("space")):
        yield tenant, ("vectors", "all"), count
        yield tenant, ("embedders", embedders.get(space, UNKNOWN)), count
    for tenant, count in _grouped(using, only, EmbeddingFailure):
        yield tenant, ("vectors", "failed"), count


def _nested(tally: Mapping[Path, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in (*_PATHS, *sorted(tally)):
        *folders, name = path
        place = found
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = tally.get(path, 0)
    for name in ("analysers", "embedders"):
        found.setdefault(name, {})
    return found
