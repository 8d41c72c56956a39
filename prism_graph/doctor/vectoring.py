"""Vectors that no search reads or that are of another text, and tenants that two spaces would serve."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, Q

from prism_graph import spaces
from prism_graph.doctor.check import Check, Finding, RowCheck
from prism_graph.doctor.place import Place, same
from prism_graph.models import Embedding, EmbeddingFailure, VectorPartition
from prism_graph.outdated import outdated
from prism_graph.scope import Scope
from prism_graph.writing import batches

SERVING: Final = Q(serving=True)


def remove_vectors(place: Place, model: Any, wrong: Any) -> None:
    """Remove rows that tell of vectors, and the vectors from stores that keep them apart."""

    def remove(scope: Scope, at: datetime, rows: list[Any]) -> None:
        if model is Embedding:
            spaces.forget(place.using, scope, [number for _, number in rows])
        place.at(model, scope).filter(pk__in=[key for key, _ in rows])._raw_delete(place.using)

    place.by_scope(wrong, remove, "number")


class Unread(RowCheck):
    """Look for vectors and failures of a space that their scope has no partition of."""

    id = "vector-unread"
    fix = "removed: no search reads it, and nothing tells which embedder made it"

    def __init__(self, model: Any) -> None:
        self.model = model
        self.what = f"{model._meta.verbose_name}: its scope has no partition of its space"

    def wrong(self, place: Place) -> Any:
        """Return rows whose partition is gone."""
        partitions = place.every(VectorPartition).filter(**same("space"))
        return place.rows(self.model).filter(~Exists(partitions))

    def put_right(self, place: Place) -> None:
        """Remove them."""
        remove_vectors(place, self.model, self.wrong(place))


class OtherText(Check):
    """Look for vectors of a text that was changed since."""

    id = "vector-of-other-text"
    what = "embedding: made of another text than the passage has"
    fix = "removed, so that it is made anew"

    def examine(self, place: Place) -> Finding | None:
        """Compare digests; no database can compute them."""
        return self.told(outdated(place.rows(Embedding)))

    def put_right(self, place: Place) -> None:
        """Remove the vectors."""
        for keys in batches(list(outdated(place.rows(Embedding)))):
            remove_vectors(place, Embedding, place.rows(Embedding).filter(pk__in=keys))


class TwoServing(RowCheck):
    """Look for tenants that two spaces claim to serve."""

    id = "two-serving"
    model = VectorPartition
    what = "vector partition: its tenant is served by another space as well"
    fix = "the one with fewer vectors serves no longer"

    def wrong(self, place: Place) -> Any:
        """Return every partition but one of a tenant: that of most vectors, else the first by space."""
        return place.rows(VectorPartition).filter(pk__in=self._beaten(place))

    def _beaten(self, place: Place) -> list[str]:
        serving = place.rows(VectorPartition).filter(SERVING)
        found: dict[tuple[str, ...], list[Any]] = {}
        for row in serving.order_by("space", "pk"):
            found.setdefault((row.tenant, row.owner, row.agent, row.thread), []).append(row)
        beaten = []
        for (tenant, *_), rows in found.items():
            if len(rows) > 1:
                vectors = place.every(Embedding).filter(tenant=tenant)
                best = max(rows, key=lambda row: vectors.filter(space=row.space).count())
                beaten += [row.pk for row in rows if row is not best]
        return beaten

    def put_right(self, place: Place) -> None:
        """Let one of them serve."""

        def lower(scope: Scope, at: datetime, rows: list[Any]) -> None:
            keys = [key for (key,) in rows]
            place.at(VectorPartition, scope).filter(pk__in=keys).update(serving=False)

        place.by_scope(self.wrong(place), lower)


def vectoring() -> list[Check]:
    """Return the checks of vectors; what is an orphan has been looked for before."""
    return [*(Unread(model) for model in (Embedding, EmbeddingFailure)), OtherText(), TwoServing()]
