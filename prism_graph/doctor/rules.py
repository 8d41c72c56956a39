"""Rows that a constraint would refuse, had it been there."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import CheckConstraint, Count, Min, Q, UniqueConstraint

from prism_graph.bases.citing import upward_check
from prism_graph.bases.facts import STATUSES
from prism_graph.bases.rows import SCOPE_RULE
from prism_graph.doctor.check import Check, Finding, RowCheck
from prism_graph.doctor.place import Place
from prism_graph.models import MODELS

# What checks of their own look at.
_ELSEWHERE: Final = (SCOPE_RULE, upward_check("").condition, Q(status__in=STATUSES))
_ONE_EACH: Final = (Q(until=None), Q(serving=True))


class BrokenRule(RowCheck):
    """Look for rows that break a CHECK constraint."""

    id = "rule"

    def __init__(self, model: Any, rule: CheckConstraint) -> None:
        self.model, self.rule = model, rule
        self.what = f"{model._meta.verbose_name}: refused by the constraint {rule.name}"

    def wrong(self, place: Place) -> Any:
        """Return the rows for which the condition does not hold."""
        return place.rows(self.model).filter(~Q(self.rule.condition))


class Duplicate(Check):
    """Look for rows that a UNIQUE constraint would keep apart."""

    id = "duplicate"

    def __init__(self, model: Any, rule: UniqueConstraint) -> None:
        self.model, self.rule = model, rule
        self.what = (
            f"{model._meta.verbose_name}: twice what the constraint {rule.name} lets in once"
        )

    def examine(self, place: Place) -> Finding | None:
        """Group the rows; one id stands for each group."""
        rows = place.rows(self.model).filter(self.rule.condition or Q())
        groups = rows.values(*self.rule.fields).annotate(rows=Count("pk"), first=Min("pk"))
        return self.told(groups.filter(rows__gt=1).values_list("first", flat=True).iterator())


def rules() -> list[Check]:
    """Return a check for every constraint that none of the other checks looks at."""
    found: list[Check] = []
    for model in MODELS:
        for rule in model._meta.constraints:
            if isinstance(rule, CheckConstraint) and rule.condition not in _ELSEWHERE:
                found.append(BrokenRule(model, rule))
            if isinstance(rule, UniqueConstraint) and rule.condition not in _ONE_EACH:
                found.append(Duplicate(model, rule))
    return found
