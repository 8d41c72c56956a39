"""Vectors from OpenAI, or from any server that has its /embeddings: vLLM, Ollama, llama.cpp, TEI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from prism_graph.embedders import options
from prism_graph.embedders.posting import Server
from prism_graph.errors import InvalidVector

if TYPE_CHECKING:
    import httpx2

OPENAI: Final = "https://api.openai.com/v1"
# Bytes of a reply: a number written out, with room around it, and what stands beside the vectors.
_PER_NUMBER: Final = 64
_BESIDE: Final = 1024 * 1024
_RULES: Final[options.Rules] = {
    "model": options.TEXT,
    "dimensions": options.COUNT,
    "base_url": options.ADDRESS,
    "api_key_env": options.optional(options.VARIABLE),
    "batch_size": options.COUNT,
    "timeout": options.SECONDS,
    "retries": options.RETRIES,
    "encoding_format": options.one_of("base64", "float", None),
    "send_dimensions": options.SWITCH,
    "headers": options.optional(options.HEADERS),
    "transport": options.ANYTHING,
}


class OpenAIEmbedder:
    """Ask a server for the vectors of texts, in batches.

    The key is read from the environment at every request: OPENAI_API_KEY for OpenAI itself, and none
    for another server unless `api_key_env` names one.
    """

    name = "openai"

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        dimensions: int = 1536,
        *,
        base_url: str = OPENAI,
        api_key_env: str | None = None,
        batch_size: int = 128,
        timeout: float = 10.0,
        retries: int = 2,
        encoding_format: str | None = "base64",
        send_dimensions: bool = False,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        given = locals()
        options.check_options(self.name, {name: given[name] for name in _RULES}, _RULES)
        self.model, self.dimensions = model, dimensions
        self._batch_size = batch_size
        self._beside: dict[str, Any] = {"model": model}
        if encoding_format is not None:
            self._beside["encoding_format"] = encoding_format
        if send_dimensions:
            self._beside["dimensions"] = dimensions
        address = base_url.rstrip("/")
        self._server = Server(
            f"{address}/embeddings",
            key_env=api_key_env or ("OPENAI_API_KEY" if address == OPENAI else None),
            timeout=timeout,
            retries=retries,
            headers=headers or {},
            transport=transport,
        )

    @staticmethod
    def complaint(**given: Any) -> str | None:
        """Return what is wrong with the options; None where nothing is."""
        return options.broken_rule(given, _RULES)

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """Return a vector for each text, as the server gave it.

        Raises EmbedderUnavailable, EmbeddingFailed for texts that it refuses, InvalidVector.
        """
        found: list[Any] = []
        for start in range(0, len(texts), self._batch_size):
            found += self._batch(list(texts[start : start + self._batch_size]))
        return found

    def _batch(self, texts: list[str]) -> list[Any]:
        limit = len(texts) * self.dimensions * _PER_NUMBER + _BESIDE
        reply = self._server.post({**self._beside, "input": texts}, limit=limit)
        return _in_order(reply, len(texts))

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, {self.dimensions})"


def _in_order(reply: Any, count: int) -> list[Any]:
    items = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and "embedding" in item for item in items
    ):
        raise InvalidVector("The server's reply is not that of /embeddings: see 'base_url'.")
    if len(items) != count:
        raise InvalidVector(f"The server returned {len(items)} vectors for {count} texts.")
    places = [item.get("index") for item in items]
    if places == [None] * count:
        return [item["embedding"] for item in items]
    if set(map(type, places)) != {int} or sorted(places) != list(range(count)):
        raise InvalidVector("The server's vectors are not numbered as the texts are.")
    return [item["embedding"] for item in sorted(items, key=lambda item: int(item["index"]))]
