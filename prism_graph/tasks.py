"""Embedding as background work: Django's task framework, its backport, or at once where neither is."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from typing import Any, Final

from prism_graph import clock, embedding, leases, spaces
from prism_graph.errors import EmbedderUnavailable, PrismGraphError
from prism_graph.scope import Scope


def _framework() -> Any:
    """Return what makes a task of a function; what leaves it as it is on Django 5.2 without `tasks`."""
    for name in ("django.tasks", "django_tasks"):
        with suppress(ImportError):
            return import_module(name).task
    return lambda function: function


task = _framework()
logger = logging.getLogger(__name__)

# When a queue looks again: what a killed worker held is free by then.
AGAIN: Final = leases.LEASE + timedelta(seconds=5)


@task  # type: ignore[untyped-decorator]
def embed_scope(tenant: str, owner: str, agent: str, thread: str, using: str) -> int:
    """Make the vectors that a scope waits for; return how many. What could not be made stays listed.

    The parts of a scope and a database's alias are all that a queue gets to see. A queue that can wait is
    asked to look again before the work begins, as no backend must be counted on to notice that a worker
    was killed; and once more when the embedder cannot be reached.
    """
    place = (tenant, owner, agent, thread, using)
    scope = Scope.from_columns(*place[:4])
    if not _waits():
        return embedding.embed(scope, using).made
    # Whoever noticed that the embedder is down has asked the queue to look again.
    if not embedding.pending(scope, using) or spaces.down_since(scope, using, clock.now() - AGAIN):
        return 0
    _look_again(*place)
    try:
        return embedding.embed(scope, using).made
    except EmbedderUnavailable:
        _look_again(*place)
        raise


def _waits() -> bool:
    """Say whether tasks can be put off here: no backend that runs them at once can."""
    backend = getattr(embed_scope, "get_backend", lambda: None)()
    return bool(getattr(backend, "supports_defer", False))


def _look_again(*place: str) -> None:
    try:
        embed_scope.using(run_after=clock.now() + AGAIN).enqueue(*place)
    except Exception:
        logger.exception("Nobody looks again for chunks that wait for their vectors.")


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
