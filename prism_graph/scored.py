"""The candidates of a search with their scores: of the words alone, or of words and meaning together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from prism_graph.nearness import Near
from prism_graph.ranking import Contrasts, Fused, Fusion, Ranking, contrast, fuse

TEXT: Final = "text"
VECTOR: Final = "vector"
HYBRID: Final = "hybrid"


@dataclass(frozen=True, eq=False)
class Scored:
    """The places of the candidates in the directory; scores aligned to it, which count there only."""

    positions: NDArray[np.int64]
    scores: NDArray[np.float64]
    text: Ranking
    near: Near
    meaning: Contrasts | None = None
    fused: Fused | None = None

    @classmethod
    def of(cls, text: Ranking, near: Near, mask: NDArray[np.bool_], fusion: Fusion) -> Self:
        """Return what both arms found among what the mask leaves in."""
        found = np.flatnonzero(mask & (text.scores > 0))
        if not len(near.positions):
            return cls(found, text.scores, text, near)
        # A turn lends of its likeness to those around it, which the mask may leave out.
        meaning = contrast(text.directory, near.positions, near.cosines)
        seen = mask[meaning.positions]
        arms = (found, text.scores[found], meaning.positions[seen], meaning.scores[seen])
        fused = fuse(fusion.among(len(near.positions)), *arms)
        scores = np.zeros(len(text.scores))
        scores[fused.positions] = fused.scores
        return cls(fused.positions, scores, text, near, meaning, fused)

    def method(self, position: int) -> str:
        """Return what found a candidate: the words, the store's vectors, or both."""
        if self.fused is None or self.fused.vector.explain(position) is None:
            return TEXT
        return HYBRID if self.text.scores[position] > 0 else self.near.method

    def explain(self, position: int, place: int) -> Mapping[str, Any]:
        """Return how the score of a candidate comes about, which stands at this place of the answer."""
        if self.fused is None or self.meaning is None:
            score = float(self.scores[position])
            return {TEXT: {"rank": place, "score": score, **self.text.explain(position)}}
        whole = self.fused.explain(position)
        arms: dict[str, Any] = {
            "fusion": {"method": whole["method"], "parameters": whole["parameters"]}
        }
        if whole["text"] is not None:
            arms[TEXT] = {**whole["text"], **self.text.explain(position)}
        if whole["vector"] is not None:
            arms[VECTOR] = {**whole["vector"], **self.meaning.explain(position)}
        return arms
