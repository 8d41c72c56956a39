"""The pages: what a reviewer reads there, and what a decision does."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.admin.models import CHANGE, DELETION, LogEntry

from prism_graph import FactStatus, Memory
from prism_graph.admin.decisions import MAX_DECISIONS
from prism_graph.models import Chunk, Receipt, Source
from tests.admin.reviewing import (
    ACME,
    ANA,
    CITY,
    TOOL,
    USER,
    address,
    change,
    claims,
    reviewer,
    version,
)
from tests.rawsql import sql

pytestmark = pytest.mark.django_db

DECIDE = address("factversion", "decide")
DECIDE_SOURCE = address("source", "decide")


def text_of(response) -> str:
    """Return what a reader of the page sees, in one line."""
    body = response.content.decode().partition("<main")[2]
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))


def hidden(response) -> dict[str, str]:
    """Return the hidden fields of the page to confirm, without the token of the request."""
    found = re.findall(
        r'<input type="hidden" name="([^"]*)" value="([^"]*)"', response.content.decode()
    )
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def decided(client, verb: str, row, *, url: str = DECIDE, **more):
    """Ask, and confirm what was announced; return both pages."""
    asked = client.post(url, {"verb": verb, "chosen": row.pk})
    return asked, client.post(url, {**hidden(asked), **more})


def standing(number: int) -> FactStatus:
    return next(view.status for view in Memory(ANA).timeline("ana") if view.version == number)


class TestLists:
    def test_facts_open_with_what_waits_for_review(self):
        claims()
        page = text_of(reviewer("carol").get(address("factversion")))
        assert "ana · lives in · Madrid proposal tool tool:crm (1 passage)" in page
        assert "Lisbon" not in page

    @pytest.mark.parametrize(
        ("standing", "shown"),
        [("accepted", ["Lisbon"]), ("any", ["Lisbon", "Madrid"]), ("rejected", []), ("odd", [])],
    )
    def test_facts_are_narrowed_by_their_standing(self, standing, shown):
        claims()
        page = text_of(reviewer("carol").get(address("factversion"), {"standing": standing}))
        assert [city for city in ("Lisbon", "Madrid") if city in page] == shown

    def test_two_grants_can_be_told_apart(self):
        claims(ANA)
        claims(ACME.for_owner("bo"))
        client = reviewer("both")
        assert "acme › ana" in text_of(client.get(address("factversion"), {"granted": "0"}))
        assert "Madrid" not in text_of(client.get(address("factversion"), {"granted": "1"}))

    def test_every_model_has_one(self):
        claims()
        Memory(ANA).erase("city-chat", actor="privacy desk")
        client = reviewer("carol")
        for model, words in {
            "source": "city-crm",
            "chunk": "ana: city is Madrid",
            "receipt": "privacy desk",
            "factversion": "Madrid",
        }.items():
            assert words in text_of(client.get(address(model))), model

    def test_passages_of_one_source_are_listed_by_its_id(self):
        claims()
        source = Source.objects.at(ANA).get(key="city-crm")
        page = text_of(reviewer("carol").get(address("chunk"), {"of": source.pk}))
        assert "city is Madrid" in page
        assert "Lisbon" not in page

    def test_the_first_page_takes_as_many_statements_for_many_as_for_few(
        self, django_assert_max_num_queries
    ):
        memory, client = Memory(ANA), reviewer("carol")
        found = memory.record("crm", "city is Madrid", origin=TOOL).added
        for number in range(60):
            memory.assert_fact(f"fact-{number}", **CITY, value="Madrid", evidence=found)
        with django_assert_max_num_queries(25) as queries:
            client.get(address("factversion"))
        many = len(queries)
        for number in range(58):
            memory.erase_fact(f"fact-{number}")
        with django_assert_max_num_queries(many) as queries:
            client.get(address("factversion"))
        assert len(queries) == many


class TestTheReviewPage:
    def test_shows_claim_evidence_and_what_it_contests(self):
        page = reviewer("carol").get(change(claims().madrid))
        text = text_of(page)
        assert "Contests version 1" in text
        assert "some come from tool" in text
        assert "<mark>ana</mark>: city is <mark>Madrid</mark>" in page.content.decode()
        assert "said by ana" in text

    def test_offers_the_decisions_that_its_standing_leaves(self):
        found, client = claims(), reviewer("carol")

        def offered(row):
            return re.findall(
                r'name="verb" value="(\w+)"', client.get(change(row)).content.decode()
            )

        assert offered(found.madrid) == ["accept", "reject", "erase"]
        assert offered(found.lisbon) == ["retract", "erase"]
        Memory(ANA).reject("city", version=2)
        assert offered(found.madrid) == ["erase"]

    def test_does_not_lead_to_passages_above_the_grant(self):
        page = Memory(ACME).record("site", "Everybody lives in Rome.", origin=TOOL).added
        Memory(ANA).assert_fact("city", **CITY, value="Rome", evidence=page)
        text = reviewer("owen").get(change(version(ANA, "city", 1))).content.decode()
        assert "from a level above your grant" in text
        assert page[0] not in text

    def test_takes_no_post(self):
        assert reviewer("carol").post(change(claims().madrid)).status_code == 405


class TestDecisions:
    def test_an_acceptance_says_what_closes_and_does_it(self):
        found, client = claims(), reviewer("carol")
        asked, done = decided(client, "accept", found.madrid, reason="She moved.")
        assert "Version 1: It closes" in text_of(asked)
        assert "Version 2: proposal becomes accepted . It holds" in text_of(asked)
        assert "1 done, 0 refused." in text_of(done)
        view = Memory(ANA).fact("city")
        assert (view.value, view.decided_by, view.reason) == ("Madrid", "carol", "She moved.")

    def test_a_rejection_and_a_retraction(self):
        found, client = claims(), reviewer("carol")
        decided(client, "reject", found.madrid)
        asked, _ = decided(client, "retract", found.lisbon)
        assert "closes: it no longer holds" in text_of(asked)
        assert (standing(1), standing(2)) == (FactStatus.RETRACTED, FactStatus.REJECTED)

    def test_an_erasure_leads_to_its_receipt(self):
        claims()
        source, client = Source.objects.at(ANA).get(key="city-crm"), reviewer("carol")
        asked, done = decided(client, "erase", source, url=DECIDE_SOURCE, reason="Asked for.")
        assert "Erased here: 1 passage, 1 citation, 1 version of a fact." in text_of(asked)
        receipt = Receipt.objects.at(ANA).get()
        assert change(receipt) in done.content.decode()
        assert "Asked for." in text_of(client.get(change(receipt)))
        assert Memory(ANA).search("Madrid") == []

    def test_a_page_that_is_out_of_date_decides_nothing(self):
        found, client = claims(), reviewer("carol")
        asked = client.post(DECIDE, {"verb": "accept", "chosen": found.madrid.pk})
        Memory(ANA).retire_source("city-crm")
        done = client.post(DECIDE, hidden(asked))
        assert "Refused: What this decision rests on has changed" in text_of(done)
        assert standing(2) is FactStatus.PROPOSAL

    def test_what_was_read_is_what_is_decided_on(self):
        found, client = claims(), reviewer("carol")
        read = hidden(client.get(change(found.madrid)))
        Memory(ANA).retract("city", version=1)
        asked = client.post(DECIDE, {**read, "verb": "accept"})
        assert "has changed since the page was drawn" in text_of(asked)
        client.post(DECIDE, hidden(asked))
        assert standing(2) is FactStatus.PROPOSAL

    def test_several_at_once_stand_or_fall_alone(self):
        one, other, third = claims(key="one"), claims(key="two"), claims(key="three")
        client = reviewer("carol")
        rows = [each.madrid.pk for each in (one, other, third)]
        asked = client.post(address("factversion"), {"action": "accept", "_selected_action": rows})
        Memory(ANA).retire_source("two-crm")
        fields = hidden(asked)
        done = client.post(DECIDE, {**fields, "chosen": rows})
        assert "2 done, 1 refused." in text_of(done)
        accepted = {view.key: view.value for view in Memory(ANA).facts("ana")}
        assert accepted == {"one": "Madrid", "two": "Lisbon", "three": "Madrid"}

    def test_over_another_version_than_the_contested_one_takes_a_tick(self):
        found, client, memory = claims(), reviewer("carol"), Memory(ANA)
        more = memory.record("later", "I moved to Porto.", origin=USER).added
        memory.supersede("city", **CITY, value="Porto", evidence=more)
        asked, done = decided(client, "accept", found.madrid)
        assert "Accept it all the same, over version 3." in text_of(asked)
        assert "0 done, 1 refused." in text_of(done)
        _, done = decided(client, "accept", found.madrid, **{f"over_{found.madrid.pk}": "3"})
        assert "1 done, 0 refused." in text_of(done)
        assert standing(2) is FactStatus.ACCEPTED

    def test_more_than_a_page_can_say_are_refused(self):
        memory, client = Memory(ANA), reviewer("carol")
        found = memory.record("crm", "city is Madrid", origin=TOOL).added
        for number in range(MAX_DECISIONS + 1):
            memory.assert_fact(f"fact-{number}", **CITY, value="Madrid", evidence=found)
        data = {"action": "reject", "_selected_action": ["any"], "select_across": "1"}
        page = client.post(address("factversion"), data, follow=True)
        assert f"Choose at most {MAX_DECISIONS} at a time." in page.content.decode()

    def test_the_log_names_the_row_and_the_decision_only(self):
        found, client = claims(), reviewer("carol")
        decided(client, "accept", found.madrid, reason="She told me so.")
        decided(client, "erase", found.lisbon)
        logged = LogEntry.objects.order_by("action_time", "id").values_list(
            "object_id", "object_repr", "action_flag", "change_message"
        )
        assert list(logged) == [
            (found.madrid.pk, f"fact version {found.madrid.pk}", CHANGE, "Accepted."),
            (found.lisbon.pk, f"fact version {found.lisbon.pk}", DELETION, "Erased."),
        ]


class TestTheTimeline:
    def test_draws_every_version_and_lists_what_holds(self):
        found, client = claims(), reviewer("carol")
        Memory(ANA).accept("city", version=2)
        page = client.get(address("factversion", found.madrid.pk, "timeline"))
        text = text_of(page)
        assert "lives in : Madrid (version 2 of city" in text
        assert page.content.decode().count('<g class="pg-box') == 4

    def test_answers_as_of_the_instants_picked(self):
        found, client = claims(), reviewer("carol")
        before = found.madrid.recorded_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        Memory(ANA).accept("city", version=2)
        url = address("factversion", found.madrid.pk, "timeline")
        page = client.get(url, {"at": "2999-01-01T00:00", "known_at": before})
        assert "lives in : Lisbon (version 1 of city" in text_of(page)
        assert page.content.decode().count('class="pg-asked"') == 2

    @pytest.mark.parametrize("at", ["yesterday", "2026-13-01T00:00", "\x00", "x" * 10_000])
    def test_says_what_is_wrong_with_an_instant(self, at):
        found = claims()
        url = address("factversion", found.madrid.pk, "timeline")
        page = reviewer("carol").get(url, {"at": at})
        assert "Give an instant" in text_of(page)


class TestTheExplorer:
    URL = address("chunk", "explore")

    def test_finds_what_that_reader_finds(self):
        claims()
        client = reviewer("carol")
        page = text_of(client.get(self.URL, {"granted": "0", "query": "Madrid"}))
        assert "0 passages for a reader at acme" in page
        page = client.get(self.URL, {"granted": "0", "owner": "ana", "query": "Madrid"})
        assert "1 passage for a reader at acme › ana" in text_of(page)
        assert "<mark>Madrid</mark>" in page.content.decode()
        assert "Arm: text" in text_of(page)

    def test_searches_what_memory_held_then(self):
        claims()
        chunk = Chunk.objects.at(ANA).order_by("recorded_at").first()
        asked = {
            "granted": "0",
            "owner": "ana",
            "query": "Madrid Lisbon",
            "known_at": chunk.recorded_at.isoformat(),
        }
        assert "1 passage for" in text_of(reviewer("carol").get(self.URL, asked))

    @pytest.mark.parametrize(
        ("more", "complaint"),
        [
            ({"agent": "support"}, "an agent needs an owner"),
            ({"owner": "a\u200bb"}, "must be 1 to 191 visible char"),
            ({"granted": "7"}, "Select a valid choice"),
            ({"query": ""}, "This field is required"),
            ({"known_at": "soon"}, "Give an instant"),
        ],
    )
    def test_says_what_is_wrong(self, more, complaint):
        claims()
        asked = {"granted": "0", "query": "Madrid", **more}
        page = reviewer("carol").get(self.URL, asked)
        assert page.status_code == 200
        assert complaint in text_of(page)

    def test_cannot_leave_the_granted_scope(self):
        claims()
        page = reviewer("owen").get(self.URL, {"granted": "0", "owner": "bo", "query": "Madrid"})
        assert "does not lie below the granted one" in text_of(page)


class TestThePassagePage:
    def test_lists_the_facts_that_rest_on_it(self, django_assert_max_num_queries):
        memory, client = Memory(ANA), reviewer("carol")
        said = memory.record("chat", "I live in Lisbon.", origin=USER).added
        for number in range(20):
            memory.assert_fact(f"fact-{number}", **CITY, value=f"Lisbon {number}", evidence=said)
        with django_assert_max_num_queries(10):
            page = text_of(client.get(change(Chunk.objects.at(ANA).get())))
        assert [f"Lisbon {number} (version 1)" in page for number in range(20)] == [True] * 20

    def test_names_what_cannot_be_seen(self):
        Memory(ANA).record("chat", "evil\u202etxt.exe", origin=USER)
        page = reviewer("carol").get(change(Chunk.objects.at(ANA).get()))
        assert "\u202e" not in page.content.decode()
        assert "evil U+202E txt.exe" in text_of(page)

    def test_of_a_version_that_nothing_rests_under_is_missing(self):
        found = claims()
        sql(f"DELETE FROM $standing WHERE version = 2 AND tenant = '{ANA.tenant}'")
        page = reviewer("carol").get(change(found.madrid), follow=True)
        assert "doesn’t exist" in text_of(page) or "doesn’t exist" in page.content.decode()


class TestWhatMovesOn:
    def test_a_list_that_is_out_of_date_is_said_to_be(self):
        found, client = claims(), reviewer("carol")
        Memory(ANA).reject("city", version=2)
        chosen = {"action": "accept", "_selected_action": [found.madrid.pk]}
        page = client.post(address("factversion"), chosen, follow=True)
        assert "not in this list any more" in page.content.decode()

    def test_a_reviewer_without_a_grant_is_told(self):
        page = reviewer("nobody", superuser=True).get(address("factversion"))
        assert "You were granted no scope to review." in page.content.decode()

    def test_what_is_decided_on_is_shown_whole(self):
        memory, client = Memory(ANA), reviewer("carol")
        found = memory.record("crm", "anything", origin=TOOL).added
        value = "x" * 500 + " and, at the very end, everything else"
        memory.assert_fact("long", subject="s" * 300, predicate="is", value=value, evidence=found)
        asked = client.post(DECIDE, {"verb": "accept", "chosen": version(ANA, "long", 1).pk})
        assert "at the very end" in text_of(asked)

    def test_a_second_named_on_a_page_is_known_at_its_end(self):
        found, client = claims(), reviewer("carol")
        second = found.lisbon.recorded_at.strftime("%Y-%m-%dT%H:%M:%S")
        url = address("factversion", found.madrid.pk, "timeline")
        page = client.get(url, {"known_at": second, "at": "2999-01-01T00:00"})
        assert "Lisbon (version 1" in text_of(page)

    def test_keys_that_differ_in_what_cannot_be_seen_look_different(self):
        for key in ("a b", "a  b", "a\u2028b", "a\nb"):
            Memory(ANA).ingest(key, "text", origin=USER)
        page = reviewer("carol").get(address("source")).content.decode()
        shown = re.findall(r'field-named"><a [^>]*>(.*?)</a>', page)
        assert len(set(shown)) == len(shown) == 4
