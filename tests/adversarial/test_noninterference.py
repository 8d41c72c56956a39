"""What a reader gets depends on nothing that the reader cannot see (G4).

Two worlds hold the same rows in view of one reader, written in the same order with the same ids and at
the same instants; one of them holds other rows besides, written before, between and after. Everything
that the reader is then told is compared as bytes: answers, scores, orders, errors and reports.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.db import transaction

from prism_graph import Memory, Origin, PrismGraphError, Scope, Trust
from prism_graph.asking import KEPT
from prism_graph.bases import rows as base
from prism_graph.vectors.blocks import BLOCKS
from tests.statement_guard import unguarded
from tests.vectors.doubles import vectors

pytestmark = [pytest.mark.django_db, pytest.mark.exhaustive]

VISIBLE_WORLDS: Final = 40
FOREIGN_WORLDS: Final = 25  # for each of them: 1,000 pairs

READERS: Final = [*Scope("acme", "u1", "a1", "t1").chain]
WORDS: Final = [
    *"penguin zebra otter engine install remove ZX-4471-B running ran 企鹅 游泳 größer كتاب".split(),
    *"doc-1 chat acme u1".split(),
]
START: Final = datetime(2026, 1, 1, tzinfo=UTC)

Step = Callable[[Memory], Any]


class World:
    """Ids and instants from seeds: what is in view gets its own, whatever is written beside it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.random = random.Random()
        self.now = START
        monkeypatch.setattr(base.os, "urandom", lambda count: self.random.randbytes(count))
        monkeypatch.setattr("prism_graph.clock._source", lambda: self.now)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Run a world and forget it. The statements are looked at by every other test."""
        # Versions come from the same seeds in each world, so that nothing held may outlive one.
        BLOCKS.clear()
        KEPT.clear()
        with unguarded("a third of the time of 60,000 statements"), transaction.atomic():
            yield
            transaction.set_rollback(True)

    def at(self, place: str, seed: int) -> None:
        """Fix the ids and the instant of what is done next."""
        self.random.seed(f"{place} {seed}")
        self.now = START + timedelta(minutes=seed)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))


def a_step(rng: random.Random) -> Step:
    """Return one random write; the same keys are used everywhere."""
    origin = Origin(rng.choice(list(Trust)), rng.choice(["w1", "w2"]))
    key, text = (
        f"doc-{rng.randrange(2)}",
        "\n".join(sentence(rng) for _ in range(rng.randint(1, 3))),
    )
    title, metadata = sentence(rng), {"lang": rng.choice(["en", "de"])}
    turn = f"t{rng.randrange(4)}"
    happened = START + timedelta(days=rng.randrange(400))
    choice = rng.random()
    if choice < 0.5:
        return lambda memory: memory.ingest(
            *(key, text), origin=origin, title=title, metadata=metadata, chunker=by_line
        )
    if choice < 0.85:
        return lambda memory: memory.record(
            *("chat", text), origin=origin, turn_id=turn, speaker="Ann", occurred_at=happened
        )
    if choice < 0.9:
        return lambda memory: memory.retire_source(key)
    if choice < 0.95:
        return lambda memory: memory.erase(key)
    return lambda memory: memory.erase_turn("chat", turn)


def by_line(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def beside(reader: Scope) -> list[Scope]:
    """Return scopes that the reader does not see: other tenants, beside each level, and below."""
    found = [Scope("globex"), Scope("ACME"), Scope("acme-corp"), Scope("globex", *reader.parts[1:])]
    for depth in range(1, 4):
        parts = list(Scope("acme", "u1", "a1", "t1").parts)[: depth + 1]
        found.append(Scope(*[*parts[:-1], parts[-1] + "x"]))
    full = ("acme", "u1", "a1", "t1")
    depth = len([part for part in reader.parts if part])
    found += [Scope(*full[:more]) for more in range(depth + 1, 5)]
    return [scope for scope in found if scope not in reader.chain]


def told(call: Callable[[], Any]) -> str:
    """Return what a caller gets, in full: the value, or the error with its class."""
    try:
        answer = call()
    except PrismGraphError as error:
        return f"{type(error).__name__}: {error}"
    return repr(in_full(answer))


def in_full(value: Any) -> Any:
    # repr() of the views leaves content out.
    if isinstance(value, list):
        return [in_full(each) for each in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def run(
    world: World,
    reader: Scope,
    steps: list[tuple[Scope, Step]],
    others: list[list[Any]],
    ids: list[str],
    *,
    reports: bool,
) -> list[str]:
    """Write the visible steps with the others between them, then read everything there is to read."""
    answers = []
    with world.open():
        for number in range(len(steps) + 1):
            for seed, scope, step in others[number] if others else ():
                world.at("beside", seed)
                # Whether it is refused is not the reader's to know.
                told(lambda scope=scope, step=step: written(Memory(scope), step))
            if number < len(steps):
                scope, step = steps[number]
                world.at("in view", number)
                answers.append(told(lambda scope=scope, step=step: written(Memory(scope), step)))
        world.at("reading", 0)
        answers += reading(Memory(reader), ids)
        if reports:
            answers += reporting(Memory(reader), ids)
    return answers


def written(memory: Memory, step: Step) -> Any:
    """Take a step, and make the vectors that are wanted now, as a worker does after the commit."""
    answer = step(memory)
    memory.embed_pending()
    return answer


def reading(memory: Memory, ids: list[str]) -> list[str]:
    """Return what the whole public read surface says."""
    hits = memory.search("penguin zebra engine doc-1 企鹅", limit=100)
    own = [hit.chunk.id for hit in hits]
    calls: list[Callable[[], Any]] = [
        lambda: hits,
        lambda: memory.search(
            "otter größer running",
            limit=3,
            neighbours=1,
            sources=["doc-0", "chat"],
            min_trust=Trust.SUBAGENT,
            metadata={"lang": ["en", "fr"]},
        ),
        lambda: memory.search(
            "penguin zebra", known_at=START + timedelta(minutes=1), until="2027-01-01T00:00:00Z"
        ),
        lambda: memory.get([*ids, *own[:60]]),
        lambda: memory.sources(retired=True),
        lambda: memory.search("swimming bird, explained", limit=5, explain=True),
        lambda: (memory.pending(), memory.failed()),
    ]
    return [told(call) for call in calls]


def reporting(memory: Memory, ids: list[str]) -> list[str]:
    """Return what errors and the reports of writes say."""
    calls: list[Callable[[], Any]] = [
        lambda: memory.ingest("new", "text", origin=Origin(Trust.USER), derived_from=ids[:1]),
        lambda: memory.retire_source("doc-9"),
        lambda: memory.record("doc-0", "text", origin=Origin(Trust.USER), turn_id="t0"),
        lambda: memory.erase("doc-1"),
        lambda: memory.erase_turn("chat", "t1"),
        lambda: memory.ingest("doc-0", "penguin", origin=Origin(Trust.USER)),
    ]
    return [told(call) for call in calls]


def foreign_ids(seed: int) -> list[str]:
    """Return the first ids that the world gives to what is written beside the reader's view."""
    source = random.Random(f"beside {seed}")
    return [encoded(source.randbytes(20)) for _ in range(4)]


def encoded(raw: bytes) -> str:
    return base.base64.b32encode(raw).decode().lower()[: base.ID_LENGTH]


def citing(rng: random.Random, seen: list[str]) -> Step:
    """Return a write below the reader that is derived from what the reader sees."""
    cited, text = rng.choice(seen), sentence(rng)
    return lambda memory: memory.record(
        "chat", text, origin=Origin(Trust.USER), derived_from=[cited]
    )


@pytest.mark.parametrize("number", range(VISIBLE_WORLDS))
def test_rows_out_of_view_change_nothing_that_a_reader_is_told(world: World, number: int) -> None:
    compare(world, number)


@pytest.mark.parametrize("number", range(VISIBLE_WORLDS // 4))
def test_vectors_out_of_view_change_nothing_either(world: World, number: int) -> None:
    with vectors("hashing"):
        compare(world, number)


def compare(world: World, number: int) -> None:
    """Make worlds that differ in what a reader does not see, and ask the same in each."""
    rng = random.Random(number)
    reader = READERS[number % 4]
    steps = [(rng.choice(reader.chain), a_step(rng)) for _ in range(rng.randint(1, 3))]
    seeds = list(range(1000, 1008))
    ids = [*(each for seed in seeds for each in foreign_ids(seed)), "a" * 26]
    plain = {both: run(world, reader, steps, [], ids, reports=both) for both in (False, True)}
    seen = seen_ids(plain[False])
    for each in range(FOREIGN_WORLDS):
        others: list[list[Any]] = [[] for _ in range(len(steps) + 1)]
        for seed in rng.sample(seeds, k=rng.choice([1, 1, 2])):
            scope = rng.choice(beside(reader))
            step = citing(rng, seen) if seen and rng.random() < 0.3 else a_step(rng)
            others[rng.randrange(len(others))].append((seed, scope, step))
        reports = each % 5 == 0
        assert run(world, reader, steps, others, ids, reports=reports) == plain[reports]


def seen_ids(answers: list[str]) -> list[str]:
    """Return the ids that the reports of the visible steps name."""
    return sorted({part for each in answers for part in each.split("'") if len(part) == 26})


def test_the_comparison_sees_a_row_that_is_in_view(world: World) -> None:
    """The property above is not empty: a row in view changes the answers."""
    reader = READERS[0]
    rng = random.Random(0)
    steps = [(reader, a_step(rng)) for _ in range(3)]
    plain = run(world, reader, steps, [], ["a" * 26], reports=False)
    step: Step = lambda memory: memory.record("x", "penguin", origin=Origin(Trust.USER))  # noqa: E731
    for place in reader.chain:
        others: list[list[Any]] = [[(1, place, step)], *([[]] * len(steps))]
        assert run(world, reader, steps, others, ["a" * 26], reports=False) != plain


def test_the_foreign_ids_asked_for_exist(world: World) -> None:
    """So do the ids that it asks for and must not get."""
    with world.open():
        for seed in (1000, 1001):
            world.at("beside", seed)
            report = Memory(Scope("globex")).record("x", "text", origin=Origin(Trust.USER))
            assert set(foreign_ids(seed)) & {report.source, *report.added}
