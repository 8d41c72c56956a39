from __future__ import annotations

from django.test.utils import isolate_apps


@isolate_apps("prism_graph")
def test_a_registry_without_models_can_be_made() -> None:
    """A project's own tests isolate the registry with every app it has."""
