"""Rows without the row that they belong to, and rows of another scope than it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q

from prism_graph.bases.rows import SCOPE_RULE
from prism_graph.constraints import CompositeForeignKey
from prism_graph.doctor.check import RowCheck
from prism_graph.doctor.place import Place, same
from prism_graph.doctor.vectoring import remove_vectors
from prism_graph.erase import EMPTY, erase_chunks
from prism_graph.models import (
    MODELS,
    Chunk,
    ChunkText,
    Citation,
    Derivation,
    Embedding,
    EmbeddingFailure,
    Fact,
    FactVersion,
    Standing,
)
from prism_graph.records import ErasureReport
from prism_graph.scope import COLUMNS, Scope
from prism_graph.transactions import write_block

# What tells rows of one parent apart, where numbers are counted in each scope anew.
_OWN: Final[dict[Any, tuple[str, ...]]] = {
    FactVersion: ("fact_number", "number"),
    Standing: ("fact_number", "version"),
    Citation: ("fact_number", "version", "cited_number"),
}


class ErasingCheck(RowCheck):
    """Remove the rows: passages with all that rests on them, other rows as they are."""

    def put_right(self, place: Place) -> None:
        """Remove what is wrong, scope by scope."""
        if self.model is Chunk:
            erase_wrong_chunks(place, self.id, self.wrong(place))
            return
        if self.model is Embedding:
            remove_vectors(place, Embedding, self.wrong(place))
            return
        if self.model is Derivation:
            erase_derived(place, self.id, self.wrong(place))

        def remove(scope: Scope, at: datetime, rows: list[Any]) -> None:
            keys = [key for (key,) in rows]
            place.at(self.model, scope).filter(pk__in=keys)._raw_delete(place.using)
            if self.model is FactVersion:
                here = ErasureReport(True, facts_erased=len(keys))
                place.receipt(scope, at, self.id, here, EMPTY)

        place.by_scope(self.wrong(place), remove)


def erase_wrong_chunks(place: Place, check: str, chunks: Any) -> None:
    """Erase chunks as Memory.erase does: what was derived goes, facts are judged on what remains."""

    def erase(scope: Scope, at: datetime, rows: list[Any]) -> None:
        keys = [key for (key,) in rows]
        chosen = place.at(Chunk, scope).filter(pk__in=keys)
        here, below = erase_chunks(scope, place.using, chosen, at)
        place.receipt(scope, at, check, here, below)

    place.by_scope(chunks, erase)


def erase_derived(place: Place, check: str, links: Any) -> None:
    """Erase the chunks that these links say were derived: without them nothing tells their trust.

    Numbers of chunks are unique, so a link in a wrong scope names its chunk all the same.
    """
    named = links.filter(number=OuterRef("number"))
    erase_wrong_chunks(place, check, place.rows(Chunk).filter(Exists(named)))


class Parentless(ErasingCheck):
    """Look for rows whose foreign key names nothing.

    Every reader comes by way of the parent, on all four columns, so such a row is nobody's: removing it
    takes nothing from anyone, while moving it to where a parent stands would show it to somebody on the
    word of a row that was tampered with.
    """

    fix = (
        "removed: no reader can reach it where it stands, and moving it could show it to a stranger"
    )

    def __init__(self, model: Any, key: CompositeForeignKey, *, elsewhere: bool) -> None:
        self.model, self.key, self.elsewhere = model, key, elsewhere
        tables = {each._meta.db_table: each for each in MODELS}
        self.parent = tables[key.to]
        self.id = "scope-disagrees" if elsewhere else "orphan"
        child, parent = model._meta.verbose_name, self.parent._meta.verbose_name
        if model is Citation and elsewhere:
            # What it was evidence for cannot be told, and without it a version might rest on the rest.
            self.fix = ""
        elif model is Derivation:
            self.fix = "removed, with the chunk that it says was derived"
        self.what = (
            f"{child}: its {parent} stands in another scope"
            if elsewhere
            else f"{child}: its {parent} is gone"
        )

    def wrong(self, place: Place) -> Any:
        """Return rows of a scope without a parent there."""
        pairs = zip(self.key.to_fields, self.key.fields, strict=True)
        there = place.every(self.parent).filter(**{to: OuterRef(name) for to, name in pairs})
        found = Exists(self._elsewhere(place))
        rows = place.rows(self.model).filter(SCOPE_RULE, ~Exists(there))
        return rows.filter(found if self.elsewhere else ~found)

    def _elsewhere(self, place: Place) -> Any:
        """Return what says that the row belongs to another scope."""
        if self.parent is Chunk:
            return place.every(Chunk).filter(number=OuterRef("number"))
        if self.model is Chunk:
            # Numbers of sources are counted in each scope anew; the text's is the chunk's own.
            texts = place.every(ChunkText).filter(number=OuterRef("number"))
            return texts.exclude(**same())
        pairs = [
            (to, name)
            for to, name in zip(self.key.to_fields, self.key.fields, strict=True)
            if name not in COLUMNS
        ]
        # A parent of that number, in the tenant, which lacks just this row.
        own = {name: OuterRef(OuterRef(name)) for name in _OWN[self.model]}
        has = place.every(self.model).filter(**same(), **own)
        numbers = {to: OuterRef(name) for to, name in pairs}
        return place.every(self.parent).filter(~Exists(has), tenant=OuterRef("tenant"), **numbers)


class Childless(ErasingCheck):
    """Look for rows that say nothing without another that is gone."""

    id = "orphan"
    fix = "removed, with all that rests on it"

    def __init__(self, model: Any, child: Any, **pairs: str) -> None:
        self.model, self.child, self.pairs = model, child, pairs
        self.what = f"{model._meta.verbose_name}: without a {child._meta.verbose_name}"

    def wrong(self, place: Place) -> Any:
        """Return rows that no child names."""
        children = place.every(self.child).filter(**same(**self.pairs))
        return place.rows(self.model).filter(SCOPE_RULE, ~Exists(children))


class InvalidScope(RowCheck):
    """Look for rows whose columns are no scope: readers' conditions count on the rule."""

    id = "invalid-scope"

    def __init__(self, model: Any, *, removable: bool = True) -> None:
        self.model = model
        self.what = f"{model._meta.verbose_name}: an agent without an owner, or the like"
        self.fix = "removed: readers of several scopes would see it" if removable else ""

    def wrong(self, place: Place) -> Any:
        """Return rows that the CHECK on the four columns would refuse."""
        return place.rows(self.model).filter(~Q(SCOPE_RULE))

    def put_right(self, place: Place) -> None:
        """Remove them; what is no scope has no lock, and nowhere to keep a receipt."""
        if self.model is Derivation:
            erase_derived(place, self.id, self.wrong(place))
        with write_block(place.using):
            self.wrong(place)._raw_delete(place.using)


def parentless(*models: Any) -> list[RowCheck]:
    """Return the checks of these models' foreign keys, but for those to cited chunks."""
    return [
        Parentless(model, key, elsewhere=elsewhere)
        for model in models
        for key in model._meta.constraints
        if isinstance(key, CompositeForeignKey) and set(COLUMNS) <= set(key.fields)
        for elsewhere in (True, False)
    ]


LEAVES: Final = (Derivation, Standing, Citation, Embedding, EmbeddingFailure)
CHILDLESS: Final = (
    (Chunk, ChunkText, {"number": "number"}),
    (Fact, FactVersion, {"fact_number": "number"}),
)
