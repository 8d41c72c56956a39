"""Instances are doors too: what they came through is what they may touch."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.core import serializers
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import Model, prefetch_related_objects
from django.forms import modelform_factory

from prism_graph import Scope, Trust
from prism_graph.bases.rows import TrustField, random_id, random_ids
from prism_graph.errors import InvalidScope, PrismGraphError, ReadOnlyDoor, UnscopedQuery
from prism_graph.models import Chunk, ChunkText, Source
from prism_graph.scope import COLUMNS
from tests.planting import (
    ASIDE,
    MINE,
    MODELS,
    SECRET,
    columns_of,
    empty_everything,
    only_if_rows_change,
    plain_field,
    plant_again,
    row_of,
    unlink,
)
from tests.rawsql import stored

pytestmark = pytest.mark.django_db

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
RELATIONS = [(Chunk, "source"), (ChunkText, "chunk")]
each_relation = pytest.mark.parametrize(("model", "name"), RELATIONS)


@pytest.fixture(autouse=True)
def world() -> None:
    plant_again(MINE, *ASIDE)


def seen(model: Any, scope: Scope = MINE) -> Any:
    """Return a row of exactly a scope, through the door of a reader there."""
    return model.objects.visible_to(scope).filter(**scope.columns).first()


def at_system(model: Any, scope: Scope = MINE) -> Any:
    return model.objects.system("this test").filter(**scope.columns).first()


class TestSaving:
    @each_model
    def test_an_instance_made_by_its_constructor_has_no_door(self, model):
        before = stored()
        made = model(**columns_of(row_of(model, MINE)))
        for way in (
            made.save,
            made.delete,
            made.refresh_from_db,
            lambda: made.save(force_insert=True),
            lambda: made.save(update_fields=[plain_field(model)]),
            lambda: Model.save_base(made, raw=True),
            lambda: async_to_sync(made.asave)(),
            lambda: async_to_sync(made.adelete)(),
            lambda: async_to_sync(made.arefresh_from_db)(),
        ):
            with pytest.raises(UnscopedQuery):
                way()
        assert stored() == before

    @each_model
    def test_a_row_is_saved_through_the_door_it_came_by(self, model):
        row, others = row_of(model, MINE), [columns_of(row_of(model, each)) for each in ASIDE]
        row.save()
        row.save(update_fields=[plain_field(model)])
        async_to_sync(row.asave)()
        assert columns_of(row_of(model, MINE)) == columns_of(row)
        assert [columns_of(row_of(model, each)) for each in ASIDE] == others

    @each_model
    @pytest.mark.parametrize("column", COLUMNS)
    def test_a_row_never_leaves_its_scope(self, model, column):
        before = stored()
        for row in (row_of(model, MINE), at_system(model)):
            setattr(row, column, "elsewhere")
            for way in (
                row.save,
                row.delete if row._state.prism_graph_door.stamp() else row.save,
                lambda row=row: Model.save_base(row, raw=True),
                lambda row=row: async_to_sync(row.asave)(),
            ):
                with pytest.raises((PrismGraphError, Chunk.DoesNotExist)), transaction.atomic():
                    way()
            with (
                pytest.raises((PrismGraphError, DatabaseError, Chunk.DoesNotExist)),
                transaction.atomic(),
            ):
                row.save(update_fields=[column])
            with (
                pytest.raises((PrismGraphError, DatabaseError, Chunk.DoesNotExist)),
                transaction.atomic(),
            ):
                row.save(force_update=True)
        moved = at_system(model)
        moved.owner = "elsewhere"
        assert moved.delete() == (0, {})
        assert stored() == before

    @each_model
    def test_a_row_that_was_only_seen_is_not_written(self, model):
        before, row = stored(), seen(model)
        for way in (
            row.save,
            row.delete,
            lambda: async_to_sync(row.asave)(),
            lambda: async_to_sync(row.adelete)(),
            lambda: Model.save_base(row, raw=True),
        ):
            with pytest.raises(ReadOnlyDoor):
                way()
        assert stored() == before

    @each_model
    def test_another_scope_s_primary_key_answers_as_one_that_names_nothing(self, model):
        only_if_rows_change(model)
        before = stored()
        missing = 999_999 if model._meta.pk.name == "number" else random_id()
        answers = []
        for pk in (row_of(model, ASIDE[0]).pk, missing):
            row = row_of(model, MINE)
            if model is ChunkText:
                _ = row.chunk  # its own chunk, so that the analysis succeeds
            row.pk = pk
            for way in (
                row.save,
                row.refresh_from_db,
                lambda row=row: row.save(force_insert=True),
                lambda row=row: row.save(force_update=True),
                lambda row=row: row.save(update_fields=[plain_field(model)]),
            ):
                with (
                    pytest.raises((PrismGraphError, DatabaseError, model.DoesNotExist)) as refused,
                    transaction.atomic(),
                ):
                    way()
                answers.append((type(refused.value), str(refused.value)))
            assert row.delete() == (0, {})
        assert answers[: len(answers) // 2] == answers[len(answers) // 2 :]
        assert stored() == before

    @each_model
    def test_saving_never_brings_back_what_was_erased(self, model):
        only_if_rows_change(model)
        unlink(model, MINE)
        row = row_of(model, MINE)
        row_of(model, MINE).delete()
        before = stored()
        with pytest.raises((UnscopedQuery, Chunk.DoesNotExist)):
            row.save()
        assert stored() == before

    def test_rows_are_copied_within_their_scope(self):
        source = Source.objects.at(MINE).get(key="chat")
        source.pk, source.number, source.key_digest = None, 99, "another"
        source._state.adding = True
        source.save()
        assert Source.objects.at(MINE).get(number=99).pk == source.pk

    @each_model
    def test_deleting_one_row_leaves_all_others(self, model):
        only_if_rows_change(model)
        unlink(model, MINE)
        row, count = row_of(model, MINE), model.objects.at(MINE).count()
        others = [columns_of(row_of(model, each)) for each in ASIDE]
        assert row.delete() == (1, {model._meta.label: 1})
        assert model.objects.at(MINE).count() == count - 1
        assert [columns_of(row_of(model, each)) for each in ASIDE] == others

    @each_model
    @pytest.mark.parametrize("through", [row_of, at_system], ids=["at", "system"])
    def test_every_statement_that_writes_an_instance_names_the_four_columns(
        self, model, through, django_assert_max_num_queries
    ):
        only_if_rows_change(model)
        unlink(model, MINE)
        row = through(model, MINE)
        with django_assert_max_num_queries(10) as ran:
            row.save()
            row.delete()
        table = connection.ops.quote_name(model._meta.db_table)
        written = [
            query["sql"]
            for query in ran
            if query["sql"].startswith((f"UPDATE {table}", f"DELETE FROM {table}"))
        ]
        assert len(written) == 2
        for statement in written:
            for name, part in MINE.columns.items():
                assert f"\"{name}\" = '{part}'" in statement.partition("WHERE")[2]


class TestRefreshing:
    @each_model
    def test_a_row_is_read_again_through_its_door(self, model):
        for row in (row_of(model, MINE), seen(model)):
            row.refresh_from_db()
            async_to_sync(row.arefresh_from_db)()
            row.refresh_from_db(fields=[plain_field(model)])
            row.refresh_from_db(
                from_queryset=type(row).objects._through(row._state.prism_graph_door)
            )
            assert columns_of(row) == columns_of(row_of(model, MINE))

    @each_model
    def test_no_other_queryset_is_taken(self, model):
        row = row_of(model, MINE)
        for rows in (
            model.objects.at(ASIDE[0]),
            model.objects.visible_to(MINE),
            model.objects.system("this test"),
            model.closed.all(),
        ):
            with pytest.raises(UnscopedQuery):
                row.refresh_from_db(from_queryset=rows)

    @each_model
    def test_deferred_columns_are_loaded_through_the_door(self, model):
        field = plain_field(model)
        for rows in (model.objects.at(MINE), model.objects.visible_to(MINE)):
            row = rows.only("pk").order_by("pk").first()
            other = rows.defer("tenant", field).order_by("pk").first()
            assert row.tenant == other.tenant == MINE.tenant
            assert getattr(row, field) == getattr(other, field)
            stranger = rows.only("pk").first()
            stranger.pk = row_of(model, ASIDE[0]).pk
            with pytest.raises(model.DoesNotExist):
                _ = stranger.tenant

    @each_model
    def test_copies_keep_the_door(self, model):
        row = seen(model)
        for same in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
            same.refresh_from_db()
            with pytest.raises(ReadOnlyDoor):
                same.save()


class TestRelations:
    @each_relation
    def test_a_relation_is_followed_through_the_same_door(self, model, name):
        for rows in (
            model.objects.visible_to(MINE),
            model.objects.visible_to(MINE).select_related(name),
            model.objects.visible_to(MINE).prefetch_related(name),
            model.objects.visible_to(MINE).only(name),
        ):
            for row in (*rows, *rows.iterator(chunk_size=10)):
                related = getattr(row, name)
                assert [getattr(related, column) for column in COLUMNS] == [*MINE.parts]
                with pytest.raises(ReadOnlyDoor):
                    related.save()
                with pytest.raises(ReadOnlyDoor):
                    related.delete()

    def test_the_door_goes_all_the_way(self):
        text = ChunkText.objects.visible_to(MINE).select_related("chunk__source").first()
        with pytest.raises(ReadOnlyDoor):
            text.chunk.source.save()
        text = ChunkText.objects.visible_to(MINE).first()
        with pytest.raises(ReadOnlyDoor):
            text.chunk.source.save()

    @each_relation
    def test_an_instance_without_a_door_leads_nowhere(self, model, name):
        made = model(**columns_of(row_of(model, MINE)))
        with pytest.raises(UnscopedQuery):
            getattr(made, name)
        with pytest.raises(UnscopedQuery):
            prefetch_related_objects([made], name)

    @each_relation
    def test_another_scope_s_columns_lead_nowhere(self, model, name):
        row = row_of(model, MINE)
        for column, part in ASIDE[0].columns.items():
            setattr(row, column, part)
        with pytest.raises(model._meta.get_field(name).related_model.DoesNotExist):
            getattr(row, name)

    @each_relation
    def test_instances_of_different_doors_are_not_prefetched_together(self, model, name):
        mixed = [at_system(model), seen(model)]
        for rows in (mixed, mixed[::-1], [*mixed, model(**columns_of(mixed[0]))]):
            with pytest.raises(UnscopedQuery):
                prefetch_related_objects(copy.deepcopy(rows), name)
        own = [seen(model), seen(model)]
        prefetch_related_objects(own, name)
        with pytest.raises(ReadOnlyDoor):
            getattr(own[1], name).save()

    @each_relation
    def test_a_row_does_not_point_into_another_scope(self, model, name):
        before = stored()
        row = row_of(model, MINE)
        setattr(row, name, row_of(model._meta.get_field(name).related_model, ASIDE[1]))
        with pytest.raises(InvalidScope):
            row.save()
        values = columns_of(row_of(model, MINE))
        related = row_of(model._meta.get_field(name).related_model, ASIDE[1])
        with pytest.raises(InvalidScope):
            model.objects.at(MINE).create(**{**values, name: related})
        with pytest.raises(InvalidScope):
            model.objects.at(MINE).bulk_create([model(**{**values, name: related})])
        assert stored() == before

    @each_model
    def test_there_is_no_way_back_from_parent_to_child(self, model):
        hidden = [each for each in model._meta.get_fields(include_hidden=True) if each.auto_created]
        assert all(each.name == "+" for each in hidden if not each.concrete)
        assert not [name for name in vars(model) if name.endswith("_set")]


class TestDjangoAroundIt:
    @each_model
    def test_looking_for_duplicates_without_a_door_is_refused(self, model):
        if not model._meta.total_unique_constraints:
            pytest.skip("nothing to look for")
        row = row_of(model, MINE)
        with pytest.raises(UnscopedQuery):
            row.validate_constraints()
        form = modelform_factory(model, fields=["tenant", "owner"])(
            {"tenant": "globex", "owner": "eve"}, instance=row
        )
        with pytest.raises(UnscopedQuery):
            form.is_valid()

    def test_full_clean_is_refused_and_not_broken(self):
        with pytest.raises(UnscopedQuery):
            Source.objects.at(MINE).get(key="doc-1").full_clean()

    @each_model
    def test_content_types_lead_to_no_row(self, model):
        kind, row = ContentType.objects.get_for_model(model), row_of(model, MINE)
        with pytest.raises(UnscopedQuery):
            kind.get_object_for_this_type(pk=row.pk)
        with pytest.raises(UnscopedQuery):
            list(kind.get_all_objects_for_this_type())

    def test_neighbours_by_date_are_refused(self):
        with pytest.raises(UnscopedQuery):
            row_of(Chunk, MINE).get_next_by_recorded_at()

    def test_dumpdata_is_refused_with_the_reason_and_works_without_this_app(self, tmp_path):
        dump = str(tmp_path / "dump.json")
        for arguments in (("prism_graph",), ("prism_graph", "--all"), (), ("--all",)):
            with pytest.raises(CommandError, match="names no scope"):
                call_command("dumpdata", *arguments, output=dump)
        ours = ("--exclude", "prism_graph", "--exclude", "prism_graph_pgvector")
        call_command("dumpdata", *ours, output=dump)
        text = (tmp_path / "dump.json").read_text()
        assert "contenttypes" in text
        assert SECRET not in text

    @each_model
    def test_what_a_door_lets_through_can_be_serialised_and_not_loaded(self, model, tmp_path):
        data = serializers.serialize("json", model.objects.visible_to(MINE))
        assert MINE.thread in data
        assert ASIDE[3].thread not in data
        before = stored()
        for loaded in serializers.deserialize("json", data):
            with pytest.raises(UnscopedQuery), transaction.atomic():
                loaded.save()
        (tmp_path / "rows.json").write_text(data)
        with pytest.raises(UnscopedQuery), transaction.atomic():
            call_command("loaddata", str(tmp_path / "rows.json"), verbosity=0)
        assert stored() == before

    def test_a_new_test_database_is_serialised_and_one_with_memory_is_not(self):
        with pytest.raises(UnscopedQuery):
            connection.creation.serialize_db_to_string()
        empty_everything()
        text = connection.creation.serialize_db_to_string()
        assert "contenttypes" in text
        assert "prism_graph." not in text
        connection.creation.deserialize_db_from_string(text)

    def test_the_admin_still_finds_its_modules(self):
        admin.autodiscover()

    @each_model
    def test_neither_text_nor_key_stands_in_what_an_instance_says_of_itself(self, model):
        row = row_of(model, MINE)
        for said in (str(row), repr(row)):
            assert SECRET not in said
            assert "doc-1" not in said


class TestIds:
    def test_they_are_26_random_characters(self):
        ids = random_ids(10_000)
        assert len({*ids}) == 10_000
        assert all(
            len(name) == 26 and set(name) <= set("abcdefghijklmnopqrstuvwxyz234567") for name in ids
        )

    def test_neither_time_nor_order_shows(self):
        # A clock or a counter would show in characters that are alike from one id to the next.
        ids = [random_id() for _ in range(400)]
        for place in range(26):
            assert len({name[place] for name in ids}) > 20
        rising = sum(one < other for one, other in pairwise(ids))
        assert 140 < rising < 260

    @each_model
    def test_what_is_named_to_the_outside_is_named_by_a_random_id(self, model):
        if model is ChunkText:
            pytest.skip("its number joins it to its chunk and is never handed out")
        assert model._meta.pk.default is random_id


class TestTrustField:
    @pytest.mark.parametrize("trust", Trust)
    def test_it_goes_in_and_out_of_the_database(self, trust):
        Source.objects.at(MINE).update(trust=trust)
        assert set(Source.objects.at(MINE).values_list("trust", flat=True)) == {trust}
        assert Source.objects.at(MINE).filter(trust=trust).exists()

    @pytest.mark.parametrize("trust", Trust)
    def test_it_reads_a_class_its_name_and_its_number(self, trust):
        field = TrustField()
        assert [field.clean(each, None) for each in (trust, trust.value, trust.code)] == [trust] * 3

    @pytest.mark.parametrize("value", ["", "owner", "USER", 7, -1, 1.5, [], object()])
    def test_anything_else_is_not_valid(self, value):
        with pytest.raises(ValidationError):
            TrustField().clean(value, None)
