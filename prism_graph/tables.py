"""The names that SQL text needs, of the memory's tables and of the index on words: filled in once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from string import Template
from typing import Any, Final

from prism_graph.bases import BASES
from prism_graph.constraints import CompositeForeignKey

INDEX: Final = "fulltext"
# What hangs on the index: triggers on SQLite, FTS5's own table of blocks, and the table in which a
# comparison lists its words.
PARTS: Final = ("insert", "delete", "update", "text", "data", "words")

VECTORS: Final = "vectors"
# What hangs on a table of vectors: triggers, an index, and that extension's own table of blocks.
VECTOR_PARTS: Final = ("delete", "move", "place", "chunks")


def index_of(table: str) -> str:
    """Return the name of the index on the words of a table."""
    stem = table.removesuffix("chunktext").rstrip("_")
    return f"{stem or table}_{INDEX}"


def vectors_of(table: str, dimensions: int) -> str:
    """Return the name of the table that keeps the vectors of a width beside the table of embeddings."""
    stem = table.removesuffix("embedding").rstrip("_")
    return f"{stem or table}_{VECTORS}_{dimensions}"


class Tables:
    """The table of each model, and SQL templates filled with them, quoted: `$chunk` is Chunk's.

    `$fulltext` is the index on words, which is named after its table, and `$fulltext_insert` a part of it.
    """

    def __init__(self, tables: Mapping[str, str]) -> None:
        self.names = {model.lower(): table for model, table in tables.items()}
        self.index = index_of(self.names["chunktext"])
        self.names[INDEX] = self.index
        self.names |= {f"{INDEX}_{part}": f"{self.index}_{part}" for part in PARTS}
        # As quote_name does on both databases.
        self._quoted = {key: f'"{name}"' for key, name in self.names.items()}
        self._filled: dict[str, str] = {}

    def fill(self, template: str) -> str:
        """Return the statement that a template becomes. Few exist, so each is kept."""
        try:
            return self._filled[template]
        except KeyError:
            self._filled[template] = Template(template).substitute(self._quoted)
            return self._filled[template]

    def wide(self, dimensions: int) -> Tables:
        """Return these names with those of the table of vectors of a width: `$vectors`, `$vectors_delete`.

        `$dimensions` is the width.
        """
        wide = Tables(self.names)
        table = vectors_of(self.names["embedding"], dimensions)
        wide.names[VECTORS] = table
        wide.names |= {f"{VECTORS}_{part}": f"{table}_{part}" for part in VECTOR_PARTS}
        wide._quoted = {key: f'"{name}"' for key, name in wide.names.items()}
        wide._quoted["dimensions"] = str(int(dimensions))
        return wide

    @classmethod
    def of(cls, apps: Any, app_label: str) -> Tables:
        """Return the names in an app, as far as the registry of a migration has its models."""
        models = apps.all_models[app_label]
        names = [name.lower() for name in BASES if name.lower() in models]
        return cls({name: models[name]._meta.db_table for name in names})


@lru_cache(maxsize=1)
def current() -> Tables:
    """Return the names in the models in use."""
    from prism_graph.models import MODELS

    return Tables({model.__name__: model._meta.db_table for model in MODELS})


@lru_cache(maxsize=8)
def wide(dimensions: int) -> Tables:
    """Return the names in the models in use, with those of the vectors of a width."""
    return current().wide(dimensions)


@lru_cache(maxsize=1)
def keys() -> frozenset[str]:
    """Return the names of the foreign keys between the models in use."""
    from prism_graph.models import MODELS

    return frozenset(
        constraint.name
        for model in MODELS
        for constraint in model._meta.constraints
        if isinstance(constraint, CompositeForeignKey)
    )


def named(template: str) -> str:
    """Return the statement that a template becomes for the models in use."""
    return current().fill(template)
