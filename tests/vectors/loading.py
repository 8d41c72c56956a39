"""Whether this Python can load sqlite-vec; PRISM_TEST_SQLITE_VEC=1 says that it must."""

from __future__ import annotations

import os
import sqlite3
from importlib.util import find_spec
from typing import Any

import pytest
from django.db import connection

from prism_graph.vectors.sqlite_vec import SqliteVecStore

LOADS = hasattr(sqlite3.Connection, "enable_load_extension") and find_spec("sqlite_vec") is not None

needs_sqlite_vec = pytest.mark.skipif(
    not LOADS and not os.environ.get("PRISM_TEST_SQLITE_VEC"),
    reason="this Python's sqlite3 loads no extensions, or the package sqlite-vec is absent",
)


def need_sqlite() -> None:
    """Skip a test on another database."""
    if connection.vendor != "sqlite":
        pytest.skip("sqlite-vec works on SQLite alone")


def prepared(dimensions: int, using: str = "default") -> Any:
    """Return the store of a width, its table made."""
    store = SqliteVecStore(using, dimensions)
    store.prepare()
    assert list(store.check()) == []
    return store
