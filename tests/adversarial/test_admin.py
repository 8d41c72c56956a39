"""What a reviewer is shown, told and refused depends on nothing outside the grant.

Two worlds hold the same granted rows, with the same ids at the same instants; one of them holds other
rows besides. Every page of every model is asked for in both, also by the ids of the other rows, and what
comes back is compared as bytes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import pytest
from django.contrib.contenttypes.models import ContentType
from django.contrib.messages import get_messages
from django.db import transaction
from django.test import Client

from prism_graph import Memory, Scope
from prism_graph.bases import rows as base
from prism_graph.models import Chunk, FactVersion, Receipt, Source
from tests.admin.reviewing import ACME, ANA, BO, CITY, GLOBEX, PRISM_GRAPH, TOOL, USER, reviewer

pytestmark = pytest.mark.django_db

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
MODELS: Final = (Source, Chunk, FactVersion, Receipt)
# Who looks, where the rows stand that they may see, and what stands beside those.
VIEWS: Final = {
    "carol": ((ACME, ANA), (GLOBEX, Scope("acme-corp"), GLOBEX.for_owner("ana"))),
    "owen": ((ANA, ANA.for_agent("support")), (BO, GLOBEX, ACME)),
    "both": ((ANA, GLOBEX), (BO, ACME, Scope("initech"), BO.for_agent("support"))),
    "nobody": ((), (ACME, ANA)),
}


@pytest.fixture(autouse=True)
def grants(settings: Any) -> None:
    settings.PRISM_GRAPH = PRISM_GRAPH


class World:
    """Rows with ids and instants of their own, whatever is written beside them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.random, self.now = random.Random(), START
        monkeypatch.setattr(base.os, "urandom", lambda count: self.random.randbytes(count))
        monkeypatch.setattr("prism_graph.clock._source", lambda: self.now)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Run a world and forget it."""
        with transaction.atomic():
            yield
            transaction.set_rollback(True)

    def fill(self, *scopes: Scope) -> None:
        """Write documents, turns, facts that hold, wait and were rejected, and an erasure."""
        for scope in scopes:
            self.random.seed(str(scope.parts))
            self.now = START + timedelta(days=self.random.randrange(300))
            memory = Memory(scope)
            said = memory.record("chat", "I live in Lisbon.", origin=USER, speaker="ana").added
            found = memory.record("crm", "ana: city is Madrid", origin=TOOL).added
            memory.ingest("old", "Nothing of use.", origin=TOOL, metadata={"kind": "old"})
            memory.retire_source("old")
            memory.assert_fact("city", **CITY, value="Lisbon", evidence=said)
            memory.assert_fact("city", **CITY, value="Madrid", evidence=found)
            memory.assert_fact("other", **CITY, value="Madrid", evidence=found)
            memory.assert_fact("third", **CITY, value="Oslo", evidence=found)
            memory.reject("third")
            memory.ingest("gone", "To be forgotten.", origin=USER)
            memory.erase("gone", actor="admin")
        self.now = START + timedelta(days=400)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


class Told(NamedTuple):
    """All that a browser gets."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    messages: tuple[str, ...]


_TOKEN: Final = re.compile(r'(name="csrfmiddlewaretoken" value=)"\w+"')


def told(answer: Any) -> Told:
    headers = {name: value for name, value in answer.headers.items() if name != "Expires"}
    headers.pop("Last-Modified", None)
    headers.pop("Content-Length", None)
    said = tuple(str(each) for each in get_messages(answer.wsgi_request))
    body = _TOKEN.sub(r"\1", answer.content.decode())
    return Told(answer.status_code, tuple(sorted(headers.items())), body, said)


Ask = tuple[str, str, dict[str, Any]]


def address(model: Any, *more: str) -> str:
    return "/admin/prism_graph/" + "/".join([model._meta.model_name, *more, ""])


# What a list can be asked with beside what its own links say: `{}` is an id or a number of another row.
LISTS: Final = (
    *(
        "",
        "all=",
        "p=2",
        "_popup=1&e=1",
        "_to_field=id",
        "_to_field=tenant",
        "_facets=True",
        "o=-1.2.-5.99.x",
    ),
    *(
        "q=Madrid&standing=any",
        "q=globex",
        "q={}&o=2",
        "granted=1",
        "granted=x",
        "of={}",
        "standing=rejected",
    ),
    *(
        "state=retired",
        "kind__exact=0",
        "operation=erase",
        "_changelist_filters=q%3Dx",
        "nonsense=1",
    ),
)


def pages(model: Any, name: str, known: str) -> Iterator[Ask]:
    """Yield every request about a row; `known` is the id of one that may be seen."""
    spelt = quote(name, safe="")
    for page in ("change", "history", "delete"):
        yield "get", address(model, spelt, page), {}
        yield "post", address(model, spelt, page), {"post": "yes", "reason": "x"}
    yield "get", address(model, spelt), {}
    yield "get", f"{address(model, spelt, 'delete')}?_to_field=tenant", {}
    yield "get", f"{address(model, spelt, 'change')}?_popup=1&_to_field=id", {}
    yield "get", f"/admin/r/{ContentType.objects.get_for_model(model).pk}/{spelt}/", {}
    yield "get", address(Chunk) + "?" + urlencode({"of": name}), {}
    if model is FactVersion:
        yield "get", address(model, spelt, "timeline"), {}
    for verb in ("accept", "reject", "retract", "erase", "nonsense"):
        yield from decisions(model, verb, name, known)


def decisions(model: Any, verb: str, name: str, known: str) -> Iterator[Ask]:
    for chosen in ([name], [name, known], [known, name]):
        action = {"action": verb, "_selected_action": chosen, "index": "0"}
        yield "post", f"{address(model)}?standing=any", action
        if model is Source or model is FactVersion:
            form = {"verb": verb, "chosen": chosen, f"token_{name}": "0" * 64}
            yield "post", address(model, "decide"), {**form, f"seen_{name}": "0"}
            yield "post", address(model, "decide"), {**form, "confirmed": "yes"}
    yield "post", f"{address(model)}?standing=any", {**action, "select_across": "1"}


def everywhere(name: str) -> Iterator[Ask]:
    """Yield every request that names no row."""
    yield from (("get", path, {}) for path in ("/admin/", "/admin/prism_graph/", "/admin/jsi18n/"))
    for model in MODELS:
        yield "get", address(model, "add"), {}
        yield "post", address(model, "add"), {"tenant": "acme"}
        yield "get", address(model, "decide"), {}
        for question in LISTS:
            yield "get", f"{address(model)}?{question.format(name)}", {}
    for model, field, term in product(
        ("chunk", "factversion", "standing"),
        ("source", "fact", "stated"),
        ("", name),
    ):
        asked = {"app_label": "prism_graph", "model_name": model, "field_name": field, "term": term}
        yield "get", f"/admin/autocomplete/?{urlencode(asked)}", {}


def readers(names: tuple[str, ...]) -> Iterator[Ask]:
    """Yield searches as a reader, with forged scopes."""
    for granted, owner in (("0", ""), ("1", ""), ("9", "ana"), ("0", "bo"), ("0", "a\0")):
        asked = {"query": "Madrid Lisbon", "granted": granted, "owner": owner}
        yield "get", f"{address(Chunk, 'explore')}?{urlencode(asked)}", {}
    for name in names:
        yield "get", address(FactVersion, name, "timeline"), {}


def answers(client: Client, asks: list[Ask]) -> dict[str, Told]:
    client.raise_request_exception = False
    got = {}
    for method, path, form in asks:
        with transaction.atomic():
            answer = getattr(client, method)(path, form) if form else getattr(client, method)(path)
            got[f"{method} {path} {form}"] = told(answer)
            transaction.set_rollback(True)
    return got


def rows(*scopes: Scope) -> list[Any]:
    """Return one row of each model, of each scope by turns."""
    return [
        model.objects.at(scopes[place % len(scopes)]).order_by("pk").first()
        for place, model in enumerate(MODELS if scopes else ())
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", VIEWS)
def test_what_lies_outside_a_grant_changes_no_byte_of_any_page(world: World, name: str) -> None:
    own, beside = VIEWS[name]
    client = reviewer(name, superuser=name == "nobody")
    with world.open():
        world.fill(*beside, *own)
        foreign, granted = rows(*beside), rows(*own)
        asks = list(everywhere(foreign[0].pk))
        for row, other in zip(foreign, granted or foreign, strict=True):
            asks += pages(type(row), row.pk, other.pk)
        for row, other in zip(granted, foreign[: len(granted)], strict=True):
            asks += pages(type(row), row.pk, other.pk)
        if ACME in beside:
            # A timeline is a reader's, who sees the levels above as well.
            own_timelines = {address(FactVersion, row.pk, "timeline") for row in granted}
            asks = [ask for ask in asks if ask[1] not in own_timelines]
        else:
            asks += readers(tuple(row.pk for row in granted[2:3]))
        crowded = answers(client, asks)
    with world.open():
        world.fill(*own)
        alone = answers(client, asks)
    different = [ask for ask in crowded if crowded[ask] != alone[ask]]
    assert different == []
    # Django's own page that reads without asking the model's admin: refused, whatever row is named.
    broken = [ask for ask in crowded if crowded[ask].status >= 500 and "/admin/r/" not in ask]
    assert broken == []
