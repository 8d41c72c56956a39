"""Embedders that are loaded once in a process: by the first thread that asks, anew after a fork."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Final

from prism_graph.embedders.base import Embedder
from prism_graph.embedders.making import make
from prism_graph.errors import InvalidSettings, PrismGraphError

# Seconds until an embedder that could not be made is tried again.
AGAIN: Final = 30.0


class Loaded:
    """What was made of some settings, by the name of each; another object of settings begins anew."""

    def __init__(self) -> None:
        self._parents: list[Any] = []
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin_after_fork)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._made_for: object = None
        self._made: dict[str, Embedder | None] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def begin_after_fork(self) -> None:
        """Forget what the parent made: models and connections do not survive a fork.

        They are kept, as closing them would cut the parent off.
        """
        self._parents.append(self._made)
        self._begin()

    def get(self, settings: object, name: str, value: object) -> Embedder | None:
        """Return what a value makes, None of None. Raises what `make` raises, once in AGAIN seconds."""
        with self._lock:
            if self._made_for is not settings:
                self._made, self._failed, self._made_for = {}, {}, settings
            if name not in self._made:
                self._made[name] = self._make(name, value)
            return self._made[name]

    def _make(self, name: str, value: object) -> Embedder | None:
        # Loading a model takes long, failing to load it as well: not again for every search.
        until, why = self._failed.get(name, (0.0, ""))
        if time.monotonic() < until:
            raise InvalidSettings(why)
        try:
            return None if value is None else make(value)
        except PrismGraphError as error:
            self._failed[name] = (time.monotonic() + AGAIN, str(error))
            raise
