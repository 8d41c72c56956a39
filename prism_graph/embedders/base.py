"""What an embedder is, and the one way to ask it: whatever it returns or raises is checked here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_graph.embedders.decoding import decode
from prism_graph.errors import (
    EmbedderUnavailable,
    EmbeddingFailed,
    EmbeddingSpaceMismatch,
    InvalidVector,
)

logger = logging.getLogger(__name__)

# What a reply is not, though it can be iterated over.
_NO_LIST: Final = (str, bytes, bytearray, Mapping, AbstractSet)


class Embedder(Protocol):
    """Make a vector of each text, near one another where the texts mean something near.

    For models that treat questions apart it also has `embed_query(texts)`. It may be called from several
    threads at once. What it raises is told by type only, except an EmbeddingFailed of its own: that message
    is stored and shown, and must not quote the texts.
    """

    @property
    def name(self) -> str:
        """Return the provider's name, without a slash."""
        ...

    @property
    def model(self) -> str:
        """Return the model's name; another one whenever the vectors change."""
        ...

    @property
    def dimensions(self) -> int:
        """Return the width of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Iterable[Any]:
        """Return a vector for each text, in order: floats, an array, or float32 in base64."""
        ...


def space_of(embedder: Embedder) -> str:
    """Return the name of what an embedder's vectors can be compared within: `name/model/dimensions`."""
    return f"{embedder.name}/{embedder.model}/{embedder.dimensions}"


def check_space(made: str, embedder: Embedder) -> None:
    """Raise EmbeddingSpaceMismatch unless the space that vectors were made in is the embedder's."""
    asked = space_of(embedder)
    if made != asked:
        raise EmbeddingSpaceMismatch(
            f"These vectors were made by {made}, and PRISM_GRAPH['EMBEDDER'] is {asked}: set that one "
            "again, or run `manage.py prism_graph_migrate_vectors`."
        )


def vectors(
    embedder: Embedder, texts: Sequence[str], *, query: bool = False
) -> NDArray[np.float32]:
    """Return the texts' vectors, each of length 1, as an array of (texts × dimensions).

    Raises EmbedderUnavailable to try later, InvalidVector for a reply that is none, EmbeddingFailed for
    everything else that the embedder raises.
    """
    texts = list(texts)
    if not texts:
        return np.empty((0, embedder.dimensions), dtype=np.float32)
    try:
        replies = _ask(embedder, texts, query=query)
        return _unit(np.stack(_rows(replies, len(texts), embedder.dimensions)))
    except EmbeddingFailed as refusal:
        # Its context may quote the texts or a key.
        raise refusal from None
    except (ConnectionError, TimeoutError) as error:
        raise EmbedderUnavailable(_failure(embedder, error) + " Try again later.") from None
    except Exception as error:
        raise EmbeddingFailed(_failure(embedder, error)) from None


def _ask(embedder: Embedder, texts: list[str], *, query: bool) -> list[Any]:
    ask: Callable[[list[str]], Any] = embedder.embed
    if query:
        ask = getattr(embedder, "embed_query", ask)
    replies = ask(texts)
    if isinstance(replies, _NO_LIST) or not isinstance(replies, Iterable):
        raise InvalidVector("The embedder returned no list of vectors.")
    # One more than wanted is enough to refuse, however many follow.
    return list(islice(replies, len(texts) + 1))


def _rows(replies: list[Any], count: int, width: int) -> list[NDArray[np.float64]]:
    if len(replies) != count:
        given = f"{len(replies)} vectors" if len(replies) < count else "more vectors"
        raise InvalidVector(f"The embedder returned {given} for {count} texts.")
    return [_row(place, reply, width) for place, reply in enumerate(replies)]


def _row(place: int, reply: object, width: int) -> NDArray[np.float64]:
    try:
        row = decode(reply)
    except InvalidVector as refusal:
        raise InvalidVector(f"Item {place}: {refusal}") from None
    if row.size != width:
        raise InvalidVector(
            f"Item {place}: the vector has {row.size} dimensions, and {width} are wanted: set "
            "dimensions in PRISM_GRAPH['EMBEDDER'] to what the model returns."
        )
    if not row.any():
        raise InvalidVector(f"Item {place}: the vector is zero, which has no direction.")
    return row


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    # By the largest number first: the square of a very small one would be zero.
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    unit: NDArray[np.float64] = rows / lengths[:, None]
    return unit.astype(np.float32)


def _failure(embedder: Embedder, error: Exception) -> str:
    # The type only: a message may quote the texts or a key.
    kind = type(error).__name__
    logger.warning("The embedder %s failed with %s.", embedder.name, kind)
    return f"The embedder {embedder.name} failed with {kind}."
