"""From stored rows to the values that memory hands out; and lists read without searching."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db.models import Q

from prism_graph.doors import scope_of
from prism_graph.limits import MAX_IDS, askable, check_ids
from prism_graph.models import ChunkText, Source
from prism_graph.records import ChunkView, SourceView
from prism_graph.scope import COLUMNS, Scope
from prism_graph.trust import Trust

# What a ChunkView is made of, read in one statement without the analysed terms.
_COLUMNS: Final = (
    *("number", "chunk__id", "text", "chunk__first_line", "chunk__last_line", "heading"),
    *("chunk__ordinal", "chunk__source__key", "chunk__trust", "chunk__origin_trust"),
    *("chunk__writer", "speaker", "turn_id", "chunk__occurred_at", "chunk__source__metadata"),
    *("chunk__recorded_at", "chunk__retired_at", *COLUMNS),
)


def views(scope: Scope, using: str, **wanted: Any) -> dict[int, ChunkView]:
    """Return the visible chunks that match these lookups on ChunkText, by number."""
    rows = ChunkText.objects.db_manager(using).visible_to(scope).filter(**wanted)
    return {row[0]: _chunk_view(*row[1:]) for row in rows.values_list(*_COLUMNS)}


def _chunk_view(
    name: str,
    text: str,
    first_line: int,
    last_line: int,
    heading: str,
    ordinal: int,
    source_key: str,
    trust: Trust,
    origin_trust: Trust,
    writer: str,
    speaker: str,
    turn_id: str,
    occurred_at: datetime | None,
    metadata: Any,
    recorded_at: datetime,
    retired_at: datetime | None,
    *parts: str,
) -> ChunkView:
    return ChunkView(
        id=name,
        text=text,
        lines=(first_line, last_line),
        heading=heading,
        ordinal=ordinal,
        source_key=source_key,
        trust=trust,
        origin_trust=origin_trust,
        writer=writer,
        speaker=speaker,
        turn_id=turn_id,
        occurred_at=occurred_at,
        metadata=_metadata(metadata),
        recorded_at=recorded_at,
        retired_at=retired_at,
        scope=Scope.from_columns(*parts),
    )


def _metadata(stored: Any) -> Mapping[str, Any]:
    return stored if isinstance(stored, dict) else {}


def source_view(source: Source) -> SourceView:
    """Return the value of a source."""
    return SourceView(
        id=source.id,
        key=source.key,
        kind=source.kind,
        uri=source.uri,
        title=source.title,
        trust=source.trust,
        writer=source.writer,
        metadata=_metadata(source.metadata),
        recorded_at=source.recorded_at,
        retired_at=source.retired_at,
        scope=scope_of(source),
    )


def any_of(rows: Iterable[Mapping[str, Any]]) -> Q:
    """Return the condition that names several rows, each by some of its columns; at least one."""
    return reduce(or_, (Q(**columns) for columns in rows))


def get(scope: Scope, using: str, ids: Iterable[Any]) -> list[ChunkView]:
    """Return the visible chunks of these ids, retired ones included, in the order asked for.

    Ids that name nothing visible are absent. Raises LimitExceeded above 100 ids.
    """
    wanted = check_ids(ids, MAX_IDS, "ids")
    rows = views(scope, using, chunk__id__in=askable(wanted))
    found = {view.id: view for view in rows.values()}
    return [found[name] for name in wanted if name in found]


def sources(scope: Scope, using: str, retired: bool = False) -> list[SourceView]:
    """Return the visible sources, nearest scope first, then by key; retired ones if asked for."""
    rows = Source.objects.db_manager(using).visible_to(scope)
    if not retired:
        rows = rows.filter(retired_at=None)
    views = [source_view(row) for row in rows]
    depth = {level: place for place, level in enumerate(scope.chain)}
    return sorted(views, key=lambda view: (depth[view.scope], view.key))
