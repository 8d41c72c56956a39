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
from prism_graph.models.facts import Citation, Fact, FactVersion, Receipt, Standing

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
