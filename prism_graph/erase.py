"""Erasing sources and turns, with all that was derived from them at whatever level below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from prism_graph import limits
from prism_graph.models import Chunk, Derivation, Source
from prism_graph.records import ErasureReport
from prism_graph.scope import COLUMNS, Scope
from prism_graph.transactions import stamp, write_block
from prism_graph.writing import digest

WHY: Final = "erase what was derived from erased text, in the scopes below"
BATCH: Final = 500

Doomed = dict[Scope, list[int]]


def erase(scope: Scope, using: str, key: str) -> ErasureReport:
    """Erase a source and everything derived from it. See Memory.erase."""
    limits.check_key(key)
    with write_block(using):
        stamp(scope, using)
        rows = Source.objects.db_manager(using).at(scope)
        source = rows.filter(key_digest=digest(key), key=key).first()
        if source is None:
            return ErasureReport(source_found=False)
        chunks = Chunk.objects.db_manager(using).at(scope).filter(source_number=source.number)
        erased = _erase(scope, using, chunks)
        source.delete(using=using)
        return ErasureReport(source_found=True, chunks=erased)


def erase_turn(scope: Scope, using: str, conversation: str, turn_id: str) -> ErasureReport:
    """Erase one turn and everything derived from it. See Memory.erase_turn."""
    limits.check_key(conversation, "conversation")
    limits.check_key(turn_id, "turn_id")
    with write_block(using):
        stamp(scope, using)
        rows = Source.objects.db_manager(using).at(scope)
        source = rows.filter(key_digest=digest(conversation), key=conversation).first()
        if source is None:
            return ErasureReport(source_found=False)
        chunks = (
            Chunk.objects.db_manager(using)
            .at(scope)
            .filter(source_number=source.number, turn_digest=digest(turn_id))
        )
        return ErasureReport(source_found=True, chunks=_erase(scope, using, chunks))


def _erase(scope: Scope, using: str, chunks: Any) -> int:
    """Delete the chunks and their descendants; return how many of them stood in this scope."""
    # Locked before anyone looks for descendants: a writer who cites one of these either has
    # committed, and is found, or waits, and then finds nothing to cite.
    doomed: Doomed = {scope: _locked(chunks)}
    found = doomed
    while found := _derived(using, found, doomed):
        for where, numbers in found.items():
            doomed.setdefault(where, []).extend(numbers)
    for where, numbers in doomed.items():
        _delete(using, where, numbers)
    return len(doomed[scope])


def _locked(chunks: Any) -> list[int]:
    return list(chunks.select_for_update().order_by("number").values_list("number", flat=True))


def _derived(using: str, parents: Doomed, known: Doomed) -> Doomed:
    """Return, by scope, the chunks that were derived from these and are not known yet."""
    found: dict[Scope, set[int]] = defaultdict(set)
    links = Derivation.objects.db_manager(using).system(WHY)
    for parent, numbers in parents.items():
        _, owner, agent, thread = parent.parts
        cited = links.filter(
            tenant=parent.tenant, cited_owner=owner, cited_agent=agent, cited_thread=thread
        )
        for batch in _batches(numbers):
            rows = cited.filter(cited_number__in=batch)
            for *parts, number in rows.values_list(*COLUMNS, "number"):
                found[Scope.from_columns(*parts)].add(number)
    fresh = {where: numbers.difference(known.get(where, ())) for where, numbers in found.items()}
    rows_of = Chunk.objects.db_manager(using)
    return {
        where: _locked(rows_of.at(where).filter(number__in=numbers))
        for where, numbers in fresh.items()
        if numbers
    }


def _delete(using: str, scope: Scope, numbers: Sequence[int]) -> None:
    chunks = Chunk.objects.db_manager(using).at(scope)
    sources = Source.objects.db_manager(using).at(scope)
    touched: set[int] = set()
    for batch in _batches(numbers):
        here = chunks.filter(number__in=batch)
        touched.update(here.values_list("source_number", flat=True).distinct())
        here.delete()
    # A source that lost its last chunk says nothing but its key and title, and those are erased too.
    for batch in _batches(sorted(touched)):
        empty = set(batch).difference(
            chunks.filter(source_number__in=batch).values_list("source_number", flat=True)
        )
        sources.filter(number__in=empty).delete()


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), BATCH):
        yield numbers[start : start + BATCH]
