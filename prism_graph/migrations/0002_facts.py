import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

import prism_graph.bases.facts
import prism_graph.bases.rows
import prism_graph.constraints
import prism_graph.operations


class Migration(migrations.Migration):
    dependencies = [
        ("prism_graph", "0001_initial"),
    ]

    operations = [
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
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "number"],
                        name="prism_graph_fact_scope",
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
                        name="prism_graph_fact_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("key_digest", "tenant", "owner", "agent", "thread"),
                        name="prism_graph_fact_key",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread"),
                        name="prism_graph_fact_number",
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
                (
                    "fact",
                    prism_graph.bases.rows.ScopedRelation(
                        from_fields=["tenant", "owner", "agent", "thread", "fact_number"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="prism_graph.fact",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "verbose_name_plural": "facts",
                "default_permissions": ("view",),
                "permissions": [
                    ("accept_factversion", "Can accept and reject facts that wait"),
                    ("retract_factversion", "Can retract facts"),
                    ("erase_factversion", "Can erase facts"),
                ],
                "indexes": [
                    models.Index(
                        fields=[
                            "subject_digest",
                            "tenant",
                            "owner",
                            "agent",
                            "thread",
                            "fact_number",
                        ],
                        name="prism_graph_version_subject",
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
                        name="prism_graph_factversion_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("fact_number", "tenant", "owner", "agent", "thread", "number"),
                        name="prism_graph_factversion_number",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_to", None),
                            ("valid_to__gt", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="prism_graph_factversion_interval",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "fact_number"),
                        name="prism_graph_factversion_fact",
                        to="prism_graph_fact",
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
                        to="prism_graph.factversion",
                        to_fields=["tenant", "owner", "agent", "thread", "fact_number", "number"],
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
                        fields=[
                            "fact_number",
                            "tenant",
                            "owner",
                            "agent",
                            "thread",
                            "version",
                            "since",
                        ],
                        name="prism_graph_standing_of",
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
                        name="prism_graph_standing_scope",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("until", None)),
                        fields=("fact_number", "tenant", "owner", "agent", "thread", "version"),
                        name="prism_graph_standing_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("until", None), ("until__gt", models.F("since")), _connector="OR"
                        ),
                        name="prism_graph_standing_interval",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                ("accepted", "belief", "proposal", "rejected", "retracted"),
                            )
                        ),
                        name="prism_graph_standing_status",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "fact_number", "version"),
                        name="prism_graph_standing_version",
                        to="prism_graph_factversion",
                        to_fields=("tenant", "owner", "agent", "thread", "fact_number", "number"),
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
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
                            "owner",
                            "agent",
                            "thread",
                            "fact_number",
                        ],
                        name="prism_graph_citation_by",
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
                        name="prism_graph_citation_scope",
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
                        name="prism_graph_citation_upward",
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
                        name="prism_graph_citation_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "fact_number", "version"),
                        name="prism_graph_citation_version",
                        to="prism_graph_factversion",
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
                        name="prism_graph_citation_cited",
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
            ],
            options={
                "abstract": False,
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(
                        fields=["tenant", "owner", "agent", "thread", "erased_at"],
                        name="prism_graph_receipt_scope",
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
                        name="prism_graph_receipt_scope",
                    )
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        prism_graph.operations.NoStatistics(
            columns={
                "prism_graph_fact": ["key", "key_digest"],
                "prism_graph_factversion": ["subject", "subject_digest", "predicate", "value"],
                "prism_graph_receipt": ["target", "actor", "reason"],
                "prism_graph_standing": ["decided_by", "reason"],
            },
        ),
    ]
