"""Fusion: one order out of two arms, by ranks or by normalised scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

RRF_K: Final = 60


def fuse_ranks(
    arms: Sequence[Sequence[str]], weights: Sequence[float] | None = None, k: int = RRF_K
) -> dict[str, float]:
    """Return Σ weight/(k + rank) of every id over arms given best first (reciprocal rank fusion).

    Ranks count from 1; without weights every arm counts 1 (Cormack, Clarke, Büttcher 2009).
    """
    fused: dict[str, float] = {}
    for weight, arm in zip(weights or [1.0] * len(arms), arms, strict=True):
        for rank_, id_ in enumerate(arm, start=1):
            fused[id_] = fused.get(id_, 0.0) + weight / (k + rank_)
    return fused


def fuse_scores(
    text: Mapping[str, float], vector: Mapping[str, float], share: float = 0.6
) -> dict[str, float]:
    """Return share · text/maximum + (1 − share) · vector brought to 0–1 by minimum and maximum.

    A missing id counts 0 in that arm; a vector arm whose scores are all equal counts 1.
    """
    top = max(text.values(), default=0.0)
    low, high = min(vector.values(), default=0.0), max(vector.values(), default=0.0)
    fused = {id_: share * score / top if top > 0 else 0.0 for id_, score in text.items()}
    for id_, score in vector.items():
        part = (score - low) / (high - low) if high > low else 1.0
        fused[id_] = fused.get(id_, 0.0) + (1.0 - share) * part
    return fused
