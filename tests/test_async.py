from __future__ import annotations

import asyncio
import inspect
import threading
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from prism_graph import FactStatus, Memory, Origin, Scope, Trust
from prism_graph.errors import InvalidInput, SourceNotFound
from prism_graph.records import ErasureReport

pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme")
USER = Origin(Trust.USER)
METHODS = (
    "ingest record search get sources retire_source pending failed embed_pending assert_fact supersede "
    "retract accept reject facts fact timeline erase erase_turn erase_fact erase_everything"
).split()


def test_every_method_has_an_async_twin() -> None:
    public = {
        name
        for name, member in vars(Memory).items()
        if inspect.isfunction(member) and not name.startswith("_")
        if not inspect.iscoroutinefunction(member)
    }
    assert public == set(METHODS)
    assert all(hasattr(Memory, f"a{name}") for name in public)


@pytest.mark.parametrize("name", METHODS)
def test_a_twin_is_a_coroutine_function_that_is_documented_as_its_method(name: str) -> None:
    twin, method = getattr(Memory, f"a{name}"), getattr(Memory, name)
    assert inspect.iscoroutinefunction(twin)
    assert inspect.signature(twin) == inspect.signature(method)
    assert (twin.__name__, twin.__doc__) == (f"a{name}", method.__doc__)


async def test_what_a_subclass_overrides_has_its_twin() -> None:
    class Logged(Memory):
        def sources(self, *, retired: bool = False) -> Any:
            return ["overridden"]

    assert await Logged(ACME).asources() == ["overridden"]


async def test_twins_do_what_the_methods_do() -> None:
    memory = Memory(ACME)
    report = await memory.aingest("doc", "penguins swim", origin=USER, title="Handbook")
    turn = await memory.arecord("chat", "penguins dive", origin=USER, turn_id="t")
    hits = await memory.asearch("penguins", limit=5, neighbours=1)
    assert hits == await sync_to_async(memory.search)("penguins", limit=5, neighbours=1)
    assert {hit.chunk.id for hit in hits} == {*report.added, *turn.added}
    assert await memory.aget(report.added) == await sync_to_async(memory.get)(report.added)
    assert [source.key for source in await memory.asources()] == ["chat", "doc"]
    assert (await memory.aretire_source("doc")).retired == report.added
    assert [source.key for source in await memory.asources(retired=True)] == ["chat", "doc"]
    assert await memory.aerase("doc") == ErasureReport(source_found=True, chunks=1)
    assert await memory.aerase_turn("chat", "t") == ErasureReport(source_found=True, chunks=1)
    assert await memory.asearch("penguins") == []


async def test_twins_of_facts_do_what_the_methods_do() -> None:
    memory = Memory(ACME)
    said = (await memory.aingest("doc", "penguins swim", origin=USER)).added
    heard = (await memory.aingest("web", "penguins fly", origin=Origin(Trust.TOOL))).added
    claim = {"subject": "penguins", "predicate": "move"}
    await memory.aassert_fact("move", **claim, value="swim", evidence=said)
    await memory.aassert_fact("move", **claim, value="fly", evidence=heard)
    await memory.areject("move")
    await memory.asupersede("move", **claim, value="dive", evidence=said)
    assert (await memory.afact("move")).value == "dive"
    assert (await memory.aretract("move")).value == "dive"
    assert [fact.value for fact in await memory.afacts("penguins")] == ["swim"]
    assert [fact.value for fact in await memory.atimeline("penguins")] == ["swim", "fly", "dive"]
    await memory.aassert_fact("eat", **claim, value="krill", evidence=heard)
    assert (await memory.aaccept("eat")).status is FactStatus.ACCEPTED
    assert (await memory.aerase_fact("eat")).facts_erased == 1
    assert (await memory.aerase_everything(include_owners=True)).chunks == 2


async def test_twins_raise_what_the_methods_raise() -> None:
    memory = Memory(ACME)
    with pytest.raises(InvalidInput):
        await memory.aingest("doc", None, origin=USER)  # type: ignore[arg-type]
    with pytest.raises(SourceNotFound):
        await memory.aretire_source("nothing")
    with pytest.raises(InvalidInput):
        await memory.asearch("text", limit="10")  # type: ignore[arg-type]
    assert await memory.asources() == []


def test_other_coroutines_go_on_while_a_query_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(ACME)
    memory.ingest("doc", "penguins swim", origin=USER)
    threads: list[Any] = []

    def slow(execute: Any, *arguments: Any) -> Any:
        threads.append(threading.current_thread())
        time.sleep(0.05)
        return execute(*arguments)

    async def search() -> list[Any]:
        from django.db import connection

        def wrap() -> None:
            connection.execute_wrappers.append(slow)

        def unwrap() -> None:
            connection.execute_wrappers.remove(slow)
            connection.close()

        await sync_to_async(wrap)()
        try:
            return await memory.asearch("penguins")
        finally:
            await sync_to_async(unwrap)()

    async def both() -> tuple[list[Any], int]:
        task = asyncio.create_task(search())
        ticks = 0
        while not task.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return task.result(), ticks

    loop_thread = threading.current_thread()
    hits, ticks = asyncio.run(both())
    assert [hit.chunk.text for hit in hits] == ["penguins swim"]
    assert threads
    assert loop_thread not in threads
    assert ticks > 10


async def test_many_twins_at_once_each_get_their_answer() -> None:
    scopes = [Scope(f"tenant{number}") for number in range(8)]
    await asyncio.gather(
        *(Memory(each).aingest("doc", f"penguin {each.tenant}", origin=USER) for each in scopes)
    )
    answers = await asyncio.gather(*(Memory(each).asearch("penguin") for each in scopes))
    assert [[hit.chunk.text for hit in hits] for hits in answers] == [
        [f"penguin {each.tenant}"] for each in scopes
    ]
