"""Fusion: one order out of the text arm and the vector arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from prism_graph.ranking.directory import DECIMALS, Floats, Integers

RRF_K: Final = 60
TEXT_SHARE: Final = 0.6
# Euler's constant: of n values that fall off exponentially, mean 1, the highest is ln n + this on average.
GAMMA: Final = 0.5772156649015329
# What may be set of each method.
OPTIONS: Final = {"contrast": ("half",), "rrf": ("k", "weights"), "weighted": ("text",)}
DEFAULT: Final = "contrast"
ALONE: Final = "alone"


class ArmPart(TypedDict):
    """What one arm gave: `rank` counts from 1, equal scores share one."""

    rank: int
    score: float
    part: float


class FusedPart(TypedDict):
    """A fused score: the sum of both parts, rounded to 9 decimals; None: the arm has no such chunk."""

    method: str
    parameters: dict[str, Any]
    text: ArmPart | None
    vector: ArmPart | None


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two arms become one order. t is a text score, v a vector score, best the highest t.

    - `contrast`: t + best · v²/(v² + `half`²), for v that are contrasts (ranking.contrast). Without `half`
      it is what the best of so many unlike candidates has by chance (Fusion.among).
    - `rrf`: Σ weight/(`k` + rank) (Cormack, Clarke, Büttcher 2009); `weights` of text and vector.
    - `weighted`: `text` · t/best + (1 − `text`) · v brought to 0–1 by the lowest v and the highest.

    Where one arm found nothing, the other's scores stay as they are. Raises ValueError for values
    out of range.
    """

    method: str = DEFAULT
    half: float | None = None
    k: int = RRF_K
    weights: tuple[float, float] = (1.0, 1.0)
    text: float = TEXT_SHARE

    def __post_init__(self) -> None:
        if self.method not in OPTIONS:
            raise ValueError(f"The method of fusion must be {_listed(OPTIONS)}.")
        if self.half is not None and not _within(self.half, 0.01, 1000):
            raise ValueError("half must be a number from 0.01 to 1000.")
        if not isinstance(self.k, int) or not _within(self.k, 1, 1000):
            raise ValueError("k must be a whole number from 1 to 1000.")
        if len(self.weights) != 2 or not all(_within(each, 0.001, 1000) for each in self.weights):
            raise ValueError("weights must be two numbers from 0.001 to 1000: text, vector.")
        if not _within(self.text, 0.01, 0.99):
            raise ValueError("text must be a number from 0.01 to 0.99.")

    @classmethod
    def of(cls, value: object) -> Fusion:
        """Return the fusion that a setting spells: None, a method, or a dict of one and its options.

        Raises ValueError, saying what is wrong.
        """
        if value is None:
            return cls()
        if isinstance(value, str):
            value = {"method": value}
        if not isinstance(value, Mapping):
            raise ValueError("A fusion must be None, a method's name or a dict.")
        options = dict(value)
        method = options.pop("method", None)
        if not isinstance(method, str) or method not in OPTIONS:
            raise ValueError(f"The method of fusion must be {_listed(OPTIONS)}.")
        if unknown := sorted(str(key) for key in options if key not in OPTIONS[method]):
            raise ValueError(
                f"{method!r} has no option {unknown[0]!r}, only {_listed(OPTIONS[method])}."
            )
        if "weights" in options:
            options["weights"] = _pair(options["weights"])
        return cls(method, **options)

    def among(self, candidates: int) -> Fusion:
        """Return this for an arm of that many candidates: `half` is ln n + GAMMA unless it is given."""
        if self.half is not None or candidates < 1:
            return self
        return replace(self, half=math.log(candidates) + GAMMA)

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the method, as a setting would spell them."""
        values = {name: getattr(self, name) for name in OPTIONS[self.method]}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def _listed(names: Iterable[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _within(value: object, least: float, most: float) -> bool:
    # True is no number here, and NaN is within nothing.
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _pair(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("weights must be two numbers from 0.001 to 1000: text, vector.")
    return tuple(value)


@dataclass(frozen=True, eq=False)
class Arm:
    """One arm: positions of a directory, their scores, and what each is worth."""

    positions: Integers
    scores: Floats
    parts: Floats

    def explain(self, position: int) -> ArmPart | None:
        """Return what the arm gave to a position, None for nothing."""
        at = np.flatnonzero(self.positions == position)
        if not len(at):
            return None
        score = self.scores[at[0]]
        higher = int((self.scores > score).sum())
        return ArmPart(rank=higher + 1, score=float(score), part=float(self.parts[at[0]]))


@dataclass(frozen=True, eq=False)
class Fused:
    """Both arms' positions, ascending, and their scores, rounded to 9 decimals.

    `parameters` are the options of the method, and what it took from the arms as a whole.
    """

    positions: Integers
    scores: Floats
    method: str
    parameters: Mapping[str, Any]
    text: Arm
    vector: Arm

    def explain(self, position: int) -> FusedPart:
        """Return how the score of a position comes about. Raises KeyError where there is none."""
        text, vector = self.text.explain(position), self.vector.explain(position)
        if text is None and vector is None:
            raise KeyError(position)
        return FusedPart(
            method=self.method, parameters=dict(self.parameters), text=text, vector=vector
        )


def fuse(
    fusion: Fusion,
    text_positions: ArrayLike,
    text_scores: ArrayLike,
    vector_positions: ArrayLike,
    vector_scores: ArrayLike,
) -> Fused:
    """Return the union of two arms, each distinct positions of a directory and their scores.

    Text scores are above 0, vector scores those of ranking.contrast. The score of a position depends on
    its scores and ranks in the arms alone, never on the position or its place in them.
    """
    arms = [
        (np.asarray(positions, dtype=np.int64), np.asarray(scores, dtype=np.float64))
        for positions, scores in ((text_positions, text_scores), (vector_positions, vector_scores))
    ]
    method, parameters, parts = _parts(fusion, arms[0][1], arms[1][1])
    text, vector = (
        Arm(*arm, np.round(part, DECIMALS)) for arm, part in zip(arms, parts, strict=True)
    )
    positions, sums = _united(text, vector)
    return Fused(positions, np.round(sums, DECIMALS), method, parameters, text, vector)


def _united(*arms: Arm) -> tuple[Integers, Floats]:
    """Return the positions of any arm, ascending, and the sums of their parts."""
    size = 1 + max(int(arm.positions.max(initial=-1)) for arm in arms)
    found, sums = np.zeros(size, dtype=bool), np.zeros(size)
    for arm in arms:
        found[arm.positions] = True
        sums[arm.positions] += arm.parts
    return np.flatnonzero(found), sums[found]


def _ranks(scores: Floats) -> Integers:
    """Return 1 + how many are higher, so that equal scores share a rank."""
    higher = len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    return np.asarray(higher + 1, dtype=np.int64)


def _parts(
    fusion: Fusion, text: Floats, vector: Floats
) -> tuple[str, dict[str, Any], tuple[Floats, Floats]]:
    """Return the method applied, its parameters, and what each score of each arm is worth."""
    if not len(text) or not len(vector):
        return ALONE, {}, (text, vector)
    parameters, *parts = _METHODS[fusion.method](fusion, text, vector)
    return fusion.method, fusion.options | parameters, (parts[0], parts[1])


_Parts = tuple[dict[str, float], Floats, Floats]


def _by_contrast(fusion: Fusion, text: Floats, vector: Floats) -> _Parts:
    best = float(text.max())
    # Squared, so that what chance reaches adds little, and no v outweighs the best text score.
    squared = vector * vector
    half = fusion.half or fusion.among(len(vector)).half or 1.0
    return {"best": best, "half": half}, text, best * squared / (squared + half**2)


def _by_rank(fusion: Fusion, text: Floats, vector: Floats) -> _Parts:
    parts = [
        weight / (fusion.k + _ranks(arm))
        for weight, arm in zip(fusion.weights, (text, vector), strict=True)
    ]
    return {}, parts[0], parts[1]


def _by_weight(fusion: Fusion, text: Floats, vector: Floats) -> _Parts:
    best, low, high = float(text.max()), float(vector.min()), float(vector.max())
    scaled = (vector - low) / (high - low) if high > low else np.ones(len(vector))
    parameters = {"best": best, "low": low, "high": high}
    return parameters, fusion.text * text / best, (1.0 - fusion.text) * scaled


_METHODS: Final[Mapping[str, Callable[[Fusion, Floats, Floats], _Parts]]] = {
    "contrast": _by_contrast,
    "rrf": _by_rank,
    "weighted": _by_weight,
}
