"""System checks of what vectors need on a database."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.db import DEFAULT_DB_ALIAS

from prism_graph import conf
from prism_graph.errors import PrismGraphError


def check_stores(alias: str, connection: Any) -> list[CheckMessage]:
    """prism_graph.E014 and W015: a store that cannot work on a database, or lacks something there."""
    if not conf.is_valid():
        return []  # E001 says so
    from prism_graph import spaces

    try:
        stores = [setup.store for setup in spaces.setups(alias)]
    except PrismGraphError as error:
        return [_unfit(str(error))]
    # Before the first `migrate` everything is lacking.
    migrated = _is_migrated(connection)
    found: list[CheckMessage] = []
    for store in stores:
        if wrong := [f"{store.name!r} on the database {alias!r}: {what}" for what in store.check()]:
            found += map(_unfit, wrong)
        elif migrated and (lacking := list(store.lacking())):
            found.append(_unprepared(alias, store.name, lacking))
    return found


def _unfit(what: str) -> CheckMessage:
    return Error(
        what,
        hint="Do as it says, or name another store in PRISM_GRAPH['VECTORS'].",
        id="prism_graph.E014",
    )


def _unprepared(alias: str, name: str, lacking: list[str]) -> CheckMessage:
    database = "" if alias == DEFAULT_DB_ALIAS else f" --database {alias}"
    # No error: `migrate` stops at those, and is what creates them.
    return Warning(
        f"The database {alias!r} lacks what {name!r} needs for its vectors: {', '.join(lacking)}.",
        hint=f"Run `manage.py migrate{database}`.",
        id="prism_graph.W015",
    )


def check_spaces(alias: str, connection: Any) -> list[CheckMessage]:
    """prism_graph.W016: tenants have vectors of another embedder or store than the settings name."""
    if not conf.is_valid() or not _is_migrated(connection):
        return []
    from prism_graph import moving

    try:
        behind = moving.tenants(alias) if conf.vectors_wanted() else []
    except PrismGraphError:
        return []  # E014 says so
    if not behind:
        return []
    database = "" if alias == DEFAULT_DB_ALIAS else f" --database {alias}"
    spaces = ", ".join(sorted({str(space) for _, space in behind}))
    return [
        Warning(
            f"{len(behind)} tenants in the database {alias!r} have vectors made by {spaces}, and the "
            "settings name others: where PREVIOUS does not name those, they are searched by words alone.",
            hint=f"Run `manage.py prism_graph_migrate_vectors{database}`, or set back what was changed.",
            id="prism_graph.W016",
        )
    ]


def _is_migrated(connection: Any) -> bool:
    from prism_graph.models import VectorPartition

    return VectorPartition._meta.db_table in connection.introspection.table_names()
