"""Decisions that are forged, replayed, raced or made to fail; and a rehearsal that must leave nothing."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from django.contrib.admin.models import LogEntry
from django.db import DatabaseError, connection
from django.dispatch import Signal
from django.test import Client

from prism_graph import FactStatus, Memory, signals
from prism_graph.admin import facts as facts_admin
from prism_graph.models import FactVersion, Source
from prism_graph.review import VersionTarget, decisions
from tests.admin.reviewing import (
    ANA,
    BO,
    CITY,
    GRANTS,
    PRISM_GRAPH,
    address,
    change,
    claims,
    reviewer,
)
from tests.racing import at_once, broken
from tests.rawsql import stored

DECIDE: Final = address("factversion", "decide")
VIEW: Final = ("view_source", "view_chunk", "view_factversion", "view_receipt")
_HIDDEN: Final = re.compile(r'name="(token_\w+)" value="(\w+)"')


@pytest.fixture(autouse=True)
def grants(settings: Any) -> None:
    settings.PRISM_GRAPH = PRISM_GRAPH


def tokens(client: Client, verb: str, *rows: Any) -> dict[str, str]:
    """Return the tokens of a page to confirm."""
    path = address(rows[0]._meta.model_name, "decide")
    page = client.post(path, {"verb": verb, "chosen": [row.pk for row in rows]})
    return dict(_HIDDEN.findall(page.content.decode()))


def confirm(client: Client, verb: str, *rows: Any, **form: Any) -> str:
    """Confirm a decision and return the page of results."""
    chosen = [row.pk for row in rows]
    path = address(rows[0]._meta.model_name, "decide")
    answer = client.post(path, {"verb": verb, "chosen": chosen, "confirmed": "yes", **form})
    return re.sub(r'csrfmiddlewaretoken" value="\w+"', "", answer.content.decode())


def status(number: int, key: str = "city") -> FactStatus:
    views = Memory(ANA).timeline("ana")
    return next(view.status for view in views if (view.key, view.version) == (key, number))


def logged() -> list[tuple[str, str]]:
    return list(LogEntry.objects.values_list("object_id", "change_message"))


@pytest.mark.django_db
class TestForgery:
    @pytest.mark.parametrize(
        ("permission", "verbs"),
        [
            ("accept", {"accept", "reject"}),
            ("retract", {"retract"}),
            ("erase", {"erase"}),
            ("none", set()),
        ],
    )
    def test_each_permission_opens_its_own_decisions_only(
        self, permission: str, verbs: set[str]
    ) -> None:
        city = claims()
        all_of_them = tokens(reviewer("carol"), "accept", city.madrid)
        client = reviewer("owen", (*VIEW, f"{permission}_factversion"))
        for verb in {"accept", "reject", "retract", "erase"} - verbs:
            for confirmed in ({}, {"confirmed": "yes", **all_of_them}):
                form = {"verb": verb, "chosen": city.madrid.pk, **confirmed}
                assert client.post(DECIDE, form).status_code == 403
            action = {"action": verb, "_selected_action": city.madrid.pk, "index": "0"}
            answer = client.post(address("factversion") + "?standing=any", action)
            assert b"This is what will happen" not in answer.content
        assert (
            client.post(
                address("source", "decide"),
                {"verb": "erase", "chosen": Source.objects.at(ANA).first().pk},
            ).status_code
            == 403
        )
        for verb in verbs:
            assert tokens(client, verb, city.madrid)
        assert logged() == []
        assert status(2) is FactStatus.PROPOSAL

    def test_a_token_serves_its_own_row_verb_and_version_only(self) -> None:
        city, other = claims(), claims(key="other")
        client = reviewer("owen")
        before = stored()
        for verb in ("accept", "reject", "retract", "erase"):
            for row in (city.madrid, city.lisbon, other.madrid):
                for name, token in tokens(client, verb, row).items():
                    for wrong in {"accept", "reject", "retract", "erase"} - {verb}:
                        confirm(client, wrong, row, **{name: token})
                    for target in {city.madrid, city.lisbon, other.madrid} - {row}:
                        confirm(client, verb, target, **{f"token_{target.pk}": token})
                    confirm(
                        client, verb, row, **{f"token_{row.pk}_7": token}, **{f"over_{row.pk}": "7"}
                    )
        assert stored() == before
        assert logged() == []

    def test_a_number_that_is_none_is_refused(self) -> None:
        city = claims()
        client = reviewer("owen")
        given = tokens(client, "accept", city.madrid)
        for over in ("9" * 5000, "9" * 30, "-1", "²", "٣", "x", "1\0", " 1"):
            page = confirm(
                client, "accept", city.madrid, **given, **{f"over_{city.madrid.pk}": over}
            )
            assert "0 done, 1 refused" in page, over[:9]
        assert status(2) is FactStatus.PROPOSAL

    def test_who_decides_is_who_is_logged_in(self) -> None:
        city = claims()
        client = reviewer("owen")
        forged = {"actor": "carol", "decided_by": "carol", "user": "1", "username": "carol"}
        confirm(client, "accept", city.madrid, **tokens(client, "accept", city.madrid), **forged)
        assert Memory(ANA).fact("city").decided_by == "owen"

    def test_nothing_is_decided_without_the_token_of_the_form(self) -> None:
        city = claims()
        owen = reviewer("owen")
        client = Client(enforce_csrf_checks=True)
        client.cookies = owen.cookies
        form = {"verb": "erase", "chosen": city.madrid.pk}
        for more in ({}, {"confirmed": "yes", **tokens(owen, "erase", city.madrid)}):
            assert client.post(DECIDE, {**form, **more}).status_code == 403
            assert client.get(DECIDE, {**form, **more}).status_code == 405
        assert status(2) is FactStatus.PROPOSAL

    def test_a_token_is_a_keyed_hash(self, settings: Any) -> None:
        city = claims()
        target = VersionTarget.of(city.madrid, "default")
        first = decisions.seen(target)
        settings.SECRET_KEY = "another"
        assert decisions.seen(target) != first

    def test_the_same_confirmation_twice_decides_once(self) -> None:
        city = claims()
        client = reviewer("owen")
        for verb in ("accept", "retract", "erase"):
            given = tokens(client, verb, city.madrid)
            assert "1 done, 0 refused" in confirm(client, verb, city.madrid, **given)
            assert "0 done, 1 refused" in confirm(client, verb, city.madrid, **given)
        assert len(logged()) == 3

    def test_a_grant_that_is_gone_by_the_click_decides_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        city = claims()
        client = reviewer("owen")
        given = tokens(client, "erase", city.madrid)
        monkeypatch.setitem(GRANTS, "owen", [BO])
        random = FactVersion(pk="a" * 26)
        page = confirm(client, "erase", city.madrid, **given)
        assert page == confirm(client, "erase", random).replace(random.pk, city.madrid.pk)
        assert "0 done, 1 refused" in page
        assert status(2) is FactStatus.PROPOSAL


@pytest.mark.django_db
class TestReason:
    @pytest.mark.parametrize(
        "reason", ["r" * 1_000_000, "a\0b", "r" * 8_193], ids=["1 MB", "NUL", "8 KB"]
    )
    def test_what_memory_cannot_keep_is_refused_by_its_name(self, reason: str) -> None:
        city = claims()
        client = reviewer("owen")
        for verb in ("accept", "reject", "retract", "erase"):
            page = confirm(
                client, verb, city.madrid, **tokens(client, verb, city.madrid), reason=reason
            )
            assert "0 done, 1 refused" in page
            assert "reason" in page
            assert "has changed" not in page
        assert status(2) is FactStatus.PROPOSAL

    def test_it_is_kept_with_the_decision_and_nowhere_else(self, client: Client) -> None:
        city = claims()
        client = reviewer("owen")
        for verb in ("accept", "retract", "erase"):
            given = tokens(client, verb, city.madrid)
            page = confirm(client, verb, city.madrid, **given, reason="zebra")
            assert "1 done" in page
            assert "zebra" not in page
        assert "zebra" not in repr(list(LogEntry.objects.values()))


@pytest.mark.django_db
class TestDrawing:
    """What changes while a page is drawn counts as changed since."""

    def test_a_change_between_the_evidence_and_the_buttons_is_stale(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        city = claims()
        client = reviewer("owen")
        case_of = facts_admin.review.case_of

        def then_retired(*arguments: Any) -> Any:
            found = case_of(*arguments)
            Memory(ANA).retire_source("city-crm")
            return found

        monkeypatch.setattr(facts_admin.review, "case_of", then_retired)
        page = client.get(change(city.madrid)).content.decode()
        seen = dict(re.findall(r'name="(seen_\w+)" value="(\w+)"', page))
        asked = client.post(DECIDE, {"verb": "reject", "chosen": city.madrid.pk, **seen})
        assert "has changed since the page was drawn" in asked.content.decode()

    def test_a_change_between_the_look_and_the_rehearsal_is_stale(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        city = claims()
        client = reviewer("owen")
        page = client.get(change(city.madrid)).content.decode()
        seen = dict(re.findall(r'name="(seen_\w+)" value="(\w+)"', page))
        rehearse = facts_admin.review.rehearse

        def late(*arguments: Any) -> Any:
            Memory(ANA).retire_source("city-crm")
            return rehearse(*arguments)

        monkeypatch.setattr(facts_admin.review, "rehearse", late)
        asked = client.post(DECIDE, {"verb": "reject", "chosen": city.madrid.pk, **seen})
        assert "has changed since the page was drawn" in asked.content.decode()

    @pytest.mark.parametrize("verb", ["accept", "reject", "retract", "erase"])
    def test_a_confirmation_is_stale_after_any_change_of_the_key(self, verb: str) -> None:
        city = claims()
        client = reviewer("owen")
        memory = Memory(ANA)
        changes = [
            lambda: memory.retire_source("city-crm"),
            lambda: memory.assert_fact(
                "city",
                **CITY,
                value="Oslo",
                evidence=[city.said],
                valid_from="2001-01-01T00:00:00Z",
                valid_to="2002-01-01T00:00:00Z",
            ),
            lambda: memory.retract("city", version=1),
        ]
        for change_it in changes:
            given = tokens(client, verb, city.madrid)
            change_it()
            page = confirm(client, verb, city.madrid, **given)
            assert "has changed since the page was drawn" in page
        assert logged() == []

    def test_an_erasure_that_would_take_other_facts_by_now_is_stale(self) -> None:
        city = claims()
        client = reviewer("owen")
        memory = Memory(ANA)
        source = Source.objects.at(ANA).get(key="city-crm")
        given = tokens(client, "erase", source)
        memory.erase_fact("city", version=2)
        memory.assert_fact(
            "job", subject="ana", predicate="is", value="a vet", evidence=[city.found]
        )
        page = confirm(client, "erase", source, **given)
        assert "has changed since the page was drawn" in page


@pytest.mark.django_db(transaction=True)
class TestRehearsal:
    @pytest.mark.parametrize("atomic", [False, True], ids=["autocommit", "ATOMIC_REQUESTS"])
    def test_a_page_to_confirm_leaves_nothing(
        self, atomic: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
        city = claims()
        client, sent = reviewer("owen"), []
        public = [each for each in vars(signals).values() if isinstance(each, Signal)]
        assert public

        def receiver(**arguments: Any) -> None:
            sent.append(arguments)

        for signal in public:
            signal.connect(receiver)
        try:
            before = stored()
            for verb in ("accept", "reject", "retract", "erase"):
                assert tokens(client, verb, city.lisbon, city.madrid)
            assert tokens(client, "erase", Source.objects.at(ANA).get(key="city-crm"))
            assert stored() == before
            assert sent == []
            given = tokens(client, "accept", city.madrid)
            assert "1 done" in confirm(client, "accept", city.madrid, **given)
            assert sent
        finally:
            for signal in public:
                signal.disconnect(receiver)

    @pytest.mark.parametrize("atomic", [False, True], ids=["autocommit", "ATOMIC_REQUESTS"])
    def test_a_decision_without_its_line_in_the_log_is_none(
        self, atomic: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
        city = claims()
        client = reviewer("owen")
        client.raise_request_exception = False

        def fail(*_: Any, **__: Any) -> None:
            raise DatabaseError("the log is full")

        for verb in ("accept", "erase"):
            given = tokens(client, verb, city.madrid)
            before = stored()
            with monkeypatch.context() as patch:
                patch.setattr(LogEntry.objects, "log_actions", fail)
                client.post(
                    DECIDE, {"verb": verb, "chosen": city.madrid.pk, "confirmed": "1", **given}
                )
            assert stored() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["accept", "reject", "retract", "erase"])
def test_of_two_reviewers_at_once_one_decides(verb: str) -> None:
    city = claims()
    owen, carol = reviewer("owen"), reviewer("carol")
    given = tokens(owen, verb, city.madrid)
    pages = at_once(
        lambda: confirm(owen, verb, city.madrid, **given),
        lambda: confirm(carol, verb, city.madrid, **given),
    )
    assert sorted("1 done, 0 refused" in page for page in pages) == [False, True]
    assert sorted("0 done, 1 refused" in page for page in pages) == [False, True]
    assert len(logged()) == 1
    assert broken() == []
