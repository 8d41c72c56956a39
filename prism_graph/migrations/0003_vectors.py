import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

import prism_graph.bases.rows
import prism_graph.constraints
import prism_graph.operations


class Migration(migrations.Migration):
    dependencies = [
        ("prism_graph", "0002_facts"),
    ]

    operations = [
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
                        name="prism_graph_vectorpartition_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "owner", "agent", "thread", "space"),
                        name="prism_graph_vectorpartition_space",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("serving", True)),
                        fields=("tenant", "owner", "agent", "thread"),
                        name="prism_graph_vectorpartition_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("serving", False), ("owner", ""), _connector="OR"),
                        name="prism_graph_vectorpartition_serving",
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
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["space", "tenant", "owner", "agent", "thread", "number"],
                        name="prism_graph_embedding_space",
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
                        name="prism_graph_embedding_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread", "space"),
                        name="prism_graph_embedding_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="prism_graph_embedding_chunk",
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
                        to="prism_graph.chunk",
                        to_fields=["tenant", "owner", "agent", "thread", "number"],
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_permissions": ("view",),
                "base_manager_name": "closed",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["space", "tenant", "owner", "agent", "thread", "number"],
                        name="prism_graph_embedding_cddf7314",
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
                        name="prism_graph_embeddingfailure_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("number", "tenant", "owner", "agent", "thread", "space"),
                        name="prism_graph_embeddingfailure_once",
                    ),
                    prism_graph.constraints.CompositeForeignKey(
                        fields=("tenant", "owner", "agent", "thread", "number"),
                        name="prism_graph_embeddingfailure_chunk",
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
        prism_graph.operations.NoStatistics(
            columns={
                "prism_graph_embedding": ["of", "vector"],
                "prism_graph_embeddingfailure": ["reason"],
                "prism_graph_vectorpartition": ["reason"],
            },
        ),
    ]
