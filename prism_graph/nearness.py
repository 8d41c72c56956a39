"""The arm of a search that goes by meaning: which visible passages lie nearest to the query."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from prism_graph import asking, conf, spaces
from prism_graph.errors import EmbeddingSpaceMismatch, InvalidSettings
from prism_graph.ranking import CANDIDATES, Directory
from prism_graph.scope import Scope
from prism_graph.spaces import Setup
from prism_graph.vectors import Partition, Vectors

logger = logging.getLogger(__name__)

# What was said of settings that do not fit the vectors, once each.
_said: Final[set[str]] = set()


@dataclass(frozen=True, slots=True)
class Near:
    """Passages by their places in a directory, with their cosines; none where there is no such arm."""

    positions: NDArray[np.int64]
    cosines: NDArray[np.float64]
    space: str = ""
    method: str = ""

    def holds(self, position: int) -> bool:
        """Say whether a passage is among them."""
        return bool((self.positions == position).any())

    def without(self, positions: Collection[int]) -> Near:
        """Leave these passages out."""
        kept = ~np.isin(self.positions, list(positions))
        return replace(self, positions=self.positions[kept], cosines=self.cosines[kept])


NOTHING: Final = Near(np.empty(0, dtype=np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Question:
    """A query's vector, and where to look for what is near it."""

    setup: Setup
    partitions: list[Partition]
    vector: Vectors

    def near(self, directory: Directory, mask: NDArray[np.bool_]) -> Near:
        """Return the passages nearest to the query among those that the mask leaves in.

        As many are asked for whatever the limit: a score must not follow from how many hits are wanted.
        """
        numbers = np.sort(directory.numbers[mask])
        try:
            # A statement that fails would take the rest of the search along on PostgreSQL.
            with transaction.atomic(using=self.setup.store.using):
                found = self.setup.store.nearest(self.partitions, self.vector, CANDIDATES, numbers)
        except Exception as error:  # whatever a store raises costs one arm
            _say(f"The store {self.setup.store.name} failed with {type(error).__name__}.")
            return NOTHING
        # Whatever a store returns, what the reader does not see falls away here.
        there = np.isin(found.numbers, numbers)
        positions = directory.locate(found.numbers[there])
        space = self.setup.space.key
        return Near(positions, found.cosines[there], space, self.setup.store.name)


def question(scope: Scope, using: str, query: str) -> Question | None:
    """Return the query's vector and where to look; None where a search goes by text alone.

    Call it before the search's own transaction: an embedder may take its time.
    """
    if not conf.vectors_wanted() or not query.strip():
        return None
    space, partitions = spaces.seen_from(scope, using)
    if space is None or not partitions:
        return None
    try:
        setup = spaces.fitting(space, using)
    except (EmbeddingSpaceMismatch, InvalidSettings) as error:
        _say(error)
        return None
    except Exception as error:  # whatever making an embedder or a store raises costs one arm
        _say(f"The embedder or the store cannot be made: {type(error).__name__}.")
        return None
    vector = asking.vector_of(scope, setup.embedder, query)
    return None if vector is None else Question(setup, partitions, vector)


def _say(error: Any) -> None:
    if str(error) not in _said:
        _said.add(str(error))
        logger.error("Searches go by text alone. %s", error)
