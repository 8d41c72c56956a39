"""Trust that means nothing, or is higher than the lineage lets it be."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any, Final

from django.db import connections
from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, Subquery, Value, When

from prism_graph.bases.citing import CITED
from prism_graph.bases.rows import SCOPE_RULE
from prism_graph.doctor.check import RowCheck
from prism_graph.doctor.place import Place, same
from prism_graph.fulltext import engine
from prism_graph.models import Chunk, Derivation
from prism_graph.scope import COLUMNS, Scope
from prism_graph.trust import Trust, least

LOWEST: Final = min(Trust, key=lambda each: each.level)


class UnknownTrust(RowCheck):
    """Look for numbers that stand for no trust class: reading one is an error."""

    id = "unknown-trust"
    fix = f"set to {LOWEST}, the lowest"

    def __init__(self, model: Any, field: str) -> None:
        self.model, self.field = model, field
        self.what = f"{model._meta.verbose_name}: its {field.replace('_', ' ')} is no trust class"

    def wrong(self, place: Place) -> Any:
        """Return rows of another number; none is no trust at all, which a conversation has."""
        known = Q(**{f"{self.field}__in": list(Trust)}) | Q(**{self.field: None})
        return place.rows(self.model).filter(~known)

    def put_right(self, place: Place) -> None:
        """Lower them."""
        field = self.model._meta.get_field(self.field)

        def lower(scope: Scope, at: datetime, rows: list[Any]) -> None:
            chosen = place.at(self.model, scope).filter(pk__in=[key for (key,) in rows])
            chosen._update([(field, None, LOWEST)])

        place.by_scope(self.wrong(place), lower)


class AboveLineage(RowCheck):
    """Look for chunks trusted more than what they were derived from, or than they were given."""

    id = "trust-above-lineage"
    model = Chunk
    what = "chunk: trusted more than its lineage"
    fix = "lowered to the least of its lineage"

    def wrong(self, place: Place) -> Any:
        """Return the chunks."""
        cited = place.every(Chunk).filter(
            tenant=OuterRef("tenant"),
            **{name.removeprefix("cited_"): OuterRef(name) for name in (*CITED, "cited_number")},
        )
        level = Subquery(cited.annotate(level=_level("trust")).values("level")[:1])
        links = place.every(Derivation).filter(**same("number")).annotate(cited_level=level)
        chunks = place.rows(Chunk).annotate(level=_level("trust"), given=_level("origin_trust"))
        lower = Exists(links.filter(cited_level__lt=OuterRef("level")))
        return chunks.filter(Q(lower) | Q(level__gt=F("given")), SCOPE_RULE)

    def put_right(self, place: Place) -> None:
        """Lower them, and then what was derived from them, until nothing is left to lower."""
        names = ("number", "trust", "origin_trust")
        while place.by_scope(self.wrong(place), _Lowering(place), *names):
            pass


class _Lowering:
    """Lower chunks of one scope to the least of their lineage."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def __call__(self, scope: Scope, at: datetime, rows: list[Any]) -> None:
        among = engine(connections[self.place.using]).among
        lineage = self._lineage(scope, [number for _, number, *_ in rows])
        lowered: dict[Trust, list[int]] = defaultdict(list)
        for _, number, trust, given in rows:
            lowered[least(trust, (given, *lineage[number]))].append(number)
        field = Chunk._meta.get_field("trust")
        for trust, numbers in lowered.items():
            chunks = self.place.at(Chunk, scope).filter(among("number", numbers))
            chunks._update([(field, None, trust)])

    def _lineage(self, scope: Scope, numbers: list[int]) -> dict[int, list[Trust]]:
        among = engine(connections[self.place.using]).among
        links = self.place.at(Derivation, scope).filter(among("number", numbers))
        pairs = list(links.values_list("number", *CITED, "cited_number"))
        chunks = Chunk.objects.db_manager(self.place.using).visible_to(scope)
        chunks = chunks.filter(among("number", [cited for *_, cited in pairs]))
        trust = {
            tuple(row[:-1]): row[-1] for row in chunks.values_list(*COLUMNS, "number", "trust")
        }
        found: dict[int, list[Trust]] = defaultdict(list)
        for number, *cited in pairs:
            if (place := (scope.tenant, *cited)) in trust:
                found[number].append(trust[place])
        return found


def _level(field: str) -> Case:
    """Return a trust's rank in SQL; NULL for a number that is none."""
    whens = [When(**{field: each}, then=Value(each.level)) for each in Trust]
    return Case(*whens, output_field=IntegerField())
