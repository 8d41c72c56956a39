"""Make vectors of texts, by a provider that PRISM_GRAPH["EMBEDDER"] names."""

from __future__ import annotations

from prism_graph.embedders.base import Embedder, check_space, space_of, vectors
from prism_graph.embedders.making import complaint, make

__all__ = ["Embedder", "check_space", "complaint", "make", "space_of", "vectors"]
