"""Embedders for the benchmarks, of packages that bring their weights: `minilm` and `wordllama`.

Vectors are kept in the folder that PRISM_GRAPH_VECTORS_CACHE names, if any: MiniLM reads some 2,000
tokens a second.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism_graph import embedders

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

NAMES: Final = ("minilm", "wordllama")
BATCH: Final = 64


def embedder(name: str) -> Embed:
    """Return what makes unit vectors of texts, and zeros of an empty one."""
    made = embedders.make(name)

    def embed(texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), made.dimensions), dtype=np.float32)
        # A set has an empty text, which has no direction.
        filled = [place for place, text in enumerate(texts) if text.strip()]
        for start in range(0, len(filled), BATCH):
            places = filled[start : start + BATCH]
            found[places] = embedders.vectors(made, [texts[place] for place in places])
        return found

    folder = os.environ.get("PRISM_GRAPH_VECTORS_CACHE")
    return _kept(Path(folder), name, embed) if folder else embed


def _kept(folder: Path, name: str, embed: Embed) -> Embed:
    def kept(texts: Sequence[str]) -> Vectors:
        key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        path = folder / f"{name}-{key}.npy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, embed(texts))
        return np.asarray(np.load(path))

    return kept
