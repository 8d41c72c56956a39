"""What one scope holds true, no scope beside or above it reads, moves or is told of (SPEC §1, §3)."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, OuterRef, Prefetch, Subquery

from prism_graph import FactStatus, Memory, Origin, PrismGraphError, Scope, Trust
from prism_graph.errors import (
    DerivedTextRemains,
    FactNotFound,
    InvalidEvidence,
    InvalidInput,
    InvalidScope,
    ReadOnlyDoor,
    UnscopedQuery,
)
from prism_graph.models import Chunk, Citation, Fact, FactVersion, Receipt, Source, Standing
from prism_graph.tables import current
from tests.adversarial.test_noninterference import READERS, START, World, beside, told
from tests.planting import ASIDE, MINE
from tests.rawsql import TABLES, sql, stored

LEVELS = THREAD, AGENT, OWNER, TENANT = MINE.chain
USER: Final = Origin(Trust.USER, "w")
TOOL: Final = Origin(Trust.TOOL, "w")
MODELS: Final[list[Any]] = [Fact, FactVersion, Standing, Citation, Receipt]
NO_ID: Final = "a" * 26

pytestmark = pytest.mark.django_db


def rows_at(scope: Scope) -> dict[str, list[str]]:
    where = " AND ".join(f"{name} = %s" for name in scope.columns)
    return {
        table: sorted(
            map(repr, sql(f'SELECT * FROM "{table}" WHERE {where}', *map(str, scope.parts)))
        )
        for table in TABLES
        if table != current().names["scopeclock"]
    }


def chunk(scope: Scope, origin: Origin = USER) -> list[str]:
    return Memory(scope).record("chat", f"said at {scope.parts!a}", origin=origin).added


def claim(scope: Scope, evidence: Any = None, **more: Any) -> dict[str, Any]:
    stated = {"subject": "s", "predicate": "p", "value": ascii(scope.parts)}
    return stated | {"evidence": evidence or chunk(scope)} | more


def fill(scope: Scope) -> list[str]:
    """Hold an accepted, a superseded, a waiting, a rejected and a retracted version under one key."""
    memory, strong, weak = Memory(scope), chunk(scope), chunk(scope, TOOL)
    who = {"actor": "who", "reason": ascii(scope.parts)}
    memory.assert_fact("k", **claim(scope, strong))
    memory.supersede("k", **claim(scope, strong), **who)
    memory.supersede("k", **claim(scope, strong), **who)
    memory.retract("k", **who)
    memory.assert_fact("k", **claim(scope, weak))
    memory.assert_fact("k", **claim(scope, weak))
    memory.reject("k", version=5, **who)
    memory.ingest("gone", "gone", origin=USER)
    memory.erase("gone")
    return [*strong, *weak]


def read(memory: Memory) -> list[Any]:
    """Return all that the reading methods say, in every form that asks for more than is in force."""
    asked = {"at": None}, {"at": "2999-01-01T00:00:00Z"}, {"known_at": "2999-01-01T00:00:00Z"}
    found: list[Any] = []
    for when in asked:
        for more in (False, True):
            found += memory.facts(unaccepted=more, **when)
            found += memory.facts("s", predicate="p", unaccepted=more, **when)
            with suppress(FactNotFound):
                found.append(memory.fact("k", unaccepted=more, **when))
    return [*found, *memory.timeline("s"), *memory.timeline("s", known_at=asked[1]["at"])]


# what is seen


@pytest.mark.parametrize("written", LEVELS, ids=["thread", "agent", "owner", "tenant"])
@pytest.mark.parametrize("reader", LEVELS, ids=["thread", "agent", "owner", "tenant"])
def test_a_reader_sees_the_facts_of_its_own_level_and_of_those_above(
    reader: Scope, written: Scope
) -> None:
    fill(written)
    views = read(Memory(reader))
    if LEVELS.index(written) < LEVELS.index(reader):
        assert views == []
    else:
        assert {view.scope for view in views} == {written}
        assert len(Memory(reader).timeline("s")) == 5


@pytest.mark.parametrize("reader", LEVELS, ids=["thread", "agent", "owner", "tenant"])
def test_no_reader_sees_the_facts_beside_it(reader: Scope) -> None:
    for scope in ASIDE:
        fill(scope)
    assert read(Memory(reader)) == []


def test_tenants_whose_names_look_alike_share_no_fact() -> None:
    tenants = ("acme", "ACME", "acme%", "a_me", "%", "NULL")
    for tenant in tenants:
        fill(Scope(tenant))
    for tenant in tenants:
        views = read(Memory(Scope(tenant)))
        assert {view.scope for view in views} == {Scope(tenant)}
        assert {view.value for view in views} == {ascii(Scope(tenant).parts)}


def test_every_scope_holds_its_own_version_under_one_key() -> None:
    scopes = [*LEVELS, *ASIDE]
    for scope in scopes:
        fill(scope)
    for scope in scopes:
        before = {other: rows_at(other) for other in scopes if other != scope}
        memory = Memory(scope)
        assert memory.fact("k").value == ascii(scope.parts)
        memory.supersede("k", **claim(scope))
        memory.accept("k", version=4, over=6)
        memory.retract("k", version=6)
        memory.erase_fact("k", 1)
        memory.erase_fact("k")
        assert {other: rows_at(other) for other in before} == before


# a foreign key is a missing key


def stating(evidence: list[str]) -> dict[str, Any]:
    return {"subject": "s", "predicate": "p", "value": "v", "evidence": evidence}


Calls = dict[str, Callable[[Memory, str, list[str]], Any]]
CALLS: Final[Calls] = {
    "supersede": lambda m, key, own: m.supersede(key, **stating(own)),
    "supersede expected": lambda m, key, own: m.supersede(key, **stating(own), expected=3),
    "retract": lambda m, key, own: m.retract(key),
    "retract version": lambda m, key, own: m.retract(key, version=2),
    "accept": lambda m, key, own: m.accept(key),
    "accept version": lambda m, key, own: m.accept(key, version=4, over=2),
    "reject": lambda m, key, own: m.reject(key),
    "reject version": lambda m, key, own: m.reject(key, version=4),
    "erase_fact": lambda m, key, own: m.erase_fact(key),
    "erase_fact version": lambda m, key, own: m.erase_fact(key, 1),
    "fact": lambda m, key, own: m.fact(key),
    "fact unaccepted": lambda m, key, own: m.fact(key, unaccepted=True, at="2999-01-01T00:00:00Z"),
    "fact known_at": lambda m, key, own: m.fact(key, known_at="2999-01-01T00:00:00Z"),
    "facts": lambda m, key, own: m.facts(key, unaccepted=True),
    "timeline": lambda m, key, own: m.timeline(key),
}
WAYS: Final = [*CALLS, *(f"async {name}" for name in CALLS)]


def answer(name: str, memory: Memory, key: str, own: list[str]) -> tuple[Any, ...]:
    """Return all that a caller is told, by the method or by its async twin."""
    call = CALLS[name.removeprefix("async ")]
    target: Any = memory
    if name.startswith("async "):
        target = Twins(memory)
    try:
        return ("value", call(target, key, own))
    except PrismGraphError as error:
        return ("error", type(error), str(error), error.args, error.__cause__, error.__context__)


class Twins:
    """Calls `asupersede` for `supersede`."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await getattr(self.memory, f"a{name}")(*args, **kwargs)

        return async_to_sync(call)


@pytest.mark.parametrize(
    "reader", [AGENT.for_thread("new"), AGENT, TENANT], ids=["thread", "agent", "tenant"]
)
def test_a_key_of_another_scope_answers_as_one_that_is_not_there(reader: Scope) -> None:
    """For the agent and the tenant some of the others stand below."""
    for place in (*ASIDE, THREAD):
        fill(place)
    memory, own = Memory(reader), chunk(reader)
    before = {place: rows_at(place) for place in (*ASIDE, THREAD, reader)}
    for name in WAYS:
        foreign = answer(name, memory, "k", own)
        assert foreign == answer(name, memory, "nobody's", own), name
        assert {place: rows_at(place) for place in before} == before, name


def test_a_write_does_not_find_a_key_that_stands_only_above() -> None:
    fill(OWNER)
    memory, own = Memory(THREAD), chunk(THREAD)
    before = rows_at(OWNER), rows_at(THREAD)
    for name in CALLS:
        if not name.startswith(("fact", "timeline")):
            assert answer(name, memory, "k", own) == answer(name, memory, "nobody's", own), name
            assert (rows_at(OWNER), rows_at(THREAD)) == before, name


def test_asserting_a_key_in_use_elsewhere_is_as_under_a_new_key() -> None:
    for place in (*ASIDE, OWNER, TENANT, THREAD):
        fill(place)
    memory = Memory(AGENT)
    views = [memory.assert_fact(key, **claim(AGENT)) for key in ("k", "nobody's")]
    assert [(view.version, view.status, view.contests) for view in views] == [
        (1, FactStatus.ACCEPTED, None)
    ] * 2
    fresh = OWNER.for_agent("new")
    waiting = Memory(fresh).assert_fact("k", **claim(fresh, chunk(fresh, TOOL)))
    # What holds above is neither contested nor in the way.
    assert (waiting.version, waiting.contests) == (1, None)


# evidence


@pytest.mark.parametrize("method", ["assert_fact", "supersede"])
def test_evidence_of_a_scope_beside_or_below_is_as_evidence_that_is_not_there(method: str) -> None:
    below = [THREAD]
    for reader, others in ((THREAD, ASIDE), (AGENT, [*ASIDE[:3], *below]), (TENANT, [ASIDE[0]])):
        memory, own = Memory(reader), chunk(reader)
        key = f"{method}"
        if method == "supersede":
            memory.assert_fact(key, **claim(reader, own))
        for other in others:
            theirs = chunk(other)
            before = rows_at(reader), rows_at(other)
            errors = []
            for named in (theirs, [NO_ID], [*own, *theirs], [*own, NO_ID]):
                with pytest.raises(InvalidEvidence) as caught:
                    getattr(memory, method)(key, **claim(reader, named))
                errors.append((str(caught.value), caught.value.args, caught.value.__cause__))
            assert len(set(errors)) == 1
            assert (rows_at(reader), rows_at(other)) == before


def test_a_foreign_chunk_found_or_read_elsewhere_does_not_pass_as_itself_or_as_a_hit() -> None:
    for other in ASIDE:
        chunk(other)
        hits = Memory(other).search("said", limit=100)
        for named in (hits, [hit.chunk for hit in hits], [hit.chunk.id for hit in hits]):
            with pytest.raises(InvalidEvidence):
                Memory(THREAD).assert_fact("k", **claim(THREAD, named))


def test_a_fact_below_may_rest_on_text_above_and_the_view_above_tells_nothing_of_it() -> None:
    for upper, lower in pairwise(reversed(LEVELS)):
        text = chunk(upper)
        before = read(Memory(upper))
        view = Memory(lower).assert_fact("k", **claim(lower, text))
        assert [each.id for each in view.evidence] == text
        assert read(Memory(upper)) == before


def test_the_report_of_an_erasure_does_not_count_the_facts_below() -> None:
    def erased(*below: Scope) -> Any:
        page = Memory(TENANT).ingest("page", "page", origin=USER).added
        for place in below:
            Memory(place).assert_fact("k", **claim(place, page))
            Memory(place).assert_fact("l", **claim(place, [*page, *chunk(place)]))
        return Memory(TENANT).erase("page")

    assert erased() == erased(OWNER, THREAD, ASIDE[1])


# shadows


def test_only_what_a_reader_sees_casts_a_shadow() -> None:
    Memory(TENANT).assert_fact("k", **claim(TENANT))
    Memory(THREAD).assert_fact("k", **claim(THREAD))
    for scope in ASIDE:
        Memory(scope).assert_fact("k", **claim(scope))
    shadowed = {
        reader: [(view.scope, view.shadowed) for view in Memory(reader).facts()]
        for reader in LEVELS
    }
    assert shadowed == {
        THREAD: [(THREAD, False), (TENANT, True)],
        AGENT: [(TENANT, False)],
        OWNER: [(TENANT, False)],
        TENANT: [(TENANT, False)],
    }
    assert Memory(THREAD).fact("k").scope == THREAD
    assert Memory(AGENT).fact("k").scope == TENANT


@pytest.mark.parametrize("what", ["belief", "ended", "ahead", "rejected", "retracted", "other key"])
def test_what_is_not_in_force_casts_no_shadow(what: str) -> None:
    Memory(TENANT).assert_fact("k", **claim(TENANT))
    near = Memory(THREAD)
    weak = chunk(THREAD, Origin(Trust.AGENT))
    past, ahead = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
    if what in ("belief", "rejected"):
        near.assert_fact("k", **claim(THREAD, weak))
    if what == "rejected":
        near.reject("k")
    if what == "ended":
        near.assert_fact("k", **claim(THREAD), valid_from="2000-01-01T00:00:00Z", valid_to=past)
    if what == "ahead":
        near.assert_fact("k", **claim(THREAD), valid_from=ahead)
    if what == "retracted":
        near.assert_fact("k", **claim(THREAD))
        near.retract("k")
    if what == "other key":
        for key in ("K", "k ", " k", "k\u200b", "ｋ"):
            near.assert_fact(key, **claim(THREAD))
    above = [view for view in near.facts(unaccepted=True) if view.scope == TENANT]
    assert [view.shadowed for view in above] == [False]
    assert near.fact("k").scope == TENANT


def test_a_shadow_falls_also_where_the_nearer_fact_has_another_subject() -> None:
    Memory(TENANT).assert_fact("k", **claim(TENANT))
    Memory(THREAD).assert_fact("k", **claim(THREAD, subject="another"))
    (view,) = Memory(THREAD).facts("s")
    assert (view.scope, view.shadowed) == (TENANT, True)
    (same,) = Memory(THREAD).timeline("s")
    assert same.shadowed


# what a hit tells of facts


def moved_on(scope: Scope, cited: list[str]) -> None:
    """Hold a fact that rested on this and rests on something else by now."""
    Memory(scope).assert_fact("k", **claim(scope, cited))
    Memory(scope).supersede("k", **claim(scope))


def test_a_hit_names_the_versions_of_visible_facts_only() -> None:
    text = chunk(TENANT)
    for scope in (*LEVELS, *ASIDE[1:]):
        moved_on(scope, text)
    moved_on(ASIDE[0], chunk(ASIDE[0]))
    for reader in LEVELS:
        (hit,) = [
            each for each in Memory(reader).search("said", limit=100) if each.chunk.id == text[0]
        ]
        assert [ref.scope for ref in hit.superseded_by] == list(reader.chain)


def test_facts_beside_a_reader_change_no_hit() -> None:
    text = chunk(TENANT)
    Memory(THREAD).assert_fact("k", **claim(THREAD, text))
    asked = [Memory(reader).search("said", limit=100, explain=True) for reader in LEVELS]
    for scope in ASIDE[1:]:
        moved_on(scope, text)
        Memory(scope).erase_fact("k", 1)
    kept = {each.id for each in Memory(TENANT).get(text)}
    again = [Memory(reader).search("said", limit=100, explain=True) for reader in LEVELS]
    for before, after in zip(asked, again, strict=True):
        assert [hit for hit in after if hit.chunk.id in kept] == [
            hit for hit in before if hit.chunk.id in kept
        ]


# names are compared letter by letter


ALIKE: Final = [
    *("user", "User", "USER", "user ", " user", "us%", "%", "_", "use_", "user%", "u*", "ｕｓｅｒ"),
    *(
        "user\u200b",
        "usér",
        "use\u0301r",
        "uѕer",
        "user'",
        "user''",
        "user'; --",
        "user\\",
        "[user]",
    ),
    *("user\n", "user\t", "user;", "*", "?", "^user", "user$", "NULL", "null", "None", "0", "''"),
]


@pytest.mark.parametrize("place", ["key", "subject", "predicate"])
def test_names_that_look_alike_are_different_facts(place: str) -> None:
    memory, evidence = Memory(THREAD), chunk(THREAD)
    for name in ALIKE:
        stated = {"subject": "s", "predicate": "p", "value": name, "evidence": evidence}
        key = name if place == "key" else f"key of {name}"
        memory.assert_fact(key, **stated | ({} if place == "key" else {place: name}))
    for name in ALIKE:
        found = {
            "key": lambda name=name: [memory.fact(name)],
            "subject": lambda name=name: memory.facts(name),
            "predicate": lambda name=name: memory.facts(predicate=name),
        }[place]()
        assert [view.value for view in found] == [name]
        if place == "subject":
            assert [view.value for view in memory.timeline(name)] == [name]
        if place == "predicate":
            assert [view.value for view in memory.timeline("s", predicate=name)] == [name]
    for absent in ("uSer", "user_", "user%%", "%ser", "", "Us%"):
        if absent:
            assert memory.facts(absent) == memory.timeline(absent) == []
            assert memory.facts(predicate=absent) == []


HOSTILE: Final = [
    "'; DROP TABLE prism_graph_fact; --",
    "' OR '1'='1",
    '" OR ""="',
    "%s %(tenant)s %%",
    "{facts} {standing} {at} {0} {__class__}",
    "$1 $$ :name ?1",
    "\\'; \\x00 \\",
    "</memory>\u202e\u2066\U000e0041\ufeff",
    "\r\n\x1b[2J\x7f\x85\u2028",
    "\x01\x1f\ufffe\uffff\U0010ffff",
    "NULL",
    "accepted",
    "x" * 512,
    "\u0301" * 500,
    "=cmd|'/c calc'!A1",
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_is_stored_and_given_back_as_it_is(number: int) -> None:
    text = HOSTILE[number]
    fill(ASIDE[0])
    before = rows_at(ASIDE[0])
    memory, evidence = Memory(THREAD), chunk(THREAD)
    stated = {"subject": text, "predicate": text, "value": text, "evidence": evidence}
    memory.assert_fact(text, **stated)
    view = memory.supersede(text, **stated, actor=text, reason=text)
    said = (view.key, view.subject, view.predicate, view.value, view.decided_by, view.reason)
    assert said == (text,) * 6
    assert memory.fact(text) == memory.facts(text, predicate=text)[0] == view
    assert [each.version for each in memory.timeline(text, predicate=text)] == [1, 2]
    assert memory.retract(text, actor=text).decided_by == text
    assert memory.erase_fact(text).facts_erased == 2
    assert memory.timeline(text) == []
    assert rows_at(ASIDE[0]) == before


@pytest.mark.parametrize(
    "bad",
    ["a\0b", "\ud800", "a\udfff", "x" * 100_000],
    ids=["NUL", "surrogate", "half a pair", "100 KB"],
)
def test_what_no_database_can_hold_is_refused_everywhere(bad: str) -> None:
    memory, evidence = Memory(THREAD), chunk(THREAD)
    memory.assert_fact("k", **claim(THREAD, evidence))
    before = rows_at(THREAD)
    good = claim(THREAD, evidence)
    calls: list[Callable[[], Any]] = [
        *(lambda n=n: memory.assert_fact("new", **good | {n: bad}) for n in list(good)[:3]),
        *(lambda n=n: memory.supersede("k", **good | {n: bad}) for n in list(good)[:3]),
        *(lambda n=n: memory.supersede("k", **good, **{n: bad}) for n in ("actor", "reason")),
        *(lambda n=n: memory.retract("k", **{n: bad}) for n in ("actor", "reason")),
        *(lambda n=n: memory.erase_fact("k", **{n: bad}) for n in ("actor", "reason")),
        lambda: memory.assert_fact(bad, **good),
        lambda: memory.supersede(bad, **good),
        *(lambda m=m: getattr(memory, m)(bad) for m in "retract accept reject erase_fact".split()),
        *(lambda m=m: getattr(memory, m)(bad) for m in "facts fact timeline".split()),
        lambda: memory.facts(predicate=bad),
    ]
    for call in calls:
        with pytest.raises(InvalidInput):
            call()
    for call in (memory.assert_fact, memory.supersede):
        with pytest.raises(InvalidEvidence):
            call("k", **good | {"evidence": [bad]})
    assert rows_at(THREAD) == before


# past Memory: no way without a door


UNSCOPED: Final[dict[str, Callable[[Any], Any]]] = {
    "all": lambda model: list(model.objects.all()),
    "base manager": lambda model: list(model._base_manager.all()),
    "default manager": lambda model: list(model._default_manager.all()),
    "closed": lambda model: list(model.closed.all()),
    "count": lambda model: model.closed.count(),
    "exists": lambda model: model.closed.exists(),
    "first": lambda model: model.closed.first(),
    "get": lambda model: model.closed.get(pk=NO_ID),
    "in_bulk": lambda model: model.closed.in_bulk([NO_ID]),
    "values": lambda model: list(model.closed.values_list("pk")),
    "aggregate": lambda model: model.closed.aggregate(Count("pk")),
    "explain": lambda model: model.closed.explain(),
    "iterator": lambda model: list(model.closed.iterator()),
    "update": lambda model: model.closed.update(tenant="x"),
    "delete": lambda model: model.closed.all().delete(),
    "raw delete": lambda model: model.closed.all()._raw_delete("default"),
    "create": lambda model: model.closed.create(),
    "bulk_create": lambda model: model.closed.bulk_create([model()]),
    "save": lambda model: model(tenant="acme").save(),
    "get_or_create": lambda model: model.closed.get_or_create(pk=NO_ID),
    "raw": lambda model: list(model.closed.raw("SELECT 1")),
    "subquery": lambda model: list(
        Chunk.objects.at(THREAD).annotate(x=Subquery(model.closed.values("pk")[:1]))
    ),
    "in a filter": lambda model: list(Chunk.objects.at(THREAD).filter(id__in=model.closed.all())),
    "union": lambda model: list(model.objects.at(THREAD).union(model.closed.all())),
    "or": lambda model: list(model.objects.at(THREAD) | model.closed.all()),
    "another door": lambda model: list(model.objects.at(THREAD) | model.objects.at(TENANT)),
    "system without a reason": lambda model: list(model.objects.system("")),
    "review without a grant": lambda model: list(model.objects.for_review(THREAD)),
    "extra": lambda model: list(model.objects.at(THREAD).extra(where=["1=1) OR (1=1"])),
    "columns": lambda model: model.objects.at(THREAD).update(tenant="globex"),
    "another row's columns": lambda model: model.objects.at(THREAD).update(owner="ben"),
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_there_is_no_unscoped_way_to_a_fact(model: Any) -> None:
    fill(THREAD)
    before = stored()
    for name, way in UNSCOPED.items():
        with pytest.raises(UnscopedQuery):
            pytest.fail(f"{name}: {way(model)!r}")
    for door in (model.objects.at, model.objects.visible_to):
        for bad in (None, "acme", ("acme",), {"tenant": "acme"}):
            with pytest.raises(InvalidScope):
                door(bad)
    assert stored() == before


def test_each_door_shows_its_own_rows() -> None:
    for scope in (*LEVELS, *ASIDE):
        fill(scope)
    for model in MODELS:
        for reader in LEVELS:
            shown = {place_of(row) for row in model.objects.visible_to(reader)}
            # A receipt from above counts what went beside this reader, too.
            assert shown == ({reader} if model is Receipt else {*reader.chain})
            assert {place_of(row) for row in model.objects.at(reader)} == {reader}
        rows = model.objects.visible_to(THREAD)
        writes: list[Callable[[], Any]] = [
            lambda rows=rows: rows.update(tenant="x"),
            lambda rows=rows: rows.delete(),
            lambda rows=rows: rows.create(),
            lambda rows=rows: rows.first().save(),
            lambda rows=rows: rows.first().delete(),
            lambda rows=rows: rows.bulk_update([rows.first()], ["tenant"]),
        ]
        for write in writes:
            with pytest.raises(ReadOnlyDoor):
                write()


def place_of(row: Any) -> Scope:
    return Scope.from_columns(row.tenant, row.owner, row.agent, row.thread)


def test_relations_of_facts_are_followed_through_the_door_that_was_opened() -> None:
    for scope in (*LEVELS, *ASIDE):
        fill(scope)
    version = FactVersion.objects.at(THREAD).first()
    assert version is not None
    assert version.fact.thread == THREAD.thread
    standing = Standing.objects.at(THREAD).select_related("stated__fact").first()
    assert standing is not None
    assert standing.stated.fact.key == "k"
    prefetched = FactVersion.objects.at(THREAD).prefetch_related("fact")
    assert {row.fact.thread for row in prefetched} == {THREAD.thread}
    with pytest.raises(UnscopedQuery):
        list(
            FactVersion.objects.at(THREAD).prefetch_related(
                Prefetch("fact", queryset=Fact.closed.all())
            )
        )
    with pytest.raises(UnscopedQuery):
        FactVersion(tenant="acme", fact_number=1).fact  # noqa: B018
    found = Standing.objects.at(THREAD).filter(stated__fact__key="k")
    assert {row.thread for row in found} == {THREAD.thread}
    theirs = FactVersion.objects.at(THREAD).filter(fact_number=OuterRef("number"))
    outer = Fact.objects.at(THREAD).filter(number__in=theirs.values("fact_number"))
    assert {row.thread for row in outer} == {THREAD.thread}


def test_a_row_is_not_moved_to_another_scope() -> None:
    fill(THREAD)
    for model in MODELS:
        row = model.objects.at(THREAD).first()
        row.thread = "chat-2"
        with pytest.raises(InvalidScope):
            row.save()
        with pytest.raises(InvalidScope):
            model.objects.at(THREAD).create(tenant="globex")


DELETES: Final[dict[str, Callable[[], Any]]] = {
    "standings": lambda: Standing.objects.at(THREAD).delete(),
    "open standings": lambda: Standing.objects.at(THREAD).filter(until=None).delete(),
    "ended standings": lambda: Standing.objects.at(THREAD).exclude(until=None).delete(),
    "a standing": lambda: Standing.objects.at(THREAD).first().delete(),  # type: ignore[union-attr]
    "citations": lambda: Citation.objects.at(THREAD).delete(),
    "a citation": lambda: Citation.objects.at(THREAD).first().delete(),  # type: ignore[union-attr]
    "cited chunks": lambda: Chunk.objects.at(THREAD).delete(),
    "a cited chunk": lambda: Chunk.objects.at(THREAD).get(trust=Trust.TOOL).delete(),
    "a cited source": lambda: Source.objects.at(THREAD).delete(),
    "chunks above": lambda: Chunk.objects.at(TENANT).delete(),
    "a source above": lambda: Source.objects.at(TENANT).get().delete(),
    "chunks by the system": lambda: Chunk.objects.system("tidy up").delete(),
    "sources by the system": lambda: Source.objects.system("tidy up").delete(),
}


@pytest.mark.parametrize("name", DELETES)
def test_no_deletion_leaves_a_fact_without_what_it_rests_on(name: str) -> None:
    fill(THREAD)
    Memory(THREAD).assert_fact("above", **claim(THREAD, chunk(TENANT)))
    before = stored()
    with pytest.raises(DerivedTextRemains):
        DELETES[name]()
    assert stored() == before


def test_a_deleted_fact_takes_its_versions_standings_and_citations_along() -> None:
    for scope in (THREAD, *ASIDE):
        fill(scope)
    before = {scope: rows_at(scope) for scope in ASIDE}
    try:
        Fact.objects.at(THREAD).delete()
    except DerivedTextRemains:
        return
    for model in MODELS[:4]:
        assert not model.objects.at(THREAD).exists()
    assert {scope: rows_at(scope) for scope in ASIDE} == before
    assert Memory(THREAD).erase("chat").chunks == 2


def test_no_row_of_a_fact_can_point_into_another_scope() -> None:
    theirs = fill(ASIDE[3])
    fill(THREAD)
    foreign = Chunk.objects.at(ASIDE[3]).get(id=theirs[0])
    version = FactVersion.objects.at(THREAD).first()
    assert version is not None
    link = {"fact_number": version.fact_number, "version": version.number}
    for where in (ASIDE[3], TENANT, THREAD):
        cited = dict(
            zip(("cited_owner", "cited_agent", "cited_thread"), where.parts[1:], strict=True)
        )
        with pytest.raises(IntegrityError):
            cite(link | cited | {"cited_number": foreign.number})


@transaction.atomic
def cite(link: dict[str, Any]) -> None:
    Citation.objects.at(THREAD).create(**link)
    connection.check_constraints()


# the same answers in two worlds that differ out of view


Step = Callable[[Memory], Any]


def a_step(rng: random.Random) -> Step:
    """Return one random write about facts; the same keys are used everywhere."""
    key, subject = rng.choice(["k", "l"]), rng.choice(["s", "t"])
    origin = Origin(rng.choice([Trust.USER, Trust.USER, Trust.AGENT, Trust.TOOL]), "w")
    name, value, over = rng.choice(["a", "b"]), rng.choice(["v", "w"]), rng.choice([None, 1])
    when = {
        "valid_from": rng.choice([None, None, START + timedelta(days=rng.randrange(-9, 9))]),
        "valid_to": rng.choice([None, None, START + timedelta(days=rng.randrange(5, 30))]),
    }
    method = rng.choice(["assert_fact", "assert_fact", "supersede"])
    version = rng.choice([None, None, 1, 2])

    def state(memory: Memory) -> Any:
        evidence = memory.record("chat", "said", origin=origin, turn_id=name)
        stated = {"subject": subject, "predicate": "p", "value": value}
        cited = [*evidence.added, *evidence.kept]
        return getattr(memory, method)(key, **stated, evidence=cited, **when)

    choices: list[Step] = [
        *[state] * 6,
        lambda memory: memory.retract(key, version=version),
        lambda memory: memory.accept(key, version=version, over=over),
        lambda memory: memory.reject(key, version=version),
        lambda memory: memory.erase_turn("chat", name),
        lambda memory: memory.erase_fact(key, version),
        lambda memory: memory.erase("chat"),
    ]
    return rng.choice(choices)


def erase_everything(memory: Memory) -> Any:
    # Beside the reader only: its report counts the chunks of the scopes below.
    return memory.erase_everything(include_owners=True)


def reading(memory: Memory) -> list[str]:
    """Return what the whole surface of facts says."""
    late, early = "2026-03-01T00:00:00Z", START + timedelta(minutes=1)
    calls: list[Callable[[], Any]] = [
        *(lambda when=when: memory.facts(unaccepted=True, **when) for when in MOMENTS),
        *(lambda key=key: memory.fact(key, unaccepted=True) for key in ("k", "l", "m")),
        *(lambda key=key: memory.fact(key, at=late) for key in ("k", "l")),
        *(lambda subject=subject: memory.timeline(subject) for subject in ("s", "t", "u")),
        lambda: memory.timeline("s", predicate="p", known_at=early),
        lambda: memory.facts("t", predicate="p"),
        lambda: memory.search("said", limit=100, explain=True),
        lambda: memory.search("said", limit=100, known_at=early),
    ]
    return [told(call) for call in calls]


MOMENTS: Final[list[dict[str, Any]]] = [
    {},
    {"at": START + timedelta(days=3)},
    {"known_at": START + timedelta(minutes=1)},
    {"at": START - timedelta(days=1), "known_at": START + timedelta(minutes=2)},
]


def reporting(memory: Memory, foreign: list[str]) -> list[str]:
    """Return what refusals and the reports of writes say."""
    stated = {"subject": "s", "predicate": "p", "value": "v"}
    own = lambda: memory.record("talk", "said", origin=USER, turn_id="own").added  # noqa: E731
    calls: list[Callable[[], Any]] = [
        lambda: memory.assert_fact("k", **stated, evidence=foreign[:1]),
        lambda: memory.assert_fact("m", **stated, evidence=own()),
        lambda: memory.supersede("k", **stated, evidence=foreign),
        *(lambda call=call: call("k") for call in (memory.accept, memory.reject, memory.retract)),
        lambda: memory.erase_fact("l"),
        lambda: memory.erase("chat"),
    ]
    return [told(call) for call in calls]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def run(
    world: World,
    reader: Scope,
    steps: list[tuple[Scope, int]],
    others: list[list[tuple[int, Scope]]],
    *,
    reports: bool,
) -> list[str]:
    answers = []
    with world.open():
        for number in range(len(steps) + 1):
            for seed, scope in others[number] if others else ():
                world.at("beside", seed)
                step = a_step(random.Random(seed)) if seed % 7 else erase_everything
                told(lambda step=step, scope=scope: step(Memory(scope)))
            if number < len(steps):
                scope, seed = steps[number]
                world.at("in view", number)
                step = a_step(random.Random(seed))
                answers.append(told(lambda step=step, scope=scope: step(Memory(scope))))
        # Later than every write, so that all of them are past.
        world.at("reading", 30)
        answers += reading(Memory(reader))
        if reports:
            answers += reporting(Memory(reader), [NO_ID])
    return answers


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(12))
def test_facts_out_of_view_change_nothing_that_a_reader_is_told(world: World, number: int) -> None:
    rng = random.Random(number)
    reader = READERS[number % 4]
    steps = [(rng.choice(reader.chain), rng.randrange(10**6)) for _ in range(rng.randint(3, 6))]
    plain = {each: run(world, reader, steps, [], reports=each) for each in (False, True)}
    for each in range(8):
        others: list[list[tuple[int, Scope]]] = [[] for _ in range(len(steps) + 1)]
        for seed in rng.sample(range(10, 30), k=rng.randint(1, 4)):
            scope = rng.choice(beside(reader))
            others[rng.randrange(len(others))].append((seed, scope))
        reports = each % 2 == 0
        assert run(world, reader, steps, others, reports=reports) == plain[reports]


def test_the_comparison_sees_a_fact_that_is_in_view(world: World) -> None:
    reader = READERS[0]
    steps = [(reader, seed) for seed in range(8)]
    plain = run(world, reader, steps, [], reports=False)
    assert any("FactStatus.ACCEPTED" in each for each in plain)
    changed = 0
    for place in reader.chain:
        others: list[list[tuple[int, Scope]]] = [
            [(seed, place) for seed in range(10, 20)],
            *([[]] * 8),
        ]
        changed += run(world, reader, steps, others, reports=False) != plain
    assert changed == len(reader.chain)


def test_a_reader_is_not_told_how_much_was_erased_beside_it() -> None:
    """Receipts of a level above count the levels below it, and every reader below sees that level's rows."""

    def receipts(*owners: str) -> list[Any]:
        tenant = Scope("acme" if len(owners) == 1 else "globex")
        page = Memory(tenant).ingest("page", "page", origin=USER).added
        for owner in owners:
            place = tenant.for_owner(owner)
            Memory(place).assert_fact("k", **claim(place, page))
        Memory(tenant).erase("page")
        rows = Receipt.objects.visible_to(tenant.for_owner("ana"))
        return [(row.operation, row.counts, row.counts_below) for row in rows]

    assert receipts("ana") == receipts("ana", "ben", "cleo")


def test_the_instants_of_a_scope_beside_are_not_seen_in_one_s_own(monkeypatch: Any) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("prism_graph.clock._source", lambda: now)
    for _ in range(50):
        Memory(ASIDE[3]).record("chat", "said", origin=USER)
    view = Memory(THREAD).assert_fact("k", **claim(THREAD, chunk(TENANT)))
    assert view.recorded_from == now
