"""All or nothing, inside the caller's transaction as well; and a scope's lock and clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    connections,
    transaction,
)

from prism_graph import clock
from prism_graph.bases.rows import random_id
from prism_graph.errors import WriteConflict
from prism_graph.scope import Scope
from prism_graph.tables import keys, named

# PostgreSQL: serialization failure, deadlock, lock not available. SQLite has its own words.
_RETRYABLE: Final = frozenset({"40001", "40P01", "55P03"})
# A foreign key of ours refuses what was there when the write looked; one of the project's own is no race.
_FOREIGN_KEY: Final = "23503"

_STAMP: Final = (
    "INSERT INTO $scopeclock (id, tenant, owner, agent, thread, last) "
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, owner, agent, thread) DO UPDATE SET last = "
    "CASE WHEN excluded.last > $scopeclock.last THEN excluded.last "
    "ELSE $scopeclock.last + 1 END RETURNING last"
)


@contextmanager
def write_block(using: str) -> Iterator[None]:
    """Run the block in a transaction or savepoint of its own.

    Raises WriteConflict when the database gave way to another writer.
    """
    try:
        with transaction.atomic(using=using):
            yield
    except (OperationalError, IntegrityError) as error:
        if _is_retryable(error):
            # `from None`: the driver's message can quote the statement's values.
            raise WriteConflict from None
        raise


@contextmanager
def rehearsal(using: str) -> Iterator[None]:
    """Run the block as `write_block` does and take all of it back; what waits for a commit goes too."""
    with write_block(using):
        yield
        transaction.set_rollback(True, using=using)


def _is_retryable(error: DatabaseError) -> bool:
    code = getattr(error.__cause__, "sqlstate", None)
    if code == _FOREIGN_KEY:
        name = error.__cause__.diag.constraint_name  # type: ignore[union-attr]
        return name in keys()
    return code in _RETRYABLE or "database is locked" in str(error)


def stamp(scope: Scope, using: str) -> datetime:
    """Lock the scope until the transaction ends and return its next recorded instant.

    Instants strictly increase: the clock's, or the last one plus a microsecond if that is later.
    """
    now = clock.to_microseconds(clock.now())
    with connections[using].cursor() as cursor:
        cursor.execute(named(_STAMP), [random_id(), *map(str, scope.parts), now])
        return clock.from_microseconds(cursor.fetchone()[0])
