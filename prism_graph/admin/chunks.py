"""Chunks: passages and turns, verbatim; and the explorer, which searches as a reader."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.urls import path

from prism_graph import conf, display, spaces
from prism_graph.admin import explorer
from prism_graph.admin.base import ReviewAdmin, ScopeFilter, database, grant_of
from prism_graph.bases.citing import cited_at
from prism_graph.doors import ReviewGrant, scope_of
from prism_graph.fulltext import engine
from prism_graph.models import (
    Chunk,
    ChunkText,
    Citation,
    Embedding,
    EmbeddingFailure,
    FactVersion,
    Source,
)
from prism_graph.reading import any_of

MAX_FACTS: Final = 50


class SourceFilter(admin.SimpleListFilter):
    """Leave the passages of one source, which a link names by its id."""

    title = "source"
    parameter_name = "of"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the source that the link named; no source is listed."""
        named = request.GET.get(self.parameter_name, "")
        return [(named, "One source")] if named else []

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Leave the passages of that source; none for an id that names nothing granted."""
        named = self.value()
        if not named:
            return queryset
        sources = Source.objects.db_manager(queryset.db).for_review(grant_of(request))
        source = sources.filter(pk=named).first() if named.isalnum() else None
        if source is None:
            return queryset.none()
        return queryset.filter(**scope_of(source).columns, source_number=source.number)


class ChunkAdmin(ReviewAdmin):
    """Passages with who wrote them."""

    ordering = ("-recorded_at", "-number")
    list_display = (
        "words",
        "source_key",
        "written_by",
        "where",
        "recorded",
        "retired",
    )
    list_filter = (ScopeFilter, SourceFilter, "kind")
    search_fields = ("=id", "=owner", "source__key")
    search_help_text = (
        "An id or an owner in full, or a part of the source's key; for words, the explorer."
    )
    page_template = "prism_graph/admin/chunk.html"
    change_list_template = "prism_graph/admin/chunks.html"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the passages that the user's grant covers, with their sources."""
        # Always true, and the condition of the index that a whole scope is read by.
        return super().get_queryset(request).filter(ordinal__gte=0).select_related("source")

    def attach(self, request: HttpRequest, rows: list[Any]) -> None:
        """Read the texts of a page."""
        texts = ChunkText.objects.db_manager(database()).for_review(grant_of(request))
        among = engine(connections[database()]).among
        found = texts.filter(among("number", [row.number for row in rows]))
        said = dict(found.values_list("number", "text"))
        for row in rows:
            row.said = said.get(row.number, "")

    @admin.display(description="passage")
    def words(self, row: Any) -> Any:
        """Return its beginning."""
        return display.short(row.said)

    @admin.display(description="source")
    def source_key(self, row: Chunk) -> Any:
        """Return the key of its source."""
        return display.short(row.source.key, 40)

    @admin.display(description="written by", ordering="trust")
    def written_by(self, row: Chunk) -> Any:
        """Return effective trust and writer."""
        return display.writer(row.trust, row.writer)

    @admin.display(description="scope")
    def where(self, row: Chunk) -> Any:
        """Return where it stands."""
        return display.scope(scope_of(row))

    @admin.display(description="recorded", ordering="recorded_at")
    def recorded(self, row: Chunk) -> Any:
        """Return when."""
        return display.instant(row.recorded_at)

    @admin.display(description="retired", ordering="retired_at")
    def retired(self, row: Chunk) -> Any:
        """Return when it left search."""
        return display.instant(row.retired_at)

    def get_urls(self) -> list[Any]:
        """Return the pages and the explorer."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_explore"
        view = self.admin_site.admin_view(self.explore_view)
        return [path("explore/", view, name=name), *super().get_urls()]

    def explore_view(self, request: HttpRequest) -> HttpResponse:
        """Search as a reader at a granted scope."""
        return explorer.view(self, request)

    def details(self, request: HttpRequest, row: Chunk) -> dict[str, Any]:
        """Return its text and the facts that rest on it."""
        texts = ChunkText.objects.db_manager(database()).for_review(grant_of(request))
        return {
            "text": texts.filter(number=row.number).first(),
            "facts": _resting_on(row, grant_of(request)),
            "source_url": self.address_of(Source, "change", row.source.pk),
            **self._vector(request, row),
        }

    def _vector(self, request: HttpRequest, row: Chunk) -> dict[str, Any]:
        """Return what became of its vector in the space that the tenant is searched in; never the vector."""
        grant, space = grant_of(request), spaces.serving(scope_of(row), database())
        if space is None:
            waits = conf.vectors_wanted() and row.retired_at is None
            return {"vector": "waits for it"} if waits else {}
        here = {**scope_of(row).columns, "number": row.number, "space": space.key}
        if Embedding.objects.db_manager(database()).for_review(grant).filter(**here).exists():
            return {"vector": f"by {space.embedder}"}
        failures = EmbeddingFailure.objects.db_manager(database()).for_review(grant)
        if failure := failures.filter(**here).first():
            url = self.address_of(EmbeddingFailure, "change", failure.pk)
            return {"vector": f"failed after {failure.attempts} attempts", "failure_url": url}
        return {} if row.retired_at else {"vector": "waits for it"}


def _resting_on(row: Chunk, grant: ReviewGrant) -> list[FactVersion]:
    """Return the granted versions that cite a passage, at most 50, in two statements."""
    links = Citation.objects.db_manager(database()).for_review(grant)
    citing = links.filter(**cited_at(scope_of(row)), cited_number=row.number).order_by("pk")[
        :MAX_FACTS
    ]
    named = [
        {**scope_of(link).columns, "fact_number": link.fact_number, "number": link.version}
        for link in citing
    ]
    if not named:
        return []
    versions = FactVersion.objects.db_manager(database()).for_review(grant)
    return list(versions.filter(any_of(named)).order_by("recorded_at"))
