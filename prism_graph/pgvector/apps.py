"""The app that brings the table of vectors, apart from prism_graph: its extension must be wanted."""

from __future__ import annotations

from django.apps import AppConfig


class PgVectorConfig(AppConfig):
    """Nothing to connect: `prism_graph` prepares whatever store the settings name."""

    name = "prism_graph.pgvector"
    label = "prism_graph_pgvector"
    verbose_name = "Agent memory: pgvector"
    default_auto_field = "django.db.models.BigAutoField"
