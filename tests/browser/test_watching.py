"""What goes wrong in a window is noticed, so that silence means something."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.admin.reviewing import address
from tests.browser.pages import QUEUE
from tests.browser.window import Window, executable
from tests.csp import POLICY

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("harm", "word"),
    [
        (
            "const e = document.createElement('script'); e.text = '1'; document.body.append(e)",
            "script",
        ),
        ("document.body.setAttribute('onclick', 'f()'); document.body.click()", "script"),
        ("document.body.setAttribute('style', 'color: red')", "style"),
        (
            "const e = new Image(); e.src = 'http://localhost:1/x'; document.body.append(e)",
            "img-src",
        ),
        ("fetch('/admin/nothing-here/')", "404"),
        ("setTimeout(() => { throw new Error('kettle') })", "kettle"),
        ("setTimeout(() => alert('kettle'))", "kettle"),
    ],
)
def test_what_harms_a_page_is_told(carol: Window, harm: str, word: str) -> None:
    carol.open(QUEUE).evaluate(f"() => {{ {harm} }}")
    carol.do(lambda page: page.wait_for_timeout(300))
    told, carol.alarms[:] = list(carol.alarms), []
    assert any(word in each for each in told), told


def test_every_page_has_the_policy(client: Client, db: None) -> None:
    for path in (address("chunk"), "/static/admin/css/base.css", "/nothing-here"):
        assert client.get(path).headers["Content-Security-Policy"] == POLICY


def test_who_names_a_browser_must_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_TEST_CHROMIUM", "no-such-browser")
    with pytest.raises(FileNotFoundError):
        executable()
    monkeypatch.delenv("PRISM_TEST_CHROMIUM")
    monkeypatch.setenv("PATH", "")
    assert executable() is None
