"""Memory for reviewers to look at in a browser, and what several tests do there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.test import Client

from prism_graph import Memory, Scope
from prism_graph.models import FactVersion, Receipt, Source
from tests.admin.reviewing import ANA, TOOL, address, change, version
from tests.browser.window import Window

Windows = Callable[[Client], Window]
QUEUE: Final = address("factversion")
REASON: Final = "Reason, kept with the decision:"
# What a look-up found of Ana, by key.
FOUND: Final = {"job": "baker", "pet": "a cat", "car": "none"}


def found(scope: Scope = ANA) -> dict[str, FactVersion]:
    """Store proposals, each from a document that a tool fetched; return their rows by key."""
    memory = Memory(scope)
    for key, value in FOUND.items():
        text = f"Record of ana: {key} is {value}."
        passages = memory.ingest(f"page-{key}", text, origin=TOOL).added
        memory.assert_fact(key, subject="ana", predicate=key, value=value, evidence=passages)
    return {key: version(scope, key, 1) for key in FOUND}


def choose(window: Window, action: str, *rows: Any) -> Window:
    """Tick rows of a list and ask for a decision on them."""
    window.tick(*(f"Select this object for an action - {row}" for row in rows))
    window.do(lambda page: page.get_by_label("Action:").select_option(label=action))
    return window.click("Go")


def every_page(window: Window, made: Any) -> dict[str, Callable[[], Any]]:
    """Return how to come to each kind of page of ours."""

    def confirm() -> Window:
        return window.open(change(made.madrid)).click("Accept…")

    def results() -> Window:
        return confirm().click("Accept")

    explored = f"{address('chunk', 'explore')}?granted=0&owner=ana&query=city+Lisbon"
    paths = {
        "facts": QUEUE,
        "sources": address("source"),
        "chunks": address("chunk"),
        "receipts": address("receipt"),
        "fact": change(made.madrid),
        "source": change(Source.objects.at(ANA).get(key="city-crm")),
        "chunk": address("chunk", made.found, "change"),
        "timeline": f"{address('factversion', made.madrid.pk, 'timeline')}?at=2026-01-01T00:00:00",
        "explorer": explored,
        "no reader": f"{address('chunk', 'explore')}?granted=0&agent=x&query=city&known_at=never",
    }
    receipt = Receipt.objects.at(ANA).first()
    if receipt is not None:
        paths["receipt"] = change(receipt)
    opened = {name: lambda path=path: window.open(path) for name, path in paths.items()}
    return {**opened, "confirm": confirm, "results": results}
