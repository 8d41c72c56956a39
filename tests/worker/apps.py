from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig


class WorkerConfig(AppConfig):
    name = "tests.worker"
    label = "prism_graph_tests_worker"

    def ready(self) -> None:
        """Wait seconds for what was killed, where a site waits a minute."""
        from prism_graph import leases, tasks

        leases.LEASE = timedelta(seconds=3)  # type: ignore[misc]
        tasks.AGAIN = timedelta(seconds=4)  # type: ignore[misc]
