"""Erasing sources and turns, with all that was derived from them at whatever level below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from django.db import connections

from prism_graph import limits
from prism_graph.fulltext import engine
from prism_graph.models import Chunk, Derivation, Source
from prism_graph.records import ErasureReport
from prism_graph.scope import COLUMNS, Scope
from prism_graph.signals import announce, source_erased
from prism_graph.transactions import stamp, write_block
from prism_graph.writing import digest

WHY: Final = "erase what was derived from erased text, in the scopes below"

Doomed = dict[Scope, list[int]]


def erase(scope: Scope, using: str, key: str) -> ErasureReport:
    """Erase a source and everything derived from it. See Memory.erase."""
    key = limits.check_key(key)
    with write_block(using):
        source = _locked_source(scope, using, key)
        if source is None:
            return ErasureReport(source_found=False)
        chunks = Chunk.objects.db_manager(using).at(scope).filter(source_number=source.number)
        erased = _erase(scope, using, chunks)
        if not erased:
            # What has chunks goes with the last of them; this one had none.
            source.delete(using=using)
            announce(source_erased, Source, scope, using, source=source.id)
        return ErasureReport(source_found=True, chunks=erased)


def erase_turn(scope: Scope, using: str, conversation: str, turn_id: str) -> ErasureReport:
    """Erase one turn and everything derived from it. See Memory.erase_turn."""
    conversation = limits.check_key(conversation, "conversation")
    turn_id = limits.check_key(turn_id, "turn_id")
    with write_block(using):
        source = _locked_source(scope, using, conversation)
        if source is None:
            return ErasureReport(source_found=False)
        chunks = (
            Chunk.objects.db_manager(using)
            .at(scope)
            .filter(source_number=source.number, turn_digest=digest(turn_id))
        )
        return ErasureReport(source_found=True, chunks=_erase(scope, using, chunks))


def _locked_source(scope: Scope, using: str, key: str) -> Source | None:
    """Return the source of a key with its scope locked; look first, for the lock is a row too."""
    rows = Source.objects.db_manager(using).at(scope).filter(key_digest=digest(key), key=key)
    if not rows.exists():
        return None
    stamp(scope, using)
    return rows.first()


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


def _locked(rows: Any) -> list[int]:
    return list(rows.select_for_update().order_by("number").values_list("number", flat=True))


def _derived(using: str, parents: Doomed, known: Doomed) -> Doomed:
    """Return, by scope, the chunks that were derived from these and are not known yet."""
    found: dict[Scope, set[int]] = defaultdict(set)
    links = Derivation.objects.db_manager(using).system(WHY)
    among = engine(connections[using]).among
    for parent, numbers in parents.items():
        _, owner, agent, thread = parent.parts
        cited = links.filter(
            tenant=parent.tenant, cited_owner=owner, cited_agent=agent, cited_thread=thread
        )
        rows = cited.filter(among("cited_number", numbers))
        for *parts, number in rows.values_list(*COLUMNS, "number"):
            found[Scope.from_columns(*parts)].add(number)
    fresh = {where: numbers.difference(known.get(where, ())) for where, numbers in found.items()}
    rows_of = Chunk.objects.db_manager(using)
    return {
        where: _locked(rows_of.at(where).filter(among("number", numbers)))
        for where, numbers in fresh.items()
        if numbers
    }


def _delete(using: str, scope: Scope, numbers: Sequence[int]) -> None:
    among = engine(connections[using]).among
    chunks = Chunk.objects.db_manager(using).at(scope)
    doomed = chunks.filter(among("number", numbers))
    touched = set(doomed.values_list("source_number", flat=True).distinct())
    sources = Source.objects.db_manager(using).at(scope)
    # Locked before anyone looks whether they are empty: a writer below who adds to one of these either
    # has committed, and is seen, or waits, and then finds no source to add to.
    _locked(sources.filter(among("number", touched)))
    # Not delete(): all that was derived from these goes as well, and has been looked for.
    doomed._raw_delete(using)
    # A source that lost its last chunk says nothing but its key and title, and those are erased too.
    left = chunks.filter(among("source_number", touched))
    empty = touched.difference(left.values_list("source_number", flat=True).distinct())
    for source in sources.filter(among("number", touched)).values_list("id", flat=True):
        announce(source_erased, Source, scope, using, source=source)
    sources.filter(among("number", empty))._raw_delete(using)
