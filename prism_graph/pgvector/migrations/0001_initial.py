import django.db.models.manager
import pgvector.django
from django.db import migrations, models

import prism_graph.bases.rows
import prism_graph.pgvector.operations
from prism_graph import conf


class Migration(migrations.Migration):
    initial = True

    # Whoever's models the chunks are: their table goes after this one's.
    dependencies = [(conf.models_app() or "prism_graph", "__first__")]

    operations = [
        prism_graph.pgvector.operations.InstallExtension(),
        migrations.CreateModel(
            name="ChunkVector",
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
                ("embedding", pgvector.django.VectorField()),
            ],
            options={
                "abstract": False,
                "default_permissions": ("view",),
                "required_db_vendor": "postgresql",
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
                        name="prism_graph_pgvector_chunkvector_scope",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "owner", "agent", "thread", "number", "space"),
                        name="prism_graph_pgvector_chunkvector_once",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("closed", django.db.models.manager.Manager()),
            ],
        ),
        prism_graph.pgvector.operations.InstallVectors(),
    ]
