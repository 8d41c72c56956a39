"""The stored rows. `Model.objects` opens doors and is none itself."""

from prism_graph.doors import ReviewGrant
from prism_graph.models.evidence import (
    Chunk,
    ChunkKind,
    ChunkText,
    Derivation,
    ScopeClock,
    Source,
    SourceKind,
)

__all__ = [
    "Chunk",
    "ChunkKind",
    "ChunkText",
    "Derivation",
    "ReviewGrant",
    "ScopeClock",
    "Source",
    "SourceKind",
]
