"""The models of the app that PRISM_GRAPH["MODELS_APP"] names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from prism_graph.bases import BASES


def models_of(label: str) -> dict[str, Any]:
    """Return the classes of the known names that an app's models module has, by name."""
    module = models_module(label)
    return {name: getattr(module, name) for name in BASES if hasattr(module, name)}


def models_module(label: str) -> Any:
    """Return an app's models module; None where there is no such app or it has none."""
    try:
        app = apps.get_app_config(label)
    except LookupError:
        return None
    # In the middle of Django's own loading, whichever app comes first in INSTALLED_APPS.
    if not module_has_submodule(app.module, "models"):
        return None
    return import_module(f"{app.name}.models")
