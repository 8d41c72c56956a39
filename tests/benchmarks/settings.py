"""The test site on two databases of the vendor that PRISM_TEST_DATABASE names."""

from __future__ import annotations

import os
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.databases import postgresql, sqlite
from tests.settings import *  # noqa: F403


def _database(name: str) -> dict[str, Any]:
    on_sqlite = os.environ["PRISM_TEST_DATABASE"] == "sqlite"
    database = deepcopy(sqlite() if on_sqlite else postgresql())
    path = str(Path(tempfile.mkdtemp(prefix="prism-graph-")) / f"{name}.sqlite3")
    database["TEST"] = {"NAME": path if on_sqlite else f"prism_graph_{name}"}
    return database


DATABASES = {"default": _database("large"), "small": _database("small")}
