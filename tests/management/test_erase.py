"""Erasing from the shell: what a dry run says is what an erasure does, and a dry run does nothing."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from prism_graph import Memory, Scope, erase, signals
from prism_graph.errors import StaleReview
from prism_graph.management.commands.prism_graph_erase import confirmed, rehearsed
from prism_graph.models import Receipt
from prism_graph.receipts import Order, target_of
from tests.management.running import ask, refusal, run
from tests.planting import DOCUMENT, MINE, USER, plant
from tests.rawsql import stored, vocabulary

OWNER = Scope("acme", "ana")
HERE = ["--tenant", "acme", "--owner", "ana"]
CLAIM = {"subject": "ana", "predicate": "likes", "value": "tea"}
TARGETS = {
    "source": ["--source", "doc"],
    "turn": ["--turn", "chat", "t1"],
    "fact": ["--fact", "drink"],
    "version": ["--fact", "drink", "--fact-version", "1"],
    "everything": ["--everything"],
}
MISSING = {
    "source": ["--source", "nothing"],
    "turn": ["--turn", "chat", "t9"],
    "conversation": ["--turn", "nothing", "t1"],
    "fact": ["--fact", "nothing"],
    "version": ["--fact", "drink", "--fact-version", "9"],
}
SENT = [each for each in vars(signals).values() if isinstance(each, signals.Signal)]


def fill(using: str = "default") -> None:
    memory = Memory(OWNER, using=using)
    doc = memory.ingest("doc", "# Tea\n\nAna likes tea.\n", origin=DOCUMENT).added
    turn = memory.record("chat", "Tea, please.", origin=USER, turn_id="t1").added
    memory.record("chat", "And cake.", origin=USER, turn_id="t2")
    memory.assert_fact("drink", **CLAIM, evidence=doc + turn)
    memory.supersede("drink", **CLAIM, evidence=turn)
    below = Memory(OWNER.for_agent("support"), using=using)
    below.ingest("summary", "She likes tea.", origin=DOCUMENT, derived_from=doc)
    below.assert_fact("drink", **CLAIM, evidence=doc)


@pytest.fixture
def received() -> Iterator[list[Any]]:
    """Every signal that the test's commands send."""
    found: list[Any] = []

    def receive(signal: Any, **_: Any) -> None:
        found.append(signal)

    for each in SENT:
        each.connect(receive)
    yield found
    for each in SENT:
        each.disconnect(receive)


@pytest.mark.django_db
class TestDryRun:
    @pytest.mark.parametrize("target", TARGETS)
    def test_it_says_what_the_erasure_then_does(self, target):
        fill()
        would, code = ask("erase", *HERE, *TARGETS[target], "--dry-run")
        done, done_code = ask("erase", *HERE, *TARGETS[target], "--no-input")
        assert (code, done_code) == (0, 0)
        assert (would["dry_run"], done["dry_run"]) == (True, False)
        assert {**would, "dry_run": False} == done
        assert done["found"]
        assert sum(done["here"].values()) > 0
        assert ask("erase", *HERE, *TARGETS[target], "--dry-run") == (
            {
                **would,
                "found": False,
                **{each: dict.fromkeys(would[each], 0) for each in ("here", "below")},
            },
            1,
        )

    @pytest.mark.parametrize("target", [*TARGETS.values(), *MISSING.values()])
    def test_it_changes_no_byte_of_any_table_and_no_word_of_the_index(self, target):
        fill()
        before, words = stored(), vocabulary()
        run("erase", *HERE, *target, "--dry-run")
        assert stored() == before
        assert vocabulary() == words

    def test_it_counts_the_scopes_below_apart(self):
        fill()
        found, _ = ask("erase", *HERE, "--source", "doc", "--dry-run")
        assert (found["here"]["chunks"], found["below"]["chunks"]) == (1, 1)
        assert (found["here"]["facts_kept"], found["below"]["facts_erased"]) == (1, 1)
        said, _ = run("erase", *HERE, "--source", "doc", "--dry-run")
        assert said.startswith("Would erase at acme / ana:\n")
        assert "In the scopes below it:" in said
        assert said.endswith("Nothing was changed.\n")

    def test_the_callers_transaction_goes_on(self):
        fill()
        run("erase", *HERE, "--everything", "--dry-run")
        Memory(OWNER).ingest("more", "Milk.", origin=DOCUMENT)
        assert len(Memory(OWNER).search("milk")) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("target", TARGETS.values())
def test_a_dry_run_of_its_own_transaction_leaves_all_and_sends_nothing(target, received) -> None:
    fill()
    before = stored()
    received.clear()
    run("erase", *HERE, *target, "--dry-run")
    assert (stored(), received) == (before, [])
    run("erase", *HERE, *target, "--no-input")
    assert received
    assert stored() != before


@pytest.mark.both_databases
def test_the_database_named_is_erased_and_no_other() -> None:
    for using in ("default", "other"):
        fill(using)
    before, other = stored(), stored("other")
    assert ask("erase", *HERE, "--source", "doc", "--dry-run", "--database", "other")[1] == 0
    assert (stored(), stored("other")) == (before, other)
    assert ask("erase", *HERE, "--source", "doc", "--no-input", "--database", "other")[1] == 0
    assert stored() == before
    assert Memory(OWNER, using="other").search("likes") == []


@pytest.mark.django_db
class TestErasing:
    def test_the_receipt_tells_who_and_why(self):
        fill()
        order = ("--actor", "privacy desk", "--reason", "request 17")
        said, code = run("erase", *HERE, "--turn", "chat", "t1", *order, "--no-input")
        assert (code, said.splitlines()[0]) == (0, "Erased at acme / ana:")
        receipt = Receipt.objects.at(OWNER).get()
        assert (receipt.actor, receipt.reason) == ("privacy desk", "request 17")
        assert receipt.target == target_of(OWNER, "erase_turn", "chat", "t1")

    @pytest.mark.parametrize("target", MISSING)
    def test_what_is_not_there_ends_with_1_and_writes_nothing(self, target):
        fill()
        before = stored()
        said, code = run("erase", *HERE, *MISSING[target], "--no-input")
        assert (said, code) == ("Nothing of the kind at acme / ana.\n", 1)
        assert stored() == before

    def test_the_scope_named_is_erased_and_no_other(self):
        plant(MINE)
        plant(Scope("acme", "ben"))
        ben = Memory(Scope("acme", "ben")).search("zebra")
        assert ask("erase", *HERE, "--everything", "--no-input")[1] == 0
        assert Memory(Scope("acme", "ben")).search("zebra") == ben
        assert Memory(MINE).search("zebra") == []

    def test_a_tenant_is_erased_with_its_owners_only_if_they_are_meant(self):
        plant(MINE)
        said = refusal("erase", "--tenant", "acme", "--everything", "--no-input")
        assert "--include-owners" in said
        assert Memory(MINE).search("zebra")
        tenant = ("--tenant", "acme", "--everything", "--include-owners", "--no-input")
        assert ask("erase", *tenant)[1] == 0
        assert Memory(MINE).search("zebra") == []

    @pytest.mark.parametrize("part", ["owner", "agent", "thread"])
    def test_an_unset_variable_of_a_shell_does_not_widen_it(self, part):
        plant(MINE)
        before = stored()
        given = {**MINE.columns, part: ""}
        scope = [each for name, value in given.items() for each in (f"--{name}", value)]
        assert "is empty" in refusal("erase", *scope, "--everything", "--no-input")
        assert stored() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required"),
        (["--source", "a", "--everything"], "not allowed"),
        (["--source", "a", "--fact-version", "1"], "goes with --fact"),
        (["--fact", "a", "--include-owners"], "goes with --everything"),
        (["--source", ""], "key"),
        (["--source", "a", "--actor", "x" * 9000], "actor"),
    ],
)
@pytest.mark.django_db
def test_arguments_that_make_no_sense_are_refused(arguments, words) -> None:
    assert words in refusal("erase", *HERE, *arguments, "--no-input")


@pytest.fixture
def terminal(monkeypatch) -> Iterator[Any]:
    """Type into the terminal that a command reads from."""
    mine, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as raw:
        monkeypatch.setattr(sys, "stdin", open(raw.fileno(), closefd=False))  # noqa: SIM115
        yield lambda text: os.write(mine, text.encode())
        sys.stdin.close()
    os.close(mine)


def on_terminal(*arguments: str) -> tuple[str, str]:
    """Run a command; return what it printed, and what it asked on standard error."""
    out, error = StringIO(), StringIO()
    call_command("prism_graph_erase", *arguments, stdout=out, stderr=error, no_color=True)
    return out.getvalue(), error.getvalue()


@pytest.mark.django_db
class TestAsking:
    def test_yes_erases_after_a_look_at_what_would_go(self, terminal):
        fill()
        terminal("yes\n")
        said, asked = on_terminal(*HERE, "--source", "doc")
        assert asked.startswith("Would erase at acme / ana:")
        assert "Type 'yes'" in asked
        assert said.startswith("Erased at acme / ana:")
        assert Memory(OWNER).search("likes") == []

    @pytest.mark.parametrize("typed", ["no\n", "\n", "y\n", "YES\n", "\x04"])
    def test_anything_else_erases_nothing(self, terminal, typed):
        fill()
        before = stored()
        terminal(typed)
        with pytest.raises(CommandError, match="Nothing was erased"):
            on_terminal(*HERE, "--source", "doc")
        assert stored() == before

    def test_json_stays_alone_on_standard_output(self, terminal):
        fill()
        terminal("yes\n")
        said, asked = on_terminal(*HERE, "--source", "doc", "--json")
        assert said.startswith("{")
        assert said.count("\n") == 1
        assert "Type 'yes'" in asked

    def test_nobody_is_asked_about_what_is_not_there(self, terminal):
        fill()
        with pytest.raises(SystemExit):
            on_terminal(*HERE, "--source", "nothing")

    def test_where_nobody_can_be_asked_nothing_is_erased(self, monkeypatch):
        fill()
        before = stored()
        monkeypatch.setattr(sys, "stdin", StringIO("yes\n"))
        assert "--no-input" in refusal("erase", *HERE, "--source", "doc")
        assert stored() == before


@pytest.mark.django_db
def test_what_was_confirmed_is_erased_or_nothing() -> None:
    plant(MINE)
    order = partial(erase.erase, MINE, "default", "chat", Order())
    shown = rehearsed("default", order)
    Memory(MINE).record("chat", "One more turn.", origin=USER)
    before = stored()
    with pytest.raises(StaleReview):
        confirmed("default", order, shown)
    assert stored() == before
    assert confirmed("default", order, rehearsed("default", order)).here.chunks == 2
