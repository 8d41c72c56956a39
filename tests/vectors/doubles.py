"""Embedders and settings for tests of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.test import override_settings

from prism_graph.embedders import make

UNFIT: Final = "unembeddable"


class Choosy:
    """The hashing embedder, which refuses every text with one word, and counts what it is asked for."""

    name = "choosy"
    model = "1"
    dimensions = 64

    def __init__(self, unfit: str = UNFIT) -> None:
        self.unfit = unfit
        self.asked: list[str] = []
        self.calls = 0
        self._hashing = make({"provider": "hashing", "dimensions": self.dimensions})

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        self.asked += texts
        if self.unfit and any(self.unfit in text for text in texts):
            raise ValueError(f"cannot embed {texts}")
        return self._hashing.embed(texts)


def vectors(embedder: Any = "hashing", store: Any = "exact", **more: Any) -> override_settings:
    """Return the settings of a project that searches by vectors."""
    ours = {**getattr(settings, "PRISM_GRAPH", {}), "VECTORS": store, "EMBEDDER": embedder, **more}
    return override_settings(PRISM_GRAPH=ours)
