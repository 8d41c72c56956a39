"""The vectors of chunks, of any width."""

from __future__ import annotations

from django.db import models
from pgvector.django import VectorField

from prism_graph.bases.naming import ConstraintName
from prism_graph.bases.rows import ScopedModel, scope_check
from prism_graph.bases.vectors import SPACE_LENGTH
from prism_graph.scope import COLUMNS


class ChunkVector(ScopedModel):
    """The vector of a chunk in a space, of unit length.

    The column has no width, so that two embedders' vectors stand side by side; each width has an index of
    its own. The foreign key to the chunk is no part of the model, which cannot know whose models the chunks
    are: see prism_graph.pgvector.layout.
    """

    written_once = ("number", "space", "embedding")

    number = models.BigIntegerField()
    space = models.CharField(max_length=SPACE_LENGTH)
    embedding = VectorField()

    class Meta(ScopedModel.Meta):
        """One vector per chunk and space; the same index lists a scope. No table on other databases."""

        abstract = False
        required_db_vendor = "postgresql"
        constraints = [
            scope_check(ConstraintName("chunkvector_scope")),
            models.UniqueConstraint(
                fields=[*COLUMNS, "number", "space"], name=ConstraintName("chunkvector_once")
            ),
        ]
