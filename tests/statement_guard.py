"""A wrapper around every statement that a test runs: none touches our tables without its scope.

A statement passes when each mention of a table is tied to a tenant by equality with a bound
parameter, or by equality to the tenant of a table that is; when an INSERT or COPY names the column;
or when every alternative of a full-text query begins with the token of a scope; or when a table of
sqlite-vec is asked for the place of a scope that somebody opened. All else raises
UnscopedStatement, but for EXCEPTIONS, for what the door `system(reason)` opened, and for what a test
runs inside `unguarded("why")`. SQL by tests.rawsql goes past Django's wrappers and so past this one.

It is no parser: it reads statements in the form in which Django and this package write them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, Final

import psycopg
from django.db.models.sql.compiler import SQLCompiler

from prism_graph.doors import System
from prism_graph.managers import ScopedQuerySet
from prism_graph.scope import TOKEN_LENGTH, Scope
from prism_graph.tables import current
from prism_graph.vectors import sqlite_vec
from tests.rawsql import INDEX, PGVECTOR, TABLES, VECTORS

TEXT: Final = current().names["chunktext"]
EMBEDDING: Final = current().names["embedding"]

# What may touch our tables without a scope, each with its reason.
EXCEPTIONS: Final[dict[str, str]] = {
    r"(CREATE|ALTER|DROP|REINDEX|PRAGMA|VACUUM|ANALYZE|TRUNCATE) ": "definition of tables, and upkeep",
    r"UPDATE \w+ SET (?P<filled>\w+) = '' WHERE (?P=filled) IS NULL; SET CONSTRAINTS ALL IMMEDIATE$": (
        "a migration that makes a column NOT NULL"
    ),
    r"INSERT INTO new__(?P<made>\w+) \([^)]*\) SELECT .* FROM (?P=made)$": "SQLite makes a table anew",
    rf"INSERT INTO {INDEX}\({INDEX}\) VALUES \('delete-all'\)$": "rebuild",
    rf"INSERT INTO {INDEX}\(rowid, words\) SELECT number, .* FROM {TEXT} "
    r"WHERE terms <> '' ORDER BY number$": "rebuild",
    rf"SELECT number, token, terms FROM {TEXT} WHERE terms <> ''$": "repair --check",
    rf"SELECT doc, term FROM temp\.{INDEX}_words$": "repair --check",
    rf"SELECT count\(\*\) FROM {TEXT} WHERE terms_of <> md5\(.*\)$": "repair --check",
    rf"SELECT sum\(length\(block\)\) FROM {INDEX}_data$": "the size of the index",
    rf"DELETE FROM {VECTORS}\d+ WHERE rowid NOT IN \(SELECT .* FROM {EMBEDDING} e\)$": (
        "after a remake: vectors whose row has gone"
    ),
    rf"DELETE FROM {EMBEDDING} AS e WHERE .* NOT IN \(SELECT rowid FROM {VECTORS}\d+\)$": (
        "after a remake: rows whose vector has gone"
    ),
}

_EXCEPTION: Final = re.compile("|".join(EXCEPTIONS), re.IGNORECASE | re.DOTALL)
_KEYWORD: Final = (
    "WHERE|SET|ON|INNER|LEFT|RIGHT|CROSS|FULL|JOIN|ORDER|GROUP|HAVING|LIMIT|OFFSET|UNION|EXCEPT"
    "|INTERSECT|VALUES|SELECT|USING|FOR|FROM|RETURNING|DEFAULT"
)
_MENTION: Final = re.compile(
    r"\b(?P<verb>FROM|JOIN|UPDATE|INTO|COPY|,)\s+(?:ONLY\s+)?"
    rf"(?P<table>(?:{'|'.join([*TABLES, PGVECTOR, INDEX, VECTORS])})\w*)\b(?!\.)"
    rf"(?:\s+(?:AS\s+)?(?!(?:{_KEYWORD})\b)(?P<alias>[A-Za-z]\w*))?",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    r" (?:GROUP BY|ORDER BY|HAVING|LIMIT|OFFSET|UNION|EXCEPT|INTERSECT|INNER|LEFT|JOIN|WHERE|FOR"
    r"|RETURNING|ON)\b"
)
_VECTORS: Final = re.compile(rf"{VECTORS}\d+", re.IGNORECASE)
_ALTERNATIVE: Final = re.compile(r'"((?:[^"]|"")*)"\*?')

seen: Counter[str] = Counter()
tokens: set[str] = set()
places: set[str] = set()
_off: ContextVar[str] = ContextVar("off", default="")


class UnscopedStatement(AssertionError):
    """A statement touched a table of this package and named no scope."""


@contextmanager
def unguarded(why: str) -> Iterator[None]:
    """Let a test's own statements pass, for the reason given."""
    before = _off.set(why)
    try:
        yield
    finally:
        _off.reset(before)


def guard(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    """Check a statement and run it. See Connection.execute_wrapper."""
    if many:
        params = list(params)  # which a look at a generator would use up
    for each in params if many else [params]:
        check(sql, each)
    return execute(sql, params, many, context)


def check(sql: Any, params: Any = ()) -> None:
    """Raise UnscopedStatement unless the statement names its scope or is an exception."""
    if _off.get():
        return
    tables, passes = _read(str(sql))
    seen.update(tables)
    if not passes:
        raise UnscopedStatement(str(sql))
    if INDEX.lower() in tables:
        _check_index(str(sql).replace('"', ""), params)
    if any(map(_VECTORS.fullmatch, tables)):
        _check_places(re.sub(r"\s+", " ", str(sql).replace('"', "")), params)


@lru_cache(maxsize=2048)
def _read(sql: str) -> tuple[tuple[str, ...], bool]:
    """Return the tables that a statement mentions, and whether each mention names its scope."""
    statement = re.sub(r"\s+", " ", sql.replace('"', "")).strip().rstrip(";")
    mentions = list(_MENTION.finditer(statement))
    if not mentions or _EXCEPTION.match(statement):
        return (), True
    tables = tuple(mention["table"].lower() for mention in mentions)
    rows = [
        mention
        for mention in mentions
        if mention["table"].lower() != INDEX.lower() and not _VECTORS.fullmatch(mention["table"])
    ]
    return tables, not rows or _names_scope(statement, rows)


def _names_scope(statement: str, mentions: list[re.Match[str]]) -> bool:
    first = mentions[0]
    if first["verb"].upper() in {"INTO", "COPY"}:
        columns = re.match(r"\s*\(([^)]*)\)", statement[first.end("table") :])
        if columns is None or "tenant" not in columns[1].split(", "):
            return False
        mentions = mentions[1:]
    wanted = Counter((mention["alias"] or mention["table"]).lower() for mention in mentions)
    clauses = list(_clauses(statement))
    told = Counter({name: sum(_tells(each, name) for each in clauses) for name in wanted})
    same = {name: [other for each in clauses for other in _equals(each, name)] for name in wanted}
    bare = sum(_tells(each, "") for each in clauses)
    for name, times in wanted.items():
        bare -= max(0, times - told[name] - len(same[name]))
    known = {name for name in wanted if told[name]}
    while more := {name for name in wanted if known.intersection(same[name])} - known:
        known |= more
    # What is tied to no name that a parameter tells must be told itself, by the bare column.
    return bare >= sum(1 for name in wanted if same[name] and name not in known)


def _clauses(statement: str) -> Iterator[str]:
    """Yield what follows each WHERE and ON, as far as it goes."""
    for begin in re.finditer(r"\b(?:WHERE|ON) (?!CONFLICT)", statement):
        rest, depth = statement[begin.end() :], 0
        for place, character in enumerate(rest):
            depth += (character == "(") - (character == ")")
            if depth < 0 or (depth == 0 and character == " " and _NEXT.match(rest, place)):
                yield rest[:place]
                break
        else:
            yield rest


def _split(condition: str, word: str) -> list[str]:
    """Cut a condition at a word that stands in no brackets."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(condition):
        depth += (character == "(") - (character == ")")
        if depth == 0 and condition.startswith(word, place):
            parts.append(condition[start:place])
            start = place + len(word)
    return [*parts, condition[start:]]


def _bare(condition: str) -> str:
    """Take off the brackets around a whole condition."""
    condition = condition.strip()
    while condition.startswith("(") and _closing(condition) == len(condition) - 1:
        condition = condition[1:-1].strip()
    return condition


def _closing(text: str) -> int:
    """Return where the bracket that a text begins with is closed."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place
    return -1


def _conjuncts(condition: str) -> Iterator[list[str]]:
    """Yield, for each alternative of a condition, everything that must hold in it."""
    condition = _bare(condition)
    if len(either := _split(condition, " OR ")) > 1:
        for each in either:
            yield from _conjuncts(each)
        return
    if len(both := _split(condition, " AND ")) > 1:
        choices = [list(_conjuncts(each)) for each in both]
        # A conjunct with alternatives of its own holds only what all of them hold.
        yield [atom for each in choices for atom in set(each[0]).intersection(*each[1:])]
        return
    yield [condition]


def _tells(clause: str, name: str) -> bool:
    """Say whether in every alternative the tenant of this name equals a bound parameter."""
    atom = f"{name}.tenant = %s" if name else "tenant = %s"
    return all(
        any(each.lower() == atom.lower() for each in holding) for holding in _conjuncts(clause)
    )


def _equals(clause: str, name: str) -> set[str]:
    """Return the names whose tenant equals that of this name, whatever else holds."""
    found: set[str] = set()
    holding = list(_conjuncts(clause))
    for atom in set(holding[0]).intersection(*holding[1:]):
        if pair := re.fullmatch(r"\(?(\w+)\.tenant\)? = \(?(\w+)\.tenant\)?", atom.lower()):
            found |= {other for one, other in (pair.groups(), pair.groups()[::-1]) if one == name}
    return found


def _check_index(statement: str, params: Any) -> None:
    markers = re.finditer(r"(MATCH )?%s", statement)
    matches = [params[place] for place, marker in enumerate(markers) if marker[1]]
    if len(re.findall(rf"(?:FROM|JOIN) {INDEX}\b", statement)) != len(matches):
        raise UnscopedStatement(statement)
    for query in matches:
        words = [found[1] for found in _ALTERNATIVE.finditer(query)]
        spelt = " OR ".join(found[0] for found in _ALTERNATIVE.finditer(query))
        if not words or spelt != query or not all(word[:TOKEN_LENGTH] in tokens for word in words):
            raise UnscopedStatement(f"{statement}: {len(words)} alternatives")


def _check_places(statement: str, params: Any) -> None:
    """Raise unless each mention of a table of vectors is tied to one place, of a scope that was opened."""
    mentions = len(re.findall(rf"\b{VECTORS}\d+\b", statement))
    if insert := re.match(
        rf"INSERT INTO {VECTORS}\d+ \(([^)]*)\) VALUES \(([%s, ]*)\)$", statement
    ):
        told = [params[insert[1].split(", ").index("place")]]
    else:
        bound = sum(_places(clause) for clause in _clauses(statement))
        markers = list(re.finditer(r"(?<![\w.])((?:\w+\.)?place = )?%s", statement))
        told = [params[number] for number, marker in enumerate(markers) if marker[1]]
        mentions += abs(bound - len(told))
    if len(told) != mentions or not places.issuperset(told):
        raise UnscopedStatement(statement)


def _places(clause: str) -> int:
    """Return how many places every alternative of a condition names."""
    named = [
        sum(bool(re.fullmatch(r"(\w+\.)?place = %s", atom)) for atom in atoms)
        for atoms in _conjuncts(clause)
    ]
    return min(named)


# Which statements the door `system(reason)` opened is not to be seen in their SQL, so the query is
# marked where the door opens, and the mark is looked at while the query runs.


def _mark_system() -> None:
    through: Any = ScopedQuerySet.through.__func__  # type: ignore[attr-defined]
    execute_sql: Any = SQLCompiler.execute_sql

    @wraps(through)
    def marking(cls: Any, door: Any, *args: Any, **kwargs: Any) -> Any:
        rows = through(cls, door, *args, **kwargs)
        rows.query.opened_by_system = isinstance(door, System)
        return rows

    @wraps(execute_sql)
    def looking(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _opened_by_system(self.query):
            return execute_sql(self, *args, **kwargs)
        with unguarded("the system door"):
            return execute_sql(self, *args, **kwargs)

    ScopedQuerySet.through = classmethod(marking)  # type: ignore[assignment]
    SQLCompiler.execute_sql = looking  # type: ignore[method-assign]


def _opened_by_system(query: Any) -> bool:
    inner = getattr(query, "inner_query", None)
    return getattr(query, "opened_by_system", False) or (
        inner is not None and _opened_by_system(inner)
    )


def _watch_copy() -> None:
    # Django's wrappers do not see the driver's own methods.
    copy: Any = psycopg.Cursor.copy

    @wraps(copy)
    def watched(self: Any, statement: Any, *args: Any, **kwargs: Any) -> Any:
        check(statement)
        return copy(self, statement, *args, **kwargs)

    psycopg.Cursor.copy = watched  # type: ignore[method-assign]


def _collect_tokens() -> None:
    token: Any = Scope.token

    def collecting(self: Scope) -> str:
        found: str = token.fget(self)
        tokens.add(found)
        return found

    Scope.token = property(collecting, doc=token.__doc__)  # type: ignore[method-assign]


def _collect_places() -> None:
    place_of: Any = sqlite_vec.place_of

    def collecting(partition: Any) -> str:
        found: str = place_of(partition)
        places.add(found)
        return found

    sqlite_vec.place_of = collecting


_mark_system()
_watch_copy()
_collect_tokens()
_collect_places()
