"""The explorer: what a reader finds, and why in this order."""

from __future__ import annotations

import pytest

from prism_graph import Memory, Origin, Trust
from tests.admin.reviewing import ACME, ANA, BO, USER, address, claims, reviewer
from tests.browser.pages import Windows
from tests.browser.window import Window

pytestmark = pytest.mark.browser
EXPLORER = address("chunk", "explore")


@pytest.fixture
def kettles() -> None:
    Memory(ACME).ingest(
        "handbook", "Return a dented kettle.", origin=Origin(Trust.DOCUMENT, "importer")
    )
    Memory(ANA).record("chat", "My kettle is dented.", origin=USER, speaker="ana")
    Memory(BO).record("chat", "Bo's kettle is new.", origin=USER, speaker="bo")


def found(window: Window, query: str, owner: str = "") -> list[str]:
    window.fill("Query:", query).fill("Owner below it:", owner).click("Search")
    return window.texts(".pg-hits blockquote")


def test_a_reader_at_a_person_finds_what_is_theirs_and_their_tenants(
    carol: Window, kettles: None
) -> None:
    carol.open(address("chunk")).click("Search as a reader", "link")
    assert sorted(found(carol, "dented kettle", "ana")) == [
        "My kettle is dented.",
        "Return a dented kettle.",
    ]
    assert carol.text("h2").startswith("2 passages for a reader at acme › ana")


def test_a_reader_at_the_tenant_finds_nothing_of_its_people(carol: Window, kettles: None) -> None:
    assert found(carol.open(EXPLORER), "dented kettle") == ["Return a dented kettle."]


def test_the_words_that_were_found_are_marked_and_the_ranks_are_shown(
    carol: Window, kettles: None
) -> None:
    found(carol.open(EXPLORER), "dented kettle")
    assert carol.texts(".pg-hits mark") == ["dented", "kettle"]
    assert "score" in carol.text(".pg-hits p")
    assert not carol.do(lambda page: page.locator(".pg-hits caption").first.is_visible())
    carol.do(lambda page: page.get_by_text("How it was ranked").click())
    assert carol.text(".pg-hits caption") == "Arm: text"
    assert carol.text(".pg-hits details tbody").startswith("rank 1")


def test_a_passage_found_leads_to_its_page(carol: Window) -> None:
    made = claims()
    found(carol.open(EXPLORER), "Madrid", "ana")
    carol.click("city-crm, lines 1 to 1", "link")
    assert carol.path == address("chunk", made.found, "change")
    assert "ana · lives in · Madrid (version 2)" in carol.text()


def test_a_wrong_instant_is_told_beside_its_field(carol: Window, kettles: None) -> None:
    # A picker writes none; an address may.
    carol.open(f"{EXPLORER}?granted=0&query=kettle&known_at=yesterday")
    assert carol.count(".pg-hits") == 0
    assert "Give an instant" in carol.text(".errorlist")


def test_a_reviewer_of_one_person_cannot_read_as_the_tenant(
    window_of: Windows, kettles: None
) -> None:
    owen = window_of(reviewer("owen")).open(EXPLORER)
    assert owen.texts("select[name=granted] option") == ["acme › ana"]
    assert sorted(found(owen, "kettle")) == ["My kettle is dented.", "Return a dented kettle."]
    assert owen.count(".pg-hits a") == 1, "the handbook has no page for him"
    found(owen, "kettle", owner="bo")
    assert "That scope does not lie below the granted one." in owen.text(".errorlist")
    assert owen.count(".pg-hits") == 0
