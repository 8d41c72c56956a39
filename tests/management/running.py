"""Commands as an operator runs them: what they print, and how they end."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def run(name: str, *arguments: str) -> tuple[str, int]:
    """Run a command; return what it printed and its exit code. Raises CommandError for a refusal."""
    out = StringIO()
    try:
        call_command(f"prism_graph_{name}", *arguments, stdout=out, no_color=True)
    except SystemExit as end:
        return out.getvalue(), int(end.code or 0)
    return out.getvalue(), 0


def ask(name: str, *arguments: str) -> tuple[Any, int]:
    """Run a command with --json; return its one object and the exit code."""
    said, code = run(name, *arguments, "--json")
    return json.loads(said), code


def refusal(name: str, *arguments: str) -> str:
    """Return the words with which a command refuses."""
    with pytest.raises(CommandError) as refused:
        run(name, *arguments)
    assert refused.value.returncode == 1
    return str(refused.value)
