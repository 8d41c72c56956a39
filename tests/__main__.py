"""Run the suite on SQLite, and all of it that opens a database again on PostgreSQL, side by side.

`python -m tests [pytest arguments]`

The second one's output follows the first one's. With DATABASE_URL they take turns: both use that server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

RUNS = {"sqlite": [], "postgresql": ["--only-database"]}


def start(vendor: str, output: Any = None) -> subprocess.Popen[bytes]:
    """Start the suite on one database."""
    command = [sys.executable, "-m", "pytest", *RUNS[vendor], *sys.argv[1:]]
    environment = {**os.environ, "PRISM_TEST_DATABASE": vendor}
    return subprocess.Popen(command, env=environment, stdout=output, stderr=output)


def announce(vendor: str) -> None:
    """Print whose output follows."""
    print(f"===== {vendor} =====", flush=True)


failed = []
with tempfile.TemporaryFile() as later:
    beside = None if "DATABASE_URL" in os.environ else start("postgresql", later)
    announce("sqlite")
    if start("sqlite").wait():
        failed.append("sqlite")
    announce("postgresql")
    run = beside or start("postgresql")
    code = run.wait()
    later.seek(0)
    sys.stdout.flush()
    sys.stdout.buffer.write(later.read())
    if code:
        failed.append("postgresql")
if failed:
    sys.exit(f"The suite did not pass on: {', '.join(failed)}.")
