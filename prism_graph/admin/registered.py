"""Which models are in the admin, each by its own module."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin

from prism_graph.admin.chunks import ChunkAdmin
from prism_graph.admin.facts import FactVersionAdmin
from prism_graph.admin.failures import EmbeddingFailureAdmin
from prism_graph.admin.receipts import ReceiptAdmin
from prism_graph.admin.sources import SourceAdmin
from prism_graph.models import Chunk, EmbeddingFailure, FactVersion, Receipt, Source

PAGES: Final[dict[Any, Any]] = {
    Source: SourceAdmin,
    Chunk: ChunkAdmin,
    FactVersion: FactVersionAdmin,
    Receipt: ReceiptAdmin,
    EmbeddingFailure: EmbeddingFailureAdmin,
}
for model, page in PAGES.items():
    # An app that owns the models may have come first, with pages of its own.
    if not admin.site.is_registered(model):
        admin.site.register(model, page)

__all__ = ["ChunkAdmin", "EmbeddingFailureAdmin", "FactVersionAdmin", "ReceiptAdmin", "SourceAdmin"]
