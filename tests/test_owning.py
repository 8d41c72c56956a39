"""What a project's own models must keep, each seen to be told when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.checks import Error
from django.db import models
from django.db.models.functions import Now
from django.test import override_settings
from django.test.utils import isolate_apps

from prism_graph import bases, checks, owning
from prism_graph import models as memory
from prism_graph.bases import BASES
from prism_graph.bases.naming import ConstraintName, IndexName, named
from prism_graph.models import MODELS
from prism_graph.models.owned import models_of
from prism_graph.scope import COLUMNS
from prism_graph.tables import Tables, index_of

Maker = Callable[[], Any]
Mark = models.Index(fields=["extra"], name="mark")


def source(meta: dict[str, Any] | None = None, *mixins: Any, **attributes: Any) -> Any:
    """Return a model made of AbstractSource, with these options and attributes."""
    options = {"app_label": "tests", **(meta or {})}
    options_class = type("Meta", (bases.AbstractSource.Meta,), options)
    body = {"__module__": "tests.models", "Meta": options_class, **attributes}
    return type("Source", (*mixins, bases.AbstractSource), body)


def unique(*fields: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=fields, name="added")


def constraints(*added: Any, without: int = 0) -> dict[str, Any]:
    return {"constraints": [*bases.AbstractSource.Meta.constraints[without:], *added]}


def no_meta() -> Any:
    body = {"__module__": "tests.models", "Meta": type("Meta", (), {"app_label": "tests"})}
    return type("Source", (bases.AbstractSource,), body)


class Told:
    def __str__(self) -> str:
        return "its title"


def extra(**options: Any) -> models.Field[Any, Any]:
    return models.IntegerField(**options)


GOOD: dict[str, Maker] = {
    "nothing added": source,
    "another table": lambda: source({"db_table": "Documents_2"}),
    "a column with a default in the database": lambda: source(extra=extra(db_default=0)),
    "a column that may be NULL": lambda: source(extra=extra(null=True)),
    "an instant of the database": lambda: source(at=models.DateTimeField(db_default=Now())),
    "an index": lambda: source(
        {"indexes": [*bases.AbstractSource.Meta.indexes, Mark]}, extra=extra(null=True)
    ),
    "a rule": lambda: source(
        constraints(models.CheckConstraint(condition=~models.Q(title="x"), name="added"))
    ),
    "uniqueness in a scope": lambda: source(constraints(unique("uri", *COLUMNS))),
    "an order": lambda: source({"ordering": ["number"]}),
    "a method": lambda: source(shout=lambda self: "!"),
}
WEAKENED: dict[str, tuple[Maker, str]] = {
    "no constraints": (no_meta, "lacks the constraint tests_source_scope"),
    "a dropped constraint": (lambda: source(constraints(without=1)), "tests_source_scope"),
    "no indexes": (lambda: source({"indexes": []}), "lacks the index tests_source_scope"),
    "another rule under its name": (
        lambda: source(
            constraints(
                models.CheckConstraint(condition=~models.Q(tenant="x"), name="tests_source_scope"),
                without=1,
            )
        ),
        "lacks the constraint tests_source_scope",
    ),
    "a scope column that may be NULL": (
        lambda: source(owner=models.CharField(max_length=191, null=True)),
        "changes the field owner",
    ),
    "a scope column of another name": (
        lambda: source(tenant=models.CharField(max_length=191, db_column="org")),
        "changes the field tenant",
    ),
    "a missing column": (lambda: source(thread=None), "changes the field thread"),
    "a column of another type": (
        lambda: source(number=models.IntegerField()),
        "changes the field number",
    ),
    "a manager without a door": (lambda: source(objects=models.Manager()), "other managers"),
    "one manager more": (lambda: source(every=models.Manager()), "other managers"),
    "another base manager": (
        lambda: source({"base_manager_name": "objects"}),
        "changes base_manager_name",
    ),
    "a save that asks nobody": (lambda: source(save=models.Model.save), "overrides save"),
    "a text that the log keeps": (lambda: source(None, Told), "overrides __str__"),
    "what may be rewritten": (lambda: source(written_once=()), "overrides written_once"),
    "a relation to another model": (
        lambda: source(kind_of=models.ForeignKey("contenttypes.ContentType", models.CASCADE)),
        "adds the relation kind_of",
    ),
    "a relation to itself": (
        lambda: source(parent=models.ForeignKey("self", models.CASCADE, null=True)),
        "adds the relation parent",
    ),
    "many of another model": (
        lambda: source(kinds=models.ManyToManyField("contenttypes.ContentType")),
        "adds the relation kinds",
    ),
    "a unique column": (lambda: source(extra=extra(null=True, unique=True)), "makes extra unique"),
    "uniqueness beyond the scope": (
        lambda: source(constraints(unique("uri", "tenant"))),
        "adds the constraint added",
    ),
    "uniqueness of an expression": (
        lambda: source(constraints(models.UniqueConstraint(models.F("uri"), name="added"))),
        "adds the constraint added",
    ),
    "uniqueness together": (
        lambda: source({"unique_together": [("uri", "tenant")]}),
        "unique without the four columns",
    ),
    "a table that is not made": (lambda: source({"managed": False}), "not a managed table"),
    "a table's name that is SQL": (
        lambda: source({"db_table": 'x"; DROP TABLE y; --'}),
        "whose name is not",
    ),
    "a table's name that PostgreSQL cuts": (lambda: source({"db_table": "x" * 49}), "name is not"),
}
UNFILLED: dict[str, Maker] = {
    "neither": lambda: source(extra=extra()),
    "a default of Django's": lambda: source(extra=extra(default=1)),
    "a default of Django's beside NULL": lambda: source(extra=extra(default=1, null=True)),
    "an instant of Django's": lambda: source(extra=models.DateTimeField(auto_now_add=True)),
}


def by_name(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("case", cases.values(), ids=list(cases))


@isolate_apps("tests", "django.contrib.contenttypes")
@by_name(GOOD)
def test_what_an_owner_may_do_is_not_reported(case: Maker) -> None:
    model = case()
    assert list(owning.weakened(model, bases.AbstractSource)) == []
    assert list(owning.unfilled(model, bases.AbstractSource)) == []


@isolate_apps("tests", "django.contrib.contenttypes")
@by_name(WEAKENED)
def test_what_lets_rows_out_of_their_scope_is_reported(case: tuple[Maker, str]) -> None:
    make, says = case
    assert says in " / ".join(owning.weakened(make(), bases.AbstractSource))


@isolate_apps("tests")
@by_name(UNFILLED)
def test_a_column_that_rows_are_written_without_is_reported(case: Maker) -> None:
    assert list(owning.unfilled(case(), bases.AbstractSource)) == ["extra"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_models_in_use_keep_what_their_bases_declare(model: Any) -> None:
    base = BASES[model.__name__]
    assert list(owning.weakened(model, base)) == []
    assert list(owning.unfilled(model, base)) == []


def ids(**settings: Any) -> list[str]:
    with override_settings(**settings):
        found = checks.check_owned_models()
    assert all(isinstance(each, Error) and each.hint for each in found)
    return [str(each.id).removeprefix("prism_graph.") for each in found]


NONE = {"prism_graph": None}


def test_models_of_its_own_that_are_not_there_are_reported() -> None:
    for label in ("no_such_app", "auth"):
        assert ids(PRISM_GRAPH={"MODELS_APP": label}, MIGRATION_MODULES=NONE) == ["E010"]
    wrong = {"PRISM_GRAPH": {"MODELS_APP": "auth"}, "MIGRATION_MODULES": {}}
    assert ids(**wrong) == ["E011", "E010"]
    assert ids(PRISM_GRAPH={}) == []
    assert models_of("auth") == models_of("no_such_app") == models_of("messages") == {}


def test_a_known_name_that_is_missing_says_what_to_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(memory, "Chunk")
    with pytest.raises(memory.InvalidSettings, match="AbstractChunk"):
        _ = memory.Chunk
    with pytest.raises(AttributeError):
        _ = memory.Nothing  # type: ignore[attr-defined]


def test_a_project_whose_models_are_missing_starts_so_far_that_it_can_be_told() -> None:
    program = (
        "import django\nfrom django.conf import settings\nfrom tests import settings as plain\n"
        "known = {name: value for name, value in vars(plain).items() if name.isupper()}\n"
        "settings.configure(**known, PRISM_GRAPH={'MODELS_APP': 'auth'})\ndjango.setup()\n"
        "from django.core.management import call_command\ncall_command('check')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={name: each for name, each in os.environ.items() if "SETTINGS" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "prism_graph.E010" in done.stderr
    assert "prism_graph.E011" in done.stderr


# names


def test_the_names_of_this_package_s_own_app_are_its_label_and_a_part() -> None:
    for model in MODELS:
        for each in (*model._meta.constraints, *model._meta.indexes):
            if model._meta.app_label == "prism_graph":
                assert each.name.startswith("prism_graph_")


@pytest.mark.parametrize("label", ["a", "acme_memory", "x" * 30, "long_label_of_an_app" * 5])
def test_names_are_short_enough_and_all_different_under_any_label(label: str) -> None:
    indexes, rules = [], []
    for base in BASES.values():
        indexes += [each.name for each in named(base._meta.indexes, label)]
        rules += [each.name for each in named(base._meta.constraints, label)]
    assert max(map(len, indexes)) <= 30
    assert max(map(len, rules)) <= 63
    assert len({*indexes}) == len(indexes)
    assert len({*rules}) == len(rules)


def test_a_name_that_is_cut_depends_on_what_was_cut_off() -> None:
    names = {"app_label": "x" * 40}
    assert IndexName("chunk_order") % names != IndexName("chunk_scope") % names
    assert ConstraintName("chunk_scope") % names == f"{'x' * 40}_chunk_scope"


def test_the_index_is_named_after_its_table() -> None:
    names = {
        "prism_graph_chunktext": "prism_graph_fulltext",
        "acme_words": "acme_words_fulltext",
        "chunktext": "chunktext_fulltext",
    }
    assert {table: index_of(table) for table in names} == names


def test_a_template_takes_tables_of_any_name_quoted() -> None:
    tables = Tables({"ChunkText": "Words", "Chunk": "select"})
    assert tables.fill("SELECT $chunk.id FROM $chunk, $chunktext, $fulltext") == (
        'SELECT "select".id FROM "select", "Words", "Words_fulltext"'
    )
    with pytest.raises(KeyError):
        tables.fill("SELECT * FROM $nothing")


def test_every_base_has_a_model_of_its_name() -> None:
    assert [model.__name__ for model in MODELS] == list(BASES)
    assert all(f"Abstract{name}" == base.__name__ for name, base in BASES.items())
    app = apps.get_app_config(MODELS[0]._meta.app_label)
    assert set(MODELS) == set(app.get_models())
