"""Addresses, grants, texts and sites that a page must not break at, and what the pages cost."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, Final

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils.safestring import mark_safe
from django.views.debug import ExceptionReporter

from prism_graph import FactStatus, Memory, Scope
from prism_graph.admin import FactVersionAdmin, ReceiptAdmin, SourceAdmin
from prism_graph.doors import ReviewGrant
from prism_graph.errors import InvalidScope
from prism_graph.models import Chunk, FactVersion, Receipt, Source
from tests.admin.reviewing import (
    ACME,
    ANA,
    CITY,
    GLOBEX,
    GRANTS,
    PRISM_GRAPH,
    TOOL,
    USER,
    address,
    change,
    claims,
    reviewer,
)
from tests.statement_guard import unguarded

pytestmark = pytest.mark.django_db

WAITING: Final = address("factversion")
MODELS: Final = ("source", "chunk", "factversion", "receipt", "embeddingfailure")


@pytest.fixture(autouse=True)
def grants(settings: Any) -> None:
    settings.PRISM_GRAPH = PRISM_GRAPH


class TestAddresses:
    @pytest.mark.parametrize(
        "question",
        [
            *("tenant=globex", "owner__startswith=b", "source__tenant=globex", "number__gt=5"),
            *("source__key__startswith=c", "fact__key__startswith=c", "fact__id=x", "fact=x"),
            *("pk__in=x", "id=x", "id__regex=(", "subject_digest=x", "value__regex=(a%2B)%2B$"),
            *("source_number__lt=9", "actor=admin", "recorded_at__gte=2026-01-01", "nonsense=1"),
            *(
                "kind__exact=%00",
                "kind__regex=(",
                "operation__exact=a%00",
                "standing=%00",
                "kind__gt=0",
            ),
        ],
    )
    def test_an_address_filters_by_nothing_but_the_filters_of_its_list(self, question: str) -> None:
        client = reviewer("owen")
        for model in MODELS:
            answer = client.get(f"{address(model)}?{question}")
            assert answer.status_code == 400, model

    def test_a_malformed_id_is_as_good_as_an_unused_one(self) -> None:
        claims()
        client = reviewer("owen")
        unused = "a" * 26
        for name in (
            "%00",
            "a%00b",
            "x" * 100_000,
            "%E2%80%AE",
            "..",
            "%252F",
            "%C0%80",
            "_00",
            "%F0%9F%98%80",
        ):
            for model in MODELS:
                for page in ("change", "history", "delete"):
                    answer = client.get(f"/admin/prism_graph/{model}/{name}/{page}/")
                    expected = client.get(f"/admin/prism_graph/{model}/{unused}/{page}/")
                    assert answer.status_code == expected.status_code
                    assert answer.headers.get("Location") == expected.headers.get("Location")
                    for said in get_messages(answer.wsgi_request):
                        assert len(str(said)) < 300
                        assert "\u202e" not in str(said)
            assert client.get(f"{WAITING}{name}/timeline/").status_code == 302
        for name in ("\0", "a\0", "x" * 100_000, unused):
            form = {"verb": "erase", "chosen": name}
            assert client.post(address("factversion", "decide"), form).status_code == 302
            action = {"action": "erase", "_selected_action": name, "index": "0"}
            assert client.post(WAITING, action).status_code == 302

    @pytest.mark.parametrize("words", ["a\0b", "x " * 2000, '"', "'", "%_\\", "(" * 500])
    def test_a_search_never_fails(self, words: str) -> None:
        claims()
        client = reviewer("owen")
        for model in MODELS:
            assert client.get(address(model), {"q": words}).status_code == 200

    @pytest.mark.parametrize(
        "when",
        [
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-14:00",
            "x" * 9000,
            "a\0",
            "٣",
            "2026-13-01T00:00",
            "0001-01-01T00:00:00",
            "9999-12-31T23:59:59",
        ],
    )
    def test_a_timeline_is_drawn_or_says_what_is_wrong(self, when: str) -> None:
        city = claims()
        client = reviewer("owen")
        answer = client.get(
            address("factversion", city.madrid.pk, "timeline"), {"at": when, "known_at": when}
        )
        assert answer.status_code == 200

    def test_history_wants_the_permission_to_view(self) -> None:
        city = claims()
        client = reviewer("owen", ())
        for name in (city.madrid.pk, "a" * 26):
            for page in ("history", "change", "timeline"):
                assert client.get(address("factversion", name, page)).status_code == 403


class TestGrants:
    @pytest.mark.parametrize(
        "answer", [None, ACME, "acme", 7, [None], ["acme"], [("acme",)], [object()], [[ACME]]]
    )
    def test_an_answer_that_is_no_list_of_scopes_grants_nothing(
        self, answer: Any, settings: Any
    ) -> None:
        settings.PRISM_GRAPH = {"REVIEW_SCOPES": lambda user: answer}
        with pytest.raises(InvalidScope, match="REVIEW_SCOPES"):
            ReviewGrant.for_user(User(username="owen"))

    def test_one_that_raises_grants_nothing(self, settings: Any) -> None:
        settings.PRISM_GRAPH = {"REVIEW_SCOPES": lambda user: 1 / 0}
        with pytest.raises(InvalidScope, match="REVIEW_SCOPES"):
            ReviewGrant.for_user(User(username="owen"))
        client = reviewer("owen")
        client.raise_request_exception = False
        for where in (WAITING, address("source", "a" * 26, "change"), address("chunk", "explore")):
            assert client.get(where).status_code == 500

    def test_one_that_yields_grants_what_it_yields(self, settings: Any) -> None:
        settings.PRISM_GRAPH = {
            "REVIEW_SCOPES": lambda user: (each for each in [ACME, ACME, GLOBEX])
        }
        assert ReviewGrant.for_user(User(username="owen")).scopes == (ACME, GLOBEX)

    def test_two_thousand_scopes_are_as_good_as_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        city = claims()
        claims(GLOBEX)
        owners = [ACME.for_owner(f"u{number}") for number in range(2000)]
        tenants = [Scope(f"t{number}") for number in range(400)]
        monkeypatch.setitem(GRANTS, "owen", [*owners, *tenants, ANA])
        client = reviewer("owen")
        with CaptureQueriesContext(connection) as ran:
            page = client.get(WAITING).content.decode()
        assert len(ran) <= 25
        assert page.count('name="_selected_action"') == 1
        assert city.madrid.pk in page

    def test_more_than_a_statement_can_hold_are_refused(self, settings: Any) -> None:
        settings.PRISM_GRAPH = {"REVIEW_SCOPES": lambda user: [Scope(f"t{n}") for n in range(2000)]}
        with pytest.raises(InvalidScope, match="REVIEW_SCOPES"):
            ReviewGrant.for_user(User(username="owen"))

    def test_each_scope_covers_itself_and_what_is_below(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        thread = ANA.for_agent("a").for_thread("t")
        here = [
            thread,
            ANA.for_agent("a"),
            ANA.for_agent("b"),
            ANA,
            ACME.for_owner("bo"),
            ACME,
            GLOBEX,
            GLOBEX.for_owner("ana").for_agent("a"),
        ]
        for scope in here:
            Memory(scope).ingest("doc", "text", origin=USER)
        for granted in (
            [thread],
            [ANA.for_agent("a"), ANA.for_agent("b")],
            [thread, GLOBEX],
            [ANA, ACME.for_owner("bo")],
            [ACME, GLOBEX],
            [ANA, ACME, thread],
            [thread, ANA.for_agent("a"), ANA],
            [],
        ):
            monkeypatch.setitem(GRANTS, "owen", granted)
            grant = ReviewGrant.for_user(User(username="owen"))
            rows = Source.objects.for_review(grant)
            assert {(row.tenant, row.owner, row.agent, row.thread) for row in rows} == {
                scope.parts for scope in here if grant.covers(scope)
            }

    def test_who_is_not_let_in_is_sent_to_the_door(self) -> None:
        city = claims()
        inactive = reviewer("owen")
        User.objects.update(is_active=False)
        for client in (Client(), inactive):
            for name in (city.madrid.pk, "a" * 26):
                for where in (
                    change(FactVersion(pk=name)),
                    address("factversion", "decide"),
                    WAITING,
                ):
                    answer = client.get(where)
                    assert answer.status_code == 302
                    assert answer.headers["Location"] == f"/admin/login/?next={where}"

    def test_a_superuser_without_a_grant_sees_nothing(self) -> None:
        city = claims()
        client = reviewer("root", superuser=True)
        assert "0 facts" in client.get(f"{WAITING}?standing=any").content.decode()
        assert client.get(change(city.madrid)).status_code == 302


class TestStoredText:
    MARK: Final = "<script>zebra</script>\u202e\u200b&amp;"

    def test_it_is_escaped_and_named_everywhere_and_in_no_title(self) -> None:
        mark = self.MARK
        memory = Memory(ANA)
        found = memory.record(
            "k" + mark, "text " + mark, origin=TOOL, speaker=mark, turn_id=mark
        ).added
        memory.ingest("doc" + mark, mark, origin=TOOL, title=mark, uri=mark, metadata={mark: mark})
        memory.assert_fact(mark, subject=mark, predicate=mark, value=mark, evidence=found)
        memory.reject(mark, actor=mark, reason=mark)
        memory.ingest("gone", mark, origin=TOOL)
        memory.erase("gone", actor=mark, reason=mark)
        client = reviewer("owen")
        row = FactVersion.objects.at(ANA).get()
        pages = [
            *(address(model) + "?standing=any" * (model == "factversion") for model in MODELS),
            *(change(each) for each in Source.objects.at(ANA)),
            *(change(each) for each in Chunk.objects.at(ANA)),
            change(row),
            change(Receipt.objects.at(ANA).get()),
            address("factversion", row.pk, "timeline"),
            address("factversion", row.pk, "history"),
            address("chunk", "explore") + "?query=zebra&granted=0",
        ]
        answers = [client.get(page) for page in pages]
        answers.append(
            client.post(address("factversion", "decide"), {"verb": "erase", "chosen": row.pk})
        )
        shown = 0
        for answer in answers:
            page = answer.content.decode()
            assert "<script>zebra" not in page
            assert "\u202e" not in page
            assert "\u200b" not in page
            shown += "zebra" in page
            for hidden in (
                r"<title>(.*?)</title>",
                r"<h1>(.*?)</h1>",
                r'(?:id|name|href|action)="([^"]*)"',
            ):
                assert not [
                    each
                    for each in re.findall(hidden, page, re.DOTALL)
                    if "zebra" in each and "query=" not in each
                ]
            assert "zebra" not in repr(answer.headers)
        assert shown >= len(answers) - 2

    @pytest.mark.parametrize(
        "said", [mark_safe("a <b>bold</b>"), "<b>bold</b>", "a\u202eb", None, 7, RuntimeError("x")]
    )
    def test_what_a_policy_says_is_text(self, said: Any, settings: Any) -> None:
        class Policy:
            name = "own/1"

            def judge(self, cited: Any) -> FactStatus:
                return FactStatus.PROPOSAL

            @property
            def why(self) -> Any:
                if isinstance(said, Exception):
                    raise said
                return lambda cited: said

        settings.PRISM_GRAPH = {**PRISM_GRAPH, "ACCEPTANCE_POLICY": Policy}
        city = claims()
        page = reviewer("owen").get(change(city.madrid)).content.decode()
        assert "<b>bold</b>" not in page
        assert "\u202e" not in page
        if not isinstance(said, str):
            assert "The policy own/1 judged it." in page

    def test_a_crash_says_nothing_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        word = "arbez"[::-1]  # the report quotes this file too
        Memory(ANA).record(f"{word}-chat", f"{word} text", origin=TOOL, speaker=word)
        found = [Chunk.objects.at(ANA).get().pk]
        Memory(ANA).assert_fact(word, subject=word, predicate=word, value=word, evidence=found)
        row = FactVersion.objects.at(ANA).get()
        client = reviewer("owen")
        client.raise_request_exception = False

        def crash(*_: Any) -> Any:
            raise RuntimeError("crash")

        for place in ("_side", "review.seen", "review.case_of"):
            with monkeypatch.context() as patch:
                patch.setattr(f"prism_graph.admin.facts.{place}", crash)
                answer = client.get(change(row))
            assert answer.status_code == 500
            report = ExceptionReporter(answer.wsgi_request, *answer.exc_info)
            assert "crash" in report.get_traceback_text()
            assert word not in report.get_traceback_text()
            html = report.get_traceback_html()
            assert word not in html, html[html.index(word) - 300 : html.index(word) + 60]


class TestCosts:
    def test_a_page_asks_as_often_whatever_there_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        client = reviewer("carol")
        counts = []
        for more in (1, 60):
            for number in range(more):
                scope = ACME.for_owner(f"u{more}-{number % 30}")
                found = (
                    Memory(scope).record(f"chat-{number}", "ana: city is Madrid", origin=TOOL).added
                )
                Memory(scope).assert_fact(f"city-{number}", **CITY, value="Madrid", evidence=found)
            for model in MODELS:
                with CaptureQueriesContext(connection) as ran:
                    assert client.get(address(model)).status_code == 200
                counts.append((model, len(ran)))
        assert counts[: len(MODELS)] == counts[len(MODELS) :]
        assert max(count for _, count in counts) <= 25

    @pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by statistics.")
    @pytest.mark.parametrize("who", ["owen", "carol", "both"])
    def test_no_list_walks_through_a_table(self, who: str) -> None:
        for scope in (ANA, ACME, GLOBEX):
            claims(scope)
        client = reviewer(who)
        questions = ("", "?q=Madrid", "?standing=any&o=6", "?granted=0")
        with CaptureQueriesContext(connection) as ran:
            for model, question in product(MODELS, questions):
                client.get(address(model) + question)
        found = []
        with (
            unguarded("the plans of statements that were looked at"),
            connection.cursor() as cursor,
        ):
            for query in {each["sql"] for each in ran.captured_queries}:
                if query.startswith("SELECT") and "prism_graph_" in query:
                    cursor.execute(f"EXPLAIN QUERY PLAN {query}".replace("%", "%%"), [])
                    plan = [row[3] for row in cursor.fetchall()]
                    found += [(each, query) for each in plan if each.startswith("SCAN prism_graph")]
        assert found == []

    def test_confirming_costs_the_same_for_each_row(self) -> None:
        client = reviewer("owen")
        rows = [claims(key=f"k{number}").madrid.pk for number in range(12)]
        costs = []
        for many in (1, 2, 12):
            with CaptureQueriesContext(connection) as ran:
                client.post(
                    address("factversion", "decide"), {"verb": "accept", "chosen": rows[:many]}
                )
            costs.append(len(ran))
        each = costs[1] - costs[0]
        assert costs[2] - costs[0] <= 11 * each
        assert each <= 60


class ReadsOnly(FactVersionAdmin):
    """A project's own class: another list, and no filter but one on a field."""

    list_display = ("subject", "where")
    list_filter = (("weakened_at", admin.EmptyFieldListFilter),)


second = admin.AdminSite("second")
second.register(FactVersion, ReadsOnly)
second.register(Source, SourceAdmin)
lone = admin.AdminSite("lone")
lone.register(FactVersion, FactVersionAdmin)
lone.register(Receipt, ReceiptAdmin)
urlpatterns = [
    path("factversion/admin/", lone.urls),
    path("second/", second.urls),
    path("admin/", admin.site.urls),
]


@pytest.mark.urls(__name__)
class TestOtherSites:
    def test_a_page_stays_on_its_site_wherever_that_is(self) -> None:
        city = claims()
        client = reviewer("owen")
        root = "/factversion/admin/prism_graph/"
        decide = f"{root}factversion/decide/"
        page = client.get(f"{root}factversion/{city.madrid.pk}/change/").content.decode()
        assert f'action="{decide}"' in page
        assert 'href="/admin/' not in page
        asked = client.post(decide, {"verb": "erase", "chosen": city.madrid.pk}).content.decode()
        given = dict(re.findall(r'name="(token_\w+)" value="(\w+)"', asked))
        form = {"verb": "erase", "chosen": city.madrid.pk, "confirmed": "yes", **given}
        done = client.post(decide, form).content.decode()
        receipt = Receipt.objects.at(ANA).get().pk
        assert f'href="{root}receipt/{receipt}/change/"' in done
        assert client.get(f"{root}receipt/{receipt}/change/").status_code == 200

    def test_a_subclass_keeps_the_grant_and_filters_as_it_says(self) -> None:
        city = claims()
        other = claims(GLOBEX)
        client = reviewer("owen")
        root = "/second/prism_graph/factversion/"
        page = client.get(root).content.decode()
        assert city.madrid.pk in page
        assert other.madrid.pk not in page
        assert client.get(f"{root}?weakened_at__isempty=1").status_code == 200
        for question in ("standing=any", "subject=ana", "weakened_at__year=2026"):
            assert client.get(f"{root}?{question}").status_code == 400
        assert client.get(f"{root}{other.madrid.pk}/change/").status_code == 302
        assert client.get(f"{root}{city.madrid.pk}/change/").status_code == 200


class Elsewhere:
    """A router that keeps memory in another database than users and the admin's log."""

    def db_for_read(self, model: Any, **_: Any) -> str | None:
        return "other" if model._meta.app_label == "prism_graph" else None

    db_for_write = db_for_read


@pytest.mark.django_db(databases=["default", "other"])
def test_memory_in_another_database_is_reviewed_and_logged(settings: Any) -> None:
    settings.DATABASE_ROUTERS = [f"{__name__}.Elsewhere"]
    city = claims()
    client = reviewer("owen")
    for page in (WAITING, change(city.madrid), address("factversion", city.madrid.pk, "timeline")):
        with CaptureQueriesContext(connection) as ran:
            assert client.get(page).status_code == 200
        assert not [each for each in ran.captured_queries if "prism_graph_" in each["sql"]]
    for model in MODELS:
        assert client.get(address(model)).status_code == 200
    assert client.get(address("chunk", "explore") + "?query=city&granted=0").status_code == 200
    decide = address("factversion", "decide")
    asked = client.post(decide, {"verb": "accept", "chosen": city.madrid.pk}).content.decode()
    given = dict(re.findall(r'name="(token_\w+)" value="(\w+)"', asked))
    form = {"verb": "accept", "chosen": city.madrid.pk, "confirmed": "yes", **given}
    assert "1 done" in client.post(decide, form).content.decode()
    assert LogEntry.objects.using("default").get().object_id == city.madrid.pk
    assert Memory(ANA, "other").fact("city").value == "Madrid"
