"""Receipts of erasures."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from prism_graph import display
from prism_graph.admin.base import ReviewAdmin, ScopeFilter
from prism_graph.doors import scope_of
from prism_graph.models import Receipt


class ReceiptAdmin(ReviewAdmin):
    """What was erased, how much, by whom; nothing of what it said."""

    ordering = ("-erased_at",)
    list_display = (
        "erased",
        "operation",
        "where",
        "ordered_by",
        "passages",
        "facts",
    )
    list_filter = (ScopeFilter, "operation")
    search_fields = ("=target", "=owner")
    search_help_text = "An owner, or the hash of what was named, in full."
    page_template = "prism_graph/admin/receipt.html"

    @admin.display(description="erased", ordering="erased_at")
    def erased(self, row: Receipt) -> Any:
        """Return when."""
        return display.instant(row.erased_at)

    @admin.display(description="scope")
    def where(self, row: Receipt) -> Any:
        """Return where it was ordered."""
        return display.scope(scope_of(row))

    @admin.display(description="by")
    def ordered_by(self, row: Receipt) -> Any:
        """Return who ordered it."""
        return display.short(row.actor, 40)

    @admin.display(description="passages")
    def passages(self, row: Receipt) -> int:
        """Return how many passages went, here and below."""
        return _both(row, "chunks")

    @admin.display(description="facts")
    def facts(self, row: Receipt) -> int:
        """Return how many versions of facts went, here and below."""
        return _both(row, "facts_erased")

    def details(self, request: HttpRequest, row: Receipt) -> dict[str, Any]:
        """Return the counts, side by side."""
        names = sorted(row.counts.keys() | row.counts_below.keys())
        return {
            "counts": [
                (name.replace("_", " "), row.counts.get(name, 0), row.counts_below.get(name, 0))
                for name in names
            ]
        }


def _both(row: Receipt, name: str) -> int:
    return int(row.counts.get(name, 0)) + int(row.counts_below.get(name, 0))
