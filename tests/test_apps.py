from __future__ import annotations

import os
import subprocess
import sys

from django.test.utils import isolate_apps


@isolate_apps("prism_graph")
def test_a_registry_without_models_can_be_made() -> None:
    """A project's own tests isolate the registry with every app it has."""


def test_a_site_without_the_admin_renders_its_templates():
    program = (
        "import django\nfrom django.conf import settings\n"
        "settings.configure(INSTALLED_APPS=['prism_graph'], USE_TZ=True, TEMPLATES=[{"
        "'BACKEND': 'django.template.backends.django.DjangoTemplates', 'APP_DIRS': True}])\n"
        "django.setup()\n"
        "from django.template import engines\n"
        "print(engines['django'].from_string('{{ 1 }}').render())\n"
    )
    environment = {name: each for name, each in os.environ.items() if "SETTINGS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
