"""The promises that the package's shape makes, read from its source."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import prism_graph

PACKAGE = Path(prism_graph.__file__).parent

# From the bottom up: a module imports from those before it only. A folder's modules stand together.
ORDER: Final = (
    # values: plain Python, no ORM, no settings, no I/O
    *("errors", "codepoints", "scope", "trust", "clock", "policy", "intervals", "records"),
    *("limits", "options", "visible"),
    *("analysis", "indexing", "ranking", "chunking"),
    "",  # prism_graph/__init__.py: public names
    # storage: rows and engines
    *(
        "embedders",
        "storenames",
        "conf",
        "signals",
        "doors",
        "managers",
        "constraints",
        "bases",
        "models",
        "tables",
        "fulltext",
        "vectors",
        "operations",
        "pgvector",
    ),
    "migrations",
    # services
    *(
        "transactions",
        "lineage",
        "writing",
        "reading",
        "ingest",
        "succession",
        "spaces",
        "asking",
        "nearness",
        "scored",
        "filters",
        "search",
        "leases",
        "embedding",
        "factrows",
        "ledger",
        "facts",
    ),
    *(
        "lost_evidence",
        "receipts",
        "erase",
        "erase_scope",
        "outdated",
        "repair",
        "moving",
        "backlog",
        "doctor",
        "stats",
    ),
    "tasks",
    # the façade
    "memory",
    *("review", "display"),
    # Django wiring
    *("receivers", "owning", "storechecks", "checks", "management", "apps"),
    *("admin", "templatetags"),
    # for the tests of projects
    "testing",
)
VALUES: Final = ORDER[: ORDER.index("")]
# Imports that go upwards, inside a function and for a reason.
UPWARDS: Final = {
    ("", "memory"): "Memory needs models; the other public names work before django.setup()",
    ("scope", "conf"): "only the owner of a model instance needs a setting",
}
# Modules of the package that may say these words, each a way past the scoped manager.
ENGINES: Final = ("fulltext.base", "fulltext.postgresql", "fulltext.sqlite")
RESERVED: Final = {
    "cursor": (
        *(*ENGINES, "transactions", "writing", "factrows", "repair", "checks"),
        *("vectors.exact", "vectors.sqlite_vec", "vectors.vec0"),
        *("spaces", "leases"),
        *("pgvector.layout", "pgvector.queries", "pgvector.store"),
    ),
    "copy": (*ENGINES, "ranking.lending"),  # there, of an array
    "RawSQL": ENGINES[1:],
    "raw": ("managers",),
    "extra": ("managers",),
    "_base_manager": (),
    "_default_manager": (),
    "_raw_delete": (
        *("managers", "lost_evidence", "erase", "erase_scope"),
        *("doctor.parents", "doctor.links", "doctor.vectoring"),
    ),
    "_update": ("managers", "doctor.standings", "doctor.trusting"),
    "through": ("managers", "bases.rows"),
    "system": (
        *("managers", "bases.citing", "lost_evidence", "erase", "erase_scope", "repair"),
        *("outdated", "backlog", "doctor.place", "stats", "review.cases", "review.targets"),
        *("management.base", "moving"),
    ),
    "QuerySet": ("managers",),
    "ClosedQuery": ("managers",),
}
# What stands in SQL text besides module constants: names of tables and columns, none of it a value.
NAMES: Final = {
    "fulltext.postgresql": {"table", "column", "columns"},
    "fulltext.sqlite": {"part", "body", "kind", "', '.join(columns)"},
}
SQL: Final = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|ALTER|CREATE|DROP|COPY|REINDEX|WITH|TRUNCATE|AFTER|PRAGMA)\b"
)


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix("__init__").removesuffix(".")


MODULES: Final = {
    name_of(file): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(PACKAGE.rglob("*.py"))
}
each_module = pytest.mark.parametrize("module", MODULES)


def top(module: str) -> str:
    return module.partition(".")[0]


def imports(module: str, tree: ast.AST | None = None) -> Iterator[str]:
    """Yield every module of the package and of Django that a module imports, wherever it does."""
    for node in ast.walk(tree or MODULES[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            assert node.module
            yield node.module
            if node.module == "prism_graph":
                yield from (f"prism_graph.{alias.name}" for alias in node.names)


def inside(module: str) -> set[str]:
    """Return the package's modules that a module imports, without what only a type checker reads."""
    return {
        found
        for name in imports(module, _without_type_checking(MODULES[module]))
        if name.startswith("prism_graph.")
        for found in [name.removeprefix("prism_graph.")]
        if found in MODULES
    }


def _without_type_checking(tree: ast.Module) -> ast.Module:
    class Drop(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
            return node.orelse if ast.unparse(node.test) == "TYPE_CHECKING" else node

    return Drop().visit(ast.parse(ast.unparse(tree)))  # type: ignore[no-any-return]


class TestImports:
    def test_every_module_has_its_place(self):
        assert {top(module) for module in MODULES} - set(ORDER) == set()

    @each_module
    def test_they_go_one_way(self, module):
        place = ORDER.index(top(module))
        upwards = {
            (module, other)
            for other in inside(module)
            if top(other) != top(module) and ORDER.index(top(other)) > place
        }
        assert upwards <= UPWARDS.keys()

    def test_those_that_go_upwards_wait_for_a_call(self):
        for module, other in UPWARDS:
            outside = [
                node
                for node in MODULES[module].body
                if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If)
            ]
            early = {name for node in outside for name in imports(module, node)}
            assert f"prism_graph.{other}" not in early
            assert other in inside(module), "the list names an import that is gone"

    def test_no_folder_imports_in_a_circle(self):
        for start in MODULES:
            reached, left = set(), [start]
            while left:
                following = {
                    other
                    for other in inside(left.pop())
                    if top(other) == top(start) and other != top(start)
                }
                left += following - reached
                reached |= following
            assert start not in reached, start

    @pytest.mark.parametrize("module", [name for name in MODULES if top(name) in VALUES])
    def test_values_know_neither_django_nor_settings(self, module):
        foreign = {name for name in imports(module) if top(name) == "django"}
        assert foreign == set()
        assert not {other for other in inside(module) if top(other) == "conf"} - {
            other for one, other in UPWARDS if one == module
        }

    def test_settings_are_read_in_one_module(self):
        readers = {module for module in MODULES if "django.conf" in set(imports(module))}
        assert readers == {"conf", "checks"}  # checks looks at Django's own settings

    def test_vendors_are_named_by_the_engines_alone(self):
        naming = {
            module
            for module in MODULES
            for name in imports(module)
            if "sqlite" in name or "postgres" in name or "psycopg" in name
        }
        assert {top(module) for module in naming} == {"fulltext"}


class TestWaysPastTheManager:
    @pytest.mark.parametrize("word", RESERVED)
    def test_they_are_said_where_rows_and_engines_are_written_only(self, word):
        saying = {
            module
            for module, tree in MODULES.items()
            for node in ast.walk(tree)
            if (isinstance(node, ast.Attribute) and node.attr == word)
            or (isinstance(node, ast.Call) and ast.unparse(node.func) == word)
        }
        assert saying <= set(RESERVED[word])

    def test_the_list_names_no_module_that_has_no_need(self):
        for word in ("cursor", "RawSQL", "system", "through"):
            for module in RESERVED[word]:
                text = ast.unparse(MODULES[module])
                assert word in text, (word, module)


class TestSql:
    @each_module
    def test_no_value_is_formatted_into_it(self, module):
        for node in ast.walk(MODULES[module]):
            for value in _interpolated(node):
                assert _is_constant(value) or value in NAMES.get(module, ()), (
                    f"{module}:{node.lineno} puts {value} into SQL"  # type: ignore[attr-defined]
                )

    def test_it_is_not_put_together_by_percent(self):
        for tree in MODULES.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                    assert not _begins_as_sql(node.left)

    @pytest.mark.parametrize(
        ("text", "passes"),
        [
            ("f'SELECT * FROM {TABLE}'", True),
            ("f'SELECT * FROM {quote(table)}'", True),
            ("f'SELECT * FROM t WHERE key = {key}'", False),
            ("'DELETE FROM t WHERE key = {}'.format(key)", False),
            ("'DELETE FROM t WHERE key = {key}'.format(key=given)", False),
        ],
    )
    def test_a_value_would_be_noticed(self, text, passes):
        values = [value for node in ast.walk(ast.parse(text)) for value in _interpolated(node)]
        assert values
        assert all(map(_is_constant, values)) is passes


def _interpolated(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr) and _begins_as_sql(node):
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield ast.unparse(part.value)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
        and _begins_as_sql(node.func.value)
    ):
        yield from map(ast.unparse, node.args)
        yield from (ast.unparse(keyword.value) for keyword in node.keywords)


def _begins_as_sql(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and _begins_as_sql(node.values[0])
    return isinstance(node, ast.Constant) and SQL.match(str(node.value)) is not None


def _is_constant(value: str) -> bool:
    return re.fullmatch(r"_?[A-Z][A-Z_]*|quote\(.*\)|_words\(.*\)", value) is not None


def run(program: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: each for name, each in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_value_module_imports_without_settings():
    values = [f"prism_graph.{name}" for name in MODULES if top(name) in VALUES]
    done = run("".join(f"import {name}\n" for name in ["prism_graph", *values]))
    assert (done.returncode, done.stderr) == (0, "")


def test_scopes_and_origins_work_without_settings():
    done = run(
        "from prism_graph import Origin, Scope, Trust\n"
        "scope = Scope('acme').for_owner('ana').for_agent('support').for_thread('chat')\n"
        "print(scope.token, scope.chain[-1].tenant, Origin(Trust.USER, 'ana').trust)"
    )
    assert (done.stdout.split()[1:], done.stderr) == (["acme", "user"], "")


def test_every_public_name_is_there():
    for name in prism_graph.__all__:
        assert getattr(prism_graph, name) is not None
    with pytest.raises(AttributeError):
        _ = prism_graph.Nothing


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "misc"])
def test_no_module_is_named_for_nothing(word: str):
    assert not [module for module in MODULES if word in module.split(".")]


def test_no_test_stands_inside_a_function_where_nobody_runs_it() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    hidden = [
        f"{file.name}: {inner.name}"
        for file in Path(__file__).parent.rglob("test_*.py")
        for outer in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(outer, functions)
        for inner in ast.walk(outer)
        if inner is not outer and isinstance(inner, functions) and inner.name.startswith("test_")
    ]
    assert hidden == []
