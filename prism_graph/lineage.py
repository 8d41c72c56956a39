"""What a text was derived from, and how far that lets it be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prism_graph.doors import scope_of
from prism_graph.errors import InvalidEvidence
from prism_graph.limits import MAX_CITATIONS, askable, check_ids
from prism_graph.models import Chunk
from prism_graph.scope import Scope
from prism_graph.trust import Trust, least


@dataclass(frozen=True, slots=True)
class Lineage:
    """The chunks a text was derived from: where each stands, its number and its effective trust."""

    cited: tuple[tuple[Scope, int, Trust], ...] = ()

    @property
    def numbers(self) -> frozenset[int]:
        """The cited chunks' numbers."""
        return frozenset(number for _, number, _ in self.cited)

    def effective(self, own: Trust) -> Trust:
        """Return the least of a text's own class and those of all it was derived from.

        The cited classes are effective themselves, so this is the least over the whole lineage.
        """
        return least(own, (trust for _, _, trust in self.cited))


def trace(
    scope: Scope,
    using: str,
    cited: Iterable[Any],
    *,
    argument: str = "derived_from",
    live: bool = False,
) -> Lineage:
    """Return the lineage that ids, chunks or hits name; with `live`, none of them may be retired.

    Raises InvalidEvidence when any of them is not visible from the scope, LimitExceeded above 50. Messages
    name the argument.
    """
    ids = check_ids(cited, MAX_CITATIONS, f"chunks in {argument}")
    if not ids:
        return Lineage()
    rows = (
        Chunk.objects.db_manager(using)
        .visible_to(scope)
        .filter(id__in=askable(ids))
        .order_by("number")
    )
    if live:
        rows = rows.filter(retired_at=None)
    found = tuple((scope_of(row), row.number, row.trust) for row in rows)
    if len(found) != len(ids):
        current = " and not retired" if live else ""
        raise InvalidEvidence(
            f"Every chunk in {argument} must be visible from this scope{current}."
        )
    return Lineage(found)
