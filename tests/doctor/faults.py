"""Rows as a person with every right at a database shell could leave them, past every constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import connections
from django.db.models.query import QuerySet

from prism_graph import Memory, Scope
from prism_graph.fulltext import engine
from tests.planting import ASIDE, MINE, MODELS, USER, plant
from tests.rawsql import INDEX, TABLES, sql

CLAIM: Final = {"subject": "Ana", "predicate": "likes", "value": "tea"}
HERE: Final = "tenant = 'acme' AND owner = 'ana'"
DERIVED: Final = f"{HERE} AND number IN (SELECT number FROM prism_graph_derivation WHERE {HERE})"
BESIDE: Final = (Scope("acme"), *ASIDE[:2])
# A scope that nothing was written to.
# Later than all that a test records.
SOON: Final = f"{datetime.now(UTC) + timedelta(hours=2):%Y-%m-%d %H:%M:%S}"
STRANGER: Final = "owner = 'cid'"


class Fault(NamedTuple):
    """What is planted, the id under which it must be found, and whether a fix exists."""

    id: str
    plant: Callable[[], Any]
    fixable: bool = True


_FILLED: list[tuple[Any, list[Any]]] = []


def fill() -> None:
    """Fill every table at MINE and in scopes above and beside it; only the first time through Memory."""
    if _FILLED:
        for model, rows in _FILLED:
            QuerySet(model).bulk_create(rows)
        return
    for scope in (MINE, *BESIDE):
        plant(scope)
    memory = Memory(MINE)
    one = memory.record("talk", "I like tea.", origin=USER, turn_id="t1").added
    two = memory.record("talk", "Tea, always.", origin=USER, turn_id="t2").added
    memory.assert_fact("drink", **CLAIM, evidence=one + two)
    memory.supersede("drink", **CLAIM, evidence=two)
    memory.retract("drink")
    _FILLED.extend((model, list(model.objects.system("keep rows"))) for model in MODELS)


@contextmanager
def unconstrained(using: str = "default") -> Iterator[None]:
    """Let anything be written; afterwards the database guards what is written as before.

    The constraints that PostgreSQL has to drop for it come back with the test's rollback.
    """
    if connections[using].vendor == "sqlite":
        # foreign_keys cannot be switched off in a transaction; the test never commits.
        sql("PRAGMA defer_foreign_keys = ON", using=using)
        sql("PRAGMA ignore_check_constraints = ON", using=using)
        yield
        sql("PRAGMA ignore_check_constraints = OFF", using=using)
        return
    checks = sql(
        "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'c' "
        "AND conrelid::regclass::text = ANY (%s)",
        list(TABLES),
        using=using,
    )
    for table, name in checks:
        sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}", using=using)
    sql("SET session_replication_role = replica", using=using)
    yield
    sql("SET session_replication_role = origin", using=using)


def change(table: str, values: str, where: str = HERE) -> Callable[[], Any]:
    """Return an UPDATE past every constraint."""

    def plant_it() -> None:
        with unconstrained():
            sql(f"UPDATE prism_graph_{table} SET {values} WHERE {where}")

    return plant_it


def remove(table: str, where: str = HERE) -> Callable[[], Any]:
    """Return a DELETE that cascades nowhere."""

    def plant_it() -> None:
        with unconstrained():
            sql(f"DELETE FROM prism_graph_{table} WHERE {where}")

    return plant_it


def open_again() -> None:
    """Give every version a second open standing, an accepted one."""
    sql("DROP INDEX prism_graph_standing_open")
    columns = (
        "tenant, owner, agent, thread, fact_number, version, since, decided_by, reason, policy"
    )
    sql(
        f"INSERT INTO prism_graph_standing (id, {columns}, status) "
        f"SELECT '0' || substr(id, 2), {columns}, 'accepted' FROM prism_graph_standing "
        f"WHERE {HERE} AND until IS NULL"
    )


def say_twice() -> None:
    """Store one part of a turn a second time."""
    sql("DROP INDEX prism_graph_chunk_turn")
    talk = (
        f"{HERE} AND turn_digest <> '' AND source_number = (SELECT number FROM prism_graph_source "
    )
    sql(
        f"UPDATE prism_graph_chunk SET turn_digest = 'same' WHERE {talk} WHERE {HERE} AND key = 'talk')"
    )


def serve_twice() -> None:
    """Let a second space serve the tenant; none of its vectors are there."""
    sql("DROP INDEX prism_graph_vectorpartition_one")
    columns = "tenant, owner, agent, thread, store, embedder, dimensions, serving, version, lease"
    sql(
        f"INSERT INTO prism_graph_vectorpartition (id, space, failures, reason, {columns}) "
        f"SELECT '0' || substr(id, 2), '0' || substr(space, 2), 0, '', {columns} "
        "FROM prism_graph_vectorpartition WHERE tenant = 'acme' AND owner = ''  AND serving"
    )


def lose_words() -> None:
    """Empty the index, or the analysis that it is made of."""
    if connections["default"].vendor == "sqlite":
        sql(f"INSERT INTO {INDEX}({INDEX}) VALUES ('delete-all')")
    else:
        for statement in engine(connections["default"]).remove_sql():
            sql(statement)


AGENTLESS: Final = "owner = ''"
ONE: Final = f"{HERE} AND number = (SELECT min(number) FROM prism_graph_chunk WHERE {HERE})"
OF_CHUNK: Final = (
    f"{HERE} AND number = (SELECT min(number) FROM prism_graph_embedding WHERE {HERE})"
)
DRINK: Final = f"(SELECT number FROM prism_graph_fact WHERE {HERE} AND key = 'drink')"
VERSION: Final = f"{HERE} AND fact_number = {DRINK} AND number = 1"
FACT_1: Final = f"(SELECT number FROM prism_graph_fact WHERE {HERE} AND key = 'fact-1')"
CITED_ONCE: Final = f"{HERE} AND fact_number = {FACT_1}"
OF_VERSION: Final = f"{HERE} AND fact_number = {DRINK} AND version = 1"

FAULTS: Final[dict[str, Fault]] = {
    "a text without its chunk": Fault("orphan", change("chunktext", "number = 999999", ONE)),
    "a chunk without its text": Fault("orphan", remove("chunktext", ONE)),
    "a chunk without its source": Fault("orphan", change("chunk", "source_number = 999", ONE)),
    "a source that took another number": Fault(
        "orphan", change("source", "number = 999", f"{HERE} AND key = 'doc-1'")
    ),
    "a version without its fact": Fault(
        "orphan", change("factversion", "fact_number = 99", VERSION)
    ),
    "a fact without a version": Fault(
        "orphan", change("fact", "number = 99", f"{HERE} AND key = 'drink'")
    ),
    "a standing without its version": Fault(
        "orphan", change("standing", "version = 99", OF_VERSION)
    ),
    "a citation without its version": Fault(
        "orphan", change("citation", "version = 99", OF_VERSION)
    ),
    "a derivation without the derived chunk": Fault(
        "orphan", change("derivation", "number = 999999")
    ),
    "a text in another scope than its chunk": Fault(
        "scope-disagrees", change("chunktext", "owner = 'ben'", ONE)
    ),
    "a text in another tenant than its chunk": Fault(
        "scope-disagrees", change("chunktext", "tenant = 'globex'", ONE)
    ),
    "a chunk among somebody else's": Fault(
        "scope-disagrees", change("chunk", "owner = 'ben'", ONE)
    ),
    "a chunk among nobody's": Fault("scope-disagrees", change("chunk", STRANGER, ONE)),
    "a chunk a level above": Fault(
        "scope-disagrees", change("chunk", "owner = '', agent = '', thread = ''", ONE)
    ),
    "a version in another scope than its fact": Fault(
        "scope-disagrees", change("factversion", STRANGER, VERSION)
    ),
    "a standing in another scope than its version": Fault(
        "scope-disagrees", change("standing", STRANGER, OF_VERSION)
    ),
    "a citation in another scope than its version": Fault(
        "scope-disagrees", change("citation", STRANGER, OF_VERSION)
    ),
    "a derivation in another scope than its chunk": Fault(
        "scope-disagrees", change("derivation", STRANGER)
    ),
    "a citation of a chunk beside it": Fault(
        "scope-disagrees",
        change(
            "citation",
            "cited_owner = 'ben', cited_number = (SELECT min(number) FROM prism_graph_chunk "
            "WHERE tenant = 'acme' AND owner = 'ben')",
            CITED_ONCE,
        ),
    ),
    "a derivation from a chunk beside it": Fault(
        "scope-disagrees",
        change(
            "derivation",
            "cited_owner = 'ben', cited_number = (SELECT min(number) FROM prism_graph_chunk "
            "WHERE tenant = 'acme' AND owner = 'ben')",
        ),
    ),
    "a citation that names no scope": Fault(
        "scope-disagrees", change("citation", "cited_owner = '', cited_agent = 'support'")
    ),
    "a citation of a chunk that is gone": Fault(
        "evidence-gone", change("citation", "cited_number = 999999", CITED_ONCE)
    ),
    "a derivation of a chunk that is gone": Fault(
        "lineage-gone", change("derivation", "cited_number = 999999")
    ),
    "a fact without evidence": Fault("no-evidence", remove("citation", HERE)),
    "a version without an open standing": Fault(
        "no-standing",
        change("standing", f"until = '{SOON}'", f"{HERE} AND until IS NULL"),
    ),
    "a version without a standing": Fault("no-standing", remove("standing", OF_VERSION)),
    "two open standings": Fault("two-open-standings", open_again),
    "trust above its lineage": Fault(
        "trust-above-lineage",
        change("chunk", "trust = 6, origin_trust = 6", f"{HERE} AND NOT ({DERIVED})"),
    ),
    "trust above its origin": Fault(
        "trust-above-lineage", change("chunk", "origin_trust = 6", ONE)
    ),
    "trust that is none": Fault("unknown-trust", change("chunk", "trust = 42", ONE)),
    "given trust that is none": Fault("unknown-trust", change("chunk", "origin_trust = -1", ONE)),
    "a source's trust that is none": Fault("unknown-trust", change("source", "trust = 42")),
    "a status that is none": Fault("unknown-status", change("standing", "status = 'maybe'")),
    "an accepted fact on a tool's word": Fault(
        "status-above-evidence", change("chunk", "trust = 6, origin_trust = 6")
    ),
    "a version's number above the last": Fault("last-version", change("fact", "last_version = 0")),
    "a clock behind": Fault("clock-behind", change("scopeclock", "last = 1")),
    "an index that lost its words": Fault("index", lose_words),
    "text that was not analysed again": Fault("index", change("chunktext", "terms = ''")),
    "a vector without its chunk": Fault("orphan", change("embedding", "number = 999999", OF_CHUNK)),
    "a failure without its chunk": Fault("orphan", change("embeddingfailure", "number = 999999")),
    "a vector in another scope than its chunk": Fault(
        "scope-disagrees", change("embedding", STRANGER, OF_CHUNK)
    ),
    "a failure in another scope than its chunk": Fault(
        "scope-disagrees", change("embeddingfailure", STRANGER)
    ),
    "a vector of a space without a partition": Fault(
        "vector-unread", change("embedding", "space = 'another'", OF_CHUNK)
    ),
    "a failure of a space without a partition": Fault(
        "vector-unread", change("embeddingfailure", "space = 'another'")
    ),
    "a vector of another text": Fault(
        "vector-of-other-text", change("chunktext", "text = 'x'", ONE)
    ),
    "two spaces that serve": Fault("two-serving", serve_twice),
    "an end before its start": Fault(
        "rule", change("factversion", "valid_to = '1999-01-01 00:00:00'"), fixable=False
    ),
    "a part of a turn twice": Fault("duplicate", say_twice, fixable=False),
    **{
        f"an agent without an owner: {table}": Fault(
            "invalid-scope", change(table, AGENTLESS), fixable=table != "receipt"
        )
        for table in ("chunk", "fact", "citation", "receipt", "embedding", "embeddingfailure")
    },
}
