"""Cut a text into the pieces that memory stores and finds."""

from __future__ import annotations

from prism_graph.chunking.base import Chunker, Piece
from prism_graph.chunking.markdown import MarkdownChunker
from prism_graph.chunking.plain import PlainTextChunker
from prism_graph.chunking.whole import WholeChunker

__all__ = ["Chunker", "MarkdownChunker", "Piece", "PlainTextChunker", "WholeChunker"]
