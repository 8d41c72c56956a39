from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from tests.admin.reviewing import PRISM_GRAPH, reviewer
from tests.browser.window import Chromium, Window, executable


@pytest.fixture(autouse=True)
def grants(settings: Any) -> None:
    settings.PRISM_GRAPH = PRISM_GRAPH


@pytest.fixture(scope="session")
def live_server(django_db_setup: None, live_server: Any) -> Any:
    """The site, begun after SQLite got its file: in memory, all threads would share a connection."""
    return live_server


@pytest.fixture(scope="session")
def chromium(live_server: Any) -> Iterator[Chromium]:
    """One browser for all; `.ci/run` names it, and then it must be there."""
    path = executable()
    if path is None:
        pytest.skip("there is no chromium on the path")
    browser = Chromium(path)
    yield browser
    browser.close()


@pytest.fixture
def window_of(chromium: Chromium, live_server: Any) -> Iterator[Callable[..., Window]]:
    """Open windows; in none of them may anything have gone wrong at the end."""
    windows: list[Window] = []

    def open_window(client: Client | None = None) -> Window:
        windows.append(Window(chromium, live_server.url, client))
        return windows[-1]

    yield open_window
    for window in windows:
        window.close()
    assert [window.alarms for window in windows if window.alarms] == []


@pytest.fixture
def carol(window_of: Callable[..., Window]) -> Window:
    """The window of a reviewer of all of Acme, with every permission."""
    return window_of(reviewer("carol"))
