"""Sources: documents and conversations."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from prism_graph import display
from prism_graph.admin.base import ScopeFilter, database, grant_of
from prism_graph.admin.decisions import DecidingAdmin
from prism_graph.doors import scope_of
from prism_graph.models import Chunk, Source
from prism_graph.review import SourceTarget, Verb, seen


class RetiredFilter(admin.SimpleListFilter):
    """Tell sources in search from those taken out of it."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the two states."""
        return [("searched", "In search"), ("retired", "Retired")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Leave the rows in that state."""
        if self.value() not in {"searched", "retired"}:
            return queryset
        return queryset.filter(retired_at__isnull=self.value() == "searched")


class SourceAdmin(DecidingAdmin):
    """Documents and conversations; a reviewer may erase one with all that rests on it."""

    ordering = ("-recorded_at",)
    list_display = ("named", "kind", "written_by", "where", "recorded", "retired")
    list_filter = (ScopeFilter, "kind", RetiredFilter)
    search_fields = ("key", "title", "=owner")
    search_help_text = "A part of the key or title, or an owner in full."
    page_template = "prism_graph/admin/source.html"
    actions = ("erase",)
    verbs = {Verb.ERASE: "erase"}

    @admin.display(description="key", ordering="key")
    def named(self, row: Source) -> Any:
        """Return its key."""
        return display.short(row.key)

    @admin.display(description="written by")
    def written_by(self, row: Source) -> Any:
        """Return trust and writer; the turns of a conversation have their own."""
        return "each turn its own" if row.trust is None else display.writer(row.trust, row.writer)

    @admin.display(description="scope")
    def where(self, row: Source) -> Any:
        """Return where it stands."""
        return display.scope(scope_of(row))

    @admin.display(description="recorded", ordering="recorded_at")
    def recorded(self, row: Source) -> Any:
        """Return when."""
        return display.instant(row.recorded_at)

    @admin.display(description="retired", ordering="retired_at")
    def retired(self, row: Source) -> Any:
        """Return when it left search."""
        return display.instant(row.retired_at)

    def target(self, row: Source) -> SourceTarget:
        """Return what an erasure is made on."""
        return SourceTarget.of(row, database())

    def claim(self, row: Source) -> Any:
        """Return its key, whole."""
        return display.text(row.key)

    def details(self, request: HttpRequest, row: Source) -> dict[str, Any]:
        """Return its data, how many passages it has, and the decision that may be made."""
        drawn = seen(
            self.target(row)
        )  # first, so that a change while the rest is read is one since
        chunks = Chunk.objects.db_manager(database()).for_review(grant_of(request))
        own = chunks.filter(**scope_of(row).columns, source_number=row.number)
        return {
            "metadata": json.dumps(row.metadata, ensure_ascii=False, indent=2),
            "passages": own.count(),
            "passages_retired": own.exclude(retired_at=None).count(),
            "verbs": self.granted_verbs(request),
            "decide_url": self.address("decide"),
            "seen": drawn,
        }
