"""Random histories of facts, step by step against a log that is replayed for every question (§3, §6).

`PRISM_TEST_PROFILE=thorough` runs 2,000 histories of 50 steps.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from unittest import mock

import hypothesis
import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from prism_graph import FactStatus, Memory, Origin, PrismGraphError, Scope, Trust
from tests.fact_oracle import ACCEPTED, TRUSTED, UNDECIDED, Answer, Erasure, Oracle

THOROUGH = os.environ.get("PRISM_TEST_PROFILE") == "thorough"

TENANT = Scope("acme")
OWNER = TENANT.for_owner("u1")
AGENT = OWNER.for_agent("support")
BESIDE = TENANT.for_owner("u2")
READERS = (TENANT, OWNER, BESIDE, AGENT)
KEYS = ("city", "plan")
SUBJECTS = ("user-7", "user-8")
PREDICATES = ("lives in", "pays")

START = datetime(2026, 1, 10, tzinfo=UTC)
INSTANTS = tuple(START + timedelta(days=days) for days in (-9, -2, 0, 2, 9))
MICROSECOND = timedelta(microseconds=1)

# One rule with this many chances for each: of several rules Hypothesis would leave some out of a run.
WAYS = {
    "assert_fact": 4,
    "propose": 5,
    "supersede": 6,
    "accept": 7,
    "retract": 3,
    "reject": 1,
    "hear": 3,
    "retire_source": 1,
    "erase": 1,
    "erase_turn": 2,
    "erase_fact": 1,
    "wait": 2,
    "ask": 3,
}

scopes = st.sampled_from([OWNER, OWNER, TENANT, AGENT, BESIDE])
trusts = st.sampled_from([*TRUSTED, Trust.AGENT, Trust.AGENT, Trust.SUBAGENT, Trust.TOOL])
statements = st.fixed_dictionaries(
    {
        "subject": st.sampled_from(SUBJECTS),
        "predicate": st.sampled_from(PREDICATES),
        "value": st.sampled_from(["Oslo", "Rome", "Lima"]),
    }
)
intervals = st.sampled_from(
    [
        *[(None, None)] * 6,
        *[(start, None) for start in INSTANTS] * 3,
        *combinations(INSTANTS, 2),
        *[(None, end) for end in INSTANTS[2:]],
        (INSTANTS[1], INSTANTS[1]),
    ]
)
decisions = st.fixed_dictionaries(
    {"actor": st.sampled_from(["", "ann"]), "reason": st.sampled_from(["", "she said so"])}
)


def outcome(work: Callable[[], Any]) -> Any:
    """Return what the work returns, or the class of what it refuses with."""
    try:
        return work()
    except PrismGraphError as error:
        return type(error)


class Facts(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.oracle = Oracle(START)
        self.pace = timedelta()
        self.steps = 0
        self.ids: dict[Any, str] = {}
        self.clock = mock.patch("prism_graph.clock._source", self.now)
        self.clock.start()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()

    def now(self) -> datetime:
        return self.oracle.clock

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)
        self.clock.stop()

    @initialize(pace=st.sampled_from([timedelta(), MICROSECOND, timedelta(hours=9)]))
    def begin(self, pace: timedelta) -> None:
        self.pace = pace
        page = self.record(TENANT, Trust.DOCUMENT)
        self.record(TENANT, Trust.TOOL)
        for trust, parents in [(Trust.USER, [page]), (Trust.USER, []), (Trust.AGENT, [])]:
            self.record(OWNER, trust, parents)

    @rule(
        way=st.sampled_from([way for way, times in WAYS.items() for _ in range(times)]),
        data=st.data(),
    )
    def step(self, way: str, data: Any) -> None:
        self.steps += 1
        self.oracle.clock += self.pace
        getattr(self, way)(data.draw)

    # comparing

    def same(self, method: str, scope: Scope, *args: Any, **kwargs: Any) -> None:
        """Do the same with memory and with the oracle; both must say the same of it."""
        expected = outcome(lambda: getattr(self.oracle, method)(scope, *args, **kwargs))
        found = outcome(lambda: getattr(Memory(scope), method)(*args, **kwargs))
        assert self.plain(found) == expected, (method, scope, args, kwargs)

    def plain(self, found: Any) -> Any:
        if isinstance(found, type):
            return found
        if isinstance(found, list):
            return [self.plain(each) for each in found]
        version = (found.scope, found.key, found.version, found.recorded_from)
        assert self.ids.setdefault(version, found.id) == found.id
        assert len(set(found.evidence)) == len(found.evidence)
        return Answer(
            evidence=frozenset((cited.id, cited.trust) for cited in found.evidence),
            by_policy=bool(found.policy),
            **{
                name: getattr(found, name)
                for name in Answer.__dataclass_fields__
                if name not in {"evidence", "by_policy"}
            },
        )

    # evidence

    def record(self, scope: Scope, trust: Trust, parents: list[str] | None = None) -> str:
        """Add a turn; return its chunk."""
        parents, turn = parents or [], f"turn {len(self.oracle.ingests())}"
        report = Memory(scope).record(
            *("chat", turn),
            origin=Origin(trust, "machine"),
            turn_id=turn,
            derived_from=parents,
        )
        more = {"parents": parents, "added": report.added, "turn": turn}
        self.oracle.ingested(scope, "chat", trust, **more)
        return report.added[0]

    def hear(self, draw: Any) -> None:
        scope, trust, text = draw(scopes), draw(trusts), draw(st.sampled_from(["a\n", "b\n", ""]))
        visible = [n for n, each in self.oracle.chunks().items() if each.scope in scope.chain]
        derived = visible and not draw(st.integers(0, 2))
        parents = [draw(st.sampled_from(visible))] if derived else []
        if not text:
            self.record(scope, trust, parents)
            return
        report = Memory(scope).ingest(
            *("page", f"{text}c\n"),
            origin=Origin(trust, "machine"),
            derived_from=parents,
            chunker=lambda text: text.splitlines(keepends=True),
        )
        more = {"parents": parents, "added": report.added, "retired": report.retired}
        self.oracle.ingested(scope, "page", trust, **more)

    def source(self, draw: Any) -> tuple[Scope, str, str]:
        """Draw where a chunk stands, rather one cited beside others: scope, source and turn."""
        chunks = self.oracle.chunks()
        names = list(chunks)
        for version in self.oracle.world().versions:
            cited = [name for name in version.cited if name in chunks]
            names += cited * len(cited)
        there = [(chunks[name].scope, chunks[name].source, chunks[name].turn) for name in names]
        return draw(st.sampled_from([*there, (OWNER, "nothing", "nothing")]))  # type: ignore[no-any-return]

    def retire_source(self, draw: Any) -> None:
        scope, source, _ = self.source(draw)
        if source != "nothing":
            report = Memory(scope).retire_source(source)
            self.oracle.ingested(scope, source, Trust.USER, retired=report.retired)

    def erase(self, draw: Any) -> None:
        scope, source, _ = self.source(draw)
        self.erased(self.oracle.erase(scope, source), Memory(scope).erase(source))

    def erase_turn(self, draw: Any) -> None:
        scope, source, turn = self.source(draw)
        if turn:
            report = Memory(scope).erase_turn(source, turn)
            self.erased(self.oracle.erase(scope, source, turn), report)

    def erase_fact(self, draw: Any) -> None:
        scope, key = self.place(draw)
        version = self.number(draw, scope, key)
        report = Memory(scope).erase_fact(key, version)
        self.erased(self.oracle.erase_fact(scope, key, version), report)

    def erased(self, expected: Erasure, report: Any) -> None:
        found = {name: getattr(report, name) for name in Erasure.__dataclass_fields__}
        assert Erasure(**found) == expected
        # Whether a scope below took an instant, when nothing of it shows, is not to be told.
        self.oracle.clock = max([self.oracle.clock, *self.recorded()]) + timedelta(seconds=1)

    # facts

    def evidence(self, draw: Any, scope: Scope, *kinds: str) -> list[str]:
        """Draw what to cite, of one of these kinds; at times what cannot be cited."""
        chunks, usable = self.oracle.chunks(), self.oracle.usable(scope)
        pools = {
            "trusted": [name for name in usable if chunks[name].trust in TRUSTED],
            "agent": [name for name in usable if chunks[name].trust is Trust.AGENT],
            "lower": [name for name in usable if chunks[name].trust not in TRUSTED],
            "any": usable,
            "odd": [event.chunk for event in self.oracle.ingests()],
        }
        kind = draw(st.sampled_from([*kinds, *kinds, *kinds, "any", "odd"]))
        fresh = {"trusted": Trust.USER, "agent": Trust.AGENT}.get(kind, Trust.TOOL)
        pool = pools[kind] or [self.record(scope, fresh)]
        least = 0 if kind == "odd" else min(len(pool), draw(st.sampled_from([1, 2])))
        places = st.lists(st.integers(0, len(pool) - 1), min_size=least, max_size=3, unique=True)
        return [pool[place] for place in draw(places)]

    def place(self, draw: Any, *statuses: FactStatus) -> tuple[Scope, str]:
        """Draw a scope and a key: mostly ones that have a fact, of these statuses if given."""
        world = self.oracle.world()
        there = [
            (each.scope, each.key)
            for each in world.versions
            if not statuses or world.status(each) in statuses
        ]
        if there and draw(st.integers(0, 9)):
            return draw(st.sampled_from(there))  # type: ignore[no-any-return]
        return draw(scopes), draw(st.sampled_from(KEYS))

    def number(self, draw: Any, scope: Scope, key: str, *statuses: FactStatus) -> int | None:
        """Draw a version's number, none, or one that is not there."""
        world = self.oracle.world()
        there = [
            each.number
            for each in world.of(scope, key)
            if not statuses or world.status(each) in statuses
        ]
        absent = 1 + max(there, default=0)
        return draw(st.sampled_from([None, None, *there, *[None for _ in there], absent]))  # type: ignore[no-any-return]

    def said(self, draw: Any, scope: Scope, *kinds: str) -> dict[str, Any]:
        said = {**draw(statements), "evidence": self.evidence(draw, scope, *kinds)}
        said["valid_from"], said["valid_to"] = draw(intervals)
        return said

    def assert_fact(self, draw: Any) -> None:
        scope, key = draw(scopes), draw(st.sampled_from(KEYS))
        self.same("assert_fact", scope, key, **self.said(draw, scope, "trusted"))

    def propose(self, draw: Any) -> None:
        scope, key = self.place(draw, ACCEPTED)
        self.same("assert_fact", scope, key, **self.said(draw, scope, "agent", "lower"))

    def supersede(self, draw: Any) -> None:
        scope, key = self.place(draw, *draw(st.sampled_from([[ACCEPTED], [ACCEPTED], []])))
        expected = draw(st.sampled_from([None, None, self.number(draw, scope, key)]))
        more = {**self.said(draw, scope, "trusted"), **draw(decisions), "expected": expected}
        self.same("supersede", scope, key, **more)

    def retract(self, draw: Any) -> None:
        scope, key = self.place(draw)
        version = self.number(draw, scope, key)
        self.same("retract", scope, key, version=version, **draw(decisions))

    def accept(self, draw: Any) -> None:
        world = self.oracle.world()
        if not any(world.status(each) in UNDECIDED for each in world.versions):
            self.propose(draw)
        scope, key = self.place(draw, *UNDECIDED)
        version = self.number(draw, scope, key, *UNDECIDED)
        over = draw(st.sampled_from([None, None, self.number(draw, scope, key, ACCEPTED)]))
        self.same("accept", scope, key, version=version, over=over, **draw(decisions))

    def reject(self, draw: Any) -> None:
        scope, key = self.place(draw, *UNDECIDED)
        version = self.number(draw, scope, key, *UNDECIDED)
        self.same("reject", scope, key, version=version, **draw(decisions))

    # reading

    def wait(self, draw: Any) -> None:
        hours = draw(st.sampled_from([30, 72, -48]))
        self.oracle.clock += timedelta(hours=hours)

    def recorded(self) -> list[datetime]:
        return sorted({event.at for event in self.oracle.log})

    def ask(self, draw: Any) -> None:
        reader = draw(st.sampled_from(READERS))
        predicate = draw(st.sampled_from([None, *PREDICATES]))
        when = {
            "at": draw(st.sampled_from([None, *INSTANTS])),
            "known_at": draw(st.sampled_from([None, *self.recorded()])),
        }
        for subject in (None, *SUBJECTS):
            self.same("facts", reader, subject, predicate=predicate, unaccepted=True, **when)
        for subject in SUBJECTS:
            more = {"predicate": predicate, "known_at": when["known_at"]}
            self.same("timeline", reader, subject, **more)
        for unaccepted in (False, True):
            for key in KEYS:
                self.same("fact", reader, key, unaccepted=unaccepted, **when)

    @invariant()
    def every_reader_is_answered_as_the_log_has_it(self) -> None:
        at, recorded = INSTANTS[self.steps % len(INSTANTS)], self.recorded() or [START]
        then = recorded[self.steps * 7 % len(recorded)] - MICROSECOND * (self.steps % 2)
        # The innermost reader sees a whole chain; the others take turns.
        readers = READERS if THOROUGH else (AGENT, READERS[self.steps % 3])
        for turn, reader in enumerate(readers, start=self.steps):
            self.same("facts", reader, unaccepted=bool(turn % 2))
            self.same("facts", reader, at=at, unaccepted=True)
            self.same("facts", reader, known_at=then)
            self.same("facts", reader, at=at, known_at=then, unaccepted=bool(turn % 2))
            self.same("timeline", reader, SUBJECTS[turn % 2])
            self.same("timeline", reader, SUBJECTS[turn % 2], known_at=then)
            self.same("fact", reader, KEYS[turn % 2], unaccepted=bool(turn % 3))


@pytest.mark.django_db
def test_every_answer_is_the_replay_of_what_happened() -> None:
    run_state_machine_as_test(
        Facts,
        settings=hypothesis.settings(
            max_examples=2000 if THOROUGH else 16,
            stateful_step_count=50 if THOROUGH else 40,
            phases=list(hypothesis.Phase) if THOROUGH else [hypothesis.Phase.generate],
        ),
    )
