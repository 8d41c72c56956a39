"""What a reviewer decides on: a version of a fact or a source, and how a decision on it is carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from django.db import connections
from django.db.models import Count, Max

from prism_graph import clock, erase, factrows, facts
from prism_graph.bases.citing import cited_at
from prism_graph.doors import scope_of
from prism_graph.errors import FactNotFound, SourceNotFound
from prism_graph.fulltext import engine
from prism_graph.intervals import Held, contested
from prism_graph.models import Chunk, Citation, Derivation, FactVersion, Source
from prism_graph.policy import FactStatus
from prism_graph.receipts import Erasure, Order
from prism_graph.records import FactView
from prism_graph.scope import Scope

WHY: Final = "what an erasure would take along, in the scopes below"


class Verb(Enum):
    """What a reviewer does with a version of a fact; a source is only erased."""

    ACCEPT = "accept"
    REJECT = "reject"
    RETRACT = "retract"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a reviewer orders, who and why; `over` names the version that a claim is accepted over."""

    verb: Verb
    actor: str = ""
    reason: str = field(default="", repr=False)
    over: int | None = None


class Target(Protocol):
    """What a decision is made on, at exactly one scope of one database."""

    @property
    def scope(self) -> Scope:
        """The scope it stands at."""
        ...

    @property
    def using(self) -> str:
        """The database's alias."""
        ...

    def state(self) -> tuple[Any, ...]:
        """Return all that a decision rests on, as values. Raises FactNotFound or SourceNotFound."""
        ...

    def versions(self) -> tuple[FactView, ...]:
        """Return the versions of a fact under decision, none for a source."""
        ...

    def carry_out(self, decision: Decision) -> Erasure | None:
        """Do it; return what an erasure removed."""
        ...

    def in_its_place(self) -> int | None:
        """Return the accepted version whose place a claim would take now; None for none."""
        ...


@dataclass(frozen=True, slots=True)
class VersionTarget:
    """A version of a fact."""

    scope: Scope
    using: str
    key: str = field(repr=False)
    version: int
    id: str

    @classmethod
    def of(cls, row: FactVersion, using: str) -> VersionTarget:
        """Return the target that a version's row names."""
        return cls(scope_of(row), using, row.fact.key, row.number, row.id)

    def state(self) -> tuple[FactView, ...]:
        """Return every version of the key at this scope. Raises FactNotFound if this one is gone."""
        views = self.versions()
        if not any(view.id == self.id for view in views):
            raise FactNotFound
        return views

    def versions(self) -> tuple[FactView, ...]:
        """Return every version of the key at exactly this scope, by number."""
        question = factrows.Question(key=self.key)
        views = factrows.standing(self.scope, self.using, question)
        return tuple(view for view in views if view.scope == self.scope)

    def carry_out(self, decision: Decision) -> Erasure | None:
        """Do it through the services behind Memory."""
        place = (self.scope, self.using, self.key)
        by: dict[str, Any] = {"actor": decision.actor, "reason": decision.reason}
        if decision.verb is Verb.ERASE:
            return erase.erase_fact(*place, self.version, Order.by(**by))
        if decision.verb is Verb.ACCEPT:
            facts.accept(*place, version=self.version, over=decision.over, **by)
        elif decision.verb is Verb.REJECT:
            facts.reject(*place, version=self.version, **by)
        else:
            facts.retract(*place, version=self.version, **by)
        return None

    def in_its_place(self) -> int | None:
        """Return the number of the accepted version whose place this one would take now."""
        views = self.versions()
        claim = next(view for view in views if view.id == self.id)
        return place_taken(claim, views)


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """A source with its passages."""

    scope: Scope
    using: str
    key: str = field(repr=False)
    id: str

    @classmethod
    def of(cls, row: Source, using: str) -> SourceTarget:
        """Return the target that a source's row names."""
        return cls(scope_of(row), using, row.key, row.id)

    def state(self) -> tuple[Any, ...]:
        """Return its row, how far its passages have come, and the links to them. Raises SourceNotFound."""
        sources = Source.objects.db_manager(self.using).at(self.scope)
        row = sources.filter(pk=self.id).values_list("number", "title", "uri", "retired_at").first()
        if row is None:
            raise SourceNotFound
        chunks = Chunk.objects.db_manager(self.using).at(self.scope).filter(source_number=row[0])
        # Recorded instants only grow, so adding, retiring and erasing each change one of these. Numbers of
        # rows would do, but count what everybody wrote.
        passages = chunks.aggregate(
            Count("recorded_at"), Max("recorded_at"), Count("retired_at"), Max("retired_at")
        )
        numbers = list(chunks.values_list("number", flat=True))
        return (*row, *passages.values(), *self._resting(numbers))

    def _resting(self, numbers: Sequence[int]) -> Iterator[str]:
        """Yield the ids of the links by which anything rests on these passages, here and below."""
        among = engine(connections[self.using]).among
        for model in (Citation, Derivation):
            links = model.objects.db_manager(self.using).system(WHY)
            resting = links.filter(among("cited_number", numbers), **cited_at(self.scope))
            yield from resting.order_by("pk").values_list("pk", flat=True).iterator()

    def versions(self) -> tuple[FactView, ...]:
        """Return none."""
        return ()

    def carry_out(self, decision: Decision) -> Erasure | None:
        """Erase it."""
        order = Order.by(decision.actor, decision.reason)
        return erase.erase(self.scope, self.using, self.key, order)

    def in_its_place(self) -> int | None:
        """Return None."""
        return None


def place_taken(claim: FactView, versions: Sequence[FactView]) -> int | None:
    """Return the number of the accepted version whose place a claim would take now, None for none."""
    intervals = [
        Held(view.version, view.valid_from, view.valid_to)
        for view in sorted(versions, key=lambda view: (view.valid_from, view.version))
        if view.status is FactStatus.ACCEPTED and view.id != claim.id
        if view.valid_to is None or view.valid_to > view.valid_from
    ]
    return contested(intervals, claim.valid_from, claim.stated_valid_to, clock.now())
