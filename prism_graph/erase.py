"""Erasing what memory holds, with everything that rests on it at whatever level below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from django.db import connections

from prism_graph import clock, limits, receipts, spaces
from prism_graph.bases.citing import cited_at
from prism_graph.fulltext import engine
from prism_graph.lost_evidence import forget, lose
from prism_graph.models import (
    Chunk,
    Citation,
    Derivation,
    Embedding,
    Fact,
    FactVersion,
    Source,
)
from prism_graph.receipts import Erasure, Order
from prism_graph.records import ErasureReport
from prism_graph.scope import COLUMNS, Scope
from prism_graph.signals import announce, fact_erased, source_erased
from prism_graph.transactions import stamp, write_block
from prism_graph.writing import digest

WHY: Final = "erase what rests on erased text, in the scopes below"
EMPTY: Final = ErasureReport(source_found=True)

Doomed = dict[Scope, list[int]]


def erase(scope: Scope, using: str, key: str, order: Order) -> Erasure:
    """Erase a source and everything that rests on it. See Memory.erase."""
    key = limits.check_key(key)
    with write_block(using):
        source, at = _locked_source(scope, using, key)
        if source is None:
            return Erasure.of_nothing()
        chunks = Chunk.objects.db_manager(using).at(scope).filter(source_number=source.number)
        here, below = erase_chunks(scope, using, chunks, at)
        if not here.chunks:
            # What has chunks goes with the last of them; this one had none.
            source.delete(using=using)
            announce(source_erased, Source, scope, using, source=source.id)
        return receipts.write(scope, using, at, order, "erase", key, here=here, below=below)


def erase_turn(scope: Scope, using: str, conversation: str, turn_id: str, order: Order) -> Erasure:
    """Erase one turn and everything that rests on it. See Memory.erase_turn."""
    conversation = limits.check_key(conversation, "conversation")
    turn_id = limits.check_key(turn_id, "turn_id")
    with write_block(using):
        source = _sources(scope, using, conversation).first()
        if source is None:
            return Erasure.of_nothing()
        chunks = Chunk.objects.db_manager(using).at(scope)
        turn = chunks.filter(source_number=source.number, turn_digest=digest(turn_id))
        if not turn.exists():
            return Erasure.of_nothing(source_found=True)
        at = stamp(scope, using)
        here, below = erase_chunks(scope, using, turn, at)
        if not here.chunks:
            return Erasure.of_nothing(source_found=True)
        names = ("erase_turn", conversation, turn_id)
        return receipts.write(scope, using, at, order, *names, here=here, below=below)


def _sources(scope: Scope, using: str, key: str) -> Any:
    return Source.objects.db_manager(using).at(scope).filter(key_digest=digest(key), key=key)


def _locked_source(scope: Scope, using: str, key: str) -> tuple[Source | None, datetime]:
    """Return the source of a key and an instant, with the scope locked.

    Look first: the lock is a row too, and erasing nothing writes none.
    """
    rows = _sources(scope, using, key)
    if not rows.exists():
        return None, clock.EPOCH
    at = stamp(scope, using)
    return rows.first(), at


def erase_chunks(
    scope: Scope, using: str, chunks: Any, at: datetime
) -> tuple[ErasureReport, ErasureReport]:
    """Delete the chunks and what rests on them; return what that did in this scope, and below it.

    Call it in a transaction that holds the scope's lock since the instant `at`.
    """
    # Locked before anyone looks for descendants: a writer who cites one of these either has
    # committed, and is found, or waits, and then finds nothing to cite.
    doomed: Doomed = {scope: _locked(chunks)}
    found = doomed
    while found := _derived(using, found, doomed):
        for where, numbers in found.items():
            doomed.setdefault(where, []).extend(numbers)
    lost = lose(using, doomed, {scope: at})
    gone = {where: _delete(using, where, numbers) for where, numbers in doomed.items()}
    reports = {
        where: replace(
            lost.get(where, EMPTY), chunks=len(doomed.get(where, ())), vectors=gone.get(where, 0)
        )
        for where in {**doomed, **lost}
    }
    here = reports.pop(scope)
    return here, sum(reports.values(), EMPTY)


def _locked(rows: Any) -> list[int]:
    return list(rows.select_for_update().order_by("number").values_list("number", flat=True))


def _derived(using: str, parents: Doomed, known: Doomed) -> Doomed:
    """Return, by scope, the chunks that were derived from these and are not known yet."""
    found: dict[Scope, set[int]] = defaultdict(set)
    links = Derivation.objects.db_manager(using).system(WHY)
    among = engine(connections[using]).among
    for parent, numbers in parents.items():
        rows = links.filter(among("cited_number", numbers), **cited_at(parent))
        for *parts, number in rows.values_list(*COLUMNS, "number"):
            found[Scope.from_columns(*parts)].add(number)
    fresh = {where: numbers.difference(known.get(where, ())) for where, numbers in found.items()}
    rows_of = Chunk.objects.db_manager(using)
    return {
        where: _locked(rows_of.at(where).filter(among("number", numbers)))
        for where, numbers in fresh.items()
        if numbers
    }


def _delete(using: str, scope: Scope, numbers: Sequence[int]) -> int:
    """Delete these chunks, which are locked, and what hangs on them; return how many vectors they had."""
    among = engine(connections[using]).among
    embeddings = Embedding.objects.db_manager(using).at(scope)
    vectors = embeddings.filter(among("number", numbers)).count()
    spaces.forget(using, scope, numbers)
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
    return vectors


def erase_fact(scope: Scope, using: str, key: str, version: int | None, order: Order) -> Erasure:
    """Erase a fact, or one version of it. See Memory.erase_fact."""
    key, version = limits.check_key(key), limits.check_version(version, "version")
    facts = Fact.objects.db_manager(using).at(scope).filter(key_digest=digest(key), key=key)
    with write_block(using):
        versions = FactVersion.objects.db_manager(using).at(scope)
        if version is not None:
            versions = versions.filter(number=version)
        if not versions.filter(fact_number__in=facts.values("number")).exists():
            return Erasure.of_nothing()
        at = stamp(scope, using)
        fact = facts.first()
        doomed = list(versions.filter(fact_number=fact.number)) if fact else []
        if fact is None or not doomed:
            return Erasure.of_nothing()
        numbers = [each.number for each in doomed]
        links = Citation.objects.db_manager(using).at(scope).filter(fact_number=fact.number)
        here = ErasureReport(
            source_found=True,
            evidence_links=links.filter(version__in=numbers).count(),
            facts_erased=len(doomed),
        )
        forget(using, scope, [each.id for each in doomed], [fact.number])
        for each in doomed:
            announce(fact_erased, FactVersion, scope, using, fact=fact.id, version=each.id)
        names = (key,) if version is None else (key, str(version))
        return receipts.write(scope, using, at, order, "erase_fact", *names, here=here, below=EMPTY)
