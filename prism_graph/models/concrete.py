"""The models of a project that has none of its own: they add nothing to their bases."""

from __future__ import annotations

from prism_graph.bases import (
    AbstractChunk,
    AbstractChunkText,
    AbstractCitation,
    AbstractDerivation,
    AbstractEmbedding,
    AbstractEmbeddingFailure,
    AbstractFact,
    AbstractFactVersion,
    AbstractReceipt,
    AbstractScopeClock,
    AbstractSource,
    AbstractStanding,
    AbstractVectorPartition,
)


class Source(AbstractSource):
    """A document or a conversation."""


class Chunk(AbstractChunk):
    """A passage."""


class ChunkText(AbstractChunkText):
    """A passage's words."""


class Derivation(AbstractDerivation):
    """A chunk was derived from another."""


class ScopeClock(AbstractScopeClock):
    """A scope's last recorded instant."""


class Fact(AbstractFact):
    """A key that versions share."""


class FactVersion(AbstractFactVersion):
    """One statement of a fact."""


class Standing(AbstractStanding):
    """A version's status over recorded time."""


class Citation(AbstractCitation):
    """A version cites a chunk."""


class Receipt(AbstractReceipt):
    """Proof of an erasure."""


class VectorPartition(AbstractVectorPartition):
    """The vectors of one scope in one space."""


class Embedding(AbstractEmbedding):
    """A chunk has a vector in a space."""


class EmbeddingFailure(AbstractEmbeddingFailure):
    """A chunk for which the embedder gave no vector."""
