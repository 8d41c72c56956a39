"""What a reviewer does not see, and may not do, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from prism_graph import FactStatus, Memory
from prism_graph.models import Chunk, Receipt, Source
from tests.admin.reviewing import ANA, EVERY, GLOBEX, address, change, claims, reviewer
from tests.browser.pages import QUEUE, Windows
from tests.browser.window import Window

pytestmark = pytest.mark.browser
VIEWS = tuple(name for name in EVERY if name.startswith("view_"))


def posted(window: Window, path: str, form: dict[str, Any]) -> int:
    """Post a form past the pages, with the browser's own cookies; return the answer's status."""
    token = window.do(lambda page: page.locator("[name=csrfmiddlewaretoken]").first.input_value())
    headers = {"X-CSRFToken": token, "Referer": window.site}
    context = window.context
    answer = window.chromium.do(
        lambda: context.request.post(window.site + path, form=form, headers=headers)
    )
    return int(answer.status)


@pytest.fixture
def gina(window_of: Windows) -> Window:
    """The window of a reviewer of another tenant, with every permission."""
    return window_of(reviewer("gina"))


class TestAReviewerOfAnotherTenant:
    def test_finds_every_list_empty_however_it_is_asked(self, gina: Window) -> None:
        claims()
        Memory(ANA).erase("city-chat")
        for model in ("factversion", "source", "chunk", "receipt"):
            every = ("?standing=any",) if model == "factversion" else ()
            for asked in ("", "?q=ana", "?granted=0&all=", *every):
                gina.open(address(model) + asked)
                assert gina.count("#result_list tbody tr") == 0, (model, asked)

    def test_is_told_the_same_of_a_foreign_page_as_of_one_that_is_not_there(
        self, gina: Window
    ) -> None:
        made = claims()
        Memory(ANA).erase("city-chat")
        rows = [made.madrid, Receipt.objects.at(ANA).get()]
        rows += [Source.objects.at(ANA).get(), Chunk.objects.at(ANA).get()]
        paths = [(row, change(row)) for row in rows]
        paths.append((made.madrid, address("factversion", made.madrid.pk, "timeline")))
        for row, own in paths:
            told = []
            for path in (own, own.replace(row.pk, "a" * len(row.pk))):
                gina.open(path)
                told.append((gina.path, gina.text("body").replace(row.pk, "a" * len(row.pk))))
            assert told[0] == told[1]
            assert "doesn’t exist" in told[0][1]

    def test_finds_nothing_as_a_reader_and_is_offered_no_other_scope(self, gina: Window) -> None:
        claims()
        gina.open(address("chunk", "explore"))
        assert gina.texts("select[name=granted] option") == ["globex"]
        gina.fill("Query:", "Lisbon").fill("Owner below it:", "ana").click("Search")
        assert gina.text("h2") == "0 passages for a reader at globex › ana"

    def test_decides_nothing(self, gina: Window) -> None:
        made, own = claims(), claims(GLOBEX.for_owner("ana"))
        gina.open(change(own.madrid))
        form = {"verb": "accept", "chosen": made.madrid.pk, "confirmed": "yes"}
        assert posted(gina, address("factversion", "decide"), form) == 200
        assert Memory(ANA).fact("city").value == "Lisbon"
        [claim] = [each for each in Memory(ANA).timeline("ana") if each.version == 2]
        assert claim.status is FactStatus.PROPOSAL


class TestPermissions:
    def test_who_may_only_look_is_shown_no_button_and_refused(self, window_of: Windows) -> None:
        made = claims()
        viewer = window_of(reviewer("carol", VIEWS)).open(QUEUE)
        assert viewer.texts(".field-claimed") == ["ana · lives in · Madrid"]
        assert viewer.count("select[name=action], .action-select") == 0
        viewer.open(change(made.madrid))
        assert viewer.count(".pg-decide") == 0
        decide = address("factversion", "decide")
        for verb in ("accept", "reject", "retract", "erase"):
            for confirmed in ({}, {"confirmed": "yes"}):
                form = {"verb": verb, "chosen": made.madrid.pk, **confirmed}
                assert posted(viewer, decide, form) == 403
        assert Memory(ANA).fact("city").value == "Lisbon"

    @pytest.mark.parametrize(
        ("permission", "buttons"),
        [
            ("accept_factversion", ["Accept…", "Reject…"]),
            ("retract_factversion", ["Retract…"]),
            ("erase_factversion", ["Erase…"]),
        ],
    )
    def test_each_permission_brings_its_own_buttons(
        self, window_of: Windows, permission: str, buttons: list[str]
    ) -> None:
        made = claims()
        # What waits is rejected, what is accepted is retracted.
        row = made.lisbon if permission == "retract_factversion" else made.madrid
        some = window_of(reviewer("carol", (*VIEWS, permission))).open(change(row))
        assert some.texts(".pg-decide button") == buttons
        some.open(QUEUE)
        names = [button.rstrip("…") for button in buttons]
        assert some.texts("select[name=action] option")[1:] == names

    def test_who_was_granted_nothing_sees_nothing(self, window_of: Windows) -> None:
        claims()
        nobody = window_of(reviewer("nobody", superuser=True))
        assert nobody.open(f"{QUEUE}?standing=any").count("#result_list tbody tr") == 0
        nobody.open(address("chunk", "explore"))
        assert "You were granted no scope to review." in nobody.text()

    def test_who_reviews_two_places_narrows_the_list_to_one(self, window_of: Windows) -> None:
        claims(), claims(GLOBEX)
        both = window_of(reviewer("both")).open(QUEUE)
        assert both.texts(".field-where") == ["globex", "acme › ana"]
        assert both.click("acme › ana", "link").texts(".field-where") == ["acme › ana"]
