"""Fusion of two arms: a stand-in until the measured one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Fusion:
    method: str = "weighted"
    text: float = 0.6

    @classmethod
    def of(cls, value: Any) -> Fusion:
        return cls()


@dataclass(frozen=True)
class Fused:
    positions: Any
    scores: Any
    parts: Any

    def explain(self, position: int) -> dict:
        return self.parts[int(position)]


def fuse(fusion, tp, ts, vp, vs) -> Fused:
    parts: dict = {}
    top = ts.max() if len(ts) else 1.0
    lo, hi = (vs.min(), vs.max()) if len(vs) else (0.0, 1.0)
    for p, s in zip(tp.tolist(), ts.tolist()):
        parts.setdefault(p, {})["text"] = {
            "rank": int((ts > s).sum()) + 1,
            "score": s,
            "part": 0.6 * s / top,
        }
    for p, s in zip(vp.tolist(), vs.tolist()):
        parts.setdefault(p, {})["vector"] = {
            "rank": int((vs > s).sum()) + 1,
            "score": s,
            "part": 0.4 * ((s - lo) / (hi - lo) if hi > lo else 1.0),
        }
    pos = np.array(sorted(parts), dtype=np.int64)
    return Fused(
        pos, np.round([sum(a["part"] for a in parts[p].values()) for p in pos.tolist()], 9), parts
    )
