"""Abstract bases of sources, their chunks in a narrow table, the chunks' text in a wide one, and lineage.

Every index leads with the column that tells rows apart, and the scope follows. Two that both led with the
four columns would look alike to a planner without statistics, and a foreign key that is checked through
the wrong one reads the whole scope for every row.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.dispatch import Signal

from prism_graph.bases.citing import (
    CITED,
    Citing,
    cited_index,
    cited_key,
    refuse_orphans,
    upward_check,
)
from prism_graph.bases.naming import ConstraintName, IndexName
from prism_graph.bases.rows import (
    ScopedModel,
    ScopedRelation,
    ScopedRow,
    TrustField,
    scope_check,
)
from prism_graph.constraints import CompositeForeignKey
from prism_graph.doors import scope_of
from prism_graph.indexing import ANALYSER, Indexed, indexed
from prism_graph.limits import MAX_KEY
from prism_graph.managers import ScopedQuerySet
from prism_graph.scope import COLUMNS, TOKEN_LENGTH
from prism_graph.trust import MAX_WRITER_CHARACTERS

DIGEST_LENGTH: Final = 32
# Sent with `rows`, the chunks that a queryset is about to delete, while they are still there.
chunks_going: Final = Signal()


class SourceKind(models.TextChoices):
    """What a key names, for good."""

    DOCUMENT = "document", "document"
    CONVERSATION = "conversation", "conversation"


class ChunkKind(models.IntegerChoices):
    """Whether a chunk is a passage of a document or (a part of) a turn."""

    PASSAGE = 0, "passage"
    TURN = 1, "turn"


class AbstractSource(ScopedModel):
    """A document or a conversation under the app's own key.

    `number` counts a scope's sources and is never handed out. `key_digest` stands for the key in the
    unique constraint, whose index rows are limited in bytes.
    """

    written_once = ("number", "key", "key_digest", "kind", "recorded_at")

    number = models.BigIntegerField()
    key = models.CharField(max_length=MAX_KEY)
    key_digest = models.CharField(max_length=DIGEST_LENGTH)
    kind = models.CharField(max_length=12, choices=SourceKind.choices)
    uri = models.TextField(blank=True, default="")
    title = models.TextField(blank=True, default="")
    trust = TrustField(null=True)
    writer = models.CharField(max_length=MAX_WRITER_CHARACTERS, blank=True, default="")
    metadata = models.JSONField(default=dict)
    recorded_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    @classmethod
    def check_delete(cls, rows: ScopedQuerySet[Any]) -> None:
        """Raise DerivedTextRemains while chunks were derived from these sources' own."""
        scope = {name: OuterRef(name) for name in COLUMNS}
        theirs = Exists(rows.filter(**scope, number=OuterRef("source_number")))
        chunks = rows.beside(cls.sibling("Chunk")).filter(theirs)
        refuse_orphans(chunks)
        chunks_going.send(sender=cls, rows=chunks)

    class Meta(ScopedModel.Meta):
        """One row per scope and key."""

        abstract = True
        permissions = [("erase_source", "Can erase source with all that rests on it")]
        constraints = [
            scope_check(ConstraintName("source_scope")),
            models.UniqueConstraint(
                fields=["key_digest", *COLUMNS], name=ConstraintName("source_key")
            ),
            models.UniqueConstraint(
                fields=["number", *COLUMNS], name=ConstraintName("source_number")
            ),
        ]
        indexes = [models.Index(fields=[*COLUMNS, "number"], name=IndexName("source_scope"))]


class AbstractChunk(ScopedModel):
    """A passage: where it stands, who wrote it, when memory held it.

    Everything that search reads for each visible passage is in one index, so the text is read for the
    passages returned only, and retiring one rewrites no index on words. `number` names the text's row.
    `digest` finds unchanged text again. `length` counts the indexed words.
    """

    written_once = (
        *("number", "source_number", "kind", "trust", "origin_trust", "writer", "digest"),
        *("turn_digest", "part", "occurred_at", "recorded_at", "retired_at"),
    )

    number = models.BigIntegerField()
    source_number = models.BigIntegerField()
    ordinal = models.IntegerField()
    kind = models.SmallIntegerField(choices=ChunkKind.choices, default=ChunkKind.PASSAGE)
    trust = TrustField()
    origin_trust = TrustField()
    writer = models.CharField(max_length=MAX_WRITER_CHARACTERS, blank=True, default="")
    length = models.IntegerField(default=0)
    digest = models.CharField(max_length=DIGEST_LENGTH)
    turn_digest = models.CharField(max_length=DIGEST_LENGTH, blank=True, default="")
    part = models.IntegerField(default=0)
    first_line = models.IntegerField(default=1)
    last_line = models.IntegerField(default=1)
    occurred_at = models.DateTimeField(null=True)
    recorded_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    source = ScopedRelation(
        "Source",
        from_fields=[*COLUMNS, "source_number"],
        to_fields=[*COLUMNS, "number"],
    )

    @classmethod
    def check_delete(cls, rows: ScopedQuerySet[Any]) -> None:
        """Raise DerivedTextRemains while other chunks were derived from these."""
        refuse_orphans(rows)
        chunks_going.send(sender=cls, rows=rows)

    class Meta(ScopedModel.Meta):
        """A chunk stands in its source's scope; a turn's parts are stored once."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("chunk_scope")),
            models.UniqueConstraint(
                fields=["number", *COLUMNS], name=ConstraintName("chunk_number")
            ),
            models.UniqueConstraint(
                fields=["turn_digest", "source_number", *COLUMNS, "part"],
                condition=~Q(turn_digest=""),
                name=ConstraintName("chunk_turn"),
            ),
            CompositeForeignKey(
                fields=[*COLUMNS, "source_number"],
                model="Source",
                to_fields=[*COLUMNS, "number"],
                name=ConstraintName("chunk_source"),
            ),
        ]
        indexes = [
            models.Index(
                fields=["source_number", *COLUMNS, "ordinal"], name=IndexName("chunk_order")
            ),
            # A whole scope at once, for statements that repeat the condition, which always holds.
            models.Index(
                fields=[
                    *COLUMNS,
                    "retired_at",
                    "recorded_at",
                    "source_number",
                    "ordinal",
                    "kind",
                    "trust",
                    "length",
                    "number",
                ],
                condition=Q(ordinal__gte=0),
                name=IndexName("chunk_directory"),
            ),
        ]


class AbstractChunkText(ScopedRow):
    """A passage's words: the verbatim text, what else it is found by, and its analysed terms.

    `terms_of` is the MD5 of the heading, speaker and text that were analysed: a row that raw SQL changes
    leaves the index.
    """

    written_once = ("token", "text", "turn_id")

    number = models.BigAutoField(primary_key=True)
    token = models.CharField(max_length=TOKEN_LENGTH)
    text = models.TextField()
    heading = models.TextField(blank=True, default="")
    speaker = models.TextField(blank=True, default="")
    turn_id = models.TextField(blank=True, default="")
    analyser = models.CharField(max_length=32, default="")
    terms = models.TextField(blank=True, default="")
    terms_of = models.CharField(max_length=32, default="")

    chunk = ScopedRelation(
        "Chunk",
        from_fields=[*COLUMNS, "number"],
        to_fields=[*COLUMNS, "number"],
    )

    def analysed(self) -> Indexed:
        """Analyse the text with its chunk's and source's context, read through this row's own door."""
        chunk = self.chunk
        is_turn = chunk.kind == ChunkKind.TURN
        return indexed(
            self.text,
            title=chunk.source.title,
            heading=self.heading,
            speaker=self.speaker,
            when=(chunk.occurred_at or chunk.recorded_at) if is_turn else None,
        )

    def prepare_for_write(self) -> None:
        """Set what is derived from the text, here and on its chunk."""
        found = self.analysed()
        self.token, self.analyser = scope_of(self).token, ANALYSER
        self.terms, self.terms_of = found.terms, found.terms_of
        if self.chunk.length != found.length:
            self.chunk.length = found.length
            self.chunk.save(update_fields=["length"])

    class Meta(ScopedRow.Meta):
        """A text stands in its chunk's scope."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("chunktext_scope")),
            CompositeForeignKey(
                fields=[*COLUMNS, "number"],
                model="Chunk",
                to_fields=[*COLUMNS, "number"],
                name=ConstraintName("chunktext_chunk"),
            ),
        ]


class AbstractDerivation(Citing):
    """A chunk was derived from another, of the same level or above; `number` names the derived one."""

    written_once = ("number", *CITED, "cited_number")

    number = models.BigIntegerField()

    @classmethod
    def resting_on(cls, links: Any, numbers: Any) -> Any:
        """Leave out the links whose derived chunk is among these as well."""
        return super().resting_on(links, numbers).exclude(number__in=numbers)

    class Meta(Citing.Meta):
        """Both ends exist; the cited end lies on the derived end's own chain."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("derivation_scope")),
            upward_check(ConstraintName("derivation_upward")),
            models.UniqueConstraint(
                fields=["number", "cited_number", *COLUMNS], name=ConstraintName("derivation_once")
            ),
            CompositeForeignKey(
                fields=[*COLUMNS, "number"],
                model="Chunk",
                to_fields=[*COLUMNS, "number"],
                name=ConstraintName("derivation_chunk"),
            ),
            cited_key(ConstraintName("derivation_cited")),
        ]
        indexes = [cited_index(IndexName("derivation_by"))]


class AbstractScopeClock(ScopedModel):
    """A scope's last recorded instant, in microseconds from 1970. Its row is the scope's lock."""

    last = models.BigIntegerField()

    class Meta(ScopedModel.Meta):
        """One row per scope."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("scopeclock_scope")),
            models.UniqueConstraint(fields=[*COLUMNS], name=ConstraintName("scopeclock_one")),
        ]
