"""The site of tests.settings with models of its own."""

from __future__ import annotations

from tests import settings as plain

globals().update({name: value for name, value in vars(plain).items() if name.isupper()})

# After prism_graph: the order must not matter.
INSTALLED_APPS = [*plain.INSTALLED_APPS, "tests.owner.acme_memory"]
PRISM_GRAPH = {"MODELS_APP": "acme_memory"}
MIGRATION_MODULES = {"prism_graph": None}
