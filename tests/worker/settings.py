"""A site whose tasks wait in a database for a worker in a process of its own."""

from __future__ import annotations

import json
import os

SECRET_KEY = "only-for-tests"
USE_TZ = True
DATABASES = {"default": json.loads(os.environ["PRISM_TEST_WORKER_DATABASE"])}
INSTALLED_APPS = ["prism_graph", "django_tasks_db", "tests.worker.apps.WorkerConfig"]
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
PRISM_GRAPH = {"VECTORS": "exact", "EMBEDDER": "tests.worker.embedder.Telling"}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
