"""A foreign id or key is the same as a missing one, and what is handed out tells nothing (G2, G4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import PrismGraphError
from prism_graph.models import Chunk
from prism_graph.tables import current
from tests.rawsql import sql, stored
from tests.vectors.doubles import vectors

pytestmark = pytest.mark.django_db

MINE = Scope("acme", "ana", "support")
ELSEWHERE = {
    "tenant": Scope("globex", "ana", "support"),
    "owner": Scope("acme", "ben", "support"),
    "agent": Scope("acme", "ana", "sales"),
    "below": Scope("acme", "ana", "support", "chat-1"),
}
ABOVE = Scope("acme", "ana")
DOCUMENT = Origin(Trust.DOCUMENT, writer="importer")
NO_ID = "a" * 26

# One call of every public method with a key and an id that may be somebody else's.
CALLS: dict[str, Callable[[Memory, str, str], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "get": lambda memory, key, name: (([name],), {}),
    "sources": lambda memory, key, name: ((), {"retired": True}),
    "search": lambda memory, key, name: (("zebra",), {"sources": [key], "explain": True}),
    "ingest": lambda memory, key, name: (
        ("summary", "A zebra."),
        {"origin": DOCUMENT, "derived_from": [name]},
    ),
    "record": lambda memory, key, name: (
        ("talk", "A zebra."),
        {"origin": DOCUMENT, "derived_from": [name]},
    ),
    "retire_source": lambda memory, key, name: ((key,), {}),
    "pending": lambda memory, key, name: ((), {}),
    "failed": lambda memory, key, name: ((), {}),
    "embed_pending": lambda memory, key, name: ((), {"retry": True}),
    "assert_fact": lambda memory, key, name: (
        (key,),
        {"subject": "it", "predicate": "is", "value": "a zebra", "evidence": [name]},
    ),
    "supersede": lambda memory, key, name: (
        (key,),
        {"subject": "it", "predicate": "is", "value": "a zebra", "evidence": own_evidence(memory)},
    ),
    "retract": lambda memory, key, name: ((key,), {}),
    "accept": lambda memory, key, name: ((key,), {}),
    "reject": lambda memory, key, name: ((key,), {"version": 1}),
    "facts": lambda memory, key, name: ((key,), {"unaccepted": True}),
    "fact": lambda memory, key, name: ((key,), {"unaccepted": True}),
    "timeline": lambda memory, key, name: ((key,), {}),
    "erase": lambda memory, key, name: ((key,), {}),
    "erase_turn": lambda memory, key, name: ((key, "turn-1"), {}),
    "erase_fact": lambda memory, key, name: ((key,), {}),
}
# Names nothing, and takes what stands below; tests/test_erase.py looks at it.
NAMELESS = {"erase_everything", "aerase_everything"}
# Writing under a key that somebody else uses makes a row of one's own, as under a new key.
WRITES: dict[str, Callable[[Memory, str], Any]] = {
    "ingest": lambda memory, key: memory.ingest(key, "A zebra.", origin=DOCUMENT),
    "record": lambda memory, key: memory.record(key, "A zebra.", origin=DOCUMENT, turn_id="turn-1"),
}
each_place = pytest.mark.parametrize("scope", ELSEWHERE.values(), ids=ELSEWHERE)
each_kind = pytest.mark.parametrize("kind", ["document", "conversation"])


def own_evidence(memory: Memory) -> list[str]:
    return list(Chunk.objects.at(memory.scope).values_list("id", flat=True))


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    """Hold something to cite at the reader's own scope, with its vector; nobody else's has one yet."""
    Memory(MINE).ingest("own", "An okapi.", origin=DOCUMENT)
    with vectors({"provider": "hashing", "dimensions": 8}):
        Memory(MINE).embed_pending()
        yield


def fill(scope: Scope, kind: str) -> str:
    memory = Memory(scope)
    if kind == "document":
        name = memory.ingest("theirs", "Their zebra.", origin=DOCUMENT).added[0]
    else:
        turn = memory.record("theirs", "Their zebra.", origin=DOCUMENT, turn_id="turn-1")
        name = turn.added[0]
    stated = {"subject": "theirs", "predicate": "is", "value": "a zebra"}
    memory.assert_fact("theirs", **stated, evidence=[name])
    return name


def kept() -> dict[str, list[Any]]:
    """Return every row but one's own lock, which is all that a refused call may leave behind."""
    return {
        table: [row for row in rows if table != current().names["scopeclock"] or not is_mine(row)]
        for table, rows in stored().items()
    }


def is_mine(row: Any) -> bool:
    return all(part in row for part in MINE.parts if part) and "chat-1" not in row


def answer(memory: Memory, method: str, key: str, name: str) -> tuple[Any, ...]:
    """Return all that a caller is told: the value, or the error's class and words."""
    args, kwargs = CALLS[method.removeprefix("async ")](memory, key, name)

    async def wait() -> Any:
        return await getattr(memory, method.replace("async ", "a"))(*args, **kwargs)

    try:
        if method.startswith("async "):
            return ("value", async_to_sync(wait)())
        return ("value", getattr(memory, method)(*args, **kwargs))
    except PrismGraphError as error:
        return ("error", type(error), str(error), error.args, error.__cause__)


def test_every_public_method_is_called():
    public = {name for name in dir(Memory) if not name.startswith("_")} - {"scope"}
    twins = {f"a{name}" for name in CALLS}
    assert public == CALLS.keys() | twins | NAMELESS


@each_place
@each_kind
@pytest.mark.parametrize("method", [*CALLS, *(f"async {name}" for name in CALLS)])
def test_what_is_somebody_else_s_answers_as_what_is_not_there(method, kind, scope):
    name = fill(scope, kind)
    before = kept()
    memory = Memory(MINE)
    foreign = answer(memory, method, "theirs", name)
    assert foreign == answer(memory, method, "nobody's", NO_ID)
    assert kept() == before


@each_kind
@pytest.mark.parametrize(
    "method",
    [
        "retire_source",
        "supersede",
        "retract",
        "accept",
        "reject",
        "erase",
        "erase_turn",
        "erase_fact",
    ],
)
def test_what_stands_only_above_is_not_found_by_a_write(method, kind):
    fill(ABOVE, kind)
    before = kept()
    memory = Memory(MINE)
    assert answer(memory, method, "theirs", NO_ID) == answer(memory, method, "nobody's", NO_ID)
    for table, rows in before.items():
        assert set(rows) <= set(kept()[table])
    assert memory.search("zebra")


@each_place
@each_kind
@pytest.mark.parametrize("method", WRITES)
def test_a_key_in_use_elsewhere_is_a_new_key_here(method, kind, scope):
    fill(scope, kind)
    before = kept()
    memory = Memory(MINE)
    reports = [WRITES[method](memory, key) for key in ("theirs", "nobody's")]
    shapes = [[len(each) for each in (r.added, r.kept, r.retired)] for r in reports]
    assert shapes == [[1, 0, 0]] * 2
    assert all(set(rows) <= set(kept()[table]) for table, rows in before.items())


def test_only_one_s_own_of_many_ids_are_returned_and_the_others_are_not_counted():
    own = Memory(MINE).ingest("mine", "My zebra.", origin=DOCUMENT).added[0]
    foreign = [fill(scope, "document") for scope in ELSEWHERE.values()]
    views = Memory(MINE).get([*foreign, own, NO_ID, "", "%", "x\0", "\ud800", "é", "' OR 1=1"])
    assert [view.id for view in views] == [own]


@pytest.mark.parametrize("part", [0, 1, 13, 25])
def test_an_id_is_matched_whole_and_letter_by_letter(part):
    own = Memory(MINE).ingest("mine", "My zebra.", origin=DOCUMENT).added[0]
    near = own[:part] + ("a" if own[part] != "a" else "b") + own[part + 1 :]
    for name in (near, own.upper(), own[:-1], own + "a", f" {own}", f"{own} ", f"{own}\n"):
        assert Memory(MINE).get([name]) == []


def test_ids_are_random_and_tell_neither_time_nor_count(monkeypatch):
    monkeypatch.setattr("prism_graph.clock._source", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    memory, ids = Memory(MINE), []
    for number in range(40):
        report = memory.ingest(f"doc-{number}", f"zebra {number}", origin=DOCUMENT)
        ids += [report.source, *report.added]
        if number == 20:
            for other in range(20):
                Memory(ELSEWHERE["tenant"]).ingest(f"doc-{other}", "zebra", origin=DOCUMENT)
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z2-7]{26}", name) for name in ids)
    assert ids != sorted(ids)
    assert max(len({name[place] for name in ids}) for place in range(26)) > 15
    assert min(len({name[place] for name in ids}) for place in range(26)) > 8


def test_no_answer_holds_a_number_that_others_move():
    number = 987_654_321_000
    if connection.vendor == "sqlite":
        fill(ELSEWHERE["tenant"], "document")
        sql(
            "UPDATE sqlite_sequence SET seq = %s WHERE name = %s",
            number,
            current().names["chunktext"],
        )
    else:
        sql("SELECT setval(pg_get_serial_sequence('$chunktext', 'number'), %s)", number)
    memory = Memory(MINE)
    report = memory.ingest("mine", "My zebra.", origin=DOCUMENT)
    memory.record("talk", "A zebra.", origin=DOCUMENT, derived_from=report.added)
    assert sql("SELECT max(number) FROM $chunk")[0][0] > number
    told = [
        report,
        memory.search("zebra", explain=True, neighbours=3),
        memory.get(report.added),
        memory.sources(),
        memory.retire_source("mine"),
        memory.erase("mine"),
    ]
    assert "987654321" not in repr(told)
