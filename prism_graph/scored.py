"""The candidates of a search with their scores: of the words alone, or of words and meaning together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from prism_graph.nearness import Near
from prism_graph.ranking import Fused, Fusion, Ranking, fuse

TEXT: Final = "text"
HYBRID: Final = "hybrid"


@dataclass(frozen=True, eq=False)
class Scored:
    """The places of the candidates in the directory; scores aligned to it, which count there only."""

    positions: NDArray[np.int64]
    scores: NDArray[np.float64]
    text: Ranking
    near: Near
    fused: Fused | None = None

    @classmethod
    def of(cls, text: Ranking, near: Near, mask: NDArray[np.bool_], fusion: Fusion) -> Self:
        """Return what both arms found among what the mask leaves in."""
        found = np.flatnonzero(mask & (text.scores > 0))
        if not len(near.positions):
            return cls(found, text.scores, text, near)
        fused = fuse(fusion, found, text.scores[found], near.positions, near.cosines)
        scores = np.zeros(len(text.scores))
        scores[fused.positions] = fused.scores
        return cls(fused.positions, scores, text, near, fused)

    def method(self, position: int) -> str:
        """Return what found a candidate: the words, the store's vectors, or both."""
        if not self.near.holds(position):
            return TEXT
        return HYBRID if self.text.scores[position] > 0 else self.near.method

    def explain(self, position: int, place: int) -> Mapping[str, Any]:
        """Return how the score of a candidate comes about, which stands at this place of the answer."""
        score = float(self.scores[position])
        if self.fused is None:
            return {TEXT: {"rank": place, "score": score, **self.text.explain(position)}}
        arms = dict(self.fused.explain(position))
        if TEXT in arms:
            arms[TEXT] = {**self.text.explain(position), **arms[TEXT]}
        return arms
