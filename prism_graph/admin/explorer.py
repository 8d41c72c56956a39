"""The explorer: what a reader at a granted scope finds, and why in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from prism_graph import analysis, display
from prism_graph.admin.base import ReviewAdmin, database, grant_of
from prism_graph.admin.picking import picked
from prism_graph.doors import ReviewGrant
from prism_graph.errors import InvalidInput, InvalidScope, PrismGraphError
from prism_graph.memory import Memory
from prism_graph.records import Hit
from prism_graph.scope import Scope

LIMIT: Final = 20
MAX_QUERY: Final = 4000
SPELT: Final = "As the lists spell it in the column Scope."


class ExplorerForm(forms.Form):
    """Who reads, and what they ask."""

    granted = forms.TypedChoiceField(coerce=int, label="Granted scope")
    owner = forms.CharField(required=False, strip=False, label="Owner below it", help_text=SPELT)
    agent = forms.CharField(required=False, strip=False, label="Agent below it")
    thread = forms.CharField(required=False, strip=False, label="Thread below it")
    query = forms.CharField(max_length=MAX_QUERY, label="Query")
    known_at = forms.CharField(
        required=False,
        label="As known at (UTC)",
        help_text="Now when empty.",
        widget=forms.TextInput(attrs={"type": "datetime-local", "step": "1"}),
    )

    def __init__(self, *args: Any, grant: ReviewGrant, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._grant = grant
        self.fields["granted"].choices = [  # type: ignore[attr-defined]
            (place, display.spelt(scope)) for place, scope in enumerate(grant.scopes)
        ]

    def clean_known_at(self) -> datetime | None:
        """Read the instant."""
        try:
            return picked(self.cleaned_data["known_at"], to_the_end=True)
        except InvalidInput as refusal:
            raise forms.ValidationError(str(refusal)) from None

    def clean(self) -> dict[str, Any]:
        """Make the scope; refuse one that the grant does not cover."""
        data = super().clean() or {}
        if "granted" not in data:
            return data
        granted = self._grant.scopes[data["granted"]]
        parts = [data.get(name) or own for name, own in list(granted.columns.items())[1:]]
        try:
            scope = Scope.from_columns(granted.tenant, *parts)
        except InvalidScope as error:
            raise forms.ValidationError(str(error)) from None
        if not self._grant.covers(scope):
            raise forms.ValidationError("That scope does not lie below the granted one.")
        data["scope"] = scope
        return data


@dataclass(frozen=True, slots=True)
class Found:
    """A hit as the page shows it."""

    place: int
    hit: Hit
    text: Any
    arms: Sequence[tuple[str, Any]]
    linked: bool


def view(model_admin: ReviewAdmin, request: HttpRequest) -> HttpResponse:
    """Show the form, and what the search that it asks for returns."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    grant = grant_of(request)
    asked = "query" in request.GET
    form = ExplorerForm(request.GET if asked else None, grant=grant)
    context: dict[str, Any] = {"form": form, "grant": grant}
    if asked and "known_at" in form.errors:
        # A picker holds no other text than an instant's.
        form.data = {**request.GET.dict(), "known_at": ""}
    if asked and form.is_valid():
        context |= _searched(grant, form)
    return model_admin.page(
        request, "prism_graph/admin/explorer.html", "Search as a reader", context
    )


def _searched(grant: ReviewGrant, form: ExplorerForm) -> dict[str, Any]:
    scope, query = form.cleaned_data["scope"], form.cleaned_data["query"]
    known_at = form.cleaned_data["known_at"]
    try:
        hits = Memory(scope, database()).search(query, limit=LIMIT, known_at=known_at, explain=True)
    except PrismGraphError as refusal:
        form.add_error(None, str(refusal))
        return {}
    words = analysis.sought(query)
    found = [
        Found(
            place,
            hit,
            display.text(hit.chunk.text, analysis.spans(hit.chunk.text, words)),
            list((hit.explain or {}).items()),
            grant.covers(hit.chunk.scope),
        )
        for place, hit in enumerate(hits, start=1)
    ]
    return {"found": found, "reader": scope, "searched": True}
