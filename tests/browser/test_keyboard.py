"""The keyboard alone suffices, and shows where it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from prism_graph import FactStatus, Memory
from tests.admin.reviewing import ANA, EVERY, TOOL, address, change, claims
from tests.browser.pages import QUEUE, Windows, found
from tests.browser.window import Window

pytestmark = pytest.mark.browser
# How the focused part looks with the focus and without it; a ring that is drawn is a difference.
LOOKS = """() => {
  const at = document.activeElement;
  const look = () => {
    const style = getComputedStyle(at);
    return ['outlineStyle', 'outlineWidth', 'outlineColor', 'boxShadow', 'borderColor', 'backgroundColor',
      'textDecorationLine', 'color'].map(name => style[name]).join('|');
  };
  const focused = look();
  at.blur();
  const blurred = look();
  at.focus({focusVisible: true});
  return [focused, blurred];
}"""
NAME = """() => {
  const at = document.activeElement;
  const label = at.labels && at.labels.length ? at.labels[0].firstChild.textContent : '';
  return (at.getAttribute('aria-label') || label || at.innerText || at.value || '').trim();
}"""


def tab_to(window: Window, name: str, limit: int = 60, key: str = "Tab") -> Window:
    """Press Tab until what is called so has the focus; each stop on the way must show that it has it."""
    for _ in range(limit):
        window.press(key)
        if window.evaluate("() => !!document.activeElement.closest('#content')"):
            focused, blurred = window.evaluate(LOOKS)
            assert focused != blurred, (window.path, window.evaluate(NAME))
        if window.evaluate(NAME) == name:
            return window
    raise AssertionError(f"{name} is not reached on {window.path}")


def enter(window: Window) -> Window:
    """Press Enter, and wait for the page that follows."""

    def press(page: Any) -> None:
        with page.expect_navigation():
            page.keyboard.press("Enter")

    window.do(press)
    return window


def to_content(window: Window) -> Window:
    """Skip what stands before the content, by the page's first link."""
    return tab_to(window, "Skip to main content", 1).press("Enter")


@pytest.fixture
def unknown(window_of: Windows) -> Window:
    """The window of someone who has yet to log in as carol."""
    user = User.objects.create_user("carol", password="kettle", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=EVERY))
    return window_of(None)  # type: ignore[arg-type]


def write(window: Window, text: str) -> Window:
    window.do(lambda page: page.keyboard.type(text))
    return window


def test_a_reviewer_logs_in_reviews_and_accepts_without_a_mouse(unknown: Window) -> None:
    made = claims()
    window = unknown.open(QUEUE)  # which leads to the form, where the first field has the focus
    write(write(window, "carol").press("Tab"), "kettle")
    enter(window)
    assert window.path == QUEUE
    enter(tab_to(to_content(window), "ana · lives in · Madrid"))
    assert window.path == change(made.madrid)
    enter(tab_to(to_content(window), "Accept…"))
    write(tab_to(to_content(window), "Reason, kept with the decision:"), "By hand.")
    enter(tab_to(window, "Accept"))
    assert "1 done, 0 refused." in window.text()
    fact = Memory(ANA).fact("city")
    assert (fact.value, fact.reason) == ("Madrid", "By hand.")


def test_several_are_chosen_and_rejected_without_a_mouse(carol: Window) -> None:
    made = found()
    to_content(carol.open(QUEUE))
    tab_to(carol, "Action:").press("r")  # the first letter of an action
    chosen = sorted((made["job"], made["car"]), key=lambda row: row.recorded_at, reverse=True)
    for row in chosen:
        tab_to(carol, f"Select this object for an action - {row}").press("Space")
    enter(tab_to(carol, "Go", key="Shift+Tab"))
    assert carol.text("h1") == "Reject these?"
    assert carol.count(".pg-announced") == 2
    enter(tab_to(carol, "Reject"))
    status = {view.key: view.status for view in Memory(ANA).timeline("ana")}
    assert {key for key, each in status.items() if each is FactStatus.REJECTED} == {"car", "job"}


def test_what_scrolls_can_be_scrolled_without_a_mouse(carol: Window) -> None:
    cited = Memory(ANA).record("chat", "A line.\n" * 100, origin=TOOL).added
    carol.open(address("chunk", cited[0], "change"))
    tab_to(to_content(carol), "The passage, verbatim").press("PageDown")
    carol.do(lambda page: page.wait_for_function("() => document.activeElement.scrollTop > 0"))
