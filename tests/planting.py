"""The same rows planted in scopes that must not see each other, a row of every model in each."""

from __future__ import annotations

from typing import Any, Final

import pytest
from django.db import models
from django.db.models.query import QuerySet

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.bases import BASES
from prism_graph.bases.citing import Citing
from prism_graph.models import MODELS
from prism_graph.scope import COLUMNS
from tests.vectors.doubles import UNFIT, Choosy, vectors

CITING: Final = [model for model in MODELS if issubclass(model, Citing)]

MINE: Final = Scope("acme", "ana", "support", "chat-1")
# One step aside at each level, all else equal.
ASIDE: Final = (
    Scope("globex", "ana", "support", "chat-1"),
    Scope("acme", "ben", "support", "chat-1"),
    Scope("acme", "ana", "sales", "chat-1"),
    Scope("acme", "ana", "support", "chat-2"),
)
SECRET: Final = "zebra"
# What plain_field() names for a table of which nothing may be updated.
FIXED: Final = "tenant"

DOCUMENT: Final = Origin(Trust.DOCUMENT, writer="importer")
USER: Final = Origin(Trust.USER, writer="user:7")


def plant(scope: Scope, word: str = SECRET) -> None:
    """Fill every table at a scope, under the same keys everywhere."""
    memory = Memory(scope)
    report = memory.ingest(
        "doc-1",
        f"# Handbook\n\nThe {word} of {scope.parts} stands here.\n",
        origin=DOCUMENT,
        title="Handbook",
        metadata={"kind": word},
    )
    memory.ingest("summary", f"A {word}, summed up.", origin=DOCUMENT, derived_from=report.added)
    memory.record("chat", f"I like the {word}.", origin=USER, speaker="Ana", turn_id="turn-1")
    memory.assert_fact(
        "fact-1", subject="Ana", predicate="likes", value=f"the {word}", evidence=report.added
    )
    memory.ingest("unfit", f"An {UNFIT} {word}.", origin=DOCUMENT)
    with vectors(Choosy()):
        memory.embed_pending()
    memory.ingest("gone", "To be forgotten.", origin=DOCUMENT)
    memory.erase("gone", actor="admin")


_GROWN: dict[tuple[Scope, ...], list[tuple[Any, list[Any]]]] = {}


def plant_again(*scopes: Scope) -> None:
    """Fill every table at these scopes; only the first time by way of Memory."""
    if scopes not in _GROWN:
        for scope in scopes:
            plant(scope)
        _GROWN[scopes] = [(model, list(model.objects.system("keep rows"))) for model in MODELS]
        return
    for model, rows in _GROWN[scopes]:
        QuerySet(model).bulk_create(rows)


def row_of(model: Any, scope: Scope) -> Any:
    """Return one row of a model at exactly a scope, writable."""
    return model.objects.at(scope).order_by("pk").first()


def unlink(model: Any, *scopes: Scope) -> None:
    """Forget what rests on what, so that rows of this model can be deleted one by one."""
    for citing in CITING:
        if model is not citing:
            for scope in scopes:
                rows = citing.objects.at(scope)
                rows._raw_delete(rows.db)


def empty_everything() -> None:
    """Delete every row of every table."""
    for model in reversed(MODELS):
        rows = model.objects.system("empty the database for this test")
        rows._raw_delete(rows.db)


def plain_field(model: type[models.Model]) -> str:
    """Return the name of a column that update() may set."""
    fixed = {*COLUMNS, *model.written_once, model._meta.pk.name}  # type: ignore[attr-defined]
    declared = BASES[model.__name__]._meta.concrete_fields  # an owner's columns change nothing
    names = (field.name for field in declared if field.name not in fixed)
    # A table that is written once has none: this one is refused as well.
    return next(names, FIXED)


def columns_of(row: Any) -> dict[str, Any]:
    """Return a row's concrete fields, as create() takes them."""
    return {field.name: getattr(row, field.name) for field in row._meta.concrete_fields}


def only_if_rows_change(model: Any) -> None:
    """Skip a test of updates and deletions for a table whose rows only Memory takes away."""
    if plain_field(model) == FIXED:
        pytest.skip("written once; deleted by erasure and by the database's cascade only")


def everything_stored(using: str = "default") -> dict[str, list[str]]:
    """Return every row of every table, by table."""
    why = "compare all rows before and after"
    return {
        model._meta.db_table: sorted(
            map(repr, model.objects.db_manager(using).system(why).values_list())
        )
        for model in MODELS
    }
