from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, models, transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, Q, Subquery, sql
from django.db.models.deletion import Collector
from django.db.models.query import QuerySet
from django.shortcuts import get_object_or_404

from prism_graph import Scope
from prism_graph.doors import scope_of
from prism_graph.errors import (
    DerivedTextRemains,
    InvalidScope,
    PrismGraphError,
    ReadOnlyDoor,
    UnscopedQuery,
)
from prism_graph.managers import ClosedQuery, ScopedQuerySet
from prism_graph.models import Chunk, ChunkText, Source
from prism_graph.scope import COLUMNS
from prism_graph.tables import named
from tests.planting import (
    ASIDE,
    MINE,
    MODELS,
    columns_of,
    empty_everything,
    only_if_rows_change,
    plain_field,
    plant_again,
    row_of,
    unlink,
)
from tests.rawsql import TABLES, stored
from tests.rawsql import sql as run_sql

pytestmark = pytest.mark.django_db

Way = Callable[[Any], Any]


async def _collect(rows: Any) -> list[Any]:
    return [row async for row in rows]


def wait(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run an async method. A manager's copies of them are not marked as async, so it is wrapped."""

    async def run() -> Any:
        return await method(*args, **kwargs)

    return async_to_sync(run)()


def _awaited(name: str, *args: Any, **kwargs: Any) -> Way:
    return lambda rows: wait(getattr(rows, name), *args, **kwargs)


READS: dict[str, Way] = {
    "all": lambda rows: list(rows.all()),
    "filter": lambda rows: list(rows.filter(pk__isnull=False)),
    "exclude": lambda rows: list(rows.exclude(pk=None)),
    "get": lambda rows: rows.get(pk=0),
    "count": lambda rows: rows.count(),
    "exists": lambda rows: rows.exists(),
    "in_bulk": lambda rows: rows.in_bulk(),
    "explain": lambda rows: rows.explain(),
    "aggregate": lambda rows: rows.aggregate(Count("pk")),
    "iterator": lambda rows: list(rows.iterator()),
    "values": lambda rows: list(rows.values()),
    "values_list": lambda rows: list(rows.values_list("pk", flat=True)),
    "none": lambda rows: list(rows.none()),
    "first": lambda rows: rows.first(),
    "last": lambda rows: rows.last(),
    "earliest": lambda rows: rows.earliest("pk"),
    "latest": lambda rows: rows.latest("pk"),
    "order_by": lambda rows: list(rows.order_by("pk")),
    "distinct": lambda rows: list(rows.distinct()),
    "only": lambda rows: list(rows.only("pk")),
    "defer": lambda rows: list(rows.defer("tenant")),
    "reverse": lambda rows: list(rows.reverse()),
    "annotate": lambda rows: list(rows.annotate(same=F("pk"))),
    "alias": lambda rows: list(rows.alias(same=F("pk"))),
    "complex_filter": lambda rows: list(rows.complex_filter({})),
    "select_related": lambda rows: list(rows.select_related(None)),
    "select_for_update": lambda rows: list(rows.select_for_update()),
    "prefetch_related": lambda rows: list(rows.prefetch_related("pk")),
    "using": lambda rows: list(rows.using("default")),
    "union": lambda rows: list(rows.union(rows.all())),
    "intersection": lambda rows: list(rows.intersection(rows.all())),
    "difference": lambda rows: list(rows.difference(rows.all())),
    "raw": lambda rows: list(rows.raw(named("SELECT * FROM $chunk"))),
    "extra": lambda rows: list(rows.extra(where=["1 = 1"])),
    "async for": lambda rows: async_to_sync(_collect)(rows.all()),
    "aiterator": lambda rows: async_to_sync(_collect)(rows.aiterator()),
    "aget": _awaited("aget", pk=0),
    "acount": _awaited("acount"),
    "aexists": _awaited("aexists"),
    "afirst": _awaited("afirst"),
    "alast": _awaited("alast"),
    "aearliest": _awaited("aearliest", "pk"),
    "alatest": _awaited("alatest", "pk"),
    "ain_bulk": _awaited("ain_bulk"),
    "aaggregate": _awaited("aaggregate", Count("pk")),
    "aexplain": _awaited("aexplain"),
}
WRITES: dict[str, Way] = {
    "create": lambda rows: rows.create(tenant="acme"),
    "get_or_create": lambda rows: rows.get_or_create(tenant="acme"),
    "update_or_create": lambda rows: rows.update_or_create(tenant="acme"),
    "bulk_create": lambda rows: rows.bulk_create([rows.model(tenant="acme")]),
    "bulk_create of nothing": lambda rows: rows.bulk_create([]),
    "bulk_update": lambda rows: rows.bulk_update([], [plain_field(rows.model)]),
    "update": lambda rows: rows.update(**{plain_field(rows.model): None}),
    "acreate": _awaited("acreate", tenant="acme"),
    "aget_or_create": _awaited("aget_or_create", tenant="acme"),
    "aupdate_or_create": _awaited("aupdate_or_create", tenant="acme"),
    "abulk_create": _awaited("abulk_create", []),
    "abulk_update": _awaited("abulk_update", [], ["id"]),
    "aupdate": _awaited("aupdate"),
}
# A queryset has these, a manager has not.
ON_QUERYSETS: dict[str, Way] = {
    "delete": lambda rows: rows.all().delete(),
    "adelete": lambda rows: wait(rows.all().adelete),
    "_raw_delete": lambda rows: rows.all()._raw_delete("default"),
    "bool": lambda rows: bool(rows.all()),
    "len": lambda rows: len(rows.all()),
    "index": lambda rows: rows.all()[0],
    "slice": lambda rows: list(rows.all()[:1]),
    "repr": lambda rows: repr(rows.all()),
    "text of the query": lambda rows: str(rows.all().query),
    "pickle": lambda rows: pickle.dumps(rows.all()),
    "contains": lambda rows: rows.contains(row_of(rows.model, MINE)),
    "acontains": lambda rows: wait(rows.acontains, row_of(rows.model, MINE)),
    "in another query": lambda rows: list(Source.objects.at(MINE).filter(id__in=rows.values("pk"))),
    "Subquery": lambda rows: list(
        Source.objects.at(MINE).annotate(found=Subquery(rows.values("pk")[:1]))
    ),
    "Exists": lambda rows: list(Source.objects.at(MINE).filter(Exists(rows.all()))),
    "OuterRef": lambda rows: list(
        Source.objects.at(MINE).filter(Exists(rows.filter(tenant=OuterRef("tenant"))))
    ),
    "| itself": lambda rows: list(rows.all() | rows.all()),
    "& itself": lambda rows: list(rows.all() & rows.all()),
    "^ itself": lambda rows: list(rows.all() ^ rows.all()),
}
MANAGERS: dict[str, Callable[[Any], Any]] = {
    "objects": lambda model: model.objects,
    "_default_manager": lambda model: model._default_manager,
    "db_manager": lambda model: model.objects.db_manager("default"),
}
BASES: dict[str, Callable[[Any], Any]] = {
    "_base_manager": lambda model: model._base_manager,
    "closed": lambda model: model.closed,
    "closed.db_manager": lambda model: model.closed.db_manager("default"),
    "closed.all": lambda model: model.closed.all(),
}

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


@pytest.fixture(autouse=True)
def world() -> None:
    plant_again(MINE, *ASIDE)


def let_through(ways: dict[str, Way], rows: Any, refusal: type[Exception]) -> list[str]:
    """Return the names of the ways that did not end in this refusal."""
    found = []
    for name, way in ways.items():
        try:
            with transaction.atomic():
                way(rows)
        except refusal:
            continue
        found.append(name)
    return found


def foreign(model: Any) -> list[Any]:
    return [row_of(model, scope) for scope in ASIDE]


class TestWithoutADoor:
    @each_model
    @pytest.mark.parametrize("manager", MANAGERS.values(), ids=MANAGERS)
    def test_every_method_of_the_manager_is_refused(self, model, manager):
        assert let_through(READS | WRITES, manager(model), UnscopedQuery) == []

    @each_model
    @pytest.mark.parametrize("base", BASES.values(), ids=BASES)
    def test_what_django_itself_uses_is_refused_once_it_would_become_sql(self, model, base):
        before = stored()
        assert let_through(READS | WRITES | ON_QUERYSETS, base(model), UnscopedQuery) == []
        assert stored() == before

    def test_no_public_method_of_django_s_querysets_is_forgotten(self):
        listed = {name.split()[0] for name in (*READS, *WRITES, *ON_QUERYSETS)}
        # Each needs a field of a date, or is a property or class method that runs nothing.
        apart = {"dates", "datetimes", "as_manager", "db", "ordered", "query", "resolve_expression"}
        # Since Django 6.1: a property, and a way to load what a door then looks at.
        apart |= {"totally_ordered", "fetch_mode"}
        public = {name for name in dir(QuerySet) if not name.startswith("_")}
        assert public - listed - apart == set()

    @each_model
    def test_get_object_or_404_refuses_the_model(self, model):
        with pytest.raises(UnscopedQuery):
            get_object_or_404(model, pk=row_of(model, MINE).pk)

    @pytest.mark.parametrize("kind", ["day", "month"])
    def test_dates_and_datetimes_are_refused(self, kind):
        for rows in (Chunk._base_manager, Chunk.closed.all()):
            with pytest.raises(UnscopedQuery):
                list(rows.dates("recorded_at", kind))
            with pytest.raises(UnscopedQuery):
                list(rows.datetimes("recorded_at", kind))

    @each_model
    def test_a_queryset_of_this_package_made_by_hand_is_closed(self, model):
        with pytest.raises(UnscopedQuery):
            list(ScopedQuerySet(model))

    @each_model
    def test_an_empty_table_can_be_streamed_and_another_one_cannot(self, model):
        with pytest.raises(UnscopedQuery):
            list(model._base_manager.iterator())
        empty_everything()
        assert list(model._base_manager.iterator()) == []


class TestClosedQuery:
    """The last line: whatever Django does with the query of a closed queryset."""

    @pytest.mark.parametrize("kind", [sql.UpdateQuery, sql.DeleteQuery, sql.InsertQuery, sql.Query])
    def test_it_does_not_turn_into_another_kind(self, kind):
        with pytest.raises(UnscopedQuery):
            ClosedQuery(Chunk).chain(kind)
        assert type(ClosedQuery(Chunk).chain()) is ClosedQuery
        assert type(ClosedQuery(Chunk).clone()) is ClosedQuery

    def test_it_does_not_become_sql(self):
        query = ClosedQuery(Chunk)
        for way in (
            lambda: query.get_compiler("default"),
            lambda: query.get_aggregation("default", {"found": Count("pk")}),
            lambda: query.resolve_expression(sql.Query(Source)),
            lambda: str(query),
        ):
            with pytest.raises(UnscopedQuery):
                way()


class TestReadingThroughADoor:
    # What a reader at MINE is given must not hold a row of the others, by whatever method.
    @each_model
    @pytest.mark.parametrize("door", ["visible_to", "at"])
    def test_no_method_gives_a_row_of_another_scope(self, model, door):
        rows = getattr(model.objects, door)(MINE)
        every = set(model.objects.system("count for this test"))
        seen = MINE.chain if door == "visible_to" else [MINE]
        own = {row for row in every if scope_of(row) in seen}
        others = {row.pk for row in every - own}
        some = next(iter(others))
        by_iteration = {
            name: way(rows)
            for name, way in READS.items()
            if name not in _ONE_VALUE | {"raw", "extra", "prefetch_related", "select_for_update"}
        }
        for name, found in by_iteration.items():
            pks = {_pk(each) for each in found}
            assert not pks & others, name
            if name not in {"none", "difference"}:
                assert pks == {row.pk for row in own}, name
        assert rows.count() == wait(rows.acount) == len(own)
        assert rows.aggregate(found=Count("pk")) == {"found": len(own)}
        assert {rows.first(), rows.last(), rows.earliest("pk"), rows.latest("pk")} <= own
        assert rows.in_bulk([*others]) == {}
        assert not rows.filter(pk=some).exists()
        assert not any(rows.contains(row) for row in every - own)
        assert rows.contains(next(iter(own)))
        with pytest.raises(model.DoesNotExist):
            rows.get(pk=some)
        with pytest.raises(model.DoesNotExist):
            wait(rows.aget, pk=some)
        with pytest.raises(UnscopedQuery):
            rows.raw("SELECT 1")
        with pytest.raises(UnscopedQuery):
            rows.extra(where=["1 = 1) OR (1 = 1"])

    @each_model
    def test_conditions_of_the_caller_only_narrow(self, model):
        rows = model.objects.at(MINE)
        own = set(rows)
        wide = [
            rows.filter(Q(tenant="globex") | Q(pk__isnull=False)),
            rows.filter(~Q(tenant="acme") | Q(tenant="acme")),
            rows.filter(pk__in=[row.pk for row in foreign(model)]) | rows,
            rows.exclude(tenant="globex"),
            rows.annotate(everywhere=Max("pk")).filter(everywhere__isnull=False),
        ]
        assert [set(each) for each in wide] == [own] * len(wide)
        assert not rows.filter(tenant="globex").exists()
        with pytest.raises((TypeError, ValueError)):
            rows.filter(_connector="OR) OR (1=1", tenant="globex").exists()

    @each_model
    def test_the_rows_of_a_door_stay_behind_it_in_copies_and_pickles(self, model):
        rows = model.objects.at(MINE)
        own = set(rows)
        copies = [copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))]
        for each in copies:
            assert set(each.all()) == own
            assert set(each | rows) == own
            with pytest.raises(UnscopedQuery):
                each | model.objects.at(ASIDE[0])
        row = pickle.loads(pickle.dumps(row_of(model, MINE)))
        row.refresh_from_db()
        row.pk = foreign(model)[0].pk
        with pytest.raises(model.DoesNotExist):
            row.refresh_from_db()

    def test_dates_and_datetimes_keep_the_door(self):
        run_sql(
            "UPDATE $chunk SET recorded_at = '1999-01-01 00:00:00+00' WHERE tenant = %s",
            ASIDE[0].tenant,
        )
        rows = Chunk.objects.visible_to(MINE)
        assert [day.year for day in rows.dates("recorded_at", "year")] != [1999]
        assert 1999 not in {day.year for day in rows.datetimes("recorded_at", "year")}

    def test_select_for_update_keeps_the_door(self):
        with transaction.atomic():
            rows = Chunk.objects.at(MINE).select_for_update()
            assert set(rows) == set(Chunk.objects.at(MINE))


_ONE_VALUE = {
    *("get", "count", "exists", "explain", "aggregate", "first", "last", "earliest", "latest"),
    *("aget", "acount", "aexists", "afirst", "alast", "aearliest", "alatest", "aaggregate"),
    *("aexplain",),
}


def _pk(found: Any) -> Any:
    if isinstance(found, models.Model):
        return found.pk
    return found.get("id", found.get("number")) if isinstance(found, dict) else found


class TestCombining:
    OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
        "|": lambda one, other: one | other,
        "&": lambda one, other: one & other,
        "^": lambda one, other: one ^ other,
        "union": lambda one, other: one.union(other),
        "union all": lambda one, other: one.union(other, all=True),
        "intersection": lambda one, other: one.intersection(other),
        "difference": lambda one, other: one.difference(other),
    }

    @each_model
    @pytest.mark.parametrize("combine", OPERATORS.values(), ids=OPERATORS)
    def test_rows_of_one_door_combine_and_stay_behind_it(self, model, combine):
        rows = model.objects.at(MINE)
        first = row_of(model, MINE)
        found = list(combine(rows.filter(pk=first.pk), rows.exclude(pk=first.pk)))
        assert set(found) <= set(rows)
        assert list(combine(rows.none(), rows.none())) == []

    @each_model
    @pytest.mark.parametrize("combine", OPERATORS.values(), ids=OPERATORS)
    def test_anything_else_is_refused_on_either_side(self, model, combine):
        rows = model.objects.at(MINE)
        others = [
            *(model.objects.at(scope) for scope in ASIDE),
            model.objects.at(ASIDE[0]).none(),
            model.objects.visible_to(MINE),
            model.objects.system("combine"),
            model.closed.all(),
            QuerySet(model),
            QuerySet(model).none(),
        ]
        for other in others:
            with pytest.raises(UnscopedQuery):
                list(combine(rows, other))
            with pytest.raises(UnscopedQuery):
                list(combine(rows.none(), other))

    def test_three_ways_of_exclusive_or_never_reach_another_scope(self):
        rows = Chunk.objects.at(MINE)
        found = rows.filter(ordinal=0) ^ rows.filter(ordinal__lt=5) ^ rows.filter(part=0)
        assert set(found) <= set(rows)

    def test_slices_are_not_combined(self):
        rows = Chunk.objects.at(MINE)
        for combine in (lambda: rows[:1] | rows, lambda: rows | rows[:1], lambda: rows[:1] ^ rows):
            with pytest.raises(UnscopedQuery):
                list(combine())


class TestInsideOtherQueries:
    @each_model
    def test_a_subquery_brings_its_own_door_along(self, model):
        theirs = model.objects.at(ASIDE[0])
        mine = model.objects.at(MINE)
        assert not mine.filter(pk__in=theirs.values("pk")).exists()
        assert mine.filter(pk__in=mine.values("pk")).count() == mine.count()
        assert not mine.filter(Exists(theirs.filter(pk=OuterRef("pk")))).exists()
        found = mine.annotate(same=Subquery(mine.filter(pk=OuterRef("pk")).values("tenant")[:1]))
        assert {row.same for row in found} == {MINE.tenant}

    def test_a_prefetch_of_another_door_finds_nothing_here(self):
        theirs = Prefetch("source", queryset=Source.objects.at(ASIDE[0]))
        for chunk in Chunk.objects.at(MINE).prefetch_related(theirs):
            with pytest.raises(Source.DoesNotExist):
                _ = chunk.source
        mine = Prefetch("source", queryset=Source.objects.visible_to(MINE))
        for chunk in Chunk.objects.at(MINE).prefetch_related(mine):
            with pytest.raises(ReadOnlyDoor):
                chunk.source.save()

    def test_a_prefetch_without_a_door_is_refused(self):
        closed = Prefetch("source", queryset=Source.closed.all())
        with pytest.raises(UnscopedQuery):
            list(Chunk.objects.at(MINE).prefetch_related(closed))

    def test_joins_stay_in_the_row_s_own_scope(self):
        rows = ChunkText.objects.at(MINE).filter(chunk__source__key="doc-1")
        titles = set(rows.values_list("chunk__source__title", "chunk__source__owner"))
        assert titles == {("Handbook", MINE.owner)}
        assert not rows.filter(chunk__source__tenant="globex").exists()


class TestWriting:
    @each_model
    def test_a_read_door_writes_nothing(self, model):
        before = stored()
        row = row_of(model, MINE)
        field = plain_field(model)
        ways = {
            **{name: WRITES[name] for name in WRITES if "_or_create" not in name},
            "get_or_create": lambda rows: rows.get_or_create(pk=0),
            "update_or_create": lambda rows: rows.update_or_create(pk=row.pk),
            "delete": lambda rows: rows.delete(),
            "adelete": lambda rows: wait(rows.adelete),
            "_raw_delete": lambda rows: rows._raw_delete("default"),
            "_update": lambda rows: rows._update([]),
            "bulk_update": lambda rows: rows.bulk_update([row], [field]),
            "bulk_create": lambda rows: rows.bulk_create([row]),
        }
        assert let_through(ways, model.objects.visible_to(MINE), ReadOnlyDoor) == []
        assert stored() == before

    @each_model
    def test_a_new_row_lands_at_the_opened_scope_and_nowhere_else(self, model):
        only_if_rows_change(model)
        unlink(model, MINE)
        row = row_of(model, MINE)
        values = columns_of(row)
        row.delete()
        before = stored()
        theirs = {**values, **ASIDE[0].columns}
        anonymous = {name: value for name, value in values.items() if name not in COLUMNS}
        rows = model.objects.at(MINE)
        refused: list[Callable[[], Any]] = [
            lambda: rows.create(**theirs),
            lambda: rows.create(**anonymous, owner="ben"),
            lambda: rows.bulk_create([model(**theirs)]),
            lambda: rows.bulk_create([model(**anonymous, owner="ana")]),
            lambda: rows.get_or_create(**theirs),
            lambda: rows.update_or_create(**theirs),
            lambda: rows.get_or_create(pk=values[model._meta.pk.name], defaults=theirs),
            lambda: wait(rows.acreate, **theirs),
            lambda: wait(rows.abulk_create, [model(**theirs)]),
            lambda: rows._insert([model(**theirs)], fields=model._meta.concrete_fields),
        ]
        for way in refused:
            with pytest.raises(InvalidScope), transaction.atomic():
                way()
        assert stored() == before
        made = rows.create(**anonymous)
        assert {name: getattr(made, name) for name in COLUMNS} == MINE.columns
        made.delete()
        rows.bulk_create(iter([model(**anonymous)]))
        assert rows.filter(pk=made.pk).exists() or rows.filter(**anonymous).exists()

    @each_model
    def test_updates_and_deletes_leave_every_other_scope_as_it_was(self, model):
        only_if_rows_change(model)
        unlink(model, MINE)
        before = [_rows_at(scope) for scope in ASIDE]
        rows, field = model.objects.at(MINE), plain_field(model)
        changed = rows.update(**{field: F(field)})
        assert changed == rows.count() == wait(rows.aupdate, **{field: F(field)})
        every = list(model.objects.system("hold all rows"))
        assert rows.bulk_update(every, [field]) == rows.count()
        assert (
            rows.filter(pk__in=[row.pk for row in foreign(model)]).update(**{field: F(field)}) == 0
        )
        assert rows.filter(pk__in=[row.pk for row in foreign(model)]).delete() == (0, {})
        count, by_label = rows.delete()
        assert (count, by_label) == (changed, {model._meta.label: changed})
        assert not rows.exists()
        assert [_rows_at(scope) for scope in ASIDE] == before

    @each_model
    @pytest.mark.parametrize("column", COLUMNS)
    def test_the_columns_of_the_scope_are_never_updated(self, model, column):
        before = stored()
        for rows in (model.objects.at(MINE), model.objects.system("move rows")):
            for value in ("x", F("agent"), Subquery(model.objects.at(MINE).values("tenant")[:1])):
                with pytest.raises(UnscopedQuery):
                    rows.update(**{column: value})
            with pytest.raises(UnscopedQuery):
                rows.bulk_update([row_of(model, MINE)], [column])
            with pytest.raises(UnscopedQuery):
                wait(rows.aupdate, **{column: "x"})
            with pytest.raises(UnscopedQuery):
                wait(rows.abulk_update, [row_of(model, MINE)], [column])
        assert stored() == before

    def test_neither_verbatim_text_nor_a_relation_is_updated(self):
        with pytest.raises(UnscopedQuery):
            ChunkText.objects.at(MINE).update(text="other")
        with pytest.raises(UnscopedQuery):
            Chunk.objects.at(MINE).update(source=row_of(Source, ASIDE[0]))
        with pytest.raises(UnscopedQuery):
            Chunk.objects.at(MINE).bulk_update([row_of(Chunk, MINE)], ["source"])

    @each_model
    def test_update_conflicts_is_refused_and_ignored_conflicts_change_nothing(self, model):
        before = [_rows_at(scope) for scope in ASIDE]
        field = plain_field(model)
        theirs = columns_of(foreign(model)[0])
        row = model(**{**theirs, **MINE.columns})
        rows = model.objects.at(MINE)
        options = {"update_conflicts": True, "update_fields": [field], "unique_fields": ["pk"]}
        with pytest.raises(UnscopedQuery):
            rows.bulk_create([row], **options)
        with pytest.raises(UnscopedQuery):
            wait(rows.abulk_create, [row], **options)
        with transaction.atomic():
            try:
                with transaction.atomic():
                    rows.bulk_create([row], ignore_conflicts=True)
            except (PrismGraphError, Source.DoesNotExist, Chunk.DoesNotExist):
                pass  # a text without its chunk cannot be analysed
        assert [_rows_at(scope) for scope in ASIDE] == before

    @each_model
    def test_deletes_of_what_is_not_a_plain_queryset_are_refused(self, model):
        rows = model.objects.at(MINE)
        grouped = rows.annotate(found=Count("pk")).filter(found__gte=1)
        for each in (rows[:1], rows.distinct(), rows.values("pk"), grouped):
            with pytest.raises(TypeError):
                each.delete()
        with pytest.raises((TypeError, UnscopedQuery, models.query.NotSupportedError)):
            rows.union(rows).delete()
        assert rows.exists()

    def test_a_delete_carries_the_scope_when_it_selects_by_joins(self, django_assert_num_queries):
        unlink(Chunk, MINE)
        # A savepoint and its end, the lock, the looks for derived text and for facts, the vectors (which
        # chunks, which partitions, another version), and the deletion.
        with django_assert_num_queries(9) as ran:
            Chunk.objects.at(MINE).filter(source__key="doc-1").delete()
        assert_scoped(ran.captured_queries[-2:-1], Chunk)
        assert not Chunk.objects.at(MINE).filter(source__key="doc-1").exists()
        assert all(Chunk.objects.at(scope).filter(source__key="doc-1").exists() for scope in ASIDE)

    def test_an_update_carries_the_scope_when_it_selects_by_joins(self, django_assert_num_queries):
        with django_assert_num_queries(1) as ran:
            assert Chunk.objects.at(MINE).filter(source__key="doc-1").update(last_line=77) == 1
        assert_scoped(ran.captured_queries, Chunk)
        assert Chunk.objects.system("count").filter(last_line=77).count() == 1

    def test_a_delete_carries_the_scope_when_signals_are_connected(self, django_assert_num_queries):
        unlink(Source, MINE)
        heard: list[Any] = []

        def listen(**kwargs: Any) -> None:
            heard.append(kwargs)

        models.signals.post_delete.connect(listen, sender=Source)
        try:
            with django_assert_num_queries(9) as ran:
                Source.objects.at(MINE).filter(key="doc-1").delete()
        finally:
            models.signals.post_delete.disconnect(listen, sender=Source)
        assert heard == []
        assert_scoped(ran.captured_queries[-2:-1], Source)

    def test_looking_for_what_was_derived_reads_this_tenant_s_rows_only(
        self, django_assert_num_queries
    ):
        found = {Source: {"key": "doc-1"}, Chunk: {"ordinal": 0, "source__key": "doc-1"}}
        for model, wanted in found.items():
            with django_assert_num_queries(5) as ran, pytest.raises(DerivedTextRemains):
                model.objects.at(MINE).filter(**wanted).delete()
            [statement] = [
                query["sql"] for query in ran.captured_queries if "_derivation" in query["sql"]
            ]
            assert statement.count("\"tenant\" = 'acme'") >= 2

    @each_model
    def test_django_s_own_collector_is_refused(self, model):
        def collect(rows: Any) -> None:
            collector = Collector(using="default")
            collector.collect(rows)
            collector.delete()

        before = stored()
        read, write = model.objects.visible_to(MINE), model.objects.at(MINE)
        for rows in (read, write, list(write), [row_of(model, MINE)]):
            assert let_through({"collect": collect}, rows, UnscopedQuery) == []
        assert stored() == before


def assert_scoped(ran: list[dict[str, str]], model: Any) -> None:
    """Check that the last statement ties the table that it writes to MINE, outside of any subquery."""
    table = model._meta.db_table
    verb, _, condition = ran[-1]["sql"].partition(" WHERE ")
    assert verb.startswith((f'DELETE FROM "{table}"', f'UPDATE "{table}"'))
    for name, part in MINE.columns.items():
        assert f'"{table}"."{name}" = \'{part}\'' in condition


def _rows_at(scope: Scope) -> dict[str, list[Any]]:
    where = " AND ".join(f"{name} = %s" for name in COLUMNS)
    return {
        table: sorted(map(repr, run_sql(f'SELECT * FROM "{table}" WHERE {where}', *scope.parts)))
        for table in TABLES
    }


def test_the_planted_world_has_a_row_of_every_model_in_every_scope():
    for model in MODELS:
        for scope in (MINE, *ASIDE):
            assert row_of(model, scope) is not None, (model, scope)
    assert {model._meta.db_table for model in MODELS} <= set(connection.introspection.table_names())
