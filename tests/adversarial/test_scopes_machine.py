"""Random histories of random readers, step by step against a model in plain Python (G1, G3).

`PRISM_TEST_PROFILE=thorough` runs 2,000 histories of 50 steps.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import SourceKindMismatch, SourceNotFound

ORIGIN = Origin(Trust.DOCUMENT, writer="machine")
THOROUGH = os.environ.get("PRISM_TEST_PROFILE") == "thorough"

names = st.sampled_from(["a", "A", "a%", "a_", "á", "a/a"])
scopes = st.integers(1, 4).flatmap(
    lambda depth: st.lists(names, min_size=depth, max_size=depth).map(lambda parts: Scope(*parts))
)
keys = st.sampled_from(["k", "K", "k%", "k ", "ｋ"])
words = st.integers(0, 5).map(lambda number: f"w{number}")


@dataclass
class Stored:
    """A chunk as the model remembers it."""

    scope: Scope
    key: str
    text: str
    parents: frozenset[str] = frozenset()
    turn: str | None = None
    live: bool = True


@dataclass
class Kept:
    """A source as the model remembers it."""

    kind: str
    live: bool = True


@dataclass
class Model:
    """Everything stored, by the rules of the specification alone."""

    sources: dict[tuple[Scope, str], Kept] = field(default_factory=dict)
    chunks: dict[str, Stored] = field(default_factory=dict)

    def of(self, scope: Scope, key: str) -> dict[str, Stored]:
        return {
            name: chunk
            for name, chunk in self.chunks.items()
            if (chunk.scope, chunk.key) == (scope, key)
        }

    def visible(self, reader: Scope) -> dict[str, Stored]:
        levels = {reader.parts[:depth] + ("",) * (4 - depth) for depth in range(1, 5)}
        return {name: each for name, each in self.chunks.items() if each.scope.parts in levels}

    def erase(self, doomed: set[str]) -> None:
        while True:
            derived = {name for name, each in self.chunks.items() if each.parents & doomed} - doomed
            if not derived:
                break
            doomed |= derived
        touched = {(self.chunks[name].scope, self.chunks[name].key) for name in doomed}
        for name in doomed:
            del self.chunks[name]
        for place in touched:
            if not self.of(*place):
                self.sources.pop(place, None)


class Scopes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    def cited(self, data: Any, scope: Scope) -> list[str]:
        visible = sorted(self.model.visible(scope), key=list(self.model.chunks).index)
        if not visible:
            return []
        places = data.draw(st.lists(st.integers(0, len(visible) - 1), max_size=2, unique=True))
        return [visible[place] for place in places]

    # writing

    @rule(scope=scopes, key=keys, word=words, data=st.data())
    def ingest(self, scope: Scope, key: str, word: str, data: Any) -> None:
        parents = frozenset(self.cited(data, scope))
        source, text = self.model.sources.get((scope, key)), f"shared {word}"
        write = lambda: Memory(scope).ingest(key, text, origin=ORIGIN, derived_from=parents)  # noqa: E731
        if source is not None and source.kind != "document":
            with pytest.raises(SourceKindMismatch):
                write()
            return
        live = {name: each for name, each in self.model.of(scope, key).items() if each.live}
        kept = [name for name, each in live.items() if (each.text, each.parents) == (text, parents)]
        report = write()
        assert report.kept == kept
        assert set(report.retired) == live.keys() - set(kept)
        assert len(report.added) == (0 if kept else 1)
        for name in report.retired:
            self.model.chunks[name].live = False
        for name in report.added:
            self.model.chunks[name] = Stored(scope, key, text, parents)
        self.model.sources[scope, key] = Kept("document")

    @rule(scope=scopes, key=keys, word=words, turn=st.sampled_from(["t1", "T1"]), data=st.data())
    def record(self, scope: Scope, key: str, word: str, turn: str, data: Any) -> None:
        parents = frozenset(self.cited(data, scope))
        source, text = self.model.sources.get((scope, key)), f"shared {word}"
        write = lambda: Memory(scope).record(  # noqa: E731
            key, text, origin=ORIGIN, turn_id=turn, derived_from=parents
        )
        if source is not None and source.kind != "conversation":
            with pytest.raises(SourceKindMismatch):
                write()
            return
        known = [name for name, each in self.model.of(scope, key).items() if each.turn == turn]
        report = write()
        assert report.kept == known
        assert len(report.added) == (0 if known else 1)
        for name in report.added:
            self.model.chunks[name] = Stored(scope, key, text, parents, turn)
            self.model.sources[scope, key] = Kept("conversation")

    @rule(scope=scopes, key=keys)
    def retire(self, scope: Scope, key: str) -> None:
        if (scope, key) not in self.model.sources:
            with pytest.raises(SourceNotFound):
                Memory(scope).retire_source(key)
            return
        live = {name for name, each in self.model.of(scope, key).items() if each.live}
        assert set(Memory(scope).retire_source(key).retired) == live
        for name in live:
            self.model.chunks[name].live = False
        self.model.sources[scope, key].live = False

    @rule(scope=scopes, key=keys)
    def erase(self, scope: Scope, key: str) -> None:
        found = (scope, key) in self.model.sources
        assert Memory(scope).erase(key).source_found is found
        self.model.erase(set(self.model.of(scope, key)))
        self.model.sources.pop((scope, key), None)

    @rule(scope=scopes, key=keys, turn=st.sampled_from(["t1", "T1"]))
    def erase_turn(self, scope: Scope, key: str, turn: str) -> None:
        Memory(scope).erase_turn(key, turn)
        turns = {name for name, each in self.model.of(scope, key).items() if each.turn == turn}
        self.model.erase(turns)

    # the same upon what is there, which scopes and keys drawn blindly seldom meet

    @precondition(lambda self: self.model.sources)
    @rule(
        data=st.data(), way=st.sampled_from(["retire", "erase", "erase_turn", "ingest", "record"])
    )
    def again(self, data: Any, way: str) -> None:
        scope, key = data.draw(st.sampled_from(list(self.model.sources)))
        if way in {"ingest", "record"}:
            more = {"turn": "t1"} if way == "record" else {}
            getattr(self, way)(scope=scope, key=key, word=data.draw(words), data=data, **more)
        else:
            more = {"turn": "t1"} if way == "erase_turn" else {}
            getattr(self, way)(scope=scope, key=key, **more)
        self.read(reader=scope, word="w0")

    # reading

    @rule(reader=scopes, word=words)
    def read(self, reader: Scope, word: str) -> None:
        memory, visible = Memory(reader), self.model.visible(reader)
        live = {name for name, each in visible.items() if each.live}
        hits = {hit.chunk.id: hit.chunk for hit in memory.search("shared", limit=100)}
        assert hits.keys() == live
        # A turn is also found by the words of the turn beside it.
        of_word = {hit.chunk.id for hit in memory.search(word, limit=100)}
        assert {name for name in live if visible[name].text.endswith(word)} <= of_word <= live
        views = memory.get(list(self.model.chunks)[:100])
        assert {view.id for view in views} == visible.keys() & set(list(self.model.chunks)[:100])
        for view in views:
            mine = visible[view.id]
            assert (view.text, view.scope, view.source_key) == (mine.text, mine.scope, mine.key)
            assert (view.retired_at is None) is mine.live
        self.look_at_sources(memory)

    def look_at_sources(self, memory: Memory) -> None:
        levels = memory.scope.chain
        for retired in (False, True):
            wanted = {
                (scope, key, kept.kind)
                for (scope, key), kept in self.model.sources.items()
                if scope in levels and (kept.live or retired)
            }
            listed = memory.sources(retired=retired)
            assert {(view.scope, view.key, view.kind) for view in listed} == wanted
            assert len(listed) == len(wanted)


@pytest.mark.django_db
def test_every_reader_finds_what_it_may_see_and_nothing_else():
    run_state_machine_as_test(
        Scopes,
        settings=hypothesis.settings(
            max_examples=2000 if THOROUGH else 12,
            stateful_step_count=50 if THOROUGH else 30,
            phases=list(hypothesis.Phase) if THOROUGH else [hypothesis.Phase.generate],
        ),
    )
