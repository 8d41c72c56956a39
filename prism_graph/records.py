"""Frozen values that go in and out of memory; they hold no connection and run no query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage found.

    `score` is comparable within one answer only. `neighbours` are the passages just before and after
    it in its source, in order, as many on each side as were asked for. `explain` holds the parts that
    add up to the score when the search was asked to explain, else None. `superseded_by` names the
    versions that took the place of facts this passage is evidence for.
    """

    chunk: ChunkView
    score: float
    method: str
    explain: Mapping[str, Any] | None = None
    superseded_by: tuple[str, ...] = ()
    neighbours: tuple[ChunkView, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What an erasure removed from this scope, counted in rows."""

    source_found: bool
    chunks: int = 0
    vectors: int = 0
    evidence_links: int = 0
    facts_erased: int = 0
    facts_kept: int = 0
