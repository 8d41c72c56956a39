"""Rows of chunks, written in a fixed number of statements however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, TypeVar

from django.db import connections

from prism_graph.analysis import length_of
from prism_graph.bases.rows import random_ids
from prism_graph.fulltext import engine
from prism_graph.indexing import ANALYSER, Indexed, indexed
from prism_graph.lineage import Lineage
from prism_graph.models import Chunk, ChunkKind, ChunkText, Derivation
from prism_graph.scope import COLUMNS, Scope
from prism_graph.tables import named
from prism_graph.trust import Origin, Trust

T = TypeVar("T")

# Ids named one by one in a statement; every database takes as many.
BATCH: Final = 500

_HERE: Final = "tenant = %s AND owner = %s AND agent = %s AND thread = %s AND number = %s"
_MOVE: Final = f"UPDATE $chunk SET ordinal = %s, first_line = %s, last_line = %s WHERE {_HERE}"
_RETIRE: Final = f"UPDATE $chunk SET retired_at = %s WHERE {_HERE} AND retired_at IS NULL"
_REWORD: Final = (
    f"UPDATE $chunktext SET heading = %s, terms = %s, terms_of = %s, analyser = %s WHERE {_HERE}"
)
_RESIZE: Final = f"UPDATE $chunk SET length = %s WHERE {_HERE}"

_RETOKEN: Final = f"UPDATE $chunktext SET token = %s WHERE {_HERE}"

_FACT: Final = "tenant = %s AND owner = %s AND agent = %s AND thread = %s AND fact_number = %s"
_END: Final = f"UPDATE $standing SET until = %s WHERE {_FACT} AND version = %s AND until IS NULL"
_WEAKEN: Final = f"UPDATE $factversion SET weakened_at = %s WHERE {_FACT} AND number = %s"
_COUNT: Final = f"UPDATE $fact SET last_version = %s WHERE {_HERE}"

_CHUNK_FIELDS: Final = (
    *("id", *COLUMNS, "number", "source_number", "ordinal", "kind", "trust"),
    *("origin_trust", "writer", "length", "digest", "turn_digest", "part", "first_line"),
    *("last_line", "occurred_at", "recorded_at", "retired_at"),
)
_TEXT_FIELDS: Final = (
    *(*COLUMNS, "number", "token", "text", "heading", "speaker", "turn_id", "analyser"),
    *("terms", "terms_of"),
)
_LINK_FIELDS: Final = (
    *("id", *COLUMNS, "number", "cited_owner", "cited_agent", "cited_thread", "cited_number"),
)


def digest(text: str) -> str:
    """Return 128 bits that stand for a text, in hexadecimal."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def batches(ids: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield ids or numbers, as many at a time as one statement names."""
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


@dataclass(frozen=True, slots=True)
class Draft:
    """One chunk to come: its text, where it stands, and its part of a turn."""

    text: str
    heading: str
    ordinal: int
    lines: tuple[int, int]
    digest: str
    part: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """What all chunks of one write have in common."""

    scope: Scope
    source_number: int
    kind: ChunkKind
    origin: Origin
    lineage: Lineage
    recorded_at: datetime
    title: str = ""
    speaker: str = ""
    turn_id: str = ""
    occurred_at: datetime | None = None

    @property
    def trust(self) -> Trust:
        """The effective trust."""
        return self.lineage.effective(self.origin.trust)

    def index(self, text: str, heading: str) -> Indexed:
        """Analyse one text with this context."""
        when = (self.occurred_at or self.recorded_at) if self.kind == ChunkKind.TURN else None
        return indexed(text, title=self.title, heading=heading, speaker=self.speaker, when=when)


def add(using: str, setting: Setting, drafts: Sequence[Draft]) -> list[str]:
    """Insert chunks with their texts and lineage; return their ids, in order."""
    if not drafts:
        return []
    index = engine(connections[using])
    ids, numbers = random_ids(len(drafts)), index.reserve(len(drafts))
    index.insert(Chunk, _CHUNK_FIELDS, _chunk_rows(using, setting, drafts, ids, numbers))
    with index.loading(len(drafts)):
        # Analysed row by row, while the database is busy with the rows before.
        index.insert(ChunkText, _TEXT_FIELDS, _text_rows(setting, drafts, numbers))
    if setting.lineage.cited:
        index.insert(Derivation, _LINK_FIELDS, _link_rows(setting, numbers))
    return ids


def _chunk_rows(
    using: str,
    setting: Setting,
    drafts: Sequence[Draft],
    ids: Sequence[str],
    numbers: Sequence[int],
) -> Iterator[tuple[Any, ...]]:
    adapt = connections[using].ops.adapt_datetimefield_value
    parts = tuple(map(str, setting.scope.parts))
    who = (int(setting.kind), setting.trust.code, setting.origin.trust.code, setting.origin.writer)
    turn = digest(setting.turn_id) if setting.turn_id else ""
    times = (adapt(setting.occurred_at), adapt(setting.recorded_at), None)
    for draft, name, number in zip(drafts, ids, numbers, strict=True):
        place = (number, setting.source_number, draft.ordinal)
        marks = (length_of(draft.text), draft.digest, turn, draft.part, *draft.lines)
        yield (name, *parts, *place, *who, *marks, *times)


def _text_rows(
    setting: Setting, drafts: Sequence[Draft], numbers: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    parts, token = tuple(map(str, setting.scope.parts)), setting.scope.token
    said = (setting.speaker, setting.turn_id, ANALYSER)
    for draft, number in zip(drafts, numbers, strict=True):
        words = setting.index(draft.text, draft.heading)
        text = (draft.text, draft.heading, *said, words.terms, words.terms_of)
        yield (*parts, number, token, *text)


def _link_rows(setting: Setting, numbers: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    parts = tuple(map(str, setting.scope.parts))
    ids = iter(random_ids(len(numbers) * len(setting.lineage.cited)))
    for number in numbers:
        for scope, cited, _ in setting.lineage.cited:
            yield (next(ids), *parts, number, *map(str, scope.parts[1:]), cited)


def _each(using: str, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    listed = list(rows)
    if listed:
        with connections[using].cursor() as cursor:
            cursor.executemany(named(statement), listed)


def move(using: str, scope: Scope, places: Iterable[tuple[int, int, tuple[int, int]]]) -> None:
    """Set chunks' (number, ordinal, lines) where they stand now."""
    parts = tuple(map(str, scope.parts))
    rows = ((ordinal, *lines, *parts, number) for number, ordinal, lines in places)
    _each(using, _MOVE, rows)


def retire(using: str, scope: Scope, numbers: Iterable[int], at: datetime) -> None:
    """End what memory holds of these chunks at an instant."""
    when = connections[using].ops.adapt_datetimefield_value(at)
    parts = tuple(map(str, scope.parts))
    _each(using, _RETIRE, ((when, *parts, number) for number in numbers))


def reword(using: str, scope: Scope, changed: Iterable[tuple[int, str, Indexed]]) -> None:
    """Store new (number, heading, analysis) of texts that stay as they are."""
    parts, listed = tuple(map(str, scope.parts)), list(changed)
    rows = (
        (heading, words.terms, words.terms_of, ANALYSER, *parts, number)
        for number, heading, words in listed
    )
    if listed:
        with engine(connections[using]).loading(len(listed)):
            _each(using, _REWORD, rows)
        _each(using, _RESIZE, ((words.length, *parts, number) for number, _, words in listed))


def retoken(using: str, scope: Scope, number: int) -> None:
    """Store the scope's token again on a text."""
    _each(using, _RETOKEN, [(scope.token, *map(str, scope.parts), number)])


def end_standings(
    using: str, scope: Scope, versions: Iterable[tuple[int, int]], at: datetime
) -> None:
    """End what the standings of versions (fact's number, own number) that are open say, at an instant."""
    _stamp(using, _END, scope, versions, at)


def weaken(using: str, scope: Scope, versions: Iterable[tuple[int, int]], at: datetime) -> None:
    """Store when versions (fact's number, own number) lost evidence."""
    _stamp(using, _WEAKEN, scope, versions, at)


def count_versions(using: str, scope: Scope, fact: int, last: int) -> None:
    """Store the highest number that a version of a fact has had."""
    _each(using, _COUNT, [(last, *map(str, scope.parts), fact)])


def _stamp(
    using: str, statement: str, scope: Scope, versions: Iterable[tuple[int, int]], at: datetime
) -> None:
    when = connections[using].ops.adapt_datetimefield_value(at)
    parts = tuple(map(str, scope.parts))
    _each(using, statement, ((when, *parts, *version) for version in versions))
