"""Taking text in: documents that are kept in step, and conversations that grow turn by turn."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import Max
from django.dispatch import Signal

from prism_graph import conf, limits, writing
from prism_graph.bases.rows import random_id
from prism_graph.chunking import MarkdownChunker, Piece, WholeChunker
from prism_graph.chunking.cover import pieces_of
from prism_graph.chunking.lines import LineIndex
from prism_graph.errors import InvalidInput, SourceKindMismatch, SourceNotFound
from prism_graph.lineage import trace
from prism_graph.models import Chunk, ChunkKind, ChunkText, Derivation, Source, SourceKind
from prism_graph.records import IngestReport
from prism_graph.scope import Scope
from prism_graph.signals import announce, source_ingested, source_retired
from prism_graph.transactions import stamp, write_block
from prism_graph.trust import Origin
from prism_graph.writing import Draft, Setting, digest

# A turn up to this many characters is one chunk; a longer one is cut like a document.
WHOLE_TURN: Final = 1600


@dataclass(frozen=True, slots=True)
class Held:
    """A live chunk of a document, as far as re-ingest needs to know it."""

    id: str
    number: int
    heading: str
    ordinal: int
    lines: tuple[int, int]


@dataclass(slots=True)
class Comparison:
    """What a new version of a document keeps, adds and retires."""

    kept: list[tuple[Held, Draft]] = field(default_factory=list)
    new: list[Draft] = field(default_factory=list)
    retired: list[Held] = field(default_factory=list)


def ingest(
    scope: Scope,
    using: str,
    key: str,
    text: str,
    *,
    origin: Origin,
    uri: str = "",
    title: str = "",
    chunker: Any = None,
    metadata: Mapping[str, Any] | None = None,
    derived_from: Iterable[Any] = (),
) -> IngestReport:
    """Store a document, or bring the stored one in step with this text. See Memory.ingest."""
    key = limits.check_key(key)
    text = limits.check_text(text, "text", conf.config().MAX_TEXT)
    uri = limits.check_text(uri, "uri", limits.MAX_LABEL)
    title = limits.check_text(title, "title", limits.MAX_LABEL)
    origin = limits.check_origin(origin)
    stated = limits.check_metadata(metadata)
    chunker = conf.default_chunker() if chunker is None else chunker
    drafts = _drafts(text, pieces_of(limits.check_chunker(chunker), text))
    with write_block(using):
        at = stamp(scope, using)
        lineage = trace(scope, using, derived_from)
        about = {"uri": uri, "title": title, "writer": origin.writer, "metadata": stated}
        source, retitled = _open_document(
            scope, using, key, at, {**about, "trust": lineage.effective(origin.trust)}
        )
        setting = Setting(scope, source.number, ChunkKind.PASSAGE, origin, lineage, at, title=title)
        change = _compare(_held(scope, using, source.number), setting, drafts)
        report = _apply(using, source, setting, change, retitled)
        _announce(source_ingested, scope, using, report)
        return report


def _drafts(text: str, pieces: Sequence[Piece], first_ordinal: int = 0) -> list[Draft]:
    lines = LineIndex(text)
    drafts = []
    for part, piece in enumerate(pieces):
        passage = text[piece.start : piece.end]
        heading = limits.check_text(piece.heading, "heading", limits.MAX_LABEL)
        span = lines.span(piece.start, piece.end)
        drafts.append(Draft(passage, heading, first_ordinal + part, span, digest(passage), part))
    return drafts


def _open_document(
    scope: Scope, using: str, key: str, at: datetime, about: dict[str, Any]
) -> tuple[Source, bool]:
    """Return the document's row in step with `about`, and whether its title changed."""
    source = _find(scope, using, key, SourceKind.DOCUMENT)
    if source is None:
        return _create(scope, using, key, SourceKind.DOCUMENT, at, about), False
    changed = {name: value for name, value in about.items() if getattr(source, name) != value}
    if source.retired_at is not None:
        changed["retired_at"] = None
    for name, value in changed.items():
        setattr(source, name, value)
    if changed:
        source.save(using=using, update_fields=list(changed))
    return source, "title" in changed


def _find(scope: Scope, using: str, key: str, kind: SourceKind) -> Source | None:
    rows = Source.objects.db_manager(using).at(scope)
    source = rows.filter(key_digest=digest(key), key=key).first()
    if source is not None and source.kind != kind:
        raise SourceKindMismatch
    return source


def _create(
    scope: Scope, using: str, key: str, kind: SourceKind, at: datetime, about: Mapping[str, Any]
) -> Source:
    rows = Source.objects.db_manager(using).at(scope)
    # The scope is locked, so the next number is free.
    number = (rows.aggregate(last=Max("number"))["last"] or 0) + 1
    return rows.create(
        number=number, key=key, key_digest=digest(key), kind=kind, recorded_at=at, **about
    )


def _held(scope: Scope, using: str, source_number: int) -> dict[Any, deque[Held]]:
    """Return the live chunks by what makes a chunk the same: text, trust, writer and lineage."""
    links: dict[int, set[int]] = defaultdict(set)
    chunks = Chunk.objects.db_manager(using).at(scope).filter(source_number=source_number)
    cited = Derivation.objects.db_manager(using).at(scope)
    for number, cited_number in cited.filter(number__in=chunks.values("number")).values_list(
        "number", "cited_number"
    ):
        links[number].add(cited_number)
    rows = (
        ChunkText.objects.db_manager(using)
        .at(scope)
        .filter(chunk__source_number=source_number, chunk__retired_at=None)
        .order_by("chunk__ordinal")
        .values_list(
            *("chunk__digest", "chunk__origin_trust", "chunk__trust", "chunk__writer", "chunk__id"),
            *("number", "heading", "chunk__ordinal", "chunk__first_line", "chunk__last_line"),
        )
    )
    held: dict[Any, deque[Held]] = defaultdict(deque)
    for *same, name, number, heading, ordinal, first, last in rows.iterator():
        identity = (*same, frozenset(links.get(number, ())))
        held[identity].append(Held(name, number, heading, ordinal, (first, last)))
    return held


def _compare(held: dict[Any, deque[Held]], setting: Setting, drafts: Sequence[Draft]) -> Comparison:
    change = Comparison()
    who = (setting.origin.trust, setting.trust, setting.origin.writer)
    for draft in drafts:
        same = held.get((draft.digest, *who, setting.lineage.numbers))
        if same:
            change.kept.append((same.popleft(), draft))
        else:
            change.new.append(draft)
    left = (each for rest in held.values() for each in rest)
    change.retired = sorted(left, key=lambda each: each.ordinal)
    return change


def _apply(
    using: str, source: Source, setting: Setting, change: Comparison, retitled: bool
) -> IngestReport:
    writing.retire(
        using, setting.scope, (each.number for each in change.retired), setting.recorded_at
    )
    writing.move(
        using,
        setting.scope,
        (
            (held.number, draft.ordinal, draft.lines)
            for held, draft in change.kept
            if (held.ordinal, held.lines) != (draft.ordinal, draft.lines)
        ),
    )
    writing.reword(
        using,
        setting.scope,
        (
            (held.number, draft.heading, setting.index(draft.text, draft.heading))
            for held, draft in change.kept
            if retitled or held.heading != draft.heading
        ),
    )
    if retitled:
        _retitle_retired(using, source, setting)
    return IngestReport(
        source=source.id,
        added=writing.add(using, setting, change.new),
        kept=[held.id for held, _ in change.kept],
        retired=[held.id for held in change.retired],
    )


def _retitle_retired(using: str, source: Source, setting: Setting) -> None:
    """Index what the document no longer holds under its new title too, as `repair` would."""
    rows = ChunkText.objects.db_manager(using).at(setting.scope)
    retired = rows.filter(chunk__source_number=source.number, chunk__retired_at__isnull=False)
    texts = retired.values_list("number", "text", "heading")
    changed = [(number, heading, setting.index(text, heading)) for number, text, heading in texts]
    writing.reword(using, setting.scope, changed)


def record(
    scope: Scope,
    using: str,
    conversation: str,
    text: str,
    *,
    origin: Origin,
    speaker: str = "",
    turn_id: str | None = None,
    occurred_at: datetime | str | None = None,
    derived_from: Iterable[Any] = (),
) -> IngestReport:
    """Append a turn to a conversation. See Memory.record."""
    conversation = limits.check_key(conversation, "conversation")
    text = limits.check_text(text, "text", conf.config().MAX_TEXT)
    speaker = limits.check_text(speaker, "speaker", limits.MAX_LABEL)
    origin = limits.check_origin(origin)
    turn = random_id() if turn_id is None else limits.check_key(turn_id, "turn_id")
    when = limits.check_instant(occurred_at, "occurred_at")
    if not text:
        raise InvalidInput("A turn must not be empty.")
    pieces = pieces_of(WholeChunker() if len(text) <= WHOLE_TURN else MarkdownChunker(), text)
    with write_block(using):
        at = stamp(scope, using)
        lineage = trace(scope, using, derived_from)
        source = _find(scope, using, conversation, SourceKind.CONVERSATION) or _create(
            scope, using, conversation, SourceKind.CONVERSATION, at, {}
        )
        turns = Chunk.objects.db_manager(using).at(scope).filter(source_number=source.number)
        known = turns.filter(turn_digest=digest(turn)).order_by("part").values_list("id", flat=True)
        if turn_id is not None and (kept := list(known)):
            return IngestReport(source.id, [], kept, [])
        _revive(source, using)
        last = turns.aggregate(last=Max("ordinal"))["last"]
        setting = Setting(
            *(scope, source.number, ChunkKind.TURN, origin, lineage, at),
            speaker=speaker,
            turn_id=turn,
            occurred_at=when,
        )
        drafts = _drafts(text, pieces, 0 if last is None else last + 1)
        report = IngestReport(source.id, writing.add(using, setting, drafts), [], [])
        _announce(source_ingested, scope, using, report)
        return report


def _revive(source: Source, using: str) -> None:
    if source.retired_at is not None:
        source.retired_at = None
        source.save(using=using, update_fields=["retired_at"])


def retire_source(scope: Scope, using: str, key: str) -> IngestReport:
    """Take a source out of search. See Memory.retire_source."""
    key = limits.check_key(key)
    with write_block(using):
        at = stamp(scope, using)
        rows = Source.objects.db_manager(using).at(scope)
        source = rows.filter(key_digest=digest(key), key=key).first()
        if source is None:
            raise SourceNotFound
        live = (
            Chunk.objects.db_manager(using)
            .at(scope)
            .filter(source_number=source.number, retired_at=None)
        )
        rows_now = list(live.order_by("ordinal").values_list("id", "number"))
        retired = [name for name, _ in rows_now]
        writing.retire(using, scope, (number for _, number in rows_now), at)
        if source.retired_at is None:
            source.retired_at = at
            source.save(using=using, update_fields=["retired_at"])
        report = IngestReport(source.id, [], [], retired)
        _announce(source_retired, scope, using, report)
        return report


def _announce(signal: Signal, scope: Scope, using: str, report: IngestReport) -> None:
    ids = {"source": report.source, "added": report.added, "retired": report.retired}
    announce(signal, Source, scope, using, **ids)
