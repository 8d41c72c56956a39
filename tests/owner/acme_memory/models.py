"""Memory's models as a project may have them: other tables, more columns, one more index."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from prism_graph import bases
from prism_graph.scope import COLUMNS


class Source(bases.AbstractSource):
    department = models.CharField(max_length=40, db_default="general")
    reviewed_at = models.DateTimeField(null=True)

    class Meta(bases.AbstractSource.Meta):
        db_table = "Acme_Documents"
        indexes = [
            *bases.AbstractSource.Meta.indexes,
            models.Index(fields=[*COLUMNS, "department"], name="acme_department"),
        ]
        constraints = [
            *bases.AbstractSource.Meta.constraints,
            models.CheckConstraint(condition=~models.Q(department=""), name="acme_department"),
        ]


class Chunk(bases.AbstractChunk):
    language = models.CharField(max_length=8, db_default="")
    stored_at = models.DateTimeField(db_default=Now())

    class Meta(bases.AbstractChunk.Meta):
        db_table = "acme_passages"


class ChunkText(bases.AbstractChunkText):
    translated = models.JSONField(null=True)

    class Meta(bases.AbstractChunkText.Meta):
        db_table = "Acme_Words"


class Derivation(bases.AbstractDerivation):
    pass


class ScopeClock(bases.AbstractScopeClock):
    class Meta(bases.AbstractScopeClock.Meta):
        db_table = "acme_clocks"


class Fact(bases.AbstractFact):
    priority = models.IntegerField(db_default=0)

    class Meta(bases.AbstractFact.Meta):
        db_table = "acme_facts"


class FactVersion(bases.AbstractFactVersion):
    ticket = models.IntegerField(null=True)

    class Meta(bases.AbstractFactVersion.Meta):
        db_table = "acme_versions"
        constraints = [
            *bases.AbstractFactVersion.Meta.constraints,
            models.UniqueConstraint(
                fields=["ticket", *COLUMNS, "fact_number", "number"], name="acme_ticket"
            ),
        ]


class Standing(bases.AbstractStanding):
    class Meta(bases.AbstractStanding.Meta):
        db_table = "acme_standings"


class Citation(bases.AbstractCitation):
    weight = models.FloatField(db_default=1.0)


class Receipt(bases.AbstractReceipt):
    handled = models.BooleanField(db_default=False)

    class Meta(bases.AbstractReceipt.Meta):
        db_table = "acme_receipts"


class VectorPartition(bases.AbstractVectorPartition):
    class Meta(bases.AbstractVectorPartition.Meta):
        db_table = "acme_partitions"


class Embedding(bases.AbstractEmbedding):
    made_at = models.DateTimeField(db_default=Now())

    class Meta(bases.AbstractEmbedding.Meta):
        db_table = "acme_vectors"


class EmbeddingFailure(bases.AbstractEmbeddingFailure):
    class Meta(bases.AbstractEmbeddingFailure.Meta):
        db_table = "acme_failures"
