"""The stored rows. `Model.objects` opens doors and is none itself."""

from typing import TYPE_CHECKING, Any, Final

from prism_graph import conf
from prism_graph.bases import BASES, ChunkKind, SourceKind
from prism_graph.doors import ReviewGrant
from prism_graph.errors import InvalidSettings
from prism_graph.models.owned import models_of

if TYPE_CHECKING or conf.models_app() is None:
    from prism_graph.models.concrete import (
        Chunk,
        ChunkText,
        Citation,
        Derivation,
        Embedding,
        EmbeddingFailure,
        Fact,
        FactVersion,
        Receipt,
        ScopeClock,
        Source,
        Standing,
        VectorPartition,
    )
else:
    globals().update(models_of(conf.models_app()))

__all__ = [
    "Chunk",
    "ChunkKind",
    "ChunkText",
    "Citation",
    "Derivation",
    "Embedding",
    "EmbeddingFailure",
    "Fact",
    "FactVersion",
    "Receipt",
    "ReviewGrant",
    "ScopeClock",
    "Source",
    "SourceKind",
    "Standing",
    "VectorPartition",
]

# Every model, parents before their children; some are missing while E010 says so.
MODELS: Final[list[Any]] = [globals()[name] for name in BASES if name in globals()]


def __getattr__(name: str) -> Any:
    if name in BASES:
        raise InvalidSettings(
            f"The app that PRISM_GRAPH['MODELS_APP'] names is not installed, or its models module has "
            f"no {name}: make one of prism_graph.bases.Abstract{name} there."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
