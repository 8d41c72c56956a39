"""Stores of vectors: one contract, three of this package's own, and a dotted path for a project's."""

from __future__ import annotations

from typing import Any

from django.utils.module_loading import import_string

from prism_graph import storenames
from prism_graph.errors import InvalidSettings
from prism_graph.vectors.base import (
    Cosines,
    Nearest,
    Numbers,
    Partition,
    Space,
    Vectors,
    VectorStore,
)

__all__ = [
    "Cosines",
    "Nearest",
    "Numbers",
    "Partition",
    "Space",
    "VectorStore",
    "Vectors",
    "make",
]


def make(value: Any, using: str, dimensions: int) -> VectorStore:
    """Return the store that a value of PRISM_GRAPH["VECTORS"] names, for a database and a width.

    Raises InvalidSettings for one that cannot be made.
    """
    try:
        factory = import_string(storenames.path_of(value))
        store = factory(using, dimensions, **storenames.options_of(value))
    except (ImportError, TypeError, ValueError) as error:
        raise InvalidSettings(f"PRISM_GRAPH['VECTORS'] makes no store: {error}.") from error
    if not isinstance(store, VectorStore):
        raise InvalidSettings("PRISM_GRAPH['VECTORS'] must make a prism_graph.vectors.VectorStore.")
    return store
