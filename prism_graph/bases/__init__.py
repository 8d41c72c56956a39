"""Abstract bases of the stored rows, for the models of this package or of a project's own app."""

from typing import Any, Final

from prism_graph.bases.evidence import (
    AbstractChunk,
    AbstractChunkText,
    AbstractDerivation,
    AbstractScopeClock,
    AbstractSource,
    ChunkKind,
    SourceKind,
)
from prism_graph.bases.facts import (
    AbstractCitation,
    AbstractFact,
    AbstractFactVersion,
    AbstractReceipt,
    AbstractStanding,
)
from prism_graph.bases.vectors import (
    AbstractEmbedding,
    AbstractEmbeddingFailure,
    AbstractVectorPartition,
)

__all__ = [
    "AbstractChunk",
    "AbstractChunkText",
    "AbstractCitation",
    "AbstractDerivation",
    "AbstractEmbedding",
    "AbstractEmbeddingFailure",
    "AbstractFact",
    "AbstractFactVersion",
    "AbstractReceipt",
    "AbstractScopeClock",
    "AbstractSource",
    "AbstractStanding",
    "AbstractVectorPartition",
    "ChunkKind",
    "SourceKind",
]

# By the name that the class made of each has in every app; parents before their children.
BASES: Final[dict[str, type[Any]]] = {
    "Source": AbstractSource,
    "Chunk": AbstractChunk,
    "ChunkText": AbstractChunkText,
    "Derivation": AbstractDerivation,
    "ScopeClock": AbstractScopeClock,
    "Fact": AbstractFact,
    "FactVersion": AbstractFactVersion,
    "Standing": AbstractStanding,
    "Citation": AbstractCitation,
    "Receipt": AbstractReceipt,
    "VectorPartition": AbstractVectorPartition,
    "Embedding": AbstractEmbedding,
    "EmbeddingFailure": AbstractEmbeddingFailure,
}
