"""A real worker, in processes of its own: what it embeds, and what becomes of it when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from prism_graph import Memory, Scope
from tests.rawsql import sql
from tests.vectors.doubles import vectors
from tests.worker.embedder import Telling

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not (
            find_spec("django_tasks_db")
            and (find_spec("django.tasks") or find_spec("django_tasks"))
        ),
        reason="django-tasks-db is not installed",
    ),
]

ANA = Scope("acme", "ana")
SECRET = "zebra"
INGEST = f"""
from prism_graph import Memory, Origin, Scope, Trust
parts = [f"# Part {{n}}\\n\\n" + f"The {SECRET} of part {{n}} stands. " * 30 for n in range(12)]
text = "\\n\\n".join(parts)
Memory(Scope("acme", "ana")).ingest("doc", text, origin=Origin(Trust.DOCUMENT, "importer"))
"""


class Site:
    """The settings of tests.worker on this test's database."""

    def __init__(self, asked: Path) -> None:
        self.asked = asked
        settings = connection.settings_dict
        names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
        database: dict[str, Any] = {name: str(settings[name]) for name in names if settings[name]}
        if connection.vendor == "sqlite":
            database["OPTIONS"] = settings["OPTIONS"]
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.worker.settings",
            "PRISM_TEST_WORKER_DATABASE": json.dumps(database),
            "PRISM_TEST_WORKER_ASKED": str(asked),
        }

    def manage(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "django", *arguments]
        subprocess.run(command, env=self.environment, check=True, timeout=120)

    @contextmanager
    def worker(self, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "django", "db_worker", "--interval", "0.1"]
        with subprocess.Popen(
            [*command, "--no-startup-delay", "-v", "0"], env={**self.environment, **environment}
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def questions(self) -> list[list[str]]:
        """Return what the embedder was asked for, call by call."""
        if not self.asked.exists():
            return []
        return [json.loads(line) for line in self.asked.read_text("utf-8").splitlines()]


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "asked")
    site.manage("migrate", "django_tasks_database", "-v", "0")
    with vectors(Telling()):
        yield site
    # Its migrations cannot be undone.
    sql("DROP TABLE django_tasks_database_dbtaskresult")
    sql("DELETE FROM django_migrations WHERE app = 'django_tasks_database'")


def test_a_worker_killed_within_a_batch_loses_nothing_and_nothing_is_embedded_twice(
    site: Site,
) -> None:
    memory = Memory(ANA)
    site.manage("shell", "-c", INGEST)
    chunks = memory.pending()
    assert chunks > 6
    assert site.questions() == []

    with site.worker(PRISM_TEST_WORKER_HANGS="1") as first:
        until(lambda: len(site.questions()) == 2)
        first.send_signal(signal.SIGKILL)
    assert memory.pending() == chunks - 3
    in_flight = site.questions()[1]

    with site.worker():
        until(lambda: memory.pending() == 0)
    rows = sql("SELECT number FROM $embedding")
    assert len(rows) == len(set(rows)) == chunks
    asked = Counter(text for call in site.questions() for text in call)
    assert len(asked) == chunks
    assert {text for text, times in asked.items() if times > 1} == set(in_flight)
    assert max(asked.values()) == 2
    # What the queue stores tells nothing.
    told = str(sql("SELECT * FROM django_tasks_database_dbtaskresult"))
    assert "embed_scope" in told
    assert SECRET not in told
