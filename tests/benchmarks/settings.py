"""The test site on two databases of the vendor that PRISM_TEST_DATABASE names."""

from __future__ import annotations

import os
from copy import deepcopy
from typing import Any

from tests.databases import postgresql, sqlite
from tests.settings import *  # noqa: F403


def _database(name: str) -> dict[str, Any]:
    database = deepcopy(sqlite() if os.environ["PRISM_TEST_DATABASE"] == "sqlite" else postgresql())
    test = database.setdefault("TEST", {})
    test["NAME"] = f"{test.get('NAME', 'prism_graph')}_{name}"
    return database


DATABASES = {"default": _database("large"), "small": _database("small")}
