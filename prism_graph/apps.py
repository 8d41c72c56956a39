"""The app: `INSTALLED_APPS += ["prism_graph"]`."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate, pre_delete, pre_save


class PrismGraphConfig(AppConfig):
    """Connect receivers and checks."""

    name = "prism_graph"
    verbose_name = "Agent memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what keeps the index true and deletion scoped."""
        from prism_graph import checks, receivers

        checks.register_all()
        post_migrate.connect(receivers.restore_index, sender=self)
        # Lazily by name: a registry that a test isolates has no models.
        pre_save.connect(receivers.analyse_text, sender="prism_graph.ChunkText")
        for model in apps.get_app_config(self.label).get_models():
            pre_delete.connect(receivers.refuse_collector, sender=model)
