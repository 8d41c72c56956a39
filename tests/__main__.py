"""Run the suite on SQLite, and all of it that opens a database again on PostgreSQL, side by side.

`python -m tests [pytest arguments]`

Without a path among the arguments, each database then runs what a project with models of its own must
pass. The second one's output follows the first one's. With DATABASE_URL they take turns: both use that
server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RUNS = {"sqlite": [], "postgresql": ["--only-database"]}
OWNED = ["--ds=tests.owner.settings", "-m", "not exhaustive"]


def run(vendor: str, output: Any = None) -> int:
    """Run the suite on one database, and again with other models; return 0 if both pass."""
    environment = {**os.environ, "PRISM_TEST_DATABASE": vendor}
    pytest, given = [sys.executable, "-m", "pytest"], sys.argv[1:]
    runs = [[*RUNS[vendor], *given]]
    if not any(Path(each.partition("::")[0]).exists() for each in given):
        runs.append([*OWNED, *given, *Path("tests/owner/core.txt").read_text().split()])
    codes = [
        subprocess.call([*pytest, *each], env=environment, stdout=output, stderr=output)
        for each in runs
    ]
    return max(map(abs, codes))


def announce(vendor: str) -> None:
    """Print whose output follows."""
    print(f"===== {vendor} =====", flush=True)


failed = []
with tempfile.TemporaryFile() as later, ThreadPoolExecutor() as beside:
    waiting = None if "DATABASE_URL" in os.environ else beside.submit(run, "postgresql", later)
    announce("sqlite")
    if run("sqlite"):
        failed.append("sqlite")
    announce("postgresql")
    code = waiting.result() if waiting else run("postgresql")
    later.seek(0)
    sys.stdout.flush()
    sys.stdout.buffer.write(later.read())
    if code:
        failed.append("postgresql")
if failed:
    sys.exit(f"The suite did not pass on: {', '.join(failed)}.")
