from __future__ import annotations

from typing import Any

import pytest

from tests.admin.reviewing import PRISM_GRAPH


@pytest.fixture(autouse=True)
def grants(settings: Any) -> None:
    settings.PRISM_GRAPH = PRISM_GRAPH
