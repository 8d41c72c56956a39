"""Calls of Memory that begin together, each in a process of its own: `python -m tests.processes`."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from typing import Any

from prism_graph import Scope

# What one process does: a method of Memory, its arguments.
Call = tuple[str, list[Any], dict[str, Any]]


def side_by_side(scope: Scope, *calls: Call) -> list[tuple[str, Any]]:
    """Return for each call the name of what it raised, or `""`, and the version that it returned."""
    from django.db import connection

    settings = connection.settings_dict
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
    database: dict[str, Any] = {name: str(settings[name]) for name in names if settings[name]}
    if connection.vendor == "sqlite":
        database["OPTIONS"] = settings["OPTIONS"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.processes"],
        input=json.dumps([database, [str(part) for part in scope.parts], calls]),
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return [(name, version) for name, version in json.loads(done.stdout)]


def main() -> None:
    database, parts, calls = json.load(sys.stdin)
    import django
    from django.conf import settings

    settings.configure(
        SECRET_KEY="only-for-tests",
        USE_TZ=True,
        INSTALLED_APPS=["prism_graph"],
        DATABASES={"default": database},
    )
    django.setup()
    # Forked before anything connects: each child has a connection of its own.
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(len(calls)), context.Queue()
    children = [
        context.Process(target=_call, args=(place, parts, call, barrier, answers))
        for place, call in enumerate(calls)
    ]
    for child in children:
        child.start()
    found = dict(answers.get(timeout=100) for _ in children)
    for child in children:
        child.join()
    print(json.dumps([found[place] for place in range(len(calls))]))


def _call(place: int, parts: list[str], call: Call, barrier: Any, answers: Any) -> None:
    from django.db import connection

    from prism_graph import Memory

    method, arguments, named = call
    memory = Memory(Scope.from_columns(*parts))
    connection.ensure_connection()
    barrier.wait(60)
    try:
        answer = ("", getattr(memory, method)(*arguments, **named).version)
    except Exception as error:
        answer = (type(error).__name__, None)
    answers.put((place, answer))


if __name__ == "__main__":
    main()
