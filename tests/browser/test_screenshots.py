"""The pictures of the documentation, taken of the pages themselves.

PRISM_DOCS_SCREENSHOTS=1 writes them; without it the same pages are only gone through.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prism_graph import Memory, Origin, Trust
from tests.admin.reviewing import ACME, ANA, CITY, TOOL, USER, address, change, version
from tests.browser.pages import REASON
from tests.browser.window import Window

pytestmark = pytest.mark.browser
IMAGES = Path(__file__).parents[2] / "docs" / "images"
BELOW = "#content-main > *:last-child"


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Let time pass a second a look, from an instant that a test sets, and draw the same ids."""
    seconds, begin = count(), [datetime(2026, 1, 12, 9, tzinfo=UTC)]
    monkeypatch.setattr(
        "prism_graph.clock._source", lambda: begin[0] + timedelta(seconds=next(seconds))
    )
    drawn = random.Random(7)
    monkeypatch.setattr("prism_graph.bases.rows.os", SimpleNamespace(urandom=drawn.randbytes))

    def begins(instant: datetime) -> None:
        begin[0] = instant

    return begins


@pytest.fixture
def moved(fixed: Any) -> None:
    """Ana moved; a look-up in another system says otherwise."""
    memory = Memory(ANA)
    said = memory.record("chat-1", "I live in Lisbon, near the river.", origin=USER, speaker="Ana")
    memory.assert_fact("city", **CITY, value="Lisbon", evidence=said.added)
    fixed(datetime(2026, 3, 2, 14, 30, tzinfo=UTC))
    said = memory.record("chat-7", "I moved to Porto in February.", origin=USER, speaker="Ana")
    stated = {"valid_from": "2026-02-01T00:00:00Z", "evidence": said.added}
    memory.supersede("city", **CITY, value="Porto", **stated)
    fixed(datetime(2026, 4, 20, 8, 15, tzinfo=UTC))
    page = "Customer: ana. City: Madrid. Lives there since: unknown. Source: reseller."
    found = memory.record("crm", page, origin=TOOL)
    memory.assert_fact("city", **CITY, value="Madrid", evidence=found.added)
    handbook = "# Moving\n\nWho moves to another city tells us, and gets a new contract."
    Memory(ACME).ingest("handbook", handbook, origin=Origin(Trust.DOCUMENT, "importer"))
    fixed(datetime(2026, 5, 4, 10, tzinfo=UTC))


def picture(window: Window, name: str) -> None:
    """Take a picture of the page as far as its content goes, and keep it if it was asked for."""

    def take(page: Any) -> bytes:
        end = page.locator(BELOW).last.bounding_box()
        height = min(1400, end["y"] + end["height"] + 24)
        page.set_viewport_size({"width": 1200, "height": int(height)})
        return bytes(page.screenshot(animations="disabled", caret="hide"))

    taken = window.do(take)
    assert taken.startswith(b"\x89PNG")
    assert len(taken) < 200_000
    if os.environ.get("PRISM_DOCS_SCREENSHOTS") == "1":
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / f"{name}.png").write_bytes(taken)


def test_the_review_and_its_confirmation(carol: Window, moved: None) -> None:
    carol.open(change(version(ANA, "city", 3)))
    assert carol.texts(".pg-passage mark")
    picture(carol, "review")
    carol.click("Accept…").fill(REASON, "She moved again; I asked her on the phone.")
    picture(carol, "confirm")


def test_the_timeline(carol: Window, moved: None) -> None:
    asked = "at=2026-02-15T00:00:00&known_at=2026-03-01T00:00:00"
    row = version(ANA, "city", 3)
    carol.open(f"{address('factversion', row.pk, 'timeline')}?{asked}")
    assert carol.texts("h2:has-text('In force') + ul strong") == ["Lisbon"]
    assert carol.count("line.pg-asked") == 2
    picture(carol, "timeline")


def test_the_explorer(carol: Window, moved: None) -> None:
    carol.open(
        f"{address('chunk', 'explore')}?granted=0&owner=ana&query=which+city+did+ana+move+to"
    )
    assert carol.count(".pg-hits blockquote") >= 2
    carol.do(lambda page: page.get_by_text("How it was ranked").first.click())
    picture(carol, "explorer")
