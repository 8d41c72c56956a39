"""Abstract bases of facts, versions, standings and citations; and of receipts of erasure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from prism_graph.bases.citing import CITED, Citing, cited_key, upward_check
from prism_graph.bases.evidence import DIGEST_LENGTH
from prism_graph.bases.naming import ConstraintName, IndexName
from prism_graph.bases.rows import ScopedModel, ScopedRelation, scope_check
from prism_graph.constraints import CompositeForeignKey
from prism_graph.errors import DerivedTextRemains
from prism_graph.limits import MAX_KEY
from prism_graph.policy import MAX_NAME, FactStatus
from prism_graph.scope import COLUMNS

# Django's classes take type arguments in the stubs only.
if TYPE_CHECKING:
    AnyCharField = models.Field[Any, Any]
else:
    AnyCharField = models.CharField

STATUSES: Final = tuple(status.value for status in FactStatus)


class StatusField(AnyCharField):
    """Store a FactStatus as its name."""

    def from_db_value(self, value: str | None, *_: Any) -> FactStatus | None:
        """Return the status of that name."""
        return None if value is None else FactStatus.named(value)

    def to_python(self, value: Any) -> Any:
        """Return a status from a status or its name. Raises ValidationError for others."""
        if value is None or isinstance(value, FactStatus):
            return value
        try:
            return FactStatus.named(value)
        except (KeyError, TypeError):
            raise ValidationError("Give a prism_graph.FactStatus or its name.") from None

    def get_prep_value(self, value: Any) -> Any:
        """Return the name of a status."""
        return value.value if isinstance(value, FactStatus) else value


class AbstractFact(ScopedModel):
    """A key that versions share.

    `number` counts a scope's facts and is never handed out. `last_version` is the highest number that a
    version has had, so that no number names two.
    """

    written_once = ("number", "key", "key_digest", "last_version")

    number = models.BigIntegerField()
    key = models.CharField(max_length=MAX_KEY)
    key_digest = models.CharField(max_length=DIGEST_LENGTH)
    last_version = models.IntegerField(default=0)

    class Meta(ScopedModel.Meta):
        """One row per scope and key."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("fact_scope")),
            models.UniqueConstraint(
                fields=["key_digest", *COLUMNS], name=ConstraintName("fact_key")
            ),
            models.UniqueConstraint(
                fields=["number", *COLUMNS], name=ConstraintName("fact_number")
            ),
        ]
        indexes = [models.Index(fields=[*COLUMNS, "number"], name=IndexName("fact_scope"))]


class AbstractFactVersion(ScopedModel):
    """One statement of a fact; what it says never changes.

    `contests` is the version whose place it would take. `weakened_at` is when it last lost evidence.
    """

    written_once = (
        *("fact_number", "number", "subject", "subject_digest", "predicate", "value"),
        *("valid_from", "valid_to", "recorded_at", "contests", "weakened_at"),
    )

    fact_number = models.BigIntegerField()
    number = models.IntegerField()
    subject = models.CharField(max_length=MAX_KEY)
    subject_digest = models.CharField(max_length=DIGEST_LENGTH)
    predicate = models.CharField(max_length=MAX_KEY)
    value = models.TextField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    recorded_at = models.DateTimeField()
    contests = models.IntegerField(null=True)
    weakened_at = models.DateTimeField(null=True)

    fact = ScopedRelation(
        "Fact", from_fields=[*COLUMNS, "fact_number"], to_fields=[*COLUMNS, "number"]
    )

    @classmethod
    def check_delete(cls, rows: Any) -> None:
        """Raise DerivedTextRemains: the fact's key would be left behind."""
        if rows.exists():
            raise DerivedTextRemains(
                "Memory.erase_fact takes a version, and the fact with its last one."
            )

    class Meta(ScopedModel.Meta):
        """Numbered per fact; a stated end lies after the start."""

        abstract = True
        verbose_name_plural = "facts"
        permissions = [
            ("accept_factversion", "Can accept and reject facts that wait"),
            ("retract_factversion", "Can retract facts"),
            ("erase_factversion", "Can erase facts"),
        ]
        constraints = [
            scope_check(ConstraintName("factversion_scope")),
            models.UniqueConstraint(
                fields=["fact_number", *COLUMNS, "number"],
                name=ConstraintName("factversion_number"),
            ),
            models.CheckConstraint(
                condition=Q(valid_to=None) | Q(valid_to__gt=F("valid_from")),
                name=ConstraintName("factversion_interval"),
            ),
            CompositeForeignKey(
                fields=[*COLUMNS, "fact_number"],
                model="Fact",
                to_fields=[*COLUMNS, "number"],
                name=ConstraintName("factversion_fact"),
            ),
        ]
        indexes = [
            models.Index(
                fields=["subject_digest", *COLUMNS, "fact_number"],
                name=IndexName("version_subject"),
            ),
        ]


class AbstractStanding(ScopedModel):
    """A version's status over recorded time [since, until), who decided it, why, and by which policy.

    `policy` names the policy whose judgement it was; `""` where the project decided by itself.
    """

    written_once = (
        *("fact_number", "version", "status", "since", "until"),
        *("decided_by", "reason", "policy"),
    )

    fact_number = models.BigIntegerField()
    version = models.IntegerField()
    status = StatusField(max_length=9)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    decided_by = models.TextField(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    policy = models.CharField(max_length=MAX_NAME, blank=True, default="")

    stated = ScopedRelation(
        "FactVersion",
        from_fields=[*COLUMNS, "fact_number", "version"],
        to_fields=[*COLUMNS, "fact_number", "number"],
    )

    @classmethod
    def check_delete(cls, rows: Any) -> None:
        """Raise DerivedTextRemains: a version without a standing would be neither believed nor not."""
        if rows.exists():
            raise DerivedTextRemains

    class Meta(ScopedModel.Meta):
        """At most one open standing per version."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("standing_scope")),
            models.UniqueConstraint(
                fields=["fact_number", *COLUMNS, "version"],
                condition=Q(until=None),
                name=ConstraintName("standing_open"),
            ),
            models.CheckConstraint(
                condition=Q(until=None) | Q(until__gt=F("since")),
                name=ConstraintName("standing_interval"),
            ),
            models.CheckConstraint(
                condition=Q(status__in=STATUSES), name=ConstraintName("standing_status")
            ),
            CompositeForeignKey(
                fields=[*COLUMNS, "fact_number", "version"],
                model="FactVersion",
                to_fields=[*COLUMNS, "fact_number", "number"],
                name=ConstraintName("standing_version"),
            ),
        ]
        indexes = [
            models.Index(
                fields=["fact_number", *COLUMNS, "version", "since"],
                name=IndexName("standing_of"),
            ),
        ]


class AbstractCitation(Citing):
    """A version cites a chunk, of the same level or above; `fact_number` and `version` name the version."""

    written_once = ("fact_number", "version", *CITED, "cited_number")

    fact_number = models.BigIntegerField()
    version = models.IntegerField()

    class Meta(Citing.Meta):
        """Both ends exist; the cited end lies on the version's own chain."""

        abstract = True
        constraints = [
            scope_check(ConstraintName("citation_scope")),
            upward_check(ConstraintName("citation_upward")),
            models.UniqueConstraint(
                fields=["fact_number", *COLUMNS, "version", "cited_number"],
                name=ConstraintName("citation_once"),
            ),
            CompositeForeignKey(
                fields=[*COLUMNS, "fact_number", "version"],
                model="FactVersion",
                to_fields=[*COLUMNS, "fact_number", "number"],
                name=ConstraintName("citation_version"),
            ),
            cited_key(ConstraintName("citation_cited")),
        ]
        indexes = [
            # From a chunk to those facts that one reader sees: others may cite it by the thousand.
            models.Index(
                fields=["cited_number", *COLUMNS, "fact_number"], name=IndexName("citation_by")
            ),
        ]


class AbstractReceipt(ScopedModel):
    """Proof of an erasure: what kind, how much, who, when. No content.

    `target` is a hash of what was named, keyed by the project's SECRET_KEY: whoever knows the key and the
    scope can show that it was erased, and nobody can read it from here. `counts` are of this scope,
    `counts_below` of the scopes below, whose readers are not shown what happened beside them.
    """

    shown_below = False
    written_once = ("operation", "target", "counts", "counts_below", "actor", "reason", "erased_at")

    operation = models.CharField(max_length=32)
    target = models.CharField(max_length=64)
    counts = models.JSONField(default=dict)
    counts_below = models.JSONField(default=dict)
    actor = models.TextField(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    erased_at = models.DateTimeField()

    class Meta(ScopedModel.Meta):
        """Found by scope, newest last."""

        abstract = True
        constraints = [scope_check(ConstraintName("receipt_scope"))]
        indexes = [models.Index(fields=[*COLUMNS, "erased_at"], name=IndexName("receipt_scope"))]
