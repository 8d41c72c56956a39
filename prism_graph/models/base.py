"""What prism_graph.bases.rows says, under its former name."""

from prism_graph.bases.rows import (
    IdField,
    ScopedModel,
    ScopedRow,
    TrustField,
    door_of,
    random_id,
    random_ids,
)

__all__ = [
    "IdField",
    "ScopedModel",
    "ScopedRow",
    "TrustField",
    "door_of",
    "random_id",
    "random_ids",
]
