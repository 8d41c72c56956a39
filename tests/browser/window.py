"""Windows of a headless Chromium, each of one person; what happens in one is watched.

Playwright's calls keep an event loop in their thread, in which Django refuses the ORM. So they are made in
a thread of their own: a test hands over what to do with a page, and waits for it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import axe_playwright_python
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

T = TypeVar("T")
AXE: Final = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
SIZE: Final = {"width": 1200, "height": 900}
PATIENCE: Final = 20_000  # milliseconds


def executable() -> str | None:
    """Return the path of Chromium, None where there is none. Whoever names one must have it."""
    named = os.environ.get("PRISM_TEST_CHROMIUM")
    found = shutil.which(named or "chromium")
    if named and found is None:
        raise FileNotFoundError(f"PRISM_TEST_CHROMIUM names {named}, which is not there.")
    return found


class Chromium:
    """One browser, and the one thread that speaks to it."""

    def __init__(self, path: str) -> None:
        self._thread = ThreadPoolExecutor(1, "chromium")
        self._playwright: Playwright = self.do(sync_playwright().start)
        launch = self._playwright.chromium.launch
        self.browser: Browser = self.do(lambda: launch(executable_path=path))

    def do(self, action: Callable[[], T]) -> T:
        """Return what an action returns in the browser's thread."""
        return self._thread.submit(action).result()

    def close(self) -> None:
        """End the browser."""
        self.do(self.browser.close)
        self.do(self._playwright.stop)
        self._thread.shutdown()


class Window:
    """A page on the site, and a list of all that went wrong in it."""

    def __init__(self, chromium: Chromium, site: str, client: Client | None = None) -> None:
        self.chromium, self.site = chromium, site
        self.alarms: list[str] = []
        self.context, self.page = chromium.do(self._begin)
        if client is not None:
            cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site}
            chromium.do(lambda: self.context.add_cookies([cookie]))

    def _begin(self) -> tuple[BrowserContext, Page]:
        # Without motion, so that no colour is looked at half-way.
        options: Any = {"viewport": SIZE, "color_scheme": "light", "reduced_motion": "reduce"}
        context = self.chromium.browser.new_context(base_url=self.site, **options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.alarms.append(f"script: {error}"))
        page.on("requestfailed", lambda asked: self.alarms.append(f"failed: {asked.url}"))
        page.on("dialog", self._on_dialog)
        page.on("response", self._on_response)
        return context, page

    def _on_console(self, message: Any) -> None:
        # Chromium writes what a content security policy refused there, too.
        if message.type in {"error", "warning"}:
            self.alarms.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Any) -> None:
        self.alarms.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_response(self, response: Any) -> None:
        if response.status >= 400:
            self.alarms.append(f"{response.status}: {response.url}")
        if not response.url.startswith(self.site):
            self.alarms.append(f"elsewhere: {response.url}")

    def close(self) -> None:
        """Close it."""
        self.chromium.do(self.context.close)

    def do(self, action: Callable[[Page], T]) -> T:
        """Return what an action on the page returns."""
        return self.chromium.do(lambda: action(self.page))

    # what a person does

    def open(self, path: str) -> Window:
        """Go to an address of the site."""
        response = self.do(lambda page: page.goto(path))
        assert response is not None
        assert response.status == 200, (response.status, path)
        return self

    def click(self, name: str, role: Any = "button") -> Window:
        """Click what is called so, and wait for the page that follows."""

        def click(page: Page) -> None:
            with page.expect_navigation():
                page.get_by_role(role, name=name, exact=True).first.click()

        self.do(click)
        return self

    def tick(self, *labels: str) -> Window:
        """Tick the boxes of these labels."""
        for label in labels:
            self.do(lambda page, label=label: page.get_by_label(label, exact=True).check())
        return self

    def fill(self, label: str, text: str) -> Window:
        """Write into the field of this label."""
        self.do(lambda page: page.get_by_label(label, exact=True).fill(text))
        return self

    def press(self, *keys: str) -> Window:
        """Press keys, one after the other."""

        def press(page: Page) -> None:
            for key in keys:
                page.keyboard.press(key)

        self.do(press)
        return self

    # what a person sees

    @property
    def path(self) -> str:
        """Where the window is, without the site and what was asked."""
        return self.page.url.removeprefix(self.site).partition("?")[0]

    def text(self, selector: str = "#content") -> str:
        """Return the text that a part of the page shows, its white space made one."""
        return " ".join(self.do(lambda page: page.locator(selector).first.inner_text()).split())

    def texts(self, selector: str) -> list[str]:
        """Return the texts of every part that a selector finds."""
        script = "all => all.map(each => each.innerText ?? each.textContent)"
        found = self.do(lambda page: page.locator(selector).evaluate_all(script))
        return [" ".join(each.split()) for each in found]

    def count(self, selector: str) -> int:
        """Return how many parts of the page a selector finds."""
        return self.do(lambda page: page.locator(selector).count())

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """Return the value of a script in the page; no policy of the site's holds it back."""
        return self.do(lambda page: page.evaluate(script, argument))

    def violations(self, *rules: str) -> list[str]:
        """Return what axe-core finds against the page: by these rules, else by all that it applies."""
        if not self.evaluate("() => 'axe' in window"):
            self.evaluate(AXE)
        options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
        if rules:
            options["runOnly"] = {"type": "rule", "values": list(rules)}
        # Django's links fade from one colour to the next; none is to be judged half-way.
        self.evaluate("() => document.getAnimations().forEach(each => each.finish())")
        found = self.evaluate("options => axe.run(options)", options)
        return [
            f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
            for each in found["violations"]
            for node in each["nodes"]
        ]
