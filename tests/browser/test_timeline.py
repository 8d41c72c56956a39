"""The timeline of a subject: the pickers of both clocks, and the drawing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from prism_graph import Memory
from prism_graph.models import FactVersion
from tests.admin.reviewing import ANA, CITY, TOOL, USER, address, version
from tests.browser.window import Window

pytestmark = pytest.mark.browser
AT, KNOWN = "True at (UTC)", "As known at (UTC)"


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> FactVersion:
    """Ana said in January where she lives, and in July that she had moved in June; a tool objects."""

    def when(month: int) -> None:
        instant = datetime(2025, month, 10, 9, tzinfo=UTC)
        monkeypatch.setattr("prism_graph.clock._source", lambda: instant)

    memory = Memory(ANA)
    when(1)
    first = memory.record("chat", "I live in Lisbon.", origin=USER).added
    memory.assert_fact("city", **CITY, value="Lisbon", evidence=first)
    when(7)
    second = memory.record("chat", "I moved to Porto in June.", origin=USER).added
    stated = {"valid_from": "2025-06-01T00:00:00Z", "evidence": second}
    memory.supersede("city", **CITY, value="Porto", **stated)
    found = memory.record("crm", "ana: city is Madrid", origin=TOOL).added
    when(9)
    memory.assert_fact("city", **CITY, value="Madrid", evidence=found)
    when(12)
    return version(ANA, "city", 3)


def shown(window: Window, at: str = "", known_at: str = "") -> tuple[list[str], int]:
    """Ask for two instants; return what is in force then, and how many lines are drawn for them."""
    window.fill(AT, at).fill(KNOWN, known_at).click("Show")
    return window.texts("h2:has-text('In force') + ul strong"), window.count("line.pg-asked")


def test_the_pickers_change_what_is_in_force_and_draw_their_lines(
    carol: Window, moved: FactVersion
) -> None:
    carol.open(address("factversion", moved.pk, "timeline"))
    assert shown(carol) == (["Porto"], 0)
    assert shown(carol, at="2025-03-01T00:00:00") == (["Lisbon"], 1)
    assert shown(carol, at="2025-06-15T00:00:00") == (["Porto"], 1)
    assert shown(carol, "2025-06-15T00:00:00", "2025-06-20T00:00:00") == (["Lisbon"], 2)
    assert shown(carol, known_at="2025-01-01T00:00:00") == ([], 1)
    carol.click("Now", "link")
    assert carol.texts("h2:has-text('In force') + ul strong") == ["Porto"]


def test_the_pickers_keep_what_was_asked(carol: Window, moved: FactVersion) -> None:
    carol.open(address("factversion", moved.pk, "timeline"))
    shown(carol, "2025-06-15T00:00:00", "2025-06-20T10:20:30")
    values = carol.do(lambda page: [page.get_by_label(name).input_value() for name in (AT, KNOWN)])
    assert values == ["2025-06-15T00:00", "2025-06-20T10:20:30"]
    assert carol.count("text=In force at 2025-06-15 00:00:00 UTC") == 1


def test_the_lines_stand_where_the_instants_are(carol: Window, moved: FactVersion) -> None:
    carol.open(address("factversion", moved.pk, "timeline"))
    shown(carol, "2025-03-01T00:00:00", "2025-08-01T00:00:00")
    boxes: dict[str, Any] = {
        name: carol.do(lambda page, name=name: page.locator(name).first.bounding_box())
        for name in (
            "line.pg-asked >> nth=0",
            "line.pg-asked >> nth=1",
            ".pg-box:has-text('v1') >> nth=0",
        )
    }
    across, down, lisbon = boxes.values()
    assert lisbon["x"] < across["x"] < lisbon["x"] + lisbon["width"]
    assert down["y"] > lisbon["y"] + lisbon["height"] - 1, "as it was first held"
    assert carol.evaluate(
        "() => document.querySelector('svg.pg-drawing').getBoundingClientRect().right"
        " <= document.querySelector('.pg-scroll').getBoundingClientRect().right"
    ), "it fits"


def test_what_the_drawing_says_stands_in_the_table_below_it(
    carol: Window, moved: FactVersion
) -> None:
    carol.open(address("factversion", moved.pk, "timeline"))
    drawn = {text.split()[0] for text in carol.texts(".pg-box")}
    assert drawn == {"v1", "v2", "v3"}
    assert [row.split()[:2] for row in carol.texts("#content tbody tr")] == [
        ["1", "accepted"],
        ["2", "accepted"],
        ["3", "proposal"],
    ]


def test_an_instant_that_is_none_is_refused_beside_the_page(
    carol: Window, moved: FactVersion
) -> None:
    carol.open(f"{address('factversion', moved.pk, 'timeline')}?at=yesterday")
    assert carol.text("[role=alert]").startswith("at: Give an instant")
    assert carol.texts("h2:has-text('In force') + ul strong") == ["Porto"]
