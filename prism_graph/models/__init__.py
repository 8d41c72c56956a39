"""The stored rows. `Model.objects` opens doors and is none itself."""

from prism_graph.bases import ChunkKind, SourceKind
from prism_graph.doors import ReviewGrant
from prism_graph.models.concrete import (
    Chunk,
    ChunkText,
    Citation,
    Derivation,
    Fact,
    FactVersion,
    Receipt,
    ScopeClock,
    Source,
    Standing,
)

__all__ = [
    "Chunk",
    "ChunkKind",
    "ChunkText",
    "Citation",
    "Derivation",
    "Fact",
    "FactVersion",
    "Receipt",
    "ReviewGrant",
    "ScopeClock",
    "Source",
    "SourceKind",
    "Standing",
]
