"""Links from rows to the chunks that they rest on: at the row's own level or above."""

from __future__ import annotations

from typing import Any, Final, Self

from django.db import models
from django.db.models import F, Q

from prism_graph.bases.rows import ScopedModel, part_field
from prism_graph.constraints import CompositeForeignKey
from prism_graph.errors import DerivedTextRemains
from prism_graph.managers import ScopedQuerySet
from prism_graph.scope import COLUMNS, Scope

CITED: Final = ("cited_owner", "cited_agent", "cited_thread")
LOOK: Final = "look whether anything rests on what is to be deleted"


class Citing(ScopedModel):
    """Abstract base of the links. The four columns name the citing end, `cited_…` the chunk."""

    cited_owner, cited_agent, cited_thread = part_field(), part_field(), part_field()
    cited_number = models.BigIntegerField()

    class Meta(ScopedModel.Meta):
        """As ScopedModel."""

        abstract = True

    @classmethod
    def check_delete(cls, rows: ScopedQuerySet[Any]) -> None:
        """Raise DerivedTextRemains: without the link, erasing would miss what rests on the chunk."""
        if rows.exists():
            raise DerivedTextRemains

    @classmethod
    def resting_on(cls, links: ScopedQuerySet[Self], numbers: Any) -> ScopedQuerySet[Self]:
        """Return the links to these chunks whose citing end would be left behind."""
        return links.filter(cited_number__in=numbers)


def refuse_orphans(chunks: ScopedQuerySet[Any]) -> None:
    """Raise DerivedTextRemains if anything outside these chunks rests on one of them."""
    numbers = chunks.order_by().values("number")
    # Locked, so that whoever cites one of them meanwhile has committed and is seen, or waits.
    list(chunks.order_by("number").select_for_update().values_list("number"))
    scope = chunks.written_at()
    for model in chunks.model._meta.app_config.get_models():
        if not issubclass(model, Citing):
            continue
        # The system door, because what cites may stand in the scopes below.
        links = model.objects.db_manager(chunks.db).system(LOOK)
        if scope is not None:
            links = links.filter(**cited_at(scope))
        if model.resting_on(links, numbers).exists():
            raise DerivedTextRemains


def cited_at(scope: Scope) -> dict[str, str]:
    """Return the lookups for links to chunks of exactly this scope."""
    return {"tenant": scope.tenant, **dict(zip(CITED, scope.parts[1:], strict=True))}


def upward_check(name: str) -> models.CheckConstraint:
    """Return the rule that what is cited stands at the citing row's own level or above it."""
    levels = Q(**dict.fromkeys(CITED, ""))
    for depth in range(1, len(COLUMNS)):
        level = {f"cited_{part}": F(part) for part in COLUMNS[1 : depth + 1]}
        absent = {f"cited_{part}": "" for part in COLUMNS[depth + 1 :]}
        levels |= Q(**level, **absent)
    return models.CheckConstraint(condition=levels, name=name)


def cited_key(name: str) -> CompositeForeignKey:
    """Return the foreign key from a link to the chunk it cites."""
    return CompositeForeignKey(
        fields=["tenant", *CITED, "cited_number"],
        model="Chunk",
        to_fields=[*COLUMNS, "number"],
        name=name,
    )


def cited_index(name: str) -> models.Index:
    """Return the index that finds the links to a chunk."""
    return models.Index(fields=["cited_number", "tenant", *CITED], name=name)
