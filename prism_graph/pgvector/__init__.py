"""Vectors in PostgreSQL's pgvector: `INSTALLED_APPS += ["prism_graph.pgvector"]`, VECTORS = "pgvector"."""
