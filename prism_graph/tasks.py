"""Embedding as background work: Django's task framework, its backport, or at once where neither is."""

from __future__ import annotations

import logging
from typing import Any

from prism_graph import embedding
from prism_graph.errors import PrismGraphError
from prism_graph.scope import Scope

task: Any
try:
    from django.tasks import task
except ImportError:
    try:
        from django_tasks import task
    except ImportError:

        def task(function: Any) -> Any:
            """Leave the function as it is: Django 5.2 without the extra `tasks`."""
            return function


logger = logging.getLogger(__name__)


@task  # type: ignore[untyped-decorator]
def embed_scope(tenant: str, owner: str, agent: str, thread: str, using: str) -> int:
    """Make the vectors that a scope waits for; return how many. What could not be made stays listed.

    The parts of a scope and a database's alias are all that a queue gets to see.
    """
    return embedding.embed(Scope.from_columns(tenant, owner, agent, thread), using).made


def schedule(scope: Scope, using: str) -> None:
    """Have a scope's vectors made: enqueued where there is a queue, else now. Failing is logged only."""
    run = getattr(embed_scope, "enqueue", embed_scope)
    try:
        run(*map(str, scope.parts), using)
    except PrismGraphError as error:
        logger.warning("Chunks wait for their vectors. %s", error)
    except Exception:
        # A queue that cannot be reached: the text is stored, and the next run takes it along.
        logger.exception("Chunks wait for their vectors, which could not be asked for.")
