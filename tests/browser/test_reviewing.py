"""A reviewer looks at what waits and decides, in a browser."""

from __future__ import annotations

import pytest

from prism_graph import FactStatus, Memory
from prism_graph.models import Receipt
from tests.admin.reviewing import ANA, CITY, TOOL, USER, address, change, claims, reviewer
from tests.browser.pages import QUEUE, REASON, Windows, choose, found
from tests.browser.window import Window

pytestmark = pytest.mark.browser


def status(key: str, number: int) -> FactStatus:
    [view] = [
        each for each in Memory(ANA).timeline("ana") if (each.key, each.version) == (key, number)
    ]
    return view.status


class TestTheReview:
    def test_it_shows_the_claim_and_what_it_contests_side_by_side(self, carol: Window) -> None:
        made = claims()
        carol.open(QUEUE).click("ana · lives in · Madrid", "link")
        assert carol.path == change(made.madrid)
        here, there = carol.texts(".pg-sides > section")
        assert here.startswith("This version Subject ana Predicate lives in Value Madrid")
        assert there.startswith("Contests version 1 Subject ana Predicate lives in Value Lisbon")
        left, right = carol.do(
            lambda page: [each.bounding_box() for each in page.locator(".pg-sides > section").all()]
        )
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] < right["x"]

    def test_it_shows_every_passage_with_its_writer_and_marks_what_supports_the_claim(
        self, carol: Window
    ) -> None:
        carol.open(change(claims().madrid))
        assert carol.texts(".pg-passage blockquote") == [
            "ana: city is Madrid",
            "I live in Lisbon now.",
        ]
        assert carol.texts(".pg-passage mark") == ["ana", "Madrid", "live", "Lisbon"]
        assert carol.texts(".pg-passage figcaption") == [
            "tool tool:crm · city-crm, lines 1 to 1",
            "user ana, said by ana · city-chat, lines 1 to 1",
        ]

    def test_it_says_why_the_claim_waits(self, carol: Window) -> None:
        carol.open(change(claims().madrid))
        assert "Not every passage it rests on is the word of a user or a document" in carol.text()
        assert "policy default/1" in carol.text()

    def test_the_queue_is_of_what_waits_and_a_filter_shows_the_rest(self, carol: Window) -> None:
        claims()
        assert carol.open(QUEUE).texts(".field-claimed") == ["ana · lives in · Madrid"]
        carol.click("Accepted", "link")
        assert carol.texts(".field-claimed") == ["ana · lives in · Lisbon"]
        carol.fill("Search", "Madrid").press("Enter")
        carol.do(lambda page: page.wait_for_url("**q=Madrid**"))
        assert carol.texts(".field-claimed") == []


class TestDecisions:
    def test_a_claim_is_accepted_with_a_reason_and_leaves_the_queue(self, carol: Window) -> None:
        made = claims()
        carol.open(change(made.madrid)).click("Accept…")
        assert carol.texts(".pg-announced h2") == ["ana · lives in · Madrid"]
        closes, holds = carol.texts(".pg-announced li")
        assert closes.startswith("Version 1: It closes")
        assert holds.startswith("Version 2: proposal becomes accepted. It holds")
        assert status("city", 2) is FactStatus.PROPOSAL, "a page to confirm decides nothing"
        carol.fill(REASON, "She told me on the phone.").click("Accept")
        assert "1 done, 0 refused." in carol.text()
        fact = Memory(ANA).fact("city")
        assert (fact.value, fact.decided_by, fact.reason) == (
            "Madrid",
            "carol",
            "She told me on the phone.",
        )
        carol.click("Back to the list", "link")
        assert carol.texts(".field-claimed") == []
        carol.open(change(made.madrid))
        assert "accepted" in carol.texts("#standings + div tbody tr")[1]
        assert "She told me on the phone." in carol.texts("#standings + div tbody tr")[1]

    def test_a_claim_is_rejected_and_what_holds_goes_on(self, carol: Window) -> None:
        made = claims()
        carol.open(change(made.madrid)).click("Reject…").click("Reject")
        assert status("city", 2) is FactStatus.REJECTED
        assert Memory(ANA).fact("city").value == "Lisbon"
        carol.open(change(made.madrid))
        assert carol.texts(".pg-decide button") == ["Erase…"]

    def test_a_retracted_version_gives_its_place_back_to_the_one_before(
        self, carol: Window
    ) -> None:
        made = claims()
        Memory(ANA).accept("city", version=2)
        carol.open(change(made.madrid)).click("Retract…")
        assert carol.texts(".pg-announced li")[0].startswith("Version 1: It reopens")
        carol.click("Retract")
        assert Memory(ANA).fact("city").value == "Lisbon"

    def test_what_is_not_confirmed_does_not_happen(self, carol: Window) -> None:
        made = claims()
        carol.open(change(made.madrid)).click("Accept…")
        carol.click("Back, and change nothing", "link")
        assert carol.texts(".field-claimed") == ["ana · lives in · Madrid"]

    def test_a_claim_is_accepted_over_another_version_only_where_the_box_is_ticked(
        self, carol: Window
    ) -> None:
        made = claims()
        more = Memory(ANA).record("city-chat", "I moved to Porto.", origin=USER).added
        Memory(ANA).supersede("city", **CITY, value="Porto", evidence=more)
        carol.open(change(made.madrid)).click("Accept…")
        assert "another version holds by now" in carol.text(".pg-refused")
        carol.click("Accept")
        assert "0 done, 1 refused." in carol.text()
        assert Memory(ANA).fact("city").value == "Porto"
        carol.open(change(made.madrid)).click("Accept…")
        carol.tick("Accept it all the same, over version 3. Then:").click("Accept")
        assert "1 done, 0 refused." in carol.text()
        assert status("city", 2) is FactStatus.ACCEPTED

    def test_of_three_accepted_at_once_the_one_without_its_evidence_is_refused(
        self, carol: Window
    ) -> None:
        made = found()
        Memory(ANA).ingest("page-pet", "Record of ana: nothing.", origin=TOOL)
        choose(carol.open(QUEUE), "Accept", *made.values())
        assert carol.count(".pg-announced") == 3
        [refused] = carol.texts(".pg-announced:has(.pg-refused) h2")
        assert refused == "ana · pet · a cat"
        carol.fill(REASON, "Looked up.").click("Accept")
        assert "2 done, 1 refused." in carol.text()
        told = {row.split()[0]: row for row in carol.texts("#content tbody tr")}
        assert "evidence was retired or erased since" in told[made["pet"].pk]
        assert {key: str(status(key, 1)) for key in made} == {
            "job": "accepted",
            "pet": "proposal",
            "car": "accepted",
        }
        carol.click(made["pet"].pk, "link")
        assert carol.path == change(made["pet"])


class TestStalePages:
    def test_a_review_page_that_is_out_of_date_leads_to_no_decision(self, carol: Window) -> None:
        made = claims()
        carol.open(change(made.madrid))
        Memory(ANA).retract("city", version=1)
        carol.click("Accept…")
        assert "has changed since the page was drawn" in carol.text(".pg-refused")
        assert carol.count("button:text-is('Accept')") == 0
        carol.click("Look at it again", "link").click("Accept…").click("Accept")
        assert Memory(ANA).fact("city").value == "Madrid"

    def test_a_confirmation_that_is_out_of_date_decides_nothing(self, carol: Window) -> None:
        made = claims()
        carol.open(change(made.madrid)).click("Accept…")
        Memory(ANA).retract("city", version=1)
        carol.click("Accept")
        assert "has changed since the page was drawn" in carol.text(".pg-refused")
        assert status("city", 2) is FactStatus.PROPOSAL

    def test_what_was_erased_meanwhile_is_refused_beside_what_was_not(self, carol: Window) -> None:
        made = found()
        choose(carol.open(QUEUE), "Reject", *made.values())
        Memory(ANA).erase_fact("pet")
        carol.click("Reject")
        assert "2 done, 1 refused." in carol.text()
        assert "No longer there." in carol.text(f"tr:has-text('{made['pet'].pk}')")

    def test_two_reviewers_at_once_decide_once(self, carol: Window, window_of: Windows) -> None:
        made = claims()
        other = window_of(reviewer("owen"))
        for window in (carol, other):
            window.open(change(made.madrid)).click("Accept…")
        assert "1 done" in carol.click("Accept").text()
        assert "0 done, 1 refused." in other.click("Accept").text()
        assert Memory(ANA).fact("city").decided_by == "carol"


class TestErasure:
    def test_a_fact_is_erased_and_its_receipt_says_nothing_of_it(self, carol: Window) -> None:
        made = claims()
        carol.open(change(made.madrid)).click("Erase…")
        assert "Version 2 is erased." in carol.texts(".pg-announced li")
        carol.fill(REASON, "Asked to.").click("Erase")
        receipt = Receipt.objects.at(ANA).get()
        carol.click(receipt.pk, "link")
        assert carol.path == change(receipt)
        assert "By carol Reason Asked to." in carol.text()
        assert "facts erased 1 0" in carol.texts("tbody tr")
        assert "Madrid" not in carol.text("body")
        assert carol.open(f"{QUEUE}?standing=any").texts(".field-claimed") == [
            "ana · lives in · Lisbon"
        ]

    def test_a_source_is_erased_with_the_facts_that_rested_on_it(self, carol: Window) -> None:
        claims()
        carol.open(address("source")).click("city-crm", "link").click("Erase…")
        announced = carol.texts(".pg-announced li")
        assert "Erased here: 1 passage, 1 citation, 1 version of a fact." in announced
        carol.click("Erase").click(Receipt.objects.at(ANA).get().pk, "link")
        assert "chunks 1 0" in carol.texts("tbody tr")
        assert carol.open(address("source")).texts(".field-named") == ["city-chat"]
        assert [view.value for view in Memory(ANA).timeline("ana")] == ["Lisbon"]
