"""Writes in processes that are killed (SIGKILL): `python -m tests.killed`, told what to do on stdin.

The first line is the database, what to import and what to set there; every other one names a write, the
statement before which its process ends itself, or the seconds after which it is ended from outside. The
answer to each is a line: whether the write came to its end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


class Killer:
    """The process that starts the others and outlives them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, name: str, statement: int | None = None, seconds: float | None = None) -> bool:
        """Run a write in a process that is killed; return whether it came to its end before."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([name, statement, seconds]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the process that starts the others has ended"
        _wait_for_the_server()
        return bool(json.loads(answer))


@contextmanager
def killing(module: str, known: dict[str, Any]) -> Iterator[Killer]:
    """Start the process; `known` is what the module's `cited` holds there."""
    from django.db import connection

    settings = connection.settings_dict
    database = {
        name: str(settings[name])
        for name in ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
        if settings[name]
    }
    options = {"OPTIONS": settings["OPTIONS"]} if connection.vendor == "sqlite" else {}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.killed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdin
            process.stdin.write(json.dumps([{**database, **options}, module, known]) + "\n")
            process.stdin.flush()
            yield Killer(process)
        finally:
            process.kill()


def _wait_for_the_server() -> None:
    """Wait until PostgreSQL has noticed that its clients are gone."""
    from django.db import connection

    # Not above: the process that kills imports this module before it has any models.
    from tests.rawsql import sql

    if connection.vendor != "postgresql":
        return
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    until = time.monotonic() + 30
    while sql(others)[0][0]:
        assert time.monotonic() < until, "a server process outlived its client"
        time.sleep(0.005)


def main() -> None:
    database, module, known = json.loads(sys.stdin.readline())
    import django
    from django.conf import settings

    settings.configure(
        SECRET_KEY="only-for-tests",
        USE_TZ=True,
        INSTALLED_APPS=["prism_graph"],
        DATABASES={"default": database},
    )
    django.setup()
    tests = import_module(module)
    tests.cited.update(known)
    for line in sys.stdin:
        name, statement, seconds = json.loads(line)
        child = os.fork()
        if not child:
            _write(lambda name=name: tests.write(name), statement)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status) == 0), flush=True)


def _write(write: Any, statement: int | None) -> None:
    """Write and exit; before that statement, if there is one of that number, end this process."""
    from django.db import connection

    code, left = 1, iter(range(sys.maxsize if statement is None else statement))

    def end(execute: Any, *arguments: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(*arguments)

    try:
        with connection.execute_wrapper(end):
            write()
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
