"""Reviewers, what they were granted, and memory for them to look at."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib.auth.models import Permission, User
from django.test import Client

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.models import FactVersion

ACME, GLOBEX = Scope("acme"), Scope("globex")
ANA, BO = ACME.for_owner("ana"), ACME.for_owner("bo")
GRANTS: dict[str, list[Scope]] = {
    "carol": [ACME],
    "owen": [ANA],
    "gina": [GLOBEX],
    "both": [ANA, GLOBEX],
}
EVERY = (
    *("view_source", "view_chunk", "view_factversion", "view_receipt"),
    "view_embeddingfailure",
    *("accept_factversion", "retract_factversion", "erase_factversion", "erase_source"),
)
PRISM_GRAPH = {"REVIEW_SCOPES": "tests.admin.reviewing.scopes_of"}
USER, TOOL = Origin(Trust.USER, "ana"), Origin(Trust.TOOL, "tool:crm")
CITY = {"subject": "ana", "predicate": "lives in"}


def scopes_of(user: Any) -> list[Scope]:
    """Return what a reviewer of these tests was granted."""
    return GRANTS.get(user.get_username(), [])


def reviewer(name: str, permissions: tuple[str, ...] = EVERY, superuser: bool = False) -> Client:
    """Return the browser of a logged-in member of the staff."""
    user = User.objects.create(username=name, is_staff=True, is_superuser=superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


class Claims(NamedTuple):
    """Ana's city: what she said, and what a tool says instead."""

    lisbon: FactVersion
    madrid: FactVersion
    said: str
    found: str


def version(scope: Scope, key: str, number: int) -> FactVersion:
    """Return the row of a version."""
    rows = FactVersion.objects.at(scope).select_related("fact")
    return rows.get(fact__key=key, number=number)


def claims(scope: Scope = ANA, key: str = "city") -> Claims:
    """Store an accepted version and a proposal that contests it."""
    memory = Memory(scope)
    said = memory.record(f"{key}-chat", "I live in Lisbon now.", origin=USER, speaker="ana").added
    found = memory.record(f"{key}-crm", "ana: city is Madrid", origin=TOOL).added
    memory.assert_fact(key, **CITY, value="Lisbon", evidence=said)
    memory.assert_fact(key, **CITY, value="Madrid", evidence=found)
    return Claims(version(scope, key, 1), version(scope, key, 2), said[0], found[0])


def address(model: str, *more: str) -> str:
    """Return the path of a page."""
    return f"/admin/{FactVersion._meta.app_label}/" + "/".join([model, *more, ""])


def change(row: Any) -> str:
    """Return the path of a row's page."""
    return address(row._meta.model_name, row.pk, "change")
