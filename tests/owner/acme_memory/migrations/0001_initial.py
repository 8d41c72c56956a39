import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.manager
from django.db import migrations, models

import prism_graph.bases.facts
import prism_graph.bases.rows
import prism_graph.constraints


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Citation",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cited_owner", models.CharField(blank=True, default="", max_length=191)),
                ("cited_agent", models.CharField(blank=True, default="", max_length=191)),
                ("cited_thread", models.CharField(blank=True, default="", max_length=191)),
                ("cited_number", models.BigIntegerField()),
                ("fact_number", models.BigIntegerField()),
                ("version", models.IntegerField()),
                ("weight", models.FloatField(db_default=1.0)),
            ],
            options={
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=[
                            "cited_number",
                            "tenant",
                            "owner",
                            "agent",
                            "thread",
                            "fact_number",
                        ],
                        name="acme_memory_citation_by",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_citation_scope",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("cited_agent", ""), ("cited_owner", ""), ("cited_thread", "")
                            ),
                            models.Q(
                                ("cited_agent", ""),
                                ("cited_owner", models.F("owner")),
                                ("cited_thread", ""),
                            ),
                            models.Q(
                                ("cited_agent", models.F("agent")),
                                ("cited_owner", models.F("owner")),
                                ("cited_thread", ""),
                            ),
                            models.Q(
                                ("cited_agent", models.F("agent")),
                                ("cited_owner", models.F("owner")),
                                ("cited_thread", models.F("thread")),
                            ),
                            _connector="OR",
                        ),
                        name="acme_memory_citation_upward",
                    ),
                    models.UniqueConstraint(
                        fields=(
                            "fact_number",
                            "tenant",
                            "owner",
                            "agent",
                            "thread",
                            "version",
                            "cited_number",
                        ),
                        name="acme_memory_citation_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "fact_number", "version"),
                        name="acme_memory_citation_version",
                        to="acme_versions",
                        to_fields=("tenant", "owner", "agent", "thread", "fact_number", "number"),
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=(
                            "tenant",
                            "cited_owner",
                            "cited_agent",
                            "cited_thread",
                            "cited_number",
                        ),
                        name="acme_memory_citation_cited",
                        to="acme_passages",
                        to_fields=("tenant", "owner", "agent", "thread", "number"),
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Derivation",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cited_owner", models.CharField(blank=True, default="", max_length=191)),
                ("cited_agent", models.CharField(blank=True, default="", max_length=191)),
                ("cited_thread", models.CharField(blank=True, default="", max_length=191)),
                ("cited_number", models.BigIntegerField()),
                ("number", models.BigIntegerField()),
            ],
            options={
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=[
                            "cited_number",
                            "tenant",
                            "cited_owner",
                            "cited_agent",
                            "cited_thread",
                        ],
                        name="acme_memory_derivation_by",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_derivation_scope",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("cited_agent", ""), ("cited_owner", ""), ("cited_thread", "")
                            ),
                            models.Q(
                                ("cited_agent", ""),
                                ("cited_owner", models.F("owner")),
                                ("cited_thread", ""),
                            ),
                            models.Q(
                                ("cited_agent", models.F("agent")),
                                ("cited_owner", models.F("owner")),
                                ("cited_thread", ""),
                            ),
                            models.Q(
                                ("cited_agent", models.F("agent")),
                                ("cited_owner", models.F("owner")),
                                ("cited_thread", models.F("thread")),
                            ),
                            _connector="OR",
                        ),
                        name="acme_memory_derivation_upward",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "cited_number", "tenant", "owner", "agent", "thread"),
                        name="acme_memory_derivation_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="acme_memory_derivation_chunk",
                        to="acme_passages",
                        to_fields=("tenant", "owner", "agent", "thread", "number"),
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=(
                            "tenant",
                            "cited_owner",
                            "cited_agent",
                            "cited_thread",
                            "cited_number",
                        ),
                        name="acme_memory_derivation_cited",
                        to="acme_passages",
                        to_fields=("tenant", "owner", "agent", "thread", "number"),
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Fact",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("key", models.CharField(max_length=512)),
                ("key_digest", models.CharField(max_length=32)),
                ("last_version", models.IntegerField(default=0)),
                ("priority", models.IntegerField(db_default=0)),
            ],
            options={
                "db_table": "acme_facts",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "number"],
                        name="acme_memory_fact_scope",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_fact_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("key_digest", "tenant", "owner", "agent", "thread"),
                        name="acme_memory_fact_key",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread"),
                        name="acme_memory_fact_number",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="FactVersion",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("fact_number", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("subject", models.CharField(max_length=512)),
                ("subject_digest", models.CharField(max_length=32)),
                ("predicate", models.CharField(max_length=512)),
                ("value", models.TextField()),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(null=True)),
                ("recorded_at", models.DateTimeField()),
                ("contests", models.IntegerField(null=True)),
                ("weakened_at", models.DateTimeField(null=True)),
                ("ticket", models.IntegerField(null=True)),
                (
                    "fact",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "fact_number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="acme_memory.fact",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "facts",
                "db_table": "acme_versions",
                "permissions": [
                    ("accept_factversion", "Can accept and reject facts that wait"),
                    ("retract_factversion", "Can retract facts"),
                    ("erase_factversion", "Can erase facts"),
                ],
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("operation", models.CharField(max_length=32)),
                ("target", models.CharField(max_length=64)),
                ("counts", models.JSONField(default=dict)),
                ("counts_below", models.JSONField(default=dict)),
                ("actor", models.TextField(blank=True, default="")),
                ("reason", models.TextField(blank=True, default="")),
                ("erased_at", models.DateTimeField()),
                ("handled", models.BooleanField(db_default=False)),
            ],
            options={
                "db_table": "acme_receipts",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "erased_at"],
                        name="acme_memory_receipt_scope",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_receipt_scope",
                    )
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="ScopeClock",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("last", models.BigIntegerField()),
            ],
            options={
                "db_table": "acme_clocks",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_scopeclock_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "owner", "agent", "thread"),
                        name="acme_memory_scopeclock_one",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("key", models.CharField(max_length=512)),
                ("key_digest", models.CharField(max_length=32)),
                (
                    "kind",
                    models.CharField(
                        choices=[("document", "document"), ("conversation", "conversation")],
                        max_length=12,
                    ),
                ),
                ("uri", models.TextField(blank=True, default="")),
                ("title", models.TextField(blank=True, default="")),
                ("trust", prism_graph.bases.rows.TrustField(null=True)),
                ("writer", models.CharField(blank=True, default="", max_length=255)),
                ("metadata", models.JSONField(default=dict)),
                ("recorded_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(null=True)),
                ("department", models.CharField(db_default="general", max_length=40)),
                ("reviewed_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "Acme_Documents",
                "permissions": [("erase_source", "Can erase source with all that rests on it")],
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "number"],
                        name="acme_memory_source_scope",
                    ),
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "department"],
                        name="acme_department",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_source_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("key_digest", "tenant", "owner", "agent", "thread"),
                        name="acme_memory_source_key",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread"),
                        name="acme_memory_source_number",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("department", ""), _negated=True),
                        name="acme_department",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("source_number", models.BigIntegerField()),
                ("ordinal", models.IntegerField()),
                (
                    "kind",
                    models.SmallIntegerField(choices=[(0, "passage"), (1, "turn")], default=0),
                ),
                ("trust", prism_graph.bases.rows.TrustField()),
                ("origin_trust", prism_graph.bases.rows.TrustField()),
                ("writer", models.CharField(blank=True, default="", max_length=255)),
                ("length", models.IntegerField(default=0)),
                ("digest", models.CharField(max_length=32)),
                ("turn_digest", models.CharField(blank=True, default="", max_length=32)),
                ("part", models.IntegerField(default=0)),
                ("first_line", models.IntegerField(default=1)),
                ("last_line", models.IntegerField(default=1)),
                ("occurred_at", models.DateTimeField(null=True)),
                ("recorded_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(null=True)),
                ("language", models.CharField(db_default="", max_length=8)),
                (
                    "stored_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "source",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "source_number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="acme_memory.source",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "db_table": "acme_passages",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Standing",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("fact_number", models.BigIntegerField()),
                ("version", models.IntegerField()),
                ("status", prism_graph.bases.facts.StatusField(max_length=9)),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField(null=True)),
                ("decided_by", models.TextField(blank=True, default="")),
                ("reason", models.TextField(blank=True, default="")),
                ("policy", models.CharField(blank=True, default="", max_length=255)),
                (
                    "stated",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=[
                            "tenant",
                            "owner",
                            "agent",
                            "thread",
                            "fact_number",
                            "version",
                        ],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="acme_memory.factversion",
                        to_fields=["tenant", "owner", "agent", "thread", "fact_number", "number"],
                    ),
                ),
            ],
            options={
                "db_table": "acme_standings",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="VectorPartition",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("space", models.CharField(max_length=32)),
                ("store", models.CharField(max_length=200)),
                ("embedder", models.TextField()),
                ("dimensions", models.IntegerField()),
                ("serving", models.BooleanField(default=False)),
                (
                    "version",
                    models.CharField(default=prism_graph.bases.rows.random_id, max_length=26),
                ),
                ("lease", models.CharField(blank=True, default="", max_length=26)),
                ("leased_until", models.DateTimeField(null=True)),
                ("failures", models.IntegerField(default=0)),
                ("failed_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True, default="")),
            ],
            options={
                "db_table": "acme_partitions",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_vectorpartition_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "owner", "agent", "thread", "space"),
                        name="acme_memory_vectorpartition_space",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("serving", True)),
                        fields=("tenant", "owner", "agent", "thread"),
                        name="acme_memory_vectorpartition_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("serving", False), ("owner", ""), _connector="OR"),
                        name="acme_memory_vectorpartition_serving",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="ChunkText",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                ("number", models.BigAutoField(primary_key=True, serialize=False)),
                ("token", models.CharField(max_length=10)),
                ("text", models.TextField()),
                ("heading", models.TextField(blank=True, default="")),
                ("speaker", models.TextField(blank=True, default="")),
                ("turn_id", models.TextField(blank=True, default="")),
                ("analyser", models.CharField(default="", max_length=32)),
                ("terms", models.TextField(blank=True, default="")),
                ("terms_of", models.CharField(default="", max_length=32)),
                ("translated", models.JSONField(null=True)),
                (
                    "chunk",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="acme_memory.chunk",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "db_table": "Acme_Words",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_chunktext_scope",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="acme_memory_chunktext_chunk",
                        to="acme_passages",
                        to_fields=("tenant", "owner", "agent", "thread", "number"),
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Embedding",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("space", models.CharField(max_length=32)),
                ("of", models.CharField(max_length=32)),
                ("vector", models.BinaryField(null=True)),
                (
                    "made_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "chunk",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="acme_memory.chunk",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "db_table": "acme_vectors",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["space", "tenant", "owner", "agent", "thread", "number"],
                        name="acme_memory_embedding_space",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_embedding_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread", "space"),
                        name="acme_memory_embedding_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="acme_memory_embedding_chunk",
                        to="acme_passages",
                        to_fields=("tenant", "owner", "agent", "thread", "number"),
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="EmbeddingFailure",
            fields=[
                ("tenant", models.CharField(max_length=191)),
                ("owner", models.CharField(blank=True, default="", max_length=191)),
                ("agent", models.CharField(blank=True, default="", max_length=191)),
                ("thread", models.CharField(blank=True, default="", max_length=191)),
                (
                    "id",
                    prism_graph.bases.rows.IdField(
                        default=prism_graph.bases.rows.random_id,
                        editable=False,
                        max_length=26,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("space", models.CharField(max_length=32)),
                ("attempts", models.IntegerField(default=1)),
                ("reason", models.TextField(blank=True, default="")),
                ("failed_at", models.DateTimeField()),
                (
                    "chunk",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="acme_memory.chunk",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "db_table": "acme_failures",
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["space", "tenant", "owner", "agent", "thread", "number"],
                        name="acme_memory_embedding_a4e4a06d",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("tenant", ""), _negated=True),
                            models.Q(
                                models.Q(("owner", ""), _negated=True),
                                ("agent", ""),
                                _connector="OR",
                            ),
                            models.Q(
                                models.Q(("agent", ""), _negated=True),
                                ("thread", ""),
                                _connector="OR",
                            ),
                        ),
                        name="acme_memory_embeddingfailure_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread", "space"),
                        name="acme_memory_embeddingfailure_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="acme_memory_embeddingfailure_chunk",
                        to="acme_passages",
                        to_fields=("tenant", "owner", "agent", "thread", "number"),
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddIndex(
            model_name="factversion",
            index=models.Index(
                fields=["subject_digest", "tenant", "owner", "agent", "thread", "fact_number"],
                name="acme_memory_version_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="factversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("tenant", ""), _negated=True),
                    models.Q(
                        models.Q(("owner", ""), _negated=True), ("agent", ""), _connector="OR"
                    ),
                    models.Q(
                        models.Q(("agent", ""), _negated=True), ("thread", ""), _connector="OR"
                    ),
                ),
                name="acme_memory_factversion_scope",
            ),
        ),
        migrations.AddConstraint(
            model_name="factversion",
            constraint=models.UniqueConstraint(
                fields=("fact_number", "tenant", "owner", "agent", "thread", "number"),
                name="acme_memory_factversion_number",
            ),
        ),
        migrations.AddConstraint(
            model_name="factversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_to", None), ("valid_to__gt", models.F("valid_from")), _connector="OR"
                ),
                name="acme_memory_factversion_interval",
            ),
        ),
        migrations.AddConstraint(
            model_name="factversion",
            constraint=prism_graph.constraints.CompositeForeignKey(
                fields=("tenant", "owner", "agent", "thread", "fact_number"),
                name="acme_memory_factversion_fact",
                to="acme_facts",
                to_fields=("tenant", "owner", "agent", "thread", "number"),
            ),
        ),
        migrations.AddConstraint(
            model_name="factversion",
            constraint=models.UniqueConstraint(
                fields=("ticket", "tenant", "owner", "agent", "thread", "fact_number", "number"),
                name="acme_ticket",
            ),
        ),
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(
                fields=["source_number", "tenant", "owner", "agent", "thread", "ordinal"],
                name="acme_memory_chunk_order",
            ),
        ),
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(
                condition=models.Q(("ordinal__gte", 0)),
                fields=[
                    "tenant",
                    "owner",
                    "agent",
                    "thread",
                    "retired_at",
                    "recorded_at",
                    "source_number",
                    "ordinal",
                    "kind",
                    "trust",
                    "length",
                    "number",
                ],
                name="acme_memory_chunk_directory",
            ),
        ),
        migrations.AddConstraint(
            model_name="chunk",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("tenant", ""), _negated=True),
                    models.Q(
                        models.Q(("owner", ""), _negated=True), ("agent", ""), _connector="OR"
                    ),
                    models.Q(
                        models.Q(("agent", ""), _negated=True), ("thread", ""), _connector="OR"
                    ),
                ),
                name="acme_memory_chunk_scope",
            ),
        ),
        migrations.AddConstraint(
            model_name="chunk",
            constraint=models.UniqueConstraint(
                fields=("number", "tenant", "owner", "agent", "thread"),
                name="acme_memory_chunk_number",
            ),
        ),
        migrations.AddConstraint(
            model_name="chunk",
            constraint=models.UniqueConstraint(
                condition=models.Q(("turn_digest", ""), _negated=True),
                fields=(
                    "turn_digest",
                    "source_number",
                    "tenant",
                    "owner",
                    "agent",
                    "thread",
                    "part",
                ),
                name="acme_memory_chunk_turn",
            ),
        ),
        migrations.AddConstraint(
            model_name="chunk",
            constraint=prism_graph.constraints.CompositeForeignKey(
                fields=("tenant", "owner", "agent", "thread", "source_number"),
                name="acme_memory_chunk_source",
                to="Acme_Documents",
                to_fields=("tenant", "owner", "agent", "thread", "number"),
            ),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(
                fields=["fact_number", "tenant", "owner", "agent", "thread", "version", "since"],
                name="acme_memory_standing_of",
            ),
        ),
        migrations.AddConstraint(
            model_name="standing",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("tenant", ""), _negated=True),
                    models.Q(
                        models.Q(("owner", ""), _negated=True), ("agent", ""), _connector="OR"
                    ),
                    models.Q(
                        models.Q(("agent", ""), _negated=True), ("thread", ""), _connector="OR"
                    ),
                ),
                name="acme_memory_standing_scope",
            ),
        ),
        migrations.AddConstraint(
            model_name="standing",
            constraint=models.UniqueConstraint(
                condition=models.Q(("until", None)),
                fields=("fact_number", "tenant", "owner", "agent", "thread", "version"),
                name="acme_memory_standing_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="standing",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("until", None), ("until__gt", models.F("since")), _connector="OR"
                ),
                name="acme_memory_standing_interval",
            ),
        ),
        migrations.AddConstraint(
            model_name="standing",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ("accepted", "belief", "proposal", "rejected", "retracted"))
                ),
                name="acme_memory_standing_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="standing",
            constraint=prism_graph.constraints.CompositeForeignKey(
                fields=("tenant", "owner", "agent", "thread", "fact_number", "version"),
                name="acme_memory_standing_version",
                to="acme_versions",
                to_fields=("tenant", "owner", "agent", "thread", "fact_number", "number"),
            ),
        ),
    ]
