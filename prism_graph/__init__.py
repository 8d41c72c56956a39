"""Memory for AI agents in a Django project's own database: scoped, cited, searchable, erasable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prism_graph.errors import PrismGraphError
from prism_graph.policy import FactStatus
from prism_graph.scope import Scope
from prism_graph.trust import Origin, Trust

if TYPE_CHECKING:
    from prism_graph.memory import Memory

__all__ = ["FactStatus", "Memory", "Origin", "PrismGraphError", "Scope", "Trust"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Memory needs models, and models need django.setup(); everything else here does not.
    if name == "Memory":
        from prism_graph.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
