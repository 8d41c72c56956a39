"""The admin: what a reviewer may see, read-only, and the decisions that a reviewer may make."""

from contextlib import suppress

from prism_graph.errors import InvalidSettings

# A project whose own models are not all there is told so by a system check, which comes later.
with suppress(InvalidSettings):
    from prism_graph.admin.registered import (
        ChunkAdmin,
        EmbeddingFailureAdmin,
        FactVersionAdmin,
        ReceiptAdmin,
        SourceAdmin,
    )

__all__ = ["ChunkAdmin", "EmbeddingFailureAdmin", "FactVersionAdmin", "ReceiptAdmin", "SourceAdmin"]
