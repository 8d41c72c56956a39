import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

import prism_graph.bases.rows
import prism_graph.constraints
import prism_graph.operations


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
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
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
                "permissions": [("erase_source", "Can erase source with all that rests on it")],
                "indexes": [
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "number"],
                        name="prism_graph_source_scope",
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
                        name="prism_graph_source_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("key_digest", "tenant", "owner", "agent", "thread"),
                        name="prism_graph_source_key",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread"),
                        name="prism_graph_source_number",
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
                (
                    "source",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "source_number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="prism_graph.source",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(
                        fields=["source_number", "tenant", "owner", "agent", "thread", "ordinal"],
                        name="prism_graph_chunk_order",
                    ),
                    models.Index(
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
                        name="prism_graph_chunk_directory",
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
                        name="prism_graph_chunk_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread"),
                        name="prism_graph_chunk_number",
                    ),
                    models.UniqueConstraint(
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
                        name="prism_graph_chunk_turn",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "source_number"),
                        name="prism_graph_chunk_source",
                        to="prism_graph_source",
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
                (
                    "chunk",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="prism_graph.chunk",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
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
                        name="prism_graph_chunktext_scope",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="prism_graph_chunktext_chunk",
                        to="prism_graph_chunk",
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
                ("number", models.BigIntegerField()),
                ("cited_owner", models.CharField(blank=True, default="", max_length=191)),
                ("cited_agent", models.CharField(blank=True, default="", max_length=191)),
                ("cited_thread", models.CharField(blank=True, default="", max_length=191)),
                ("cited_number", models.BigIntegerField()),
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(
                        fields=[
                            "cited_number",
                            "tenant",
                            "cited_owner",
                            "cited_agent",
                            "cited_thread",
                        ],
                        name="prism_graph_derivation_by",
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
                        name="prism_graph_derivation_scope",
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
                        name="prism_graph_derivation_upward",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "cited_number", "tenant", "owner", "agent", "thread"),
                        name="prism_graph_derivation_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="prism_graph_derivation_chunk",
                        to="prism_graph_chunk",
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
                        name="prism_graph_derivation_cited",
                        to="prism_graph_chunk",
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
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
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
                        name="prism_graph_scopeclock_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "owner", "agent", "thread"),
                        name="prism_graph_scopeclock_one",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        prism_graph.operations.InstallFullText(),
    ]
