"""Run the whole suite on SQLite, then on PostgreSQL: `python -m tests [pytest arguments]`."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.databases import VENDORS

failed = []
for vendor in VENDORS:
    print(f"===== {vendor} =====", flush=True)
    environment = {**os.environ, "PRISM_TEST_DATABASE": vendor}
    if subprocess.call([sys.executable, "-m", "pytest", *sys.argv[1:]], env=environment):
        failed.append(vendor)
if failed:
    sys.exit(f"The suite did not pass on: {', '.join(failed)}.")
