"""Contracts that a project's own parts can be tested against."""

from __future__ import annotations

from prism_graph.testing.embedders import EmbedderContract

__all__ = ["EmbedderContract"]
