"""The vector of a query: within a time limit, kept for a while, and never the query's text."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock, Thread
from typing import ClassVar, Final

from django.db import connections
from django.utils.crypto import salted_hmac

from prism_graph import conf, embedders
from prism_graph.embedders import Embedder, space_of
from prism_graph.errors import EmbedderUnavailable, EmbeddingFailed
from prism_graph.scope import Scope
from prism_graph.vectors import Vectors

logger = logging.getLogger(__name__)

SALT: Final = "prism_graph.query"
MAX_AGE: Final = 300.0
MAX_KEPT: Final = 1024
# A question is cut there before it is embedded: models read less of it, and time is everybody's.
MAX_CHARACTERS: Final = 8192
# Calls that ran out of time and still run; beyond these, nothing more is asked until one has ended.
MAX_LATE: Final = 4


class QueryVectors:
    """Vectors of queries, under a keyed hash of scope, space and text, for at most five minutes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, Vectors]] = OrderedDict()
        self._lock = Lock()

    @staticmethod
    def key(scope: Scope, space: str, text: str) -> str:
        """Return what a query is kept under: HMAC-SHA256 under the project's SECRET_KEY."""
        spelt = "".join(f"{len(part)}:{part}" for part in (*scope.parts, space, text))
        return salted_hmac(
            SALT, spelt.encode("utf-8", "surrogatepass"), algorithm="sha256"
        ).hexdigest()

    def get(self, key: str) -> Vectors | None:
        """Return what is kept under a key, and is not too old."""
        with self._lock:
            until, vector = self._kept.get(key, (0.0, None))
            if vector is not None and until < time.monotonic():
                del self._kept[key]
                return None
            return vector

    def put(self, key: str, vector: Vectors) -> None:
        """Keep a vector; the oldest goes when there are too many."""
        now = time.monotonic()
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (now + MAX_AGE, vector)
            oldest = next(iter(self._kept))
            while len(self._kept) > MAX_KEPT or self._kept[oldest][0] < now:
                del self._kept[oldest]
                oldest = next(iter(self._kept))

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()


KEPT: Final = QueryVectors()


@dataclass(slots=True)
class _Once:
    """Log the first of failures that follow one another."""

    failing: bool = False

    def failed(self, embedder: Embedder, error: Exception) -> None:
        if not self.failing:
            logger.warning(
                "Searches go by text alone: %s gives no vectors. %s", space_of(embedder), error
            )
        self.failing = True

    def worked(self) -> None:
        self.failing = False


_ONCE: Final = _Once()


def vector_of(scope: Scope, embedder: Embedder, text: str) -> Vectors | None:
    """Return a query's vector; None, logged once, when the embedder fails or takes too long."""
    text = text[:MAX_CHARACTERS]
    key = KEPT.key(scope, space_of(embedder), text)
    if (known := KEPT.get(key)) is not None:
        return known
    try:
        vector = _in_time(embedder, text, conf.config().EMBED_SECONDS)
    except EmbeddingFailed as error:
        _ONCE.failed(embedder, error)
        return None
    _ONCE.worked()
    KEPT.put(key, vector)
    return vector


class _Call(Thread):
    """One question to an embedder, in a thread that nobody waits for longer than is allowed."""

    late: ClassVar[set[_Call]] = set()

    def __init__(self, embedder: Embedder, text: str) -> None:
        super().__init__(name="prism_graph-query", daemon=True)
        self._embedder, self._text = embedder, text
        self._vector: Vectors | None = None
        self._error: EmbeddingFailed = EmbedderUnavailable()

    def run(self) -> None:
        try:
            self._vector = embedders.vectors(self._embedder, [self._text], query=True)[0]
        except EmbeddingFailed as error:
            self._error = error
        finally:
            # An embedder of the project's own may have used the database.
            connections.close_all()

    def answer(self, seconds: float) -> Vectors:
        """Return the vector. Raises EmbeddingFailed."""
        self.start()
        self.join(seconds)
        if self.is_alive():
            self.late.add(self)
            raise EmbedderUnavailable(f"No answer within {seconds} seconds.")
        if self._vector is None:
            raise self._error
        return self._vector


def _in_time(embedder: Embedder, text: str, seconds: float) -> Vectors:
    late = {call for call in list(_Call.late) if call.is_alive()}
    _Call.late &= late
    if len(late) >= MAX_LATE:
        raise EmbedderUnavailable("Earlier questions are still unanswered.")
    return _Call(embedder, text).answer(seconds)
