"""The timeline of a subject: every version over both clocks, and what holds at two instants."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from prism_graph import review
from prism_graph.admin.base import ReviewAdmin, database, grant_of
from prism_graph.admin.drawing import draw
from prism_graph.admin.picking import picked
from prism_graph.doors import scope_of
from prism_graph.errors import PrismGraphError
from prism_graph.memory import Memory


def view(model_admin: ReviewAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Draw the facts about the subject of a version, as a reader at its scope sees them."""
    row = model_admin.row(request, object_id)
    if row is None:
        return model_admin.missing(request, object_id)
    scope, errors = scope_of(row), []
    instants: dict[str, datetime | None] = {"at": None, "known_at": None}
    for name in instants:
        try:
            instants[name] = picked(request.GET.get(name, ""), to_the_end=name == "known_at")
        except PrismGraphError as refusal:
            errors.append((name, str(refusal)))
    memory = Memory(scope, database())
    facts = memory.facts(row.subject, at=instants["at"], known_at=instants["known_at"])
    found = review.histories(scope, database(), row.subject, review.MAX_FACTS + 1)
    charts = [
        {
            "history": history,
            "drawing": draw(history.areas(), instants["at"], instants["known_at"]),
            # A level above the grant is a reader's to see, and has no page here.
            "linked": grant_of(request).covers(history.scope),
        }
        for history in found[: review.MAX_FACTS]
    ]
    standings = sum(len(history.stood) for history in found)
    context: dict[str, Any] = {
        "row": row,
        "charts": charts,
        "left_out": len(found) > review.MAX_FACTS or standings >= review.MAX_STANDINGS,
        "facts": facts,
        "errors": errors,
        # As the pickers read them back: in UTC, and empty for what is no instant.
        "asked": {name: each and f"{each:%Y-%m-%dT%H:%M:%S}" for name, each in instants.items()},
        "pickers": [("at", "True at (UTC)"), ("known_at", "As known at (UTC)")],
        "scope": scope,
        **instants,
        "back_url": model_admin.address("change", row.pk),
    }
    title = f"Timeline of the subject of {row}"
    return model_admin.page(request, "prism_graph/admin/timeline.html", title, context)
