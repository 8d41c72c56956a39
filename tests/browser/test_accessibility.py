"""axe-core finds nothing against any page of ours, light or dark."""

from __future__ import annotations

from typing import Any

import pytest

from prism_graph import Memory
from tests.admin.reviewing import ANA, TOOL, claims
from tests.browser.pages import every_page
from tests.browser.window import Window

pytestmark = pytest.mark.browser
COLOURS = ("color-contrast", "link-in-text-block")  # the rules that a theme can break
# Every colour and other value that the style sheets of a page name.
NAMED = """() => {
  const names = new Set();
  for (const sheet of document.styleSheets)
    for (const text of [...sheet.cssRules].map(rule => rule.cssText))
      for (const [name] of text.matchAll(/--[a-z-]+/g)) names.add(name);
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries([...names].map(name => [name, style.getPropertyValue(name).trim()]));
}"""


def themed(window: Window, preferred: str, chosen: str = "auto") -> Window:
    """Let the system prefer a theme, and the reviewer have chosen one with Django's button."""
    window.do(lambda page: page.emulate_media(color_scheme=preferred))  # type: ignore[arg-type]
    window.evaluate("theme => { document.documentElement.dataset.theme = theme }", chosen)
    return window


def test_every_page_is_accessible_in_every_theme(carol: Window) -> None:
    made = claims()
    Memory(ANA).record("other", "Gone.", origin=TOOL)
    Memory(ANA).erase("other", actor="privacy desk", reason="asked to")
    found: dict[str, list[str]] = {}
    for name, open_page in every_page(carol, made).items():
        open_page()
        found[name] = carol.violations()
        for preferred, chosen in (("dark", "auto"), ("light", "dark")):
            themed(carol, preferred, chosen)
            found[f"{name}, {preferred}, {chosen}"] = carol.violations(*COLOURS)
        themed(carol, "light")
    assert {name: each for name, each in found.items() if each} == {}


def test_what_the_reviewer_chose_looks_as_what_the_system_prefers(carol: Window) -> None:
    every_page(carol, claims())["fact"]()
    light = themed(carol, "light").evaluate(NAMED)
    dark = themed(carol, "dark").evaluate(NAMED)
    ours = {name for name in light if name.startswith("--pg-")}
    assert len(ours) > 10
    assert all(light[name] != dark[name] for name in ours)
    assert themed(carol, "light", "dark").evaluate(NAMED) == dark
    assert themed(carol, "dark", "light").evaluate(NAMED) == light


def test_the_button_for_the_theme_changes_our_colours_too(carol: Window) -> None:
    every_page(carol, claims())["fact"]()
    colour = "() => getComputedStyle(document.querySelector('.pg-proposal')).backgroundColor"
    seen = [carol.evaluate(colour)]
    for _ in range(3):  # from the system's to one, to the other, and back
        carol.do(lambda page: page.locator("button.theme-toggle").click())
        seen.append(carol.evaluate(colour))
    assert len(set(seen)) == 2
    assert seen[0] == seen[-1]


def test_axe_would_notice(carol: Window) -> None:
    every_page(carol, claims())["fact"]()
    spoilt: Any = "() => { const p = document.querySelector('.pg-page p'); p.style.color = '#bbb' }"
    carol.evaluate(spoilt)
    assert any(each.startswith("color-contrast") for each in carol.violations(*COLOURS))


def test_a_narrow_window_shows_a_review_without_scrolling_sideways(carol: Window) -> None:
    carol.do(lambda page: page.set_viewport_size({"width": 400, "height": 800}))
    opened = every_page(carol, claims())
    for name in ("fact", "source", "timeline", "explorer", "confirm"):
        opened[name]()
        assert carol.evaluate("() => document.documentElement.scrollWidth") <= 400, name
