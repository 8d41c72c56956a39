"""Facts: one row a version with its standing; what waits for review comes first."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.html import format_html

from prism_graph import analysis, display, review
from prism_graph.admin import timeline
from prism_graph.admin.base import ScopeFilter, database, grant_of
from prism_graph.admin.decisions import DecidingAdmin
from prism_graph.doors import scope_of
from prism_graph.models import FactVersion, Standing
from prism_graph.policy import UNDECIDED, FactStatus
from prism_graph.review import Verb, VersionTarget
from prism_graph.scope import COLUMNS

WAITING: Final = "waiting"
ANY: Final = "any"
# Which decisions a standing leaves open.
POSSIBLE: Final = {
    FactStatus.ACCEPTED: (Verb.RETRACT, Verb.ERASE),
    FactStatus.BELIEF: (Verb.ACCEPT, Verb.REJECT, Verb.ERASE),
    FactStatus.PROPOSAL: (Verb.ACCEPT, Verb.REJECT, Verb.ERASE),
}


class StandingFilter(admin.SimpleListFilter):
    """Narrow the list to a standing; to what waits for review where none is asked for."""

    title = "standing"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return every standing, and any."""
        each = [(status.value, status.value.capitalize()) for status in FactStatus]
        return [(WAITING, "Waits for review"), *each, (ANY, "Any")]

    def value(self) -> str:
        """Return what is asked for."""
        return super().value() or WAITING

    def choices(self, changelist: Any) -> Any:
        """Yield the choices; there is none for leaving it out."""
        for value, title in self.lookup_choices:
            yield {
                "selected": self.value() == str(value),
                "query_string": changelist.get_query_string({self.parameter_name: value}),
                "display": title,
            }

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Leave the versions whose open standing it is."""
        if self.value() == ANY:
            return queryset
        names = {status.value: (status,) for status in FactStatus} | {WAITING: UNDECIDED}
        standings = Standing.objects.db_manager(queryset.db).for_review(grant_of(request))
        scope = {name: OuterRef(name) for name in COLUMNS}
        theirs = standings.filter(
            **scope,
            fact_number=OuterRef("fact_number"),
            version=OuterRef("number"),
            until=None,
            status__in=names.get(self.value(), ()),
        )
        return queryset.filter(Exists(theirs))


class FactVersionAdmin(DecidingAdmin):
    """The review queue, and every other version."""

    ordering = ("-recorded_at",)
    list_display = (
        "claimed",
        "standing",
        "rests_on",
        "where",
        "contested",
        "recorded",
    )
    list_filter = (StandingFilter, ScopeFilter)
    search_fields = ("subject", "predicate", "value", "=owner")
    search_help_text = "Words of the claim as they are written, or an owner in full."
    page_template = "prism_graph/admin/fact.html"
    actions = ("accept", "reject", "retract", "erase")
    verbs = {
        Verb.ACCEPT: "accept",
        Verb.REJECT: "accept",
        Verb.RETRACT: "retract",
        Verb.ERASE: "erase",
    }

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the versions that the user's grant covers, with their facts."""
        # Always true: facts have an index by scope, which their versions are then reached through.
        return (
            super().get_queryset(request).filter(fact__last_version__gte=0).select_related("fact")
        )

    def attach(self, request: HttpRequest, rows: list[Any]) -> None:
        """Read standings and evidence of a page."""
        found = review.listed(grant_of(request), database(), rows)
        for row in rows:
            row.listed = found[row.pk]

    @admin.display(description="claim")
    def claimed(self, row: FactVersion) -> Any:
        """Return what it says, in one line."""
        return display.short(_said(row))

    @admin.display(description="standing")
    def standing(self, row: Any) -> Any:
        """Return its status now."""
        stale = (
            display.badge("stale", "some of its evidence is retired") if row.listed.stale else ""
        )
        return format_html("{} {}", display.badge(row.listed.status), stale)

    @admin.display(description="rests on")
    def rests_on(self, row: Any) -> Any:
        """Return the least trusted of its passages, and how many there are."""
        passages = row.listed.passages
        count = "1 passage" if passages == 1 else f"{passages} passages"
        return format_html("{} ({})", display.writer(row.listed.trust, row.listed.writer), count)

    @admin.display(description="scope")
    def where(self, row: FactVersion) -> Any:
        """Return where it stands."""
        return display.scope(scope_of(row))

    @admin.display(description="contests")
    def contested(self, row: FactVersion) -> Any:
        """Return the version whose place it would take."""
        return "–" if row.contests is None else f"version {row.contests}"

    @admin.display(description="recorded", ordering="recorded_at")
    def recorded(self, row: FactVersion) -> Any:
        """Return when it was stated."""
        return display.instant(row.recorded_at)

    def target(self, row: FactVersion) -> VersionTarget:
        """Return what a decision is made on."""
        return VersionTarget.of(row, database())

    def claim(self, row: FactVersion) -> Any:
        """Return subject, predicate and value, whole: it is what a decision is about."""
        return display.text(_said(row))

    def get_urls(self) -> list[Any]:
        """Return the pages and the timeline of a version's subject."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_timeline"
        view = self.admin_site.admin_view(self.timeline_view)
        return [path("<str:object_id>/timeline/", view, name=name), *super().get_urls()]

    def timeline_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Draw every version about the subject of this one, over both clocks."""
        return timeline.view(self, request, object_id)

    def details(self, request: HttpRequest, row: FactVersion) -> dict[str, Any]:
        """Return the case: claim, passages, what it contests, why it was judged so."""
        target, grant = self.target(row), grant_of(request)
        # Before the rest is read: a change while the page is drawn is one since it was drawn.
        seen = review.seen(target)
        case = review.case_of(target)
        standings = Standing.objects.db_manager(database()).for_review(grant)
        history = standings.filter(
            **scope_of(row).columns, fact_number=row.fact_number, version=row.number
        )
        granted = self.granted_verbs(request)
        claims = [(case.claim, case.evidence)]
        if case.instead_of is not None:
            claims.append((case.instead_of, case.instead_of_evidence))
        return {
            "case": case,
            "sides": [_side(grant, claim, evidence) for claim, evidence in claims],
            "history": history.order_by("since"),
            "others": [
                (view, self.address("change", view.id))
                for view in case.versions
                if view.id != case.claim.id
            ],
            "verbs": [
                verb for verb in POSSIBLE.get(case.claim.status, (Verb.ERASE,)) if verb in granted
            ],
            "decide_url": self.address("decide"),
            "timeline_url": self.address("timeline", row.pk),
            "seen": seen,
        }


def _said(row: FactVersion) -> str:
    return f"{row.subject} · {row.predicate} · {row.value}"


def _side(grant: Any, claim: Any, evidence: Any) -> dict[str, Any]:
    """Return a claim with its passages, the words that support it marked."""
    words = analysis.sought(f"{claim.subject} {claim.predicate} {claim.value}")
    return {
        "claim": claim,
        "passages": [
            {
                "chunk": chunk,
                "text": display.text(chunk.text, analysis.spans(chunk.text, words)),
                # One of a level above the grant is evidence here, and no page of its own.
                "linked": grant.covers(chunk.scope),
            }
            for chunk in evidence
        ],
    }
