"""The setting PRISM_GRAPH["VECTORS"]: which store of vectors it names, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.utils.module_loading import import_string

BUILT_IN: Final = {
    "exact": "prism_graph.vectors.exact.ExactStore",
    "sqlite-vec": "prism_graph.vectors.sqlite_vec.SqliteVecStore",
    "pgvector": "prism_graph.pgvector.store.PgVectorStore",
}
METHODS: Final = ("put", "drop", "read", "nearest")
WANTED: Final = f"must be one of {', '.join(map(repr, BUILT_IN))}, or a dotted path"


def name_of(value: Any) -> str:
    """Return how a store is called in the rows: a built-in's name, or the dotted path."""
    return str(value["store"]) if isinstance(value, Mapping) else str(value)


def options_of(value: Any) -> dict[str, Any]:
    """Return what the store is made with besides its database and width."""
    return dict(value.get("options", {})) if isinstance(value, Mapping) else {}


def path_of(value: Any) -> str:
    """Return the dotted path of the store's class."""
    return BUILT_IN.get(name_of(value), name_of(value))


def complaint(value: Any) -> str | None:
    """Return what is wrong with a value of the setting. It makes no store, and imports none of ours."""
    if isinstance(value, Mapping):
        if unknown := [key for key in value if key not in ("store", "options")]:
            return f"has no key {unknown[0]!r}: it takes store, options"
        options = value.get("options", {})
        if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
            return "must have a dict of names as its 'options'"
        value = value.get("store")
    if not isinstance(value, str) or (value not in BUILT_IN and "." not in value):
        return WANTED
    return None if value in BUILT_IN else _unlike(value)


def _unlike(path: str) -> str | None:
    try:
        store = import_string(path)
    except Exception as error:  # whatever a module does while it is imported
        return f"cannot be imported: {error}"
    if isinstance(store, type) and all(callable(getattr(store, name, None)) for name in METHODS):
        return None
    return "must name a class made of prism_graph.vectors.VectorStore"
