"""Looking for what is wrong with what is made of texts, the index on words above all; putting it right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, connections, transaction

from prism_graph import outdated, writing
from prism_graph.doors import scope_of
from prism_graph.fulltext import engine
from prism_graph.indexing import ANALYSER, Indexed

WHY = "compare the index on words with every row"
BATCH = 1000

# Shows the rows as they pass: tqdm on a terminal, nothing elsewhere.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


def quietly(rows: Iterable[Any], total: int) -> Iterable[Any]:
    """Show nothing."""
    return rows


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did: parts installed again, texts analysed again, whether the index was rebuilt."""

    installed: list[str]
    analysed: int
    rebuilt: bool


def install(using: str) -> list[str]:
    """Install what is missing of the index and fill it from the rows; return what was missing."""
    connection = connections[using]
    index = engine(connection)
    missing = index.missing()
    if missing:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            for statement in index.install_sql():
                cursor.execute(statement)
            index.rebuild()
    return missing


def problems(using: str, progress: Progress = quietly) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong; write nothing that stays."""
    yield from index_problems(using, progress)
    if count := sum(1 for _ in outdated.outdated(outdated.every(using))):
        yield f"{count} vectors are of another text than their passage has"


def index_problems(using: str, progress: Progress = quietly) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with the index on words."""
    index = engine(connections[using])
    missing = index.missing()
    for name in missing:
        yield f"{name} is missing or not as installed"
    stale = sum(1 for _ in _stale(using, progress))
    if stale:
        yield f"{stale} passages are not analysed as {ANALYSER} analyses them"
    if not missing:
        yield from index.drift()


def repair(using: str, progress: Progress = quietly) -> Repaired:
    """Install what is missing, analyse again what is stale, rebuild what still differs."""
    with transaction.atomic(using=using):
        installed = install(using)
        index, rebuilt = engine(connections[using]), bool(installed)
        try:
            analysed = _analyse_again(using, progress)
        except DatabaseError:
            # FTS5 takes no words out of an index that lacks them.
            index.rebuild()
            analysed, rebuilt = _analyse_again(using, progress), True
        if any(True for _ in index.drift()):
            index.rebuild()
            rebuilt = True
        outdated.remove(using)
    return Repaired(installed, analysed, rebuilt)


def _analyse_again(using: str, progress: Progress) -> int:
    analysed = 0
    with transaction.atomic(using=using):
        for text, found in _stale(using, progress):
            _store(using, text, found)
            analysed += 1
    return analysed


def _stale(using: str, progress: Progress) -> Iterator[tuple[Any, Indexed]]:
    """Yield the texts whose stored analysis is not what this version makes of them."""
    from prism_graph.models import ChunkText

    rows = ChunkText.objects.db_manager(using).system(WHY)
    for text in progress(_pages(rows), rows.count()):
        found = text.analysed()
        stored = (text.terms, text.terms_of, text.chunk.length, text.analyser)
        wanted = (found.terms, found.terms_of, found.length, ANALYSER)
        if stored != wanted or text.token != scope_of(text).token:
            yield text, found


def _pages(rows: Any) -> Iterator[Any]:
    # Page by page, so that a page may be rewritten before the next is read.
    every, last = rows.select_related("chunk__source").order_by("number"), 0
    while page := list(every.filter(number__gt=last)[:BATCH]):
        yield from page
        last = page[-1].number


def _store(using: str, text: Any, found: Indexed) -> None:
    from prism_graph.models import EmbeddingFailure

    scope = scope_of(text)
    if text.terms_of != found.terms_of:
        # What an embedder said of the text that was.
        failures = EmbeddingFailure.objects.db_manager(using).at(scope)
        failures.filter(number=text.number).delete()
    writing.reword(using, scope, [(text.number, text.heading, found)])
    if scope.token != text.token:
        writing.retoken(using, scope, text.number)
