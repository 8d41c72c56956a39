from __future__ import annotations

from typing import Any

import pytest

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import InvalidInput, LimitExceeded

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
USER = Origin(Trust.USER)


@pytest.fixture
def memory() -> Memory:
    return Memory(ACME)


def add(memory: Memory, count: int) -> list[str]:
    return [memory.record("chat", f"turn {n}", origin=USER).added[0] for n in range(count)]


def test_chunks_come_in_the_order_asked_for_each_once(memory: Memory) -> None:
    ids = add(memory, 4)
    asked = [ids[2], ids[0], ids[2], ids[3], ids[0]]
    assert [view.id for view in memory.get(asked)] == [ids[2], ids[0], ids[3]]


def test_ids_that_name_nothing_are_absent(memory: Memory) -> None:
    (own,) = add(memory, 1)
    unknown = ["a" * 26, "", " ", own.upper(), own + "a", own[:-1], "x" * 10**6, "é", "\x00"]
    unknown += ["\ud800", "%", "_" * 26, "'; DROP TABLE prism_graph_chunk; --"]
    assert [view.id for view in memory.get([*unknown, own])] == [own]


def test_a_foreign_id_is_as_absent_as_a_missing_one(memory: Memory) -> None:
    (own,) = add(memory, 1)
    foreign = [
        add(Memory(scope), 1)[0]
        for scope in (Scope("other"), Scope("ACME"), Scope("acme", "u1"), Scope("acme-corp"))
    ]
    assert memory.get([*foreign, own]) == memory.get([own]) == memory.get(["a" * 26, own])
    assert memory.get(foreign) == []


def test_every_level_above_is_read_and_none_beside_or_below() -> None:
    scopes = list(reversed(Scope("acme", "u1", "a1", "t1").chain))
    ids = {scope: add(Memory(scope), 1)[0] for scope in scopes}
    ids[Scope("acme", "u2")] = add(Memory(Scope("acme", "u2")), 1)[0]
    for reader in ids:
        seen = {view.scope for view in Memory(reader).get(ids.values())}
        assert seen == set(reader.chain)


def test_retired_chunks_are_read_by_id(memory: Memory) -> None:
    (own,) = add(memory, 1)
    memory.retire_source("chat")
    (view,) = memory.get([own])
    assert view.retired_at is not None


def test_chunks_and_hits_name_themselves(memory: Memory) -> None:
    (own,) = add(memory, 1)
    (hit,) = memory.search("turn")
    assert memory.get([hit]) == memory.get([hit.chunk]) == memory.get((own,)) == [hit.chunk]
    assert memory.get(name for name in [own]) == [hit.chunk]


def test_a_hundred_ids_are_taken_and_one_more_is_refused(memory: Memory) -> None:
    (own,) = add(memory, 1)
    assert len(memory.get([own] * 100)) == 1
    assert memory.get([own, *(f"{n:026}" for n in range(99))])[0].id == own
    with pytest.raises(LimitExceeded):
        memory.get([own] * 101)
    with pytest.raises(LimitExceeded):
        memory.get(own for _ in iter(int, 1))


@pytest.mark.parametrize(
    "ids", ["a" * 26, b"aaa", 7, None, 1.5, [7], [None], [b"a"], [["a"]], True]
)
def test_what_is_no_list_of_ids_is_refused(memory: Memory, ids: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.get(ids)


def test_no_ids_are_no_chunks(memory: Memory) -> None:
    assert memory.get([]) == memory.get({}) == memory.get(()) == []


def test_sources_come_nearest_scope_first_then_by_key() -> None:
    chain = Scope("acme", "u1", "a1", "t1").chain
    for scope in reversed(chain):
        for key in ("b", "a", "é", "B"):
            Memory(scope).ingest(key, "text", origin=USER)
    Memory(Scope("acme", "u2")).ingest("a", "text", origin=USER)
    seen = [(view.scope, view.key) for view in Memory(chain[0]).sources()]
    assert seen == [(scope, key) for scope in chain for key in ("B", "a", "b", "é")]
    assert [view.scope for view in Memory(chain[-1]).sources()] == [chain[-1]] * 4


def test_retired_sources_are_listed_when_asked_for(memory: Memory) -> None:
    memory.ingest("a", "text", origin=USER)
    memory.ingest("b", "text", origin=USER)
    memory.retire_source("a")
    assert [view.key for view in memory.sources()] == ["b"]
    assert [view.key for view in memory.sources(retired=True)] == ["a", "b"]


def test_a_source_names_its_document_and_not_its_text(memory: Memory) -> None:
    memory.ingest("key-canary", "text-canary", origin=USER, title="title-canary", uri="uri-canary")
    (source,) = memory.sources()
    (hit,) = memory.search("canary")
    for value in (source, hit.chunk, hit):
        assert "canary" not in repr(value)
