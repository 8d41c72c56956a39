"""Passages for which the embedder gave no vector."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html

from prism_graph import display
from prism_graph.admin.base import ReviewAdmin, ScopeFilter, database, grant_of
from prism_graph.doors import scope_of
from prism_graph.models import Chunk, EmbeddingFailure, VectorPartition


class EmbeddingFailureAdmin(ReviewAdmin):
    """What got no vector: how often it was tried, why not, by which embedder. A command tries it again."""

    ordering = ("-failed_at", "pk")
    list_display = ("failed", "passage", "where", "attempts", "why", "embedder")
    list_filter = (ScopeFilter,)
    search_fields = ("=owner",)
    search_help_text = "An owner in full."
    page_template = "prism_graph/admin/failure.html"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the failures that the user's grant covers, with their passages."""
        # Always true, and what the index begins with.
        spaces = list(self._partitions(request).values_list("space", flat=True).distinct())
        return super().get_queryset(request).filter(space__in=spaces).select_related("chunk")

    def _partitions(self, request: HttpRequest) -> Any:
        rows = VectorPartition.objects.db_manager(database()).for_review(grant_of(request))
        return rows.order_by()

    def attach(self, request: HttpRequest, rows: list[Any]) -> None:
        """Read what the embedders of a page call themselves."""
        found = self._partitions(request).filter(space__in={row.space for row in rows})
        embedders = dict(found.values_list("space", "embedder").distinct())
        for row in rows:
            row.made_by = embedders.get(row.space, "")

    @admin.display(description="failed", ordering="failed_at")
    def failed(self, row: EmbeddingFailure) -> Any:
        """Return when it was tried last."""
        return display.instant(row.failed_at)

    @admin.display(description="passage")
    def passage(self, row: EmbeddingFailure) -> Any:
        """Return a link to the passage, by its id."""
        name = row.chunk.pk
        url = self.address_of(Chunk, "change", name)
        return format_html('<a href="{}">{}</a>', url, name) if url else name

    @admin.display(description="scope")
    def where(self, row: EmbeddingFailure) -> Any:
        """Return where it stands."""
        return display.scope(scope_of(row))

    @admin.display(description="reason")
    def why(self, row: EmbeddingFailure) -> Any:
        """Return why there is none."""
        return display.short(row.reason)

    @admin.display(description="embedder")
    def embedder(self, row: Any) -> Any:
        """Return what was asked."""
        return display.short(row.made_by)

    def details(self, request: HttpRequest, row: EmbeddingFailure) -> dict[str, Any]:
        """Return what the page says beside the row."""
        self.attach(request, [row])
        return {"chunk_url": self.address_of(Chunk, "change", row.chunk.pk)}
