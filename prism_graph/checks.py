"""System checks: every mistake in the settings and the database, with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import isclass
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, connections, router

from prism_graph import conf, owning, storechecks
from prism_graph.bases import BASES
from prism_graph.fulltext import engine
from prism_graph.models.owned import models_of

OLDEST: Final = {"sqlite": (3, 40), "postgresql": (15,)}


def register_all() -> None:
    """Register the checks; the database's own run where a database is named."""
    register(check_settings, Tags.compatibility)
    register(check_time_zone, Tags.compatibility)
    register(check_transactions, Tags.compatibility)
    register(check_embedder, Tags.compatibility)
    register(check_relations, Tags.models)
    register(check_owned_models, Tags.models)
    register(check_databases, Tags.database)


def check_settings(**_: Any) -> list[CheckMessage]:
    """prism_graph.E001: PRISM_GRAPH has an unknown key or a value that cannot be used."""
    raw = getattr(settings, conf.NAME, {})
    return [Error(what, hint=hint, id="prism_graph.E001") for what, hint in conf.problems(raw)]


def check_time_zone(**_: Any) -> list[CheckMessage]:
    """prism_graph.E002: USE_TZ is off."""
    if settings.USE_TZ:
        return []
    return [
        Error(
            "Memory keeps instants in UTC, and USE_TZ is off.",
            hint="Set USE_TZ = True.",
            id="prism_graph.E002",
        )
    ]


def check_transactions(**_: Any) -> list[CheckMessage]:
    """prism_graph.W003: SQLite begins transactions DEFERRED, so writers fail instead of waiting."""
    return [
        Warning(
            f"The database {alias!r} begins transactions DEFERRED: two writers at once end in "
            '"database is locked".',
            hint=f"Put 'transaction_mode': 'IMMEDIATE' into the OPTIONS of DATABASES[{alias!r}].",
            id="prism_graph.W003",
        )
        for alias in _aliases(connections)
        if connections[alias].vendor == "sqlite"
        and str(connections[alias].settings_dict["OPTIONS"].get("transaction_mode")).upper()
        not in {"IMMEDIATE", "EXCLUSIVE"}
    ]


def check_embedder(**_: Any) -> list[CheckMessage]:
    """prism_graph.E014: a store of vectors is named, and nothing that makes them."""
    raw = getattr(settings, conf.NAME, {})
    if conf.problems(raw) or raw.get("VECTORS") is None or raw.get("EMBEDDER") is not None:
        return []
    return [
        Error(
            "PRISM_GRAPH['VECTORS'] names a store of vectors, and nothing makes any: searches go by text "
            "alone.",
            hint="Set PRISM_GRAPH['EMBEDDER'], or remove 'VECTORS'.",
            id="prism_graph.E014",
        )
    ]


def check_relations(**_: Any) -> list[CheckMessage]:
    """prism_graph.E008: a model of another app points at a row of memory, which leads past every door."""
    from prism_graph.bases.rows import ScopedRow
    from prism_graph.models import MODELS

    return [
        Error(
            f"{model._meta.label}.{field.name} points at a row of memory: joins along it carry no scope, "
            "and its constraint stands in the way of erasure.",
            hint="Store the chunk's or source's id as text, and read it with Memory.get(). If these are to "
            "be memory's own models, name their app in PRISM_GRAPH['MODELS_APP'].",
            obj=model,
            id="prism_graph.E008",
        )
        for model in apps.get_models()
        if model not in MODELS
        for field in model._meta.get_fields()
        if field.is_relation and not field.auto_created
        if isinstance(field.related_model, type) and issubclass(field.related_model, ScopedRow)
    ]


def check_owned_models(**_: Any) -> list[CheckMessage]:
    """prism_graph.E010 to E013: what a project's own models lack, where it has some."""
    label = conf.models_app()
    if label is None:
        return []
    found = [] if conf.migrates_nothing() else [_migrates_twice()]
    classes = models_of(label)
    if absent := [name for name in BASES if not _is_of(classes.get(name), BASES[name], label)]:
        return [*found, _absent(label, absent)]
    for name, base in BASES.items():
        model = classes[name]
        found += [_weakened(model, base, how) for how in owning.weakened(model, base)]
        found += [_unfilled(model, column) for column in owning.unfilled(model, base)]
    return found


def _is_of(model: Any, base: Any, label: str) -> bool:
    if not (isclass(model) and issubclass(model, base)):
        return False
    # Neither an abstract class nor one that was imported from another app.
    return model in list(apps.get_app_config(label).get_models())


def _absent(label: str, names: Iterable[str]) -> CheckMessage:
    return Error(
        f"PRISM_GRAPH['MODELS_APP'] is {label!r}, and that app has no model of its own of the bases "
        f"of {', '.join(names)}.",
        hint=(
            "Install the app, and make a class of each of prism_graph.bases in its models module, under "
            "the base's name without Abstract. The module must not import prism_graph.models."
        ),
        id="prism_graph.E010",
    )


def _migrates_twice() -> CheckMessage:
    return Error(
        "The models are the project's own, and prism_graph's migrations would make its tables as well.",
        hint="Put 'prism_graph': None into MIGRATION_MODULES.",
        id="prism_graph.E011",
    )


def _weakened(model: Any, base: Any, how: str) -> CheckMessage:
    return Error(
        f"{model._meta.label} {how}.",
        hint=f"Leave what {base.__name__} declares as it is, and let Meta inherit {base.__name__}.Meta.",
        obj=model,
        id="prism_graph.E012",
    )


def _unfilled(model: Any, column: str) -> CheckMessage:
    return Error(
        f"{model._meta.label}.{column} gets no value: rows are written without Django's defaults.",
        hint="Give it db_default=…, or null=True and no default.",
        obj=model,
        id="prism_graph.E013",
    )


def check_databases(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """prism_graph.E004 to W007, E009, E014 to W016: what only the database itself can say."""
    found: list[CheckMessage] = []
    for alias in _aliases(databases or ()):
        connection = connections[alias]
        if connection.vendor not in OLDEST:
            found.append(_unsupported(alias))
            continue
        for check in _PER_DATABASE:
            found += check(alias, connection)
    return found


def _aliases(aliases: Iterable[str]) -> list[str]:
    from prism_graph.models import MODELS

    if len(MODELS) < len(BASES):
        return []  # E010 says so
    return [alias for alias in aliases if router.allow_migrate_model(alias, MODELS[0])]


def _unsupported(alias: str) -> CheckMessage:
    return Error(
        f"The database {alias!r} is neither SQLite nor PostgreSQL.",
        hint="Route prism_graph to one of them with a database router.",
        id="prism_graph.E004",
    )


def _check_version(alias: str, connection: Any) -> list[CheckMessage]:
    oldest = OLDEST[connection.vendor]
    version = (
        connection.Database.sqlite_version_info
        if connection.vendor == "sqlite"
        else connection.get_database_version()
    )
    if tuple(version) >= oldest:
        return []
    wanted = ".".join(map(str, oldest))
    return [
        Error(
            f"The database {alias!r} is older than {connection.display_name} {wanted}.",
            hint=f"Upgrade it to {wanted} or newer.",
            id="prism_graph.E005",
        )
    ]


def _check_secure_delete(alias: str, connection: Any) -> list[CheckMessage]:
    if connection.vendor != "sqlite":
        return []
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        if cursor.fetchone()[0] == 1:
            return []
    return [
        Warning(
            f"The database {alias!r} leaves erased text in its file: secure_delete is not ON.",
            hint=(
                "Put 'init_command': 'PRAGMA secure_delete=ON' into the OPTIONS of "
                f"DATABASES[{alias!r}], or add it to the command that is there."
            ),
            id="prism_graph.W006",
        )
    ]


def _check_index(alias: str, connection: Any) -> list[CheckMessage]:
    from prism_graph.models import ChunkText

    if ChunkText._meta.db_table not in connection.introspection.table_names():
        return []
    missing = engine(connection).missing()
    if not missing:
        return []
    database = "" if alias == DEFAULT_DB_ALIAS else f" --database {alias}"
    return [
        # No error: `migrate` stops at those, and is what restores the parts.
        Warning(
            f"The database {alias!r} lacks parts of the full-text index: {', '.join(missing)}. "
            "New text is not found.",
            hint=f"Run `manage.py prism_graph_repair_fulltext{database}`.",
            id="prism_graph.W007",
        )
    ]


def _check_time_zone(alias: str, connection: Any) -> list[CheckMessage]:
    if connection.settings_dict.get("TIME_ZONE") in (None, "UTC"):
        return []
    return [
        Error(
            f"The database {alias!r} keeps times in another zone than UTC, where an hour occurs twice.",
            hint=f"Remove TIME_ZONE from DATABASES[{alias!r}].",
            id="prism_graph.E009",
        )
    ]


_PER_DATABASE: Final[Sequence[Callable[[str, Any], list[CheckMessage]]]] = (
    _check_version,
    _check_time_zone,
    _check_secure_delete,
    _check_index,
    storechecks.check_stores,
    storechecks.check_spaces,
)
