from __future__ import annotations

import copy
import dataclasses
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from prism_graph import Memory, Scope
from prism_graph.doors import At, ForReview, ReviewGrant, System, VisibleTo
from prism_graph.errors import InvalidScope, InvalidSettings, ReadOnlyDoor, UnscopedQuery
from prism_graph.models import Receipt, Source, VectorPartition
from tests.planting import ASIDE, DOCUMENT, MINE, MODELS, plant_again

TENANT, OWNER, AGENT, THREAD = LEVELS = tuple(reversed(MINE.chain))
NAMES = ("tenant", "owner", "agent", "thread")

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def scopes_of(rows: Any) -> set[Scope]:
    return {Scope.from_columns(*parts) for parts in rows.values_list(*NAMES)}


def grant(*scopes: Scope, settings: Any) -> ReviewGrant:
    settings.PRISM_GRAPH = {"REVIEW_SCOPES": lambda user: list(scopes)}
    return ReviewGrant.for_user(SimpleNamespace(pk=1))


@pytest.mark.django_db
class TestVisibleTo:
    @pytest.fixture(autouse=True)
    def world(self) -> None:
        plant_again(*LEVELS, *ASIDE, *(Scope("acme", "ben"), Scope("acme", "ana", "sales")))

    @each_model
    @pytest.mark.parametrize("written", LEVELS, ids=NAMES)
    @pytest.mark.parametrize("reader", LEVELS, ids=NAMES)
    def test_a_reader_sees_its_own_level_and_every_level_above(self, model, reader, written):
        seen = scopes_of(model.objects.visible_to(reader))
        above = model.shown_below and LEVELS.index(written) < LEVELS.index(reader)
        assert (written in seen) is (written == reader or above)

    @each_model
    @pytest.mark.parametrize("reader", LEVELS, ids=NAMES)
    def test_nobody_sees_sideways(self, model, reader):
        seen = scopes_of(model.objects.visible_to(reader))
        assert seen == (set(reader.chain) if model.shown_below else {reader})

    def test_receipts_alone_are_not_shown_below(self):
        assert [model for model in MODELS if not model.shown_below] == [Receipt]

    @each_model
    @pytest.mark.parametrize("scope", LEVELS, ids=NAMES)
    def test_a_writer_sees_exactly_the_opened_scope(self, model, scope):
        assert scopes_of(model.objects.at(scope)) == {scope}

    def test_it_only_reads(self):
        with pytest.raises(ReadOnlyDoor):
            Source.objects.visible_to(THREAD).update(title="x")


@pytest.mark.parametrize("value", [None, "acme", ("acme", "", "", ""), {"tenant": "acme"}, 7])
@pytest.mark.parametrize("door", ["visible_to", "at"])
def test_only_a_scope_opens_a_door(door, value):
    with pytest.raises(InvalidScope):
        getattr(Source.objects, door)(value)


class TestReviewGrant:
    @pytest.mark.parametrize("scopes", [(), (Scope("acme"),), Scope("acme")])
    def test_it_cannot_be_made_by_hand(self, scopes):
        for arguments in ({"scopes": scopes}, {"scopes": scopes, "issued": object()}):
            with pytest.raises(UnscopedQuery):
                ReviewGrant(**arguments)

    def test_one_grant_does_not_make_another(self, settings):
        given = grant(Scope("acme"), settings=settings)
        with pytest.raises(UnscopedQuery):
            dataclasses.replace(given, scopes=(Scope("globex"),))
        with pytest.raises(UnscopedQuery):
            ReviewGrant((Scope("globex"),), given.issued)
        with pytest.raises(dataclasses.FrozenInstanceError):
            given.scopes = (Scope("globex"),)

    def test_copies_grant_the_same(self, settings):
        given = grant(Scope("acme"), settings=settings)
        copies = [copy.copy(given), copy.deepcopy(given), pickle.loads(pickle.dumps(given))]
        assert copies == [given] * 3

    def test_nobody_may_review_unless_the_project_says_so(self, settings):
        del settings.PRISM_GRAPH
        assert ReviewGrant.for_user(SimpleNamespace(pk=1)).scopes == ()

    def test_the_project_is_asked_about_the_user(self, settings):
        settings.PRISM_GRAPH = {"REVIEW_SCOPES": lambda user: [Scope(user.team)]}
        assert ReviewGrant.for_user(SimpleNamespace(team="acme")).scopes == (Scope("acme"),)

    @pytest.mark.parametrize("answer", [["acme"], [None], [("acme", "", "", "")], "acme", [7]])
    def test_what_is_no_scope_is_refused(self, settings, answer):
        settings.PRISM_GRAPH = {"REVIEW_SCOPES": lambda user: answer}
        with pytest.raises(InvalidScope):
            ReviewGrant.for_user(SimpleNamespace(pk=1))

    def test_a_setting_that_names_nothing_is_refused(self, settings):
        settings.PRISM_GRAPH = {"REVIEW_SCOPES": "nowhere.to_be_found"}
        with pytest.raises(InvalidSettings):
            ReviewGrant.for_user(SimpleNamespace(pk=1))


@pytest.mark.django_db
class TestForReview:
    @pytest.fixture(autouse=True)
    def world(self) -> None:
        plant_again(*LEVELS, *ASIDE)

    @each_model
    @pytest.mark.parametrize("level", LEVELS, ids=NAMES)
    def test_a_grant_covers_its_scope_and_everything_below(self, model, level, settings):
        seen = scopes_of(model.objects.for_review(grant(level, settings=settings)))
        assert seen == {scope for scope in (*LEVELS, *ASIDE) if level.covers(scope)}

    @each_model
    def test_several_grants_add_up(self, model, settings):
        given = grant(ASIDE[0], ASIDE[1], settings=settings)
        assert scopes_of(model.objects.for_review(given)) == {ASIDE[0], ASIDE[1]}

    @each_model
    def test_an_empty_grant_sees_nothing(self, model, settings):
        assert not model.objects.for_review(grant(settings=settings)).exists()

    @each_model
    def test_a_name_that_begins_alike_is_not_covered(self, model, settings):
        for near in ("acm", "acme-corp", "ACME", "acme%", "a_me", "%"):
            given = grant(Scope(near), settings=settings)
            assert not model.objects.for_review(given).exists()

    def test_it_only_reads(self, settings):
        rows = Source.objects.for_review(grant(TENANT, settings=settings))
        with pytest.raises(ReadOnlyDoor):
            rows.update(title="x")
        with pytest.raises(ReadOnlyDoor):
            rows.delete()
        with pytest.raises(ReadOnlyDoor):
            rows.first().save()

    @pytest.mark.parametrize(
        "forged", [None, (MINE,), [MINE], MINE, SimpleNamespace(scopes=[MINE])]
    )
    def test_nothing_else_opens_it(self, forged):
        with pytest.raises(UnscopedQuery):
            Source.objects.for_review(forged)


@pytest.mark.django_db
class TestSystem:
    @pytest.fixture(autouse=True)
    def world(self) -> None:
        plant_again(*LEVELS, *ASIDE)

    @each_model
    def test_it_touches_every_row(self, model):
        # A tenant's own row says by which vectors the whole tenant is searched.
        tenants = {Scope(each.tenant) for each in ASIDE} if model is VectorPartition else set()
        assert scopes_of(model.objects.system("count")) == {*LEVELS, *ASIDE, *tenants}

    @pytest.mark.parametrize("reason", [None, "", "  ", 7, b"why", True])
    def test_it_wants_a_reason(self, reason):
        with pytest.raises(UnscopedQuery):
            Source.objects.system(reason)

    def test_two_reasons_are_two_doors(self):
        with pytest.raises(UnscopedQuery):
            Source.objects.system("one") | Source.objects.system("other")


@pytest.mark.parametrize("door", [VisibleTo(MINE), At(MINE), System("why")])
def test_doors_are_values(door):
    assert door == copy.deepcopy(door) == pickle.loads(pickle.dumps(door))
    assert hash(door) == hash(copy.deepcopy(door))
    with pytest.raises(dataclasses.FrozenInstanceError):
        door.writes = True


def test_a_read_door_cannot_be_told_to_write(settings):
    given = grant(MINE, settings=settings)
    for kind, argument in ((VisibleTo, MINE), (ForReview, given)):
        with pytest.raises(TypeError):
            kind(argument, writes=True)
        # A ValueError before Python 3.13.
        with pytest.raises((ValueError, TypeError), match="init=False"):
            dataclasses.replace(kind(argument), writes=True)


@pytest.mark.django_db
def test_a_scope_that_nobody_wrote_at_is_empty_and_not_an_error():
    Memory(MINE).ingest("doc-1", "words", origin=DOCUMENT)
    assert not Source.objects.visible_to(Scope("nobody")).exists()
    assert Source.objects.at(Scope("nobody")).update(title="x") == 0
