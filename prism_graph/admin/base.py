"""What every page has in common: only what the user's grant covers, and nothing to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_permission_codename
from django.core.exceptions import PermissionDenied
from django.db import router
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse

from prism_graph import display, visible
from prism_graph.bases.rows import ID_LENGTH
from prism_graph.doors import ReviewGrant, scope_of
from prism_graph.errors import FactNotFound, SourceNotFound
from prism_graph.limits import MAX_KEY
from prism_graph.models import Chunk

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
else:
    AnyModelAdmin = admin.ModelAdmin

_GRANT: Final = "_prism_graph_grant"
# What Django's own filters ask a field.
_LOOKUPS: Final = frozenset({"", "exact", "in", "isnull", "isempty", "gte", "lt"})


def grant_of(request: HttpRequest) -> ReviewGrant:
    """Return what the user of a request may review; the project is asked once a request."""
    grant: ReviewGrant | None = getattr(request, _GRANT, None)
    if grant is None:
        grant = ReviewGrant.for_user(request.user)
        setattr(request, _GRANT, grant)
    return grant


def database() -> str:
    """Return the alias of the database that memory is in."""
    return router.db_for_write(Chunk)


class ScopeFilter(admin.SimpleListFilter):
    """Narrow a list to one of the scopes that the user was granted."""

    title = "granted scope"
    parameter_name = "granted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the granted scopes by place; no row is looked at."""
        scopes = enumerate(map(display.spelt, grant_of(request).scopes))
        named = [(str(place), name) for place, name in scopes]
        return named if len(named) > 1 else []

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Leave the rows of that scope and those below."""
        scopes = {str(place): each for place, each in enumerate(grant_of(request).scopes)}
        scope = scopes.get(self.value() or "")
        if scope is None:
            return queryset
        return queryset.filter(**{name: part for name, part in scope.columns.items() if part})


class PageOfRows(ChangeList):
    """A list that reads what its columns say beside the rows once a page."""

    model_admin: ReviewAdmin

    def get_results(self, request: HttpRequest) -> None:
        """Read the page, then what belongs to its rows."""
        super().get_results(request)
        rows = list(self.result_list)
        self.model_admin.attach(request, rows)
        self.result_list = rows


class ReviewAdmin(AnyModelAdmin):
    """Rows of the user's grant, read-only. A row outside it is one that does not exist."""

    list_per_page = 50
    list_max_show_all = 100
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_filter: ClassVar[Any] = (ScopeFilter,)
    page_template: ClassVar[str]
    change_list_template = "prism_graph/admin/list.html"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the rows that the user's grant covers."""
        rows = self.model.objects.db_manager(database()).for_review(grant_of(request))
        ordering = self.get_ordering(request)
        return rows.order_by(*ordering) if ordering else rows

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list, and say so where the user was granted nothing."""
        if not grant_of(request).scopes and request.method == "GET":
            self.message_user(request, "You were granted no scope to review.", messages.WARNING)
        return super().changelist_view(request, extra_context)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that calls `attach`."""
        return PageOfRows

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        """Say whether an address may filter by a lookup: only as one of the list's filters does.

        Django lets it ask every column of the row, and some count what others have written.
        """
        if "\0" in str(value):
            return False
        for each in self.get_list_filter(request):
            if isinstance(each, type) and issubclass(each, admin.SimpleListFilter):
                if lookup == each.parameter_name:
                    return True
                continue
            name = str(each[0] if isinstance(each, (tuple, list)) else each)
            if lookup == name or (
                lookup.startswith(f"{name}__") and lookup.removeprefix(f"{name}__") in _LOOKUPS
            ):
                return True
        return False

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Return False: no other model refers to a row of memory, so nothing may pick or complete one."""
        return False

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Return what a list searches; nothing for the site's autocomplete, which is then not there."""
        match = request.resolver_match
        if match is not None and match.url_name == "autocomplete":
            return ()
        return super().get_search_fields(request)

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Search; for what no row can hold, and for more words than one search has, find nothing."""
        if "\0" in search_term or len(search_term) > MAX_KEY:
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def attach(self, request: HttpRequest, rows: list[Any]) -> None:
        """Read what the columns say beside the rows of a page, in a fixed number of statements."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: rows are written by Memory."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: what memory holds does not change."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: erasing takes along what rests on a row."""
        return False

    def may(self, request: HttpRequest, action: str) -> bool:
        """Say whether the user has this model's permission of that name."""
        user: Any = request.user
        codename = get_permission_codename(action, self.opts)
        return bool(user.has_perm(f"{self.opts.app_label}.{codename}"))

    def address(self, name: str, *args: Any) -> str:
        """Return the path of one of this model's pages."""
        opts = self.opts
        return reverse(
            f"{self.admin_site.name}:{opts.app_label}_{opts.model_name}_{name}", args=args
        )

    def address_of(self, model: Any, name: str, *args: Any) -> str:
        """Return the path of a page of another model, `""` where this site does not have it."""
        page = f"{self.admin_site.name}:{model._meta.app_label}_{model._meta.model_name}_{name}"
        try:
            return reverse(page, args=args)
        except NoReverseMatch:
            return ""

    def row(self, request: HttpRequest, object_id: str) -> Any:
        """Return a row for a page about it, None where there is none. Raises PermissionDenied."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self.get_object(request, unquote(object_id))

    def missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer as for any row that does not exist, with no more of what was asked than an id has."""
        named = quote(visible.plain(unquote(object_id)[:ID_LENGTH]))
        return self._get_obj_does_not_exist_redirect(  # type: ignore[attr-defined,no-any-return]
            request, self.opts, named
        )

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        """Show what reviewers decided on a row."""
        if self.row(request, object_id) is None:
            return self.missing(request, object_id)
        return super().history_view(request, object_id, dict(extra_context or {}))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        """Show a row; there is no form."""
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        row = self.row(request, object_id)
        if row is None:
            return self.missing(request, object_id)
        try:
            details = self.details(request, row)
        except (FactNotFound, SourceNotFound):
            # Erased since, or a version that no standing or evidence is left of: the doctor's case.
            return self.missing(request, object_id)
        context = {"row": row, "scope": scope_of(row), **details}
        return self.page(request, self.page_template, str(row).capitalize(), context)

    def details(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the page of a row shows."""
        return {}

    def page(
        self, request: HttpRequest, template: str, title: str, context: Mapping[str, Any]
    ) -> TemplateResponse:
        """Return a page of this model. Its title may stand in a browser's history: no stored text."""
        request.current_app = self.admin_site.name
        shared = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "list_url": self.address("changelist"),
        }
        return TemplateResponse(request, template, {**shared, **context})
