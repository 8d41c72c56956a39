from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from prism_graph import Memory, Origin, Scope, Trust, signals

ORIGIN = Origin(Trust.USER, "alice")
KINDS = ("source_ingested", "source_retired", "source_erased")


@pytest.fixture
def heard() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    said: list[tuple[str, dict[str, Any]]] = []
    receivers = {}
    for kind in KINDS:

        def receive(*, signal: Any, sender: Any, kind: str = kind, **ids: Any) -> None:
            said.append((kind, ids))

        receivers[kind] = receive
        getattr(signals, kind).connect(receive)
    yield said
    for kind, receive in receivers.items():
        getattr(signals, kind).disconnect(receive)


@pytest.fixture
def memory(db: None) -> Memory:
    return Memory(Scope("acme").for_owner("alice"))


def test_each_write_is_announced_with_ids_once_it_commits(
    memory: Memory,
    heard: list[tuple[str, dict[str, Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        report = memory.ingest("secret-key", "secret text", origin=ORIGIN)
        assert heard == []
    about = {"scope": memory.scope, "using": "default", "source": report.source}
    assert heard.pop() == ("source_ingested", {**about, "added": report.added, "retired": []})
    with django_capture_on_commit_callbacks(execute=True):
        memory.retire_source("secret-key")
    assert heard.pop() == ("source_retired", {**about, "added": [], "retired": report.added})
    with django_capture_on_commit_callbacks(execute=True):
        memory.erase("secret-key")
        memory.erase("secret-key")
    assert heard == [("source_erased", about)]


def test_signals_carry_no_text(
    memory: Memory,
    heard: list[tuple[str, dict[str, Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        memory.record("chat", "canary", origin=ORIGIN, turn_id="canary", speaker="canary")
        memory.erase_turn("chat", "canary")
    assert [kind for kind, _ in heard] == ["source_ingested", "source_erased"]
    assert "canary" not in repr(heard)


def test_a_receiver_that_fails_stops_nothing(
    memory: Memory, django_capture_on_commit_callbacks: Any
) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError

    signals.source_ingested.connect(fail)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            memory.ingest("doc", "text", origin=ORIGIN)
    finally:
        signals.source_ingested.disconnect(fail)
    assert memory.search("text")


def test_what_is_rolled_back_is_not_announced(
    memory: Memory,
    heard: list[tuple[str, dict[str, Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    from django.db import transaction

    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        memory.ingest("doc", "text", origin=ORIGIN)
        transaction.set_rollback(True)
    assert heard == []
