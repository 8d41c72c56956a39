"""Which models are in the admin, each by its own module."""

from __future__ import annotations

from django.contrib import admin

from prism_graph.admin.chunks import ChunkAdmin
from prism_graph.admin.facts import FactVersionAdmin
from prism_graph.admin.receipts import ReceiptAdmin
from prism_graph.admin.sources import SourceAdmin
from prism_graph.models import Chunk, FactVersion, Receipt, Source

admin.site.register(Source, SourceAdmin)
admin.site.register(Chunk, ChunkAdmin)
admin.site.register(FactVersion, FactVersionAdmin)
admin.site.register(Receipt, ReceiptAdmin)

__all__ = ["ChunkAdmin", "FactVersionAdmin", "ReceiptAdmin", "SourceAdmin"]
