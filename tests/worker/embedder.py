from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.vectors.doubles import Choosy


class Telling(Choosy):
    """Write down what it is asked for; where it is told to, never answer the second question."""

    batch_size = 3

    def __init__(self) -> None:
        super().__init__(unfit="")

    def embed(self, texts: Sequence[str]) -> Any:
        with Path(os.environ["PRISM_TEST_WORKER_ASKED"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(list(texts)) + "\n")
        if "PRISM_TEST_WORKER_HANGS" in os.environ and self.calls == 1:
            time.sleep(600)
        return super().embed(texts)
