"""The app: `INSTALLED_APPS += ["prism_graph"]`."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_delete, pre_save


class PrismGraphConfig(AppConfig):
    """Connect receivers and checks."""

    name = "prism_graph"
    verbose_name = "Agent memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what keeps the index true and deletion scoped."""
        from prism_graph import checks, models, receivers
        from prism_graph.bases import AbstractChunkText
        from prism_graph.bases.evidence import chunks_going
        from prism_graph.signals import source_ingested

        checks.register_all()
        source_ingested.connect(receivers.embed_new)
        chunks_going.connect(receivers.forget_vectors)
        post_migrate.connect(receivers.restore_index, sender=self)
        post_migrate.connect(receivers.prepare_stores, sender=self)
        connection_created.connect(receivers.load_extension)
        receivers.load_where_open()
        for model in models.MODELS:
            pre_delete.connect(receivers.refuse_collector, sender=model)
            if issubclass(model, AbstractChunkText):
                pre_save.connect(receivers.analyse_text, sender=model)
