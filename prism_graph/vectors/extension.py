"""The SQLite extension sqlite-vec: loading it on a connection, and what stands in the way."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

NAME: Final = "sqlite-vec"
# Older ones leave a deleted vector's bytes in their table until another one takes its place.
OLDEST: Final = (0, 1, 7)
MODULES: Final = "SELECT 1 FROM pragma_module_list WHERE name = 'vec0'"

ELSE: Final = "or set PRISM_GRAPH['VECTORS'] = 'exact'"
NOT_SQLITE: Final = (
    "sqlite-vec works on SQLite alone, and this database is another: set PRISM_GRAPH['VECTORS'] to "
    "'pgvector' or 'exact'."
)
NO_LOADING: Final = (
    "This Python's sqlite3 module was built without loading of extensions, which sqlite-vec needs: use "
    f"one that can, such as Debian's own python3, {ELSE}."
)
NO_PACKAGE: Final = (
    "The package sqlite-vec is not installed: run `python -m pip install "
    f"'django-prism-graph[sqlite-vec]'`, {ELSE}."
)
TOO_OLD: Final = (
    "This sqlite-vec is older than 0.1.7 and leaves the bytes of deleted vectors: upgrade it, "
    f"{ELSE}."
)


def load(connection: Any) -> str:
    """Load the extension on a Django connection, if it is not there; return what hinders it, or `""`."""
    if connection.vendor != "sqlite":
        return NOT_SQLITE
    connection.ensure_connection()
    raw = connection.connection
    if not raw.execute(MODULES).fetchone() and (hindrance := _loaded(connection, raw)):
        return hindrance
    (version,) = raw.execute("SELECT vec_version()").fetchone()
    return "" if _numbers(version) >= OLDEST else TOO_OLD


def _loaded(connection: Any, raw: Any) -> str:
    if not hasattr(raw, "enable_load_extension"):
        return NO_LOADING
    try:
        path = import_module("sqlite_vec").loadable_path()
    except ImportError:
        return NO_PACKAGE
    try:
        raw.enable_load_extension(True)
        raw.load_extension(path)
    except connection.Database.Error as error:
        return f"sqlite-vec cannot be loaded ({error}): install it anew for this machine, {ELSE}."
    finally:
        # Whoever gets to run SQL must not load what they like.
        raw.enable_load_extension(False)
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of `v0.1.10-alpha.1`: 0, 1, 10."""
    return tuple(int(part) for part in version.lstrip("v").partition("-")[0].split(".")[:3])
