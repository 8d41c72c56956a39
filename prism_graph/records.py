"""Frozen values that go in and out of memory; they hold no connection and run no query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

from prism_graph.policy import FactStatus
from prism_graph.scope import Scope
from prism_graph.trust import Trust


@dataclass(frozen=True, slots=True)
class ChunkView:
    """One passage, verbatim.

    `lines` are the first and last line in its source, from 1. `trust` is the least over all it was
    derived from, `origin_trust` what the calling code gave. `turn_id` and `speaker` are `""` in documents.
    """

    id: str
    text: str = field(repr=False)
    lines: tuple[int, int]
    heading: str = field(repr=False)
    ordinal: int
    source_key: str = field(repr=False)
    trust: Trust
    origin_trust: Trust
    writer: str
    speaker: str = field(repr=False)
    turn_id: str = field(repr=False)
    occurred_at: datetime | None
    metadata: Mapping[str, Any] = field(repr=False)
    recorded_at: datetime
    retired_at: datetime | None
    scope: Scope


@dataclass(frozen=True, slots=True)
class SourceView:
    """One document or conversation, without its text. `trust` is None for a conversation."""

    id: str
    key: str = field(repr=False)
    kind: str
    uri: str = field(repr=False)
    title: str = field(repr=False)
    trust: Trust | None
    writer: str
    metadata: Mapping[str, Any] = field(repr=False)
    recorded_at: datetime
    retired_at: datetime | None
    scope: Scope


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a write did: the source's id, and the ids of chunks added, kept and retired, in order."""

    source: str
    added: list[str]
    kept: list[str]
    retired: list[str]


class FactRef(NamedTuple):
    """Name one version of a fact: its key, its number and the scope it stands at."""

    key: str
    version: int
    scope: Scope

    def __repr__(self) -> str:
        return f"FactRef(version={self.version!r}, scope={self.scope!r})"


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage found.

    `score` is comparable within one answer only. `neighbours` are the passages just before and after
    it in its source, in order, as many on each side as were asked for. `explain` holds the parts that
    add up to the score when the search was asked to explain, else None. `superseded_by` names the
    versions in force that took the place of accepted ones resting on this passage.
    """

    chunk: ChunkView
    score: float
    method: str
    explain: Mapping[str, Any] | None = None
    superseded_by: tuple[FactRef, ...] = ()
    neighbours: tuple[ChunkView, ...] = ()


class Cited(NamedTuple):
    """One chunk that a fact cites: its id and its effective trust."""

    id: str
    trust: Trust


@dataclass(frozen=True, slots=True)
class FactView:
    """One version of a fact, with the standing that it has, or had when it was asked for.

    An accepted version holds in [valid_from, valid_to): until its stated end or the next version's start;
    the two are equal where it holds nothing. Any other has its stated interval. Memory held it in
    [recorded_from, recorded_to): from when it was stated until it was rejected or retracted. `contests` is
    the version that it would take the place of. `stale`: some of its evidence is retired. `shadowed`: a
    nearer scope has a version in force under the same key. `decided_by` and `reason` are as given with the
    last decision; `policy` names what judged it, and is `""` where the project decided by itself.
    """

    id: str
    key: str = field(repr=False)
    version: int
    scope: Scope
    status: FactStatus
    subject: str = field(repr=False)
    predicate: str = field(repr=False)
    value: str = field(repr=False)
    valid_from: datetime
    valid_to: datetime | None
    stated_valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    evidence: tuple[Cited, ...]
    contests: int | None
    stale: bool
    shadowed: bool
    decided_by: str = field(repr=False)
    decided_at: datetime
    reason: str = field(repr=False)
    policy: str


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What an erasure removed, counted in rows. Facts are counted by version, those of this scope only.

    `evidence_links` are the citations that went. `facts_kept` lost some of their evidence and stay, with
    the same status or a lower one.
    """

    source_found: bool
    chunks: int = 0
    vectors: int = 0
    evidence_links: int = 0
    facts_erased: int = 0
    facts_kept: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Everything but `source_found`."""
        names = (each.name for each in fields(self) if each.name != "source_found")
        return {name: getattr(self, name) for name in names}

    def __add__(self, other: ErasureReport) -> ErasureReport:
        """Return both counts together."""
        total = {name: count + other.counts[name] for name, count in self.counts.items()}
        return ErasureReport(self.source_found or other.source_found, **total)


@dataclass(frozen=True, slots=True)
class FailedEmbedding:
    """One chunk, by its id, that got no vector: how often that was tried, why not, and when last."""

    id: str
    attempts: int
    reason: str
    failed_at: datetime
