from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import prism_graph

PACKAGE = Path(prism_graph.__file__).parent


def test_the_suite_runs_against_the_wheel_where_tox_installed_one():
    installed = "PRISM_TEST_INSTALLED" in os.environ
    expected = sysconfig.get_path("purelib") if installed else Path(__file__).parents[1]
    assert PACKAGE.parent == Path(expected)


def test_the_package_ships_its_type_marker():
    assert (PACKAGE / "py.typed").is_file()


def test_values_import_without_settings_and_leave_the_models_alone():
    program = (
        "import sys; from prism_graph import Origin, PrismGraphError, Scope, Trust; "
        "print('prism_graph.models' in sys.modules)"
    )
    environment = {
        name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("False", "")
