"""Abstract bases of the vectors of chunks: where they lie, what made them, and what could not be made."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import Q

from prism_graph.bases.evidence import DIGEST_LENGTH
from prism_graph.bases.naming import ConstraintName, IndexName
from prism_graph.bases.rows import ID_LENGTH, ScopedModel, ScopedRelation, random_id, scope_check
from prism_graph.constraints import CompositeForeignKey
from prism_graph.scope import COLUMNS

SPACE_LENGTH: Final = 32
MAX_STORE: Final = 200


def _of_chunk(name: str) -> CompositeForeignKey:
    """Return the foreign key to the chunk that a vector is of; it goes with the chunk."""
    return CompositeForeignKey(
        fields=[*COLUMNS, "number"],
        model="Chunk",
        to_fields=[*COLUMNS, "number"],
        name=ConstraintName(name),
    )


class AbstractVectorPartition(ScopedModel):
    """The vectors of one scope, made by one embedder and kept in one store.

    `space` stands for store and embedder, which `store` and `embedder` (name/model/dimensions) spell. The
    tenant's own row says by `serving` which space the whole tenant is searched in. `version` is another one
    after every change of the vectors, so that no process goes on with what it read before. Whoever embeds
    here holds `lease` until `leased_until`. `failures`, `failed_at` and `reason` tell of an embedder that
    could not be reached.
    """

    written_once = ("space", "store", "embedder", "dimensions")

    space = models.CharField(max_length=SPACE_LENGTH)
    store = models.CharField(max_length=MAX_STORE)
    embedder = models.TextField()
    dimensions = models.IntegerField()
    serving = models.BooleanField(default=False)
    version = models.CharField(max_length=ID_LENGTH, default=random_id)
    lease = models.CharField(max_length=ID_LENGTH, blank=True, default="")
    leased_until = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    failed_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True, default="")

    class Meta(ScopedModel.Meta):
        """One row per scope and space; a tenant is searched in one space."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("vectorpartition_scope")),
            models.UniqueConstraint(
                fields=[*COLUMNS, "space"], name=ConstraintName("vectorpartition_space")
            ),
            models.UniqueConstraint(
                fields=COLUMNS,
                condition=Q(serving=True),
                name=ConstraintName("vectorpartition_one"),
            ),
            models.CheckConstraint(
                condition=Q(serving=False) | Q(owner=""),
                name=ConstraintName("vectorpartition_serving"),
            ),
        ]


class AbstractEmbedding(ScopedModel):
    """A chunk has a vector in a space. `vector` is it, where the store keeps vectors here.

    Little-endian float32, of unit length. `of` is the digest of the text that it was made of: a text that
    raw SQL changes is not found by its old vector.
    """

    written_once = ("number", "space", "vector", "of")

    number = models.BigIntegerField()
    space = models.CharField(max_length=SPACE_LENGTH)
    of = models.CharField(max_length=DIGEST_LENGTH)
    vector = models.BinaryField(null=True)

    chunk = ScopedRelation(
        "Chunk", from_fields=[*COLUMNS, "number"], to_fields=[*COLUMNS, "number"]
    )

    class Meta(ScopedModel.Meta):
        """One vector per chunk and space, listed by partition."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("embedding_scope")),
            models.UniqueConstraint(
                fields=["number", *COLUMNS, "space"], name=ConstraintName("embedding_once")
            ),
            _of_chunk("embedding_chunk"),
        ]
        indexes = [
            models.Index(fields=["space", *COLUMNS, "number"], name=IndexName("embedding_space"))
        ]


class AbstractEmbeddingFailure(ScopedModel):
    """A chunk for which the embedder gave no vector: how often it was asked, when last, and why not.

    `reason` holds no text of the chunk.
    """

    written_once = ("number", "space")

    number = models.BigIntegerField()
    space = models.CharField(max_length=SPACE_LENGTH)
    attempts = models.IntegerField(default=1)
    reason = models.TextField(blank=True, default="")
    failed_at = models.DateTimeField()

    chunk = ScopedRelation(
        "Chunk", from_fields=[*COLUMNS, "number"], to_fields=[*COLUMNS, "number"]
    )

    class Meta(ScopedModel.Meta):
        """One row per chunk and space."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("embeddingfailure_scope")),
            models.UniqueConstraint(
                fields=["number", *COLUMNS, "space"], name=ConstraintName("embeddingfailure_once")
            ),
            _of_chunk("embeddingfailure_chunk"),
        ]
        indexes = [
            models.Index(
                fields=["space", *COLUMNS, "number"], name=IndexName("embeddingfailure_space")
            )
        ]
