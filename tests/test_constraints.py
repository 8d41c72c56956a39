"""What the database itself refuses, asked in SQL: the guarantees that hold whatever code writes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Q, UniqueConstraint

from prism_graph import Memory, Scope, repair
from prism_graph.constraints import CompositeForeignKey
from prism_graph.models import Chunk, ChunkText, Embedding, Source
from prism_graph.scope import COLUMNS
from tests.planting import ASIDE, CITING, DOCUMENT, MINE, MODELS, SECRET, plant_again
from tests.rawsql import TABLES, sql

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
FOREIGN_KEYS = [
    (model, constraint)
    for model in MODELS
    for constraint in model._meta.constraints
    if isinstance(constraint, CompositeForeignKey)
]
each_foreign_key = pytest.mark.parametrize(
    ("model", "constraint"), FOREIGN_KEYS, ids=[each.name for _, each in FOREIGN_KEYS]
)


def quoted(*names: str) -> str:
    return ", ".join(map(connection.ops.quote_name, names))


def rows_of(model: Any, scope: Scope = MINE) -> list[dict[str, Any]]:
    names = [field.column for field in model._meta.concrete_fields]
    where = " AND ".join(f"{name} = %s" for name in COLUMNS)
    statement = f"SELECT {quoted(*names)} FROM {quoted(model._meta.db_table)} WHERE {where}"
    found = sorted(sql(statement, *scope.parts), key=repr)
    return [dict(zip(names, row, strict=True)) for row in found]


def insert(model: Any, row: dict[str, Any]) -> None:
    marks = ", ".join(["%s"] * len(row))
    table = quoted(model._meta.db_table)
    sql(f"INSERT INTO {table} ({quoted(*row)}) VALUES ({marks})", *row.values())


def update(model: Any, row: dict[str, Any], **changed: Any) -> None:
    pk = model._meta.pk.column
    sets = ", ".join(f"{quoted(name)} = %s" for name in changed)
    sql(
        f"UPDATE {quoted(model._meta.db_table)} SET {sets} WHERE {quoted(pk)} = %s",
        *changed.values(),
        row[pk],
    )


def refused(write: Callable[[], None]) -> bool:
    """Say whether a statement is refused there and then, not at commit."""
    try:
        with transaction.atomic():
            write()
            transaction.set_rollback(True)
    except IntegrityError:
        return True
    except Exception as error:
        # The driver's own: rawsql goes past Django's wrappers, that of its errors included.
        if type(error).__name__ not in {"IntegrityError", "ForeignKeyViolation"} and (
            "Violation" not in type(error).__name__
        ):
            raise
        return True
    return False


@pytest.mark.django_db
class TestForeignKeys:
    @pytest.fixture(autouse=True)
    def world(self) -> None:
        plant_again(MINE, *ASIDE)

    def test_every_relation_of_a_model_has_a_foreign_key_on_its_columns(self):
        for model in MODELS:
            for field in model._meta.fields:
                if field.is_relation:
                    pairs = [
                        (each.fields, each.to, each.to_fields)
                        for owner, each in FOREIGN_KEYS
                        if owner is model
                    ]
                    target = field.related_model._meta.db_table
                    assert (tuple(field.from_fields), target, tuple(field.to_fields)) in pairs

    @each_foreign_key
    def test_it_ties_all_four_columns_and_what_names_the_row(self, model, constraint):
        assert constraint.to_fields[:4] == COLUMNS
        assert constraint.fields[0] == "tenant"
        # One id, or a number within one: a version's within its fact.
        assert len(constraint.fields) == len(constraint.to_fields) in (5, 6)
        target = next(each for each in MODELS if each._meta.db_table == constraint.to)
        unique = [
            set(each.fields)
            for each in target._meta.constraints
            if isinstance(each, UniqueConstraint)
        ]
        assert set(constraint.to_fields) in unique

    @each_foreign_key
    @pytest.mark.parametrize("aside", ASIDE, ids=COLUMNS)
    def test_a_child_is_not_moved_or_written_into_another_scope(self, model, constraint, aside):
        row, pk = rows_of(model)[0], model._meta.pk.column
        changed = dict(zip(constraint.fields[:4], aside.parts, strict=True))
        assert refused(lambda: update(model, row, **changed))
        assert refused(lambda: update(model, row, **aside.columns))
        sql(f"DELETE FROM {quoted(model._meta.db_table)} WHERE {quoted(pk)} = %s", row[pk])
        row[constraint.fields[-1]] = number = _number_of_mine_alone(constraint)
        if model is Embedding:  # each chunk has one
            sql("DELETE FROM $embedding WHERE number = %s", number)
        assert not refused(lambda: insert(model, row))
        assert refused(lambda: insert(model, {**row, **changed}))

    @each_foreign_key
    def test_a_child_does_not_point_at_another_scope_s_parent(self, model, constraint):
        row = rows_of(model)[0]
        parents = next(each for each in MODELS if each._meta.db_table == constraint.to)
        last = constraint.to_fields[-1]
        own = {parent[last] for parent in rows_of(parents)}
        for aside in ASIDE:
            for number in {parent[last] for parent in rows_of(parents, aside)} - own:
                assert refused(
                    lambda number=number: update(model, row, **{constraint.fields[-1]: number})
                )
        assert refused(lambda: update(model, row, **{constraint.fields[-1]: 10**9}))

    @each_foreign_key
    def test_a_parent_is_not_taken_away_from_its_children(self, model, constraint):
        parents = next(each for each in MODELS if each._meta.db_table == constraint.to)
        child = rows_of(model)[0]
        parent = next(
            row
            for row in rows_of(parents)
            if [row[name] for name in constraint.to_fields]
            == [child[name] for name in constraint.fields]
        )
        assert refused(lambda: update(parents, parent, owner="elsewhere"))
        assert refused(lambda: update(parents, parent, **{constraint.to_fields[-1]: 10**9}))

    def test_raw_deletion_of_a_parent_takes_its_children_and_nobody_else_s(self):
        def others() -> list[Any]:
            return [[rows_of(model, scope) for model in MODELS] for scope in ASIDE]

        before = others()
        sql(
            "DELETE FROM $source WHERE tenant = %s AND owner = %s AND agent = %s AND thread = %s",
            *MINE.parts,
        )
        gone = (Source, Chunk, ChunkText, *CITING)
        assert [rows_of(model) for model in gone] == [[] for _ in gone]
        assert others() == before
        assert Memory(MINE).search(SECRET) == []
        assert all(Memory(scope).search(SECRET) for scope in ASIDE)

    def test_lineage_reaches_only_to_the_same_level_or_above(self):
        levels = tuple(reversed(MINE.chain))
        plant_again(*levels[:3], Scope("acme", "ben"))
        link, cited = rows_of(_model("Derivation"))[0], {}
        for scope in (*levels, *ASIDE, Scope("acme", "ben")):
            cited[scope] = rows_of(Chunk, scope)[0]["number"]
        for scope, number in cited.items():
            changed = {
                "cited_owner": scope.owner,
                "cited_agent": scope.agent,
                "cited_thread": scope.thread,
                "cited_number": number,
            }
            upward = scope in MINE.chain
            assert refused(
                lambda changed=changed: update(_model("Derivation"), link, **changed)
            ) is (not upward), scope

    def test_lineage_does_not_reach_down(self):
        plant_again(Scope("acme"))
        link = rows_of(_model("Derivation"), Scope("acme"))[0]
        number = rows_of(Chunk)[0]["number"]
        down = {f"cited_{name}": part for name, part in MINE.columns.items() if name != "tenant"}
        assert refused(lambda: update(_model("Derivation"), link, **down, cited_number=number))


def _number_of_mine_alone(constraint: CompositeForeignKey) -> int:
    """Return a parent's number at MINE that no other scope uses; give one such a number if need be."""
    parents = next(each for each in MODELS if each._meta.db_table == constraint.to)
    if parents is Chunk:
        texts = {row["number"] for row in rows_of(ChunkText)}
        numbers = [row["number"] for row in rows_of(Chunk)]
        return int(next((each for each in numbers if each not in texts), numbers[0]))
    row = {**rows_of(parents)[0], "id": "c" * 26, "number": 77}
    insert(parents, {**row, "key_digest": "other"} if "key_digest" in row else row)
    return 77


def _model(name: str) -> Any:
    return Chunk.sibling(name)


@pytest.mark.django_db
class TestScopeColumns:
    @pytest.fixture(autouse=True)
    def world(self) -> None:
        plant_again(MINE)

    @each_model
    @pytest.mark.parametrize(
        "parts",
        list(itertools.product(("", "x"), repeat=4)),
        ids=lambda parts: "-".join(part or "0" for part in parts),
    )
    def test_a_level_needs_every_level_above_it(self, model, parts):
        # No row of this scope has a parent there, so only the rule itself is looked at.
        row = {**rows_of(model)[0], **dict(zip(COLUMNS, parts, strict=True))}
        tenant, owner, agent, thread = parts
        whole = bool(tenant) and not (agent and not owner) and not (thread and not agent)
        row[model._meta.pk.column] = 999_999 if model is ChunkText else "b" * 26
        names = _violations(lambda: insert(model, row))
        assert any(name.endswith("_scope") for name in names) is not whole, names

    @each_model
    @pytest.mark.parametrize("column", COLUMNS)
    def test_absence_is_written_as_empty_text_and_never_as_null(self, model, column):
        field = model._meta.get_field(column)
        assert field.null is False
        assert refused(lambda: update(model, rows_of(model)[0], **{column: None}))


def _violations(write: Callable[[], None]) -> list[str]:
    """Return what the database says is violated: the constraint's name, or all of the message."""
    try:
        with transaction.atomic():
            write()
            transaction.set_rollback(True)
    except Exception as error:
        if connection.vendor == "postgresql":
            return [error.diag.constraint_name or str(error)]
        return [str(error).removeprefix("CHECK constraint failed: ")]
    return []


@pytest.mark.django_db
class TestWhatTheDatabaseHolds:
    @each_model
    def test_every_unique_constraint_and_foreign_key_names_the_tenant(self, model):
        table = model._meta.db_table
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, table)
        assert found
        for name, each in found.items():
            if each["unique"] and not each["primary_key"]:
                assert "tenant" in each["columns"], name
        for columns, targets, on_delete, deferrable in foreign_keys(table):
            assert columns[0] == targets[0] == "tenant"
            assert set(targets[:4]) == set(COLUMNS)
            assert on_delete == "CASCADE"
            assert not deferrable

    @each_model
    def test_every_declared_foreign_key_exists_and_no_other(self, model):
        declared = {(each.fields, each.to_fields) for owner, each in FOREIGN_KEYS if owner is model}
        assert {tuple(each[:2]) for each in foreign_keys(model._meta.db_table)} == declared

    @each_model
    def test_every_index_names_the_tenant(self, model):
        # The index on words has its scope inside each word.
        for index in model._meta.indexes:
            assert "tenant" in index.fields


def foreign_keys(table: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], str, bool]]:
    """Yield columns, target columns, what deletion does, and whether it waits for the commit."""
    if connection.vendor == "sqlite":
        listed = sql(f"PRAGMA foreign_key_list({table})")
        for _, group in itertools.groupby(sorted(listed), key=lambda row: row[0]):
            rows = list(group)
            deferred = (
                "DEFERRABLE"
                in sql("SELECT sql FROM sqlite_master WHERE name = %s", table)[0][0].upper()
            )
            yield (
                tuple(row[3] for row in rows),
                tuple(row[4] for row in rows),
                rows[0][6],
                deferred,
            )
        return
    listed = sql(
        "SELECT (SELECT array_agg(attname::text ORDER BY place) FROM unnest(conkey) "
        "WITH ORDINALITY AS key(number, place) JOIN pg_attribute ON attrelid = conrelid "
        "AND attnum = number), (SELECT array_agg(attname::text ORDER BY place) FROM "
        "unnest(confkey) WITH ORDINALITY AS key(number, place) JOIN pg_attribute ON "
        "attrelid = confrelid AND attnum = number), confdeltype::text, condeferrable "
        "FROM pg_constraint WHERE conrelid = to_regclass(%s) AND contype = 'f'",
        quoted(table),
    )
    for columns, targets, on_delete, deferrable in listed:
        yield tuple(columns), tuple(targets), {"c": "CASCADE"}.get(on_delete, on_delete), deferrable


@pytest.mark.django_db(transaction=True)
class TestRemakes:
    """SQLite makes a table anew when a column changes; what guards it must come along."""

    SCOPES = (MINE, ASIDE[1])

    @pytest.fixture(autouse=True)
    def world(self) -> Iterator[None]:
        plant_again(*self.SCOPES)
        yield
        repair.install("default")  # a remake drops triggers, and the next test finds this database

    @each_model
    @pytest.mark.parametrize(
        "change", ["alter a column", "add and remove a column", "add and remove a rule"]
    )
    def test_foreign_keys_checks_and_rows_outlive_it(self, model, change):
        rows = {each: [rows_of(each, scope) for scope in self.SCOPES] for each in MODELS}
        keys = {table: sorted(foreign_keys(table)) for table in TABLES}
        remake(model, change)
        assert {each: [rows_of(each, scope) for scope in self.SCOPES] for each in MODELS} == rows
        assert {table: sorted(foreign_keys(table)) for table in TABLES} == keys
        for owner, constraint in FOREIGN_KEYS:
            child = rows_of(owner)[0]
            changed = dict(zip(constraint.fields[:4], ASIDE[1].parts, strict=True))
            assert refused(
                lambda owner=owner, child=child, changed=changed: update(owner, child, **changed)
            )
        assert refused(lambda: update(model, rows_of(model)[0], tenant=""))
        connection.check_constraints()
        Memory(MINE).erase("doc-1")
        assert not [row for row in rows_of(_model("Source")) if row["key"] == "doc-1"]
        Memory(MINE).ingest("doc-1", f"A {SECRET} again.", origin=DOCUMENT)
        assert all(row["number"] for row in rows_of(ChunkText))


def remake(model: Any, change: str) -> None:
    """Change a table by the schema editor as a migration would, and change it back."""
    field = next(
        each
        for each in model._meta.concrete_fields
        if each.name not in COLUMNS and not each.primary_key
    )
    wider = field.clone()
    wider.null = True
    wider.set_attributes_from_name(field.name)
    wider.model = model
    extra = models.IntegerField(default=7)
    extra.set_attributes_from_name("extra")
    extra.model = model
    rule = models.CheckConstraint(
        condition=~Q(tenant="nobody"), name=f"{model._meta.db_table}_nobody"
    )
    with connection.schema_editor() as editor:
        if change == "alter a column":
            editor.alter_field(model, field, wider)
        elif change == "add and remove a rule":
            editor.add_constraint(model, rule)
        else:
            editor.add_field(model, extra)
    with connection.schema_editor() as editor:
        if change == "alter a column":
            editor.alter_field(model, wider, field)
        elif change == "add and remove a rule":
            editor.remove_constraint(model, rule)
        else:
            editor.remove_field(model, extra)


class TestDeclaration:
    KEY = CompositeForeignKey(fields=["a", "b"], to="parent", to_fields=["c", "d"], name="key")

    def test_a_migration_file_says_all_of_it(self):
        path, args, kwargs = self.KEY.deconstruct()
        assert path == "prism_graph.constraints.CompositeForeignKey"
        assert CompositeForeignKey(*args, **kwargs) == self.KEY
        assert self.KEY.clone() == self.KEY
        assert hash(self.KEY.clone()) == hash(self.KEY)

    @pytest.mark.parametrize(
        "changed", [{"fields": ["a", "x"]}, {"to": "x"}, {"to_fields": ["c", "x"]}, {"name": "x"}]
    )
    def test_any_difference_is_a_change(self, changed):
        _, _, kwargs = self.KEY.deconstruct()
        assert CompositeForeignKey(**{**kwargs, **changed}) != self.KEY
        assert self.KEY != "key"
