from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from prism_graph import Memory, Origin, Scope, Trust, backlog, clock
from prism_graph.models import VectorPartition
from tests.management.running import ask, refusal, run
from tests.planting import SECRET
from tests.rawsql import sql, stored
from tests.vectors.doubles import UNFIT, Choosy, vectors

pytestmark = pytest.mark.django_db

USER = Origin(Trust.USER, "ana")
SCOPES = (
    Scope("acme"),
    Scope("acme", "ana"),
    Scope("acme", "ana", "support", "chat-1"),
    Scope("acme", "ben"),
    Scope("globex", "ana"),
)


class Down(Choosy):
    def embed(self, texts: Any) -> Any:
        raise ConnectionError(texts)


def store(*scopes: Scope) -> None:
    """Store two passages in each scope, one of which Choosy refuses."""
    for scope in scopes:
        Memory(scope).record("chat", f"A {SECRET}.", origin=USER)
        Memory(scope).record("chat", f"An {UNFIT} {SECRET}.", origin=USER)


def test_it_embeds_what_waits_in_every_scope_and_exits_with_1_for_what_failed() -> None:
    store(*SCOPES)
    with vectors(Choosy()):
        assert ask("embed") == ({"status": False, "made": 5, "failed": 5, "pending": 0}, 1)
        assert ask("embed") == ({"status": False, "made": 0, "failed": 0, "pending": 0}, 0)
        assert [Memory(scope).pending() for scope in SCOPES] == [0] * 5
        assert all(len(Memory(scope).failed()) == 1 for scope in SCOPES)


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ([], [0, 1, 2, 3, 4]),
        (["--tenant", "acme"], [0, 1, 2, 3]),
        (["--tenant", "acme", "--owner", "ana"], [1, 2]),
        (["--tenant", "acme", "--owner", "ana", "--agent", "support"], [2]),
    ],
)
def test_a_scope_narrows_it_to_that_and_what_lies_below(options, places) -> None:
    store(*SCOPES)
    with vectors(Choosy(unfit="")):
        assert ask("embed", *options)[0]["made"] == 2 * len(places)
        waits = [scope for scope in SCOPES if Memory(scope).pending()]
    assert waits == [scope for place, scope in enumerate(SCOPES) if place not in places]


def test_status_tells_counts_and_failures_without_content_and_writes_nothing() -> None:
    store(*SCOPES)
    with vectors(Choosy()):
        Memory(SCOPES[1]).embed_pending()
        before = stored()
        found, code = ask("embed", "--status")
        said, _ = run("embed", "--status")
        assert stored() == before
        (failure,) = Memory(SCOPES[1]).failed()
    assert code == 1
    assert found["tenants"] == {
        "acme": {"pending": 6, "failed": 1},
        "globex": {"pending": 2, "failed": 0},
    }
    assert found["outages"] == []
    assert found["failures"] == [
        {
            "id": failure.id,
            "tenant": "acme",
            "embedder": "choosy/1/64",
            "attempts": 1,
            "reason": failure.reason,
            "failed_at": clock.render(failure.failed_at),
        }
    ]
    for content in (SECRET, UNFIT):
        assert content not in said + json.dumps(found)
    assert failure.id in said
    assert "6         1  acme\n" in said


def test_what_waits_alone_is_no_fault() -> None:
    store(SCOPES[0])
    with vectors(Choosy()):
        assert ask("embed", "--status")[1] == 0


def test_retry_heals_what_can_be_healed() -> None:
    store(*SCOPES)
    choosy = Choosy()
    with vectors(choosy):
        run("embed")
        assert ask("embed", "--retry")[0]["failed"] == 5
        assert [each["attempts"] for each in ask("embed", "--status")[0]["failures"]] == [2] * 5
        choosy.unfit = ""
        assert ask("embed", "--retry") == (
            {"status": False, "made": 5, "failed": 0, "pending": 0},
            0,
        )
        assert ask("embed", "--status")[0]["failures"] == []
        assert "Nothing waits" in run("embed", "--status")[0]


def test_an_embedder_that_is_down_ends_the_run_and_is_told() -> None:
    store(*SCOPES)
    with vectors(Down()):
        errors = StringIO()
        with pytest.raises(SystemExit):
            call_command("prism_graph_embed", stdout=StringIO(), stderr=errors)
        assert "Try again later" in errors.getvalue()
        found, code = ask("embed", "--status")
        assert (code, found["failures"]) == (1, [])
        (outage,) = found["outages"]
        assert (outage["failures"], outage["embedder"]) == (1, "choosy/1/64")
        assert outage["scope"]["tenant"] == "acme"
        assert SECRET not in json.dumps(found) + run("embed", "--status")[0] + errors.getvalue()
        assert "Not reached 1 times" in run("embed", "--status")[0]
    with vectors(Choosy(unfit="")):
        assert ask("embed")[1] == 0
        assert ask("embed", "--status")[0]["outages"] == []


def test_another_embedder_is_refused_naming_both_after_the_others_had_their_turn() -> None:
    store(SCOPES[0])
    with vectors(Choosy()):
        run("embed")
    store(*SCOPES)
    with vectors({"provider": "hashing", "dimensions": 8}):
        said = refusal("embed")
        assert "choosy/1/64" in said
        assert "hashing/hashing-1/8" in said
        assert Memory(SCOPES[4]).pending() == 0
        assert ask("embed", "--status")[0]["tenants"]["acme"] == {"pending": 8, "failed": 1}


def test_it_waits_for_a_lease_to_run_out_and_says_so(monkeypatch) -> None:
    store(SCOPES[0])
    monkeypatch.setattr(backlog, "PAUSE", 0.05)
    with vectors(Choosy(unfit="")):
        run("embed")
        store(SCOPES[0])
        until = clock.now() + timedelta(seconds=0.5)
        VectorPartition.objects.at(SCOPES[0]).update(lease="dead", leased_until=until)
        errors = StringIO()
        call_command("prism_graph_embed", stdout=StringIO(), stderr=errors)
        assert clock.now() > until
        assert errors.getvalue().count("waiting until it lets go") == 1
        assert Memory(SCOPES[0]).pending() == 0


@pytest.mark.django_db(transaction=True)
def test_it_waits_for_a_worker_that_is_at_it(monkeypatch) -> None:
    store(SCOPES[0])
    monkeypatch.setattr(backlog, "PAUSE", 0.05)
    begun = threading.Event()

    class Slow(Choosy):
        def embed(self, texts: Any) -> Any:
            begun.set()
            time.sleep(0.5)
            return super().embed(texts)

    def work() -> None:
        try:
            Memory(SCOPES[0]).embed_pending()
        finally:
            connections.close_all()

    slow = Slow(unfit="")
    with vectors(slow):
        worker = threading.Thread(target=work)
        worker.start()
        begun.wait(30)
        assert ask("embed") == ({"status": False, "made": 0, "failed": 0, "pending": 0}, 0)
        worker.join(30)
    assert slow.calls == 1


def test_the_number_of_statements_to_find_what_waits_does_not_grow() -> None:
    store(*SCOPES[:2])
    with vectors(Choosy()):
        with CaptureQueriesContext(connection) as few:
            ask("embed", "--status")
        store(*SCOPES)
        with CaptureQueriesContext(connection) as many:
            ask("embed", "--status")
    assert len(few) == len(many)


def test_rows_that_are_no_scope_are_left_to_the_doctor() -> None:
    store(*SCOPES[:2])
    with vectors(Choosy(unfit="")):
        if connection.vendor == "sqlite":
            sql("PRAGMA ignore_check_constraints = ON")
            sql("PRAGMA defer_foreign_keys = ON")
            sql("UPDATE $chunk SET agent = 'x' WHERE owner = ''")
            sql("PRAGMA ignore_check_constraints = OFF")
            assert ask("embed")[0]["made"] == 2
            sql("UPDATE $chunk SET agent = '' WHERE owner = ''")


def test_without_vectors_in_the_settings_it_says_so() -> None:
    assert "names no VECTORS" in refusal("embed")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tenant", ""], "empty"),
        (["--owner", "ana"], "--tenant"),
        (["--tenant", "acme", "--agent", "x"], "owner"),
        (["--tenant", "nobody"], "nothing of this tenant"),
    ],
)
def test_what_names_no_scope_is_refused(options, said) -> None:
    store(SCOPES[0])
    with vectors(Choosy()):
        assert said in refusal("embed", *options)
