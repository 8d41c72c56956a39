"""Decisions in the admin: a page to confirm, which says what will happen, and a page of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseNotAllowed
from django.urls import path
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from prism_graph import display, review
from prism_graph.admin.base import ReviewAdmin, database
from prism_graph.errors import FactConflict, PrismGraphError, StaleReview
from prism_graph.limits import MAX_VALUE
from prism_graph.models import Receipt
from prism_graph.records import ErasureReport
from prism_graph.review import Decision, Outcome, Target, Verb

# Each is rehearsed for the page and made again: what one request can do in good time.
MAX_DECISIONS: Final = 100
GONE: Final = "No longer there."
MOVED_ON: Final = "Some of what you chose is not in this list any more: look at it again."
TICK: Final = (
    "Another version holds by now than the one contested: tick the box to accept it all the same."
)


@dataclass(frozen=True, slots=True)
class Wording:
    """How a decision is spoken of: the button, what is about to happen, what has happened."""

    button: str
    question: str
    done: str


WORDINGS: Final = {
    Verb.ACCEPT: Wording("Accept", "Accept these?", "Accepted"),
    Verb.REJECT: Wording("Reject", "Reject these?", "Rejected"),
    Verb.RETRACT: Wording("Retract", "Retract these?", "Retracted"),
    Verb.ERASE: Wording("Erase", "Erase these for good?", "Erased"),
}


@dataclass(frozen=True, slots=True)
class Announced:
    """One row of the page to confirm: what was chosen, what would happen, and what would over another."""

    row: Any
    subject: Any
    outcome: Outcome
    effects: Sequence[Any] = ()
    instead: Outcome | None = None
    instead_effects: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the page of results."""

    id: str
    claim: Any = ""
    done: str = ""
    refusal: str = ""
    receipt: str = ""


class DecidingAdmin(ReviewAdmin):
    """A model whose rows a reviewer decides on. `verbs` names the permission that each decision needs."""

    verbs: ClassVar[Mapping[Verb, str]]

    def target(self, row: Any) -> Target:
        """Return what a decision on a row is made on."""
        raise NotImplementedError

    def claim(self, row: Any) -> Any:
        """Return how a row is named on the page to confirm."""
        raise NotImplementedError

    def get_urls(self) -> list[Any]:
        """Return the pages, and where decisions are posted."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_decide"
        view = self.admin_site.admin_view(self.decide_view)
        return [path("decide/", view, name=name), *super().get_urls()]

    def granted_verbs(self, request: HttpRequest) -> list[Verb]:
        """Return the decisions that the user may make."""
        return [verb for verb, permission in self.verbs.items() if self.may(request, permission)]

    @admin.action(description="Accept", permissions=["accept"])
    def accept(self, request: HttpRequest, rows: Any) -> HttpResponse | None:
        """Ask whether to accept the chosen rows."""
        return self.choose(request, Verb.ACCEPT, rows)

    @admin.action(description="Reject", permissions=["reject"])
    def reject(self, request: HttpRequest, rows: Any) -> HttpResponse | None:
        """Ask whether to reject the chosen rows."""
        return self.choose(request, Verb.REJECT, rows)

    @admin.action(description="Retract", permissions=["retract"])
    def retract(self, request: HttpRequest, rows: Any) -> HttpResponse | None:
        """Ask whether to retract the chosen rows."""
        return self.choose(request, Verb.RETRACT, rows)

    @admin.action(description="Erase", permissions=["erase"])
    def erase(self, request: HttpRequest, rows: Any) -> HttpResponse | None:
        """Ask whether to erase the chosen rows."""
        return self.choose(request, Verb.ERASE, rows)

    def has_accept_permission(self, request: HttpRequest) -> bool:
        """Say whether the user may accept."""
        return Verb.ACCEPT in self.granted_verbs(request)

    def has_reject_permission(self, request: HttpRequest) -> bool:
        """Say whether the user may reject."""
        return Verb.REJECT in self.granted_verbs(request)

    def has_retract_permission(self, request: HttpRequest) -> bool:
        """Say whether the user may retract."""
        return Verb.RETRACT in self.granted_verbs(request)

    def has_erase_permission(self, request: HttpRequest) -> bool:
        """Say whether the user may erase."""
        return Verb.ERASE in self.granted_verbs(request)

    def choose(self, request: HttpRequest, verb: Verb, rows: Any) -> HttpResponse | None:
        """Answer an action of the list with the page to confirm."""
        chosen = list(rows[: MAX_DECISIONS + 1])
        if len(chosen) > MAX_DECISIONS:
            text = f"Choose at most {MAX_DECISIONS} at a time."
            self.message_user(request, text, messages.WARNING)
            return None
        gone = len(set(request.POST.getlist(ACTION_CHECKBOX_NAME))) - len(chosen)
        if gone > 0 and request.POST.get("select_across", "0") == "0":
            self.message_user(request, MOVED_ON, messages.WARNING)
            return None
        return self._ask(request, verb, chosen, {})

    @method_decorator(sensitive_post_parameters("reason"))
    def decide_view(self, request: HttpRequest) -> HttpResponse:
        """Show the page to confirm, or carry out what was confirmed."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            verb = Verb(request.POST.get("verb"))
        except ValueError:
            return HttpResponseBadRequest("No such decision.")
        if verb not in self.granted_verbs(request):
            raise PermissionDenied
        names = list(dict.fromkeys(request.POST.getlist("chosen")))
        if not 0 < len(names) <= MAX_DECISIONS:
            return HttpResponseBadRequest(f"Choose 1 to {MAX_DECISIONS}.")
        askable = [name for name in names if name.isascii() and name.isalnum()]
        rows = {row.pk: row for row in self.get_queryset(request).filter(pk__in=askable)}
        if "confirmed" in request.POST:
            return self._carry_out(request, verb, names, rows)
        found = [rows[name] for name in names if name in rows]
        if not found:
            return self.missing(request, names[0])
        seen = {
            name: request.POST[f"seen_{name}"] for name in rows if f"seen_{name}" in request.POST
        }
        return self._ask(request, verb, found, seen)

    # the page to confirm

    def _ask(
        self, request: HttpRequest, verb: Verb, rows: Sequence[Any], seen: Mapping[str, str]
    ) -> HttpResponse:
        announced = [self._announce(request, verb, row, seen.get(row.pk)) for row in rows]
        context = {
            "verb": verb,
            "wording": WORDINGS[verb],
            "announced": announced,
            "possible": any(not each.outcome.refusal or each.instead for each in announced),
            "max_reason": MAX_VALUE // 4,
            "decide_url": self.address("decide"),
        }
        template = "prism_graph/admin/confirm.html"
        return self.page(request, template, WORDINGS[verb].question, context)

    def _announce(self, request: HttpRequest, verb: Verb, row: Any, seen: str | None) -> Announced:
        target, decision = self.target(row), Decision(verb, _actor(request))
        try:
            outcome = review.rehearse(target, decision)
            # Afterwards: what changed before the rehearsal shows, and nothing that changed comes back.
            if seen is not None and review.seen(target) != seen:
                raise StaleReview
            instead = None
            if outcome.over is not None:
                instead = review.rehearse(target, replace(decision, over=outcome.over))
        except PrismGraphError as refusal:
            return Announced(row, self.claim(row), Outcome("", refusal=str(refusal)))
        announced = Announced(row, self.claim(row), outcome, _effects(outcome))
        if instead is None or instead.refusal:
            return announced
        return replace(announced, instead=instead, instead_effects=_effects(instead))

    # what was confirmed

    def _carry_out(
        self, request: HttpRequest, verb: Verb, names: Sequence[str], rows: Mapping[str, Any]
    ) -> HttpResponse:
        results = [
            self._decide(request, verb, rows[name]) if name in rows else Result(name, refusal=GONE)
            for name in names
        ]
        context = {
            "results": results,
            "receipts_url": self.address_of(Receipt, "changelist"),
            "done": sum(not result.refusal for result in results),
            "refused": sum(bool(result.refusal) for result in results),
        }
        return self.page(request, "prism_graph/admin/results.html", WORDINGS[verb].button, context)

    def _decide(self, request: HttpRequest, verb: Verb, row: Any) -> Result:
        over = request.POST.get(f"over_{row.pk}", "")
        token = request.POST.get(f"token_{row.pk}_{over}" if over else f"token_{row.pk}", "")
        decision = Decision(
            verb,
            actor=_actor(request),
            reason=request.POST.get("reason", "").strip(),
            over=int(over) if over.isascii() and over.isdecimal() and len(over) < 10 else None,
        )
        target, claim = self.target(row), self.claim(row)
        try:
            # A decision without its line in the log is none.
            with transaction.atomic(using=database()):
                outcome = review.decide(target, decision, token)
                _log(request, row, verb)
        except FactConflict:
            return Result(row.pk, claim, refusal=TICK)
        except PrismGraphError as refusal:
            return Result(row.pk, claim, refusal=str(refusal))
        # What was erased is not shown again.
        shown = "" if verb is Verb.ERASE else claim
        return Result(row.pk, shown, done=WORDINGS[verb].done, receipt=outcome.receipt)


def _actor(request: HttpRequest) -> str:
    user: Any = request.user
    return str(user.get_username())


def _log(request: HttpRequest, row: Any, verb: Verb) -> None:
    """Write the admin's own log: which row, and one word."""
    user: Any = request.user
    LogEntry.objects.log_actions(
        user_id=user.pk,
        queryset=[row],
        action_flag=DELETION if verb is Verb.ERASE else CHANGE,
        change_message=f"{WORDINGS[verb].done}.",
        single_object=True,
    )


def _effects(outcome: Outcome) -> list[Any]:
    """Return what an outcome does, a sentence each."""
    sentences: list[Any] = [display.change(change) for change in outcome.changes]
    for where, report in (
        ("here", outcome.erased),
        ("in the scopes below", outcome.erased_below),
    ):
        if report is not None:
            sentences += _erased(where, report)
    return sentences


def _erased(where: str, report: ErasureReport) -> list[str]:
    counted = [
        f"{count} {_NOUNS[name][count != 1]}" for name, count in report.counts.items() if count
    ]
    return [f"Erased {where}: {', '.join(counted)}."] if counted else []


_NOUNS: Final = {
    "chunks": ("passage", "passages"),
    "vectors": ("vector", "vectors"),
    "evidence_links": ("citation", "citations"),
    "facts_erased": ("version of a fact", "versions of facts"),
    "facts_kept": ("version kept with less evidence", "versions kept with less evidence"),
}
