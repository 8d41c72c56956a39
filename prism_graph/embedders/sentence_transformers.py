"""Vectors from a model of the sentence-transformers library that is on this machine already."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from prism_graph.embedders import options
from prism_graph.errors import InvalidSettings

_RULES: Final[options.Rules] = {
    "model": options.TEXT,
    "dimensions": options.optional(options.COUNT),
    "device": options.optional(options.TEXT),
    "batch_size": options.COUNT,
}


class SentenceTransformersEmbedder:
    """Ask a local model, a folder's path or a name in the cache; nothing is ever downloaded.

    Fewer dimensions than the model's cut its vectors short, for models that are trained for it.
    """

    name = "sentence-transformers"

    def __init__(
        self,
        model: str,
        dimensions: int | None = None,
        *,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        given = locals()
        options.check_options(self.name, {name: given[name] for name in _RULES}, _RULES)
        from sentence_transformers import SentenceTransformer

        self.model, self._batch_size = model, batch_size
        loaded: Any = SentenceTransformer(
            model, device=device, truncate_dim=dimensions, local_files_only=True
        )
        self.dimensions: int = dimensions or _width(loaded)
        # Its tokenizer refuses to be used by two threads at once.
        self._lock = threading.Lock()
        # Newer releases of the library treat documents and questions apart.
        self._documents: Callable[..., Any] = getattr(loaded, "encode_document", loaded.encode)
        self._questions: Callable[..., Any] = getattr(loaded, "encode_query", loaded.encode)

    @staticmethod
    def complaint(**given: Any) -> str | None:
        """Return what is wrong with the options; None where nothing is."""
        return options.broken_rule(given, _RULES)

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the texts' vectors as an array."""
        return self._encode(self._documents, texts)

    def embed_query(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts that are questions."""
        return self._encode(self._questions, texts)

    def _encode(self, encode: Callable[..., Any], texts: Sequence[str]) -> Any:
        with self._lock:
            return encode(
                list(texts),
                batch_size=self._batch_size,
                convert_to_numpy=True,
                show_progress_bar=False,
            )


def _width(loaded: Any) -> int:
    # The second is its older name.
    for name in ("get_embedding_dimension", "get_sentence_embedding_dimension"):
        if width := getattr(loaded, name, lambda: None)():
            return int(width)
    raise InvalidSettings("The model does not say how wide its vectors are: set 'dimensions'.")
