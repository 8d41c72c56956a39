"""Vectors from a table of word pieces that the package wordllama brings along: very fast, on any machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.embedders import options
from prism_graph.embedders.packaged import packaged

_TABLE: Final = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_PIECES: Final = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_RULES: Final[options.Rules] = {"dimensions": options.one_of(64, 128, 256)}


class WordLlamaEmbedder:
    """Average the vectors of a text's word pieces; nothing is ever downloaded.

    An empty text has none: its vector is zero, which is refused where it comes in, as any made-up one would
    lie near texts that it has nothing in common with. The package's files are read, and the package
    itself is not imported: that would set up logging and a way to download.
    """

    name = "wordllama"
    model = "l2-supercat"

    def __init__(self, dimensions: int = 256) -> None:
        options.check_options(self.name, {"dimensions": dimensions}, _RULES)
        from safetensors import safe_open
        from tokenizers import Tokenizer

        self.dimensions = dimensions
        path = packaged("wordllama", "weights", "l2_supercat_256.safetensors", sha256=_TABLE)
        with safe_open(str(path), framework="np") as file:
            table: NDArray[Any] = file.get_tensor("embedding.weight")
        self._table = np.ascontiguousarray(table[:, :dimensions], dtype=np.float32)
        pieces = ("tokenizers", "l2_supercat_tokenizer_config.json")
        self._tokenizer: Any = Tokenizer.from_file(
            str(packaged("wordllama", *pieces, sha256=_PIECES))
        )
        # It would keep short texts, beyond their erasure.
        self._tokenizer.model._resize_cache(0)

    @staticmethod
    def complaint(**given: Any) -> str | None:
        """Return what is wrong with the options; None where nothing is."""
        return options.broken_rule(given, _RULES)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the texts' vectors, in an array of (texts × dimensions)."""
        found = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            # One by one: encoding several at once starts threads that do not survive a fork.
            if pieces := self._tokenizer.encode(text, add_special_tokens=False).ids:
                row[:] = self._table[pieces].mean(axis=0)
        return found
