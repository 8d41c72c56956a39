"""How far the candidates of a vector store stand out from one another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from prism_graph.ranking.directory import DECIMALS, Directory, Floats, Integers
from prism_graph.ranking.lending import spread

# Candidates to ask a store for: enough to tell what is unlike, more change little.
CANDIDATES: Final = 300
# Of the likeness of several turns: each adds what the others do not say (lending.spread).
SUMMED: Final = 0.5


class ContrastPart(TypedDict):
    """A contrast: `own` + `lent`, where `own` is (`similarity` − `floor`)/`mean`.

    `similarity` is None where the store named no such candidate: all of it is lent.
    """

    similarity: float | None
    floor: float
    mean: float
    own: float
    lent: float


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The vector arm: positions of the directory, and how far each stands out (0 and more)."""

    positions: Integers
    scores: Floats
    similarities: dict[int, float]
    floor: float
    mean: float

    def explain(self, position: int) -> ContrastPart:
        """Return how the contrast at a position of the directory comes about.

        Raises KeyError where the arm has none.
        """
        at = np.flatnonzero(self.positions == position)
        if not len(at):
            raise KeyError(position)
        similarity = self.similarities.get(position)
        own = 0.0 if similarity is None else _above(similarity, self.floor, self.mean)
        return ContrastPart(
            similarity=similarity,
            floor=self.floor,
            mean=self.mean,
            own=own,
            lent=float(self.scores[at[0]]) - own,
        )


def contrast(directory: Directory, positions: ArrayLike, similarities: ArrayLike) -> Contrasts:
    """Return how far each candidate stands above the last one, the mean of all being 1.

    `positions` are distinct, and the best of what the reader sees by `similarities` of any scale: the
    last of them is where the unlike begin. Far above the last, similarities of what is unlike
    fall off exponentially, so a multiple of their mean says how unlikely one is by chance, whatever the
    model. A turn lends its contrast as it lends what words give it (lending.spread).
    """
    places = np.asarray(positions, dtype=np.int64)
    values = np.asarray(similarities, dtype=np.float64)
    floor = float(values.min(initial=math.inf)) if len(values) else 0.0
    # An exact sum: the order of the candidates must not change a bit of it.
    mean = math.fsum((values - floor).tolist()) / max(len(values), 1)
    own = np.array([_above(value, floor, mean) for value in values.tolist()])
    lent = spread(directory, places, own, SUMMED)
    found = lent > 0
    found[places] = True
    return Contrasts(
        positions=np.flatnonzero(found),
        scores=np.round(lent[found], DECIMALS),
        similarities=dict(zip(places.tolist(), values.tolist(), strict=True)),
        floor=floor,
        mean=mean,
    )


def _above(similarity: float, floor: float, mean: float) -> float:
    # Where all are alike each is the mean.
    return (similarity - floor) / mean if mean > 0 else 1.0
