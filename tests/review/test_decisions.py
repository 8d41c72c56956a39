"""Decisions: what is announced is what happens, or nothing does."""

from __future__ import annotations

import pytest
from django.db import connections

from prism_graph import FactStatus, Memory, signals
from prism_graph.errors import FactNotFound, PrismGraphError, SourceNotFound, StaleReview
from prism_graph.models import Receipt, Source
from prism_graph.review import (
    Decision,
    SourceTarget,
    Verb,
    VersionTarget,
    decide,
    rehearse,
    seen,
)
from tests.admin.reviewing import ANA, CITY, TOOL, USER, claims, version
from tests.planting import everything_stored

pytestmark = pytest.mark.django_db

ACCEPT, REJECT = Decision(Verb.ACCEPT, "carol", "checked"), Decision(Verb.REJECT, "carol")
RETRACT, ERASE = Decision(Verb.RETRACT, "carol"), Decision(Verb.ERASE, "carol")


def target(row) -> VersionTarget:
    return VersionTarget.of(row, "default")


def source_target(key: str) -> SourceTarget:
    return SourceTarget.of(Source.objects.at(ANA).get(key=key), "default")


def moves(outcome) -> dict[int, tuple[str, str]]:
    return {
        (change.before or change.after).version: (
            change.before.status.value if change.before else "-",
            change.after.status.value if change.after else "-",
        )
        for change in outcome.changes
    }


class TestARehearsal:
    @pytest.mark.parametrize("decision", [ACCEPT, REJECT, RETRACT, ERASE])
    def test_leaves_nothing(self, decision, django_capture_on_commit_callbacks):
        found = claims()
        before = everything_stored("default")
        with django_capture_on_commit_callbacks() as waiting:
            outcome = rehearse(target(found.madrid), decision)
        assert outcome.token
        assert outcome.refusal == ""
        assert everything_stored("default") == before
        assert waiting == []

    def test_of_an_acceptance_says_what_closes(self):
        found = claims()
        outcome = rehearse(target(found.madrid), ACCEPT)
        assert moves(outcome) == {1: ("accepted", "accepted"), 2: ("proposal", "accepted")}
        closes = outcome.changes[0]
        assert closes.before.valid_to is None
        assert closes.after.valid_to == found.madrid.valid_from

    def test_of_a_retraction_says_what_reopens(self):
        found = claims()
        Memory(ANA).accept("city", version=2)
        outcome = rehearse(target(found.madrid), RETRACT)
        assert moves(outcome) == {1: ("accepted", "accepted"), 2: ("accepted", "retracted")}
        assert outcome.changes[0].before.valid_to is not None
        assert outcome.changes[0].after.valid_to is None

    def test_of_an_erasure_counts_what_goes(self):
        found = claims()
        outcome = rehearse(target(found.lisbon), ERASE)
        assert moves(outcome) == {1: ("accepted", "-")}
        assert (outcome.erased.facts_erased, outcome.erased.evidence_links) == (1, 1)

    def test_of_a_source_counts_here_and_below(self):
        claims()
        memory = Memory(ANA.for_agent("support"))
        found = Memory(ANA).search("Lisbon")[0].chunk
        memory.assert_fact("home", **CITY, value="Lisbon", evidence=[found])
        outcome = rehearse(source_target("city-chat"), ERASE)
        assert (outcome.erased.chunks, outcome.erased.facts_erased) == (1, 1)
        assert outcome.erased_below.facts_erased == 1

    def test_tells_a_refusal_in_memorys_words(self):
        found = claims()
        outcome = rehearse(target(found.lisbon), ACCEPT)
        assert outcome.refusal == str(FactNotFound())
        assert outcome.changes == ()

    def test_names_the_version_that_holds_instead_of_the_contested_one(self):
        found, memory = claims(), Memory(ANA)
        more = memory.record("city-chat", "I moved to Porto.", origin=USER).added
        memory.supersede("city", **CITY, value="Porto", evidence=more)
        outcome = rehearse(target(found.madrid), ACCEPT)
        assert outcome.over == 3
        over = Decision(Verb.ACCEPT, over=3)
        assert rehearse(target(found.madrid), over).refusal == ""

    def test_of_what_is_gone_says_so(self):
        found = claims()
        gone, source = target(found.madrid), source_target("city-crm")
        Memory(ANA).erase("city-crm")
        with pytest.raises(FactNotFound):
            rehearse(gone, ACCEPT)
        with pytest.raises(SourceNotFound):
            rehearse(source, ERASE)


class TestADecision:
    @pytest.mark.parametrize(
        ("decision", "status"),
        [
            (ACCEPT, FactStatus.ACCEPTED),
            (REJECT, FactStatus.REJECTED),
            (RETRACT, FactStatus.RETRACTED),
        ],
    )
    def test_does_what_was_announced(self, decision, status):
        found = claims()
        announced = rehearse(target(found.madrid), decision)
        made = decide(target(found.madrid), decision, announced.token)
        assert moves(made) == moves(announced)
        view = next(each for each in Memory(ANA).timeline("ana") if each.version == 2)
        assert (view.status, view.decided_by, view.reason) == (
            status,
            decision.actor,
            decision.reason,
        )

    def test_to_erase_names_the_receipt(self):
        claims()
        token = rehearse(source_target("city-crm"), ERASE).token
        made = decide(source_target("city-crm"), ERASE, token)
        receipt = Receipt.objects.at(ANA).get()
        assert (made.receipt, receipt.actor) == (receipt.id, "carol")

    def test_sends_the_signal_on_commit(self, django_capture_on_commit_callbacks):
        found, sent = claims(), []

        def hear(**told):
            sent.append(told["version"])

        signals.fact_accepted.connect(hear)
        try:
            with django_capture_on_commit_callbacks(execute=True):
                token = rehearse(target(found.madrid), ACCEPT).token
                decide(target(found.madrid), ACCEPT, token)
        finally:
            signals.fact_accepted.disconnect(hear)
        assert sent == [found.madrid.pk]

    @pytest.mark.parametrize(
        "meanwhile",
        [
            lambda memory: memory.reject("city", version=2),
            lambda memory: memory.retract("city", version=1),
            lambda memory: memory.retire_source("city-crm"),
            lambda memory: memory.erase("city-chat"),
            lambda memory: memory.supersede(
                "city",
                **CITY,
                value="Porto",
                evidence=memory.record("later", "Porto now", origin=USER).added,
            ),
            lambda memory: memory.assert_fact(
                "city",
                **CITY,
                value="Rome",
                evidence=memory.record("later", "Rome now", origin=TOOL).added,
            ),
        ],
        ids=["rejected", "other retracted", "retired", "other erased", "superseded", "another"],
    )
    def test_is_refused_when_anything_it_rests_on_has_changed(self, meanwhile):
        found = claims()
        token = rehearse(target(found.madrid), ACCEPT).token
        meanwhile(Memory(ANA))
        before = everything_stored("default")
        with pytest.raises(StaleReview):
            decide(target(found.madrid), ACCEPT, token)
        assert everything_stored("default") == before

    def test_on_a_source_is_refused_when_it_has_more_passages_by_now(self):
        claims()
        token = rehearse(source_target("city-chat"), ERASE).token
        Memory(ANA).record("city-chat", "And I like it.", origin=USER)
        with pytest.raises(StaleReview):
            decide(source_target("city-chat"), ERASE, token)

    def test_on_a_source_is_refused_when_more_rests_on_it_by_now(self):
        found = claims()
        token = rehearse(source_target("city-chat"), ERASE).token
        Memory(ANA.for_agent("support")).assert_fact(
            "home", **CITY, value="Lisbon", evidence=[found.said]
        )
        with pytest.raises(StaleReview):
            decide(source_target("city-chat"), ERASE, token)

    def test_takes_the_token_of_nothing_else(self):
        found, other = claims(), claims(key="town")
        tokens = [
            rehearse(target(other.madrid), ACCEPT).token,
            rehearse(target(found.madrid), REJECT).token,
            seen(target(found.madrid)),
            "",
        ]
        for token in tokens:
            with pytest.raises(StaleReview):
                decide(target(found.madrid), ACCEPT, token)

    def test_that_was_refused_in_rehearsal_is_refused(self):
        found = claims()
        outcome = rehearse(target(found.lisbon), ACCEPT)
        with pytest.raises(PrismGraphError, match="No fact with this key") as refused:
            decide(target(found.lisbon), ACCEPT, outcome.token)
        assert not isinstance(refused.value, StaleReview)

    def test_leaves_the_connection_usable_when_refused(self):
        found = claims()
        with pytest.raises(StaleReview):
            decide(target(found.madrid), ACCEPT, "stale")
        assert connections["default"].needs_rollback is False
        assert Memory(ANA).fact("city").value == "Lisbon"


class TestWhatWasSeen:
    def test_stays_the_same_while_nothing_changes(self):
        found = claims()
        before = seen(target(found.madrid))
        Memory(ANA).record("elsewhere", "Nothing to do with it", origin=USER)
        assert seen(target(version(ANA, "city", 2))) == before

    def test_changes_with_the_evidence_and_the_standing(self):
        found, memory = claims(), Memory(ANA)
        marks = [seen(target(found.madrid))]
        memory.retire_source("city-crm")
        marks.append(seen(target(found.madrid)))
        memory.retract("city", version=1)
        marks.append(seen(target(found.madrid)))
        assert len(set(marks)) == 3

    def test_tells_nobody_what_it_stands_for(self, settings):
        found = claims()
        mark = seen(target(found.madrid))
        settings.SECRET_KEY = "another"
        assert seen(target(found.madrid)) != mark

    @pytest.mark.parametrize(
        "change",
        [
            lambda memory: memory.record("city-chat", "And I like it.", origin=USER),
            lambda memory: memory.retire_source("city-chat"),
            lambda memory: memory.erase_turn("city-chat", "second"),
        ],
        ids=["added", "retired", "erased"],
    )
    def test_of_a_source_changes_with_its_passages(self, change):
        claims()
        Memory(ANA).record("city-chat", "A second turn.", origin=USER, turn_id="second")
        before = seen(source_target("city-chat"))
        change(Memory(ANA))
        assert seen(source_target("city-chat")) != before
