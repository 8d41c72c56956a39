"""Contracts that a project's own parts can be tested against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prism_graph.testing.embedders import EmbedderContract

if TYPE_CHECKING:
    from prism_graph.testing.stores import VectorStoreContract

__all__ = ["EmbedderContract", "VectorStoreContract"]


def __getattr__(name: str) -> Any:
    # It needs models, and the other works before django.setup().
    if name == "VectorStoreContract":
        from prism_graph.testing.stores import VectorStoreContract

        return VectorStoreContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
