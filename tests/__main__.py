"""Run the suite on SQLite, and all of it that opens a database again on PostgreSQL.

`python -m tests [pytest arguments]`
"""

from __future__ import annotations

import os
import subprocess
import sys

RUNS = {"sqlite": [], "postgresql": ["--only-database"]}

failed = []
for vendor, options in RUNS.items():
    print(f"===== {vendor} =====", flush=True)
    command = [sys.executable, "-m", "pytest", *options, *sys.argv[1:]]
    if subprocess.call(command, env={**os.environ, "PRISM_TEST_DATABASE": vendor}):
        failed.append(vendor)
if failed:
    sys.exit(f"The suite did not pass on: {', '.join(failed)}.")
