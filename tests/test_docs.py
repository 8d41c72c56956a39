"""The documentation is true: its code runs, its tables are the code's, its links lead somewhere."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import os
import pkgutil
import re
import subprocess
import sys
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import global_settings
from django.core.management import BaseCommand, get_commands, load_command_class
from django.db import ConnectionHandler, connection, connections, models
from django.dispatch import Signal
from django.utils.module_loading import import_string
from markdown_it import MarkdownIt
from markdown_it.token import Token

import prism_graph
import prism_graph.models
from prism_graph import (
    Memory,
    Origin,
    Scope,
    Trust,
    checks,
    chunking,
    conf,
    doctor,
    errors,
    records,
    signals,
    storechecks,
)
from prism_graph.embedders import making
from prism_graph.management import commands
from prism_graph.managers import ScopedManager
from prism_graph.models import Citation, Fact, FactVersion, Receipt, Standing

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
GUARANTEES = DOCS / "explanation/guarantees.md"
LANGUAGES = {"python", "console", "sql", "text"}
# What `startproject` writes, as far as the documentation adds to it.
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}
OWN_SETTINGS = {"PRISM_GRAPH", "TASKS", "TENANTS"}  # TASKS: Django's own from 6.0 on
# Its models need a project of their own: see below.
OWNING = DOCS / "how-to/own-models.md"


# reading pages


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is, under which heading, and the text block right after it."""

    language: str
    file: str
    code: str
    line: int
    heading: str
    printed: str | None


@dataclass(frozen=True)
class Table:
    heading: str
    header: list[str]
    rows: list[list[str]]

    def column(self, number: int = 0) -> list[str]:
        return [bare(row[number]) for row in self.rows]


def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def bare(cell: str) -> str:
    """Return a cell's first piece of code, or the cell."""
    found = re.search(r"`([^`]+)`", cell)
    return found[1] if found else cell.strip()


def blocks(page: Path) -> list[Block]:
    found, heading = [], ""
    every = tokens(page)
    for place, token in enumerate(every):
        if token.type == "heading_open":
            heading = every[place + 1].content
        if token.type == "fence":
            language, _, rest = token.info.partition(" ")
            file = re.fullmatch(r'title="([^"]+)"', rest)
            assert not rest or file, f"{page.name}: what is {rest!r}?"
            after = every[place + 1] if place + 1 < len(every) else None
            says = after is not None and after.type == "fence" and after.info == "text"
            printed = after.content if after is not None and says else None
            name, line = file[1] if file else "", (token.map or [0])[0] + 1
            found.append(Block(language, name, token.content, line, heading, printed))
    return found


def tables(page: Path) -> list[Table]:
    found: list[Table] = []
    heading, row = "", []
    every = tokens(page)
    for place, token in enumerate(every):
        if token.type == "heading_open":
            heading = every[place + 1].content
        elif token.type == "table_open":
            found.append(Table(heading, [], []))
        elif token.type == "tr_open":
            row = []
        elif token.type in ("th_open", "td_open"):
            row.append(every[place + 1].content)
        elif token.type == "tr_close":
            table = found[-1]
            if table.header:
                table.rows.append(row)
            else:
                table.header.extend(row)
    return found


def table(page: str, heading: str, first: str) -> Table:
    """Return the one table under a heading whose first column has this name."""
    path = README if page == "README.md" else DOCS / page
    [found] = [t for t in tables(path) if t.heading == heading and t.header[0] == first]
    return found


def literals(cells: list[str]) -> list[Any]:
    return [ast.literal_eval(cell) if cell else inspect.Parameter.empty for cell in cells]


def of_pages(language: str) -> list[Any]:
    pages = [page for page in PAGES if any(block.language == language for block in blocks(page))]
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


# running pages


class Reader:
    """Someone who types in a page's Python blocks from top to bottom, and saves its files."""

    def __init__(self, page: Path, tmp_path: Path, monkeypatch: Any, settings: Any) -> None:
        self.page = page
        self.monkeypatch, self.settings = monkeypatch, settings
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.project = {
            "BASE_DIR": tmp_path,
            "DATABASES": {"default": {**SQLITE, "NAME": tmp_path / "db.sqlite3"}},
            "INSTALLED_APPS": [],
            "MIDDLEWARE": [],
        }

    def read(self, block: Block) -> None:
        if Path(block.file).name == "settings.py":
            self.configure(block)
            return
        names = self.module(block.file) if block.file else self.names
        if Path(block.file).name.startswith("test"):
            self.run_tests(block, names)
            return
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.run(block, names)
        if block.printed is not None:
            assert output.getvalue() == block.printed, f"{self.page.name}:{block.line}"

    def run_tests(self, block: Block, names: dict[str, Any]) -> None:
        """Run a file of tests as `manage.py test` would; all of them must pass."""
        self.run(block, names)
        module, result = sys.modules[names["__name__"]], unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
        assert result.testsRun, f"{self.page.name}:{block.line}"
        assert result.wasSuccessful(), [said for _, said in result.failures + result.errors]

    def run(self, block: Block, names: dict[str, Any]) -> None:
        # Blank lines before it, so that a traceback shows the page's line.
        code = compile(
            "\n" * block.line + block.code,
            str(self.page),
            "exec",
            flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        if inspect.iscoroutine(waiting := eval(code, names)):
            async_to_sync(self.wait)(waiting)

    async def wait(self, waiting: Any) -> None:
        await waiting

    def module(self, file: str) -> dict[str, Any]:
        *packages, name = Path(file).with_suffix("").parts
        for depth in range(len(packages)):
            package = ModuleType(".".join(packages[: depth + 1]))
            package.__path__ = []
            self.monkeypatch.setitem(sys.modules, package.__name__, package)
        module = ModuleType(".".join((*packages, name)))
        self.monkeypatch.setitem(sys.modules, module.__name__, module)
        return vars(module)

    def configure(self, block: Block) -> None:
        """Run a settings fragment after startproject's; what it sets holds from here on."""
        names = dict(self.project)
        self.run(block, names)
        changed = {
            name: value
            for name, value in names.items()
            if name.isupper() and value is not self.project.get(name)
        }
        for name, value in changed.items():
            assert name in OWN_SETTINGS or hasattr(global_settings, name), name
            if name not in self.project:
                setattr(self.settings, name, value)
        assert checks.check_settings() == []
        self.check_databases(names["DATABASES"])

    def check_databases(self, databases: dict[str, Any]) -> None:
        if "OPTIONS" not in databases["default"]:
            return
        handler = ConnectionHandler(databases)
        self.monkeypatch.setattr(checks, "connections", handler)
        assert checks.check_transactions() == []
        if "init_command" in databases["default"]["OPTIONS"]:
            assert checks.check_databases(["default"]) == []
        handler.close_all()
        self.monkeypatch.setattr(checks, "connections", connections)


@pytest.mark.django_db
@pytest.mark.parametrize("page", [page for page in of_pages("python") if page.values != (OWNING,)])
def test_the_python_blocks_of_a_page_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: Any, settings: Any
) -> None:
    reader = Reader(page, tmp_path, monkeypatch, settings)
    ran = [reader.read(block) for block in blocks(page) if block.language == "python"]
    assert ran


@pytest.mark.django_db
def test_a_page_is_read_critically(tmp_path: Path, monkeypatch: Any, settings: Any) -> None:
    """The test above would notice: a wrong output, a failing test, a typo in a setting, a deferred SQLite."""
    reader = Reader(README, tmp_path, monkeypatch, settings)

    def block(code: str, file: str = "", printed: str | None = None) -> Block:
        return Block("python", file, code, 1, "", printed)

    with pytest.raises(AssertionError):
        reader.read(block("print(1)", printed="2\n"))
    test = "from unittest import TestCase\nclass Tests(TestCase):\n    def test_it(self): "
    reader.read(block(test + "assert True", "mysite/tests.py"))
    for wrong in ("", test + "assert False"):
        with pytest.raises(AssertionError):
            reader.read(block(wrong, "mysite/tests.py"))
    with pytest.raises(AssertionError):
        reader.read(block("PRISM_GRAPH = {'CHUNKERS': None}", "mysite/settings.py"))
    settings.PRISM_GRAPH = {}
    with pytest.raises(AssertionError):
        reader.read(block("DATABASES['default']['OPTIONS'] = {}", "mysite/settings.py"))


# the README's way into a new project


def shell(*command: str, cwd: Path, given: str | None = None) -> str:
    """Run a command as somebody who installed the package would; return what it printed."""
    hidden = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "PYTHONSAFEPATH")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    # Stands for `python -m pip install .`, which would need a network.
    environment["PYTHONPATH"] = str(Path(prism_graph.__file__).parents[1])
    arguments = [sys.executable if part == "python" else part for part in command]
    done = subprocess.run(
        arguments,
        cwd=cwd,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def database() -> Iterator[dict[str, Any] | None]:
    """An empty PostgreSQL database, or None on SQLite, where a new project brings its own."""
    if connection.vendor == "sqlite":
        yield None
        return
    name = "prism_graph_readme"
    settings = {
        key: connection.settings_dict[key] for key in ("ENGINE", "USER", "PASSWORD", "PORT")
    }
    settings["HOST"] = str(connection.settings_dict["HOST"])
    options = {**connection.settings_dict["OPTIONS"], "server_side_binding": True}
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
        yield {**settings, "NAME": name, "OPTIONS": options}
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.django_db
def test_a_new_project_that_follows_the_readme_comes_to_a_working_search(
    tmp_path: Path, database: dict[str, Any] | None
) -> None:
    install = [b for b in blocks(README) if b.heading == "Install in an existing project"]
    lines = [line for block in install for line in block.code.splitlines()]
    assert len(lines) == 5
    assert lines[0] == "python -m pip install ."

    shell("python", "-m", "django", "startproject", "mysite", cwd=tmp_path)
    project = tmp_path / "mysite"
    for block in install[1:]:
        if block.file:
            with (project / block.file).open("a") as file:
                file.write(block.code)
                if database:
                    file.write(f"DATABASES = {{'default': {database!r}}}\n")
        else:
            for line in block.code.splitlines():
                printed = shell(*line.split(), cwd=project)
    assert "no issues" in printed or "prism_graph.W006" in printed

    [example] = [b for b in blocks(README) if b.heading == "Example" and b.language == "python"]
    assert len(example.code.splitlines()) <= 20
    assert f"`python manage.py shell < {example.file}`" in README.read_text(encoding="utf-8")
    assert example.printed
    for _ in range(2):
        printed = shell("python", "manage.py", "shell", cwd=project, given=example.code)
        assert printed.endswith(example.printed)


def test_the_readmes_two_commands_are_the_ones_that_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    run = [line for line in script.splitlines() if line.startswith("sh .ci/in-venv")]
    shown = [b.code.strip() for b in blocks(README) if b.heading == "See it run, and test it"]
    assert len(shown) == 2
    assert shown == run[:2]
    assert (ROOT / ".ci" / "in-venv").is_file()
    assert (ROOT / "example_project" / "manage.py").is_file()


# how to own the models


class Site:
    """A new project, on the database of this run."""

    def __init__(self, tmp_path: Path, database: dict[str, Any] | None) -> None:
        shell("python", "-m", "django", "startproject", "mysite", cwd=tmp_path)
        self.root = tmp_path / "mysite"
        if database:
            self.save("mysite/settings.py", f"DATABASES = {{'default': {database!r}}}\n")

    def save(self, file: str, code: str) -> None:
        added = file.endswith("settings.py")
        (self.root / file).write_text((self.root / file).read_text() + code if added else code)

    def run(self, commands: str) -> str:
        return "".join(shell(*line.split(), cwd=self.root) for line in commands.splitlines())

    def say(self, code: str) -> str:
        return shell("python", "manage.py", "shell", "-v", "0", cwd=self.root, given=code)


@pytest.mark.django_db
def test_a_new_project_owns_its_models_as_the_page_says(
    tmp_path: Path, database: dict[str, Any] | None
) -> None:
    site = Site(tmp_path, database)
    for block in blocks(OWNING):
        if block.heading.startswith("Move"):
            break
        if block.language == "console":
            site.run(block.code)
        elif block.printed:
            assert site.say(block.code) == block.printed
        elif block.file:
            site.save(block.file, block.code)
    assert "No changes" in site.run("python manage.py makemigrations --check")


@pytest.mark.django_db
def test_an_installation_moves_to_models_of_its_own_as_the_page_says(
    tmp_path: Path, database: dict[str, Any] | None
) -> None:
    site, files = Site(tmp_path, database), {block.file: block.code for block in blocks(OWNING)}
    site.save("mysite/settings.py", "INSTALLED_APPS += ['prism_graph']\n")
    site.run("python manage.py migrate -v 0\npython manage.py startapp acme_memory")
    fill = (
        "from prism_graph import *\nfrom prism_graph.fulltext import engine\n"
        "from django.db import connection\n"
        "memory = Memory(Scope('acme', 'ana'))\norigin = Origin(Trust.USER, 'ana')\n"
    )
    tell = (
        "print([hit.chunk.text for hit in memory.search('kettle')])\n"
        "print([fact.value for fact in memory.facts()], engine(connection).missing())\n"
    )
    write = (
        "added = memory.record('chat', 'My kettle is dented.', origin=origin, turn_id='1').added\n"
        "memory.assert_fact('kettle', subject='a', predicate='b', value='c', evidence=added)\n"
    )
    before = site.say(fill + write + tell)
    assert "dented" in before

    columns = r"    \w+ = models\.\w+Field\(.*\)\n\n?"
    bare_models = re.sub(columns, "", files["acme_memory/models.py"])
    bare_models = bare_models.replace("AbstractFact):\n", "AbstractFact):\n    pass\n")
    site.save("acme_memory/models.py", bare_models)
    site.save("mysite/settings.py", files["mysite/settings.py"].replace('"prism_graph", ', ""))
    site.run("python manage.py makemigrations acme_memory -v 0")
    first = site.root / "acme_memory/migrations/0001_initial.py"
    head, _, operations = first.read_text().partition("    operations = [")
    adopting = f"{head}    operations = [AdoptMemory([{operations.rstrip()[:-1]}])]\n"
    first.write_text(f"from prism_graph.operations import AdoptMemory\n{adopting}")
    install = "acme_memory/migrations/0002_install.py"
    site.save(install, files[install])
    site.run("python manage.py migrate -v 0")
    assert site.say(fill + tell) == before

    site.save("acme_memory/models.py", files["acme_memory/models.py"])
    site.run(
        "python manage.py makemigrations acme_memory -v 0\npython manage.py migrate -v 0\n"
        "python manage.py prism_graph_repair_fulltext --check\n"
        "python manage.py check --database default"
    )
    again = site.say(
        fill + "memory.erase('chat')\nmemory.ingest('new', 'A kettle.', origin=origin)\n" + tell
    )
    assert again.splitlines() == ["['A kettle.']", "[] []"]
    assert "No changes" in site.run("python manage.py makemigrations --check")


# how to use PostgreSQL


@pytest.fixture
def postgresql_page() -> dict[str, Block]:
    return {block.file or block.language: block for block in blocks(DOCS / "how-to/postgresql.md")}


@pytest.mark.both_databases
def test_memory_moves_to_the_other_database_as_the_page_says(
    postgresql_page: dict[str, Block], capsys: Any
) -> None:
    acme, ana = Scope("acme"), Scope("acme", "ana")
    importer, said = Origin(Trust.DOCUMENT, "importer"), Origin(Trust.USER, "ana")
    text = "# Refunds\n\nReturn a kettle within 30 days.\n"
    Memory(acme).ingest("handbook", text, origin=importer, title="Handbook", metadata={"a": 1})
    Memory(acme).ingest("handbook", text.replace("30", "45"), origin=importer, title="Handbook")
    cited = Memory(acme).search("kettle")
    turn = Memory(ana).record("chat", "My kettle is dented.", origin=said, derived_from=cited)
    claim = {"subject": "ana", "predicate": "has", "value": "a dented kettle"}
    Memory(ana).assert_fact("kettle", **claim, evidence=turn.added)
    Memory(ana).record("gone", "Forget this.", origin=said)
    Memory(ana).erase("gone", actor="ana")

    names: dict[str, Any] = {}
    exec(compile(postgresql_page["mysite/moving.py"].code, "moving.py", "exec"), names)
    names["move"]("default", "other")

    for scope in (acme, ana):
        for known_at in (None, cited[0].chunk.recorded_at):
            before = Memory(scope).search("kettle days", known_at=known_at)
            assert before
            assert Memory(scope, using="other").search("kettle days", known_at=known_at) == before
    assert Memory(ana, using="other").timeline("ana") == Memory(ana).timeline("ana") != []
    for model in (Fact, FactVersion, Standing, Citation, Receipt):
        moved = [
            list(model.objects.db_manager(each).at(ana).values()) for each in ("default", "other")
        ]
        assert moved[0] == moved[1] != []
    load_command_class("prism_graph", "prism_graph_repair_fulltext").execute(
        database="other", check=True, sql=False, no_color=True, force_color=False, skip_checks=True
    )
    Memory(acme, using="other").ingest("more", "Another kettle.", origin=importer)
    assert len(Memory(acme, using="other").search("kettle")) == 2


@pytest.mark.both_databases
def test_the_roles_of_the_page_are_enough_to_serve_requests(
    postgresql_page: dict[str, Block], aliases: dict[str, str]
) -> None:
    using = aliases["postgresql"]
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user"
        )
        if not cursor.fetchone()[0]:
            pytest.skip("The role that DATABASE_URL names may not create another.")
        cursor.execute("CREATE ROLE mysite_app")  # gone with the test's transaction
        cursor.execute(postgresql_page["sql"].code)
        cursor.execute("SET LOCAL ROLE mysite_app")
    memory = Memory(Scope("acme"), using=using)
    origin = Origin(Trust.DOCUMENT, "importer")
    text = "\n\n".join(f"# Kettle {number}\n\nIt is round." for number in range(300))
    assert len(memory.ingest("kettles", text, origin=origin).added) == 300
    assert len(memory.ingest("kettles", text.replace("299", "x"), origin=origin).retired) == 1
    memory.record("chat", "Round.", origin=origin, turn_id="t1", derived_from=memory.search("x"))
    assert len(memory.search("kettle round", neighbours=1, since="2020-01-01T00:00:00Z")) == 10
    memory.retire_source("chat")
    assert memory.erase("kettles").chunks == 302
    with connections[using].cursor() as cursor:
        cursor.execute("RESET ROLE")


# tables that repeat the code


@pytest.mark.parametrize(
    ("page", "heading"), [("README.md", "Settings"), ("reference/settings.md", "Settings")]
)
def test_every_setting_is_documented_with_its_default(page: str, heading: str) -> None:
    documented = table(page, heading, "Key")
    defaults = literals([bare(row[1]) for row in documented.rows])
    expected = {entry.name: entry.default for entry in dataclasses.fields(conf.Config)}
    assert dict(zip(documented.column(), defaults, strict=True)) == expected


@pytest.mark.parametrize("name", making.PROVIDERS)
def test_every_embedder_is_documented_with_its_options(name: str) -> None:
    documented = table("reference/embedders.md", name, "Option")
    taken = inspect.signature(import_string(making.PROVIDERS[name].path)).parameters
    defaults = literals([row[1].strip("`") for row in documented.rows])
    assert dict(zip(documented.column(), defaults, strict=True)) == {
        option: parameter.default for option, parameter in taken.items()
    }


def test_every_embedder_is_documented_with_its_extra() -> None:
    documented = table("reference/embedders.md", "Embedders", "Provider")
    assert documented.column() == [*making.PROVIDERS]
    for row, provider in zip(documented.rows, making.PROVIDERS.values(), strict=True):
        assert (f'".[{provider.installed_by}]"' in row[1]) is bool(provider.installed_by)


def test_every_check_is_documented_with_its_level() -> None:
    documented = table("reference/checks.md", "System checks", "Id")
    levels = {"E": "error", "W": "warning"}
    ids = re.findall(
        r'id="(prism_graph\.([EW])\d{3})"',
        inspect.getsource(checks) + inspect.getsource(storechecks),
    )
    ids = list(dict.fromkeys(ids))
    assert ids
    assert len(documented.rows) == len(set(documented.column()))
    package = Path(prism_graph.__file__).parent
    named = {
        name
        for file in package.rglob("*.py")
        for name in re.findall(r"\bprism_graph\.[EWIDC]\d{3}\b", file.read_text(encoding="utf-8"))
    }
    assert named == {name for name, _ in ids}
    assert dict(zip(documented.column(), documented.column(1), strict=True)) == {
        name: levels[level] for name, level in ids
    }


def test_every_error_is_documented_with_its_bases() -> None:
    documented = table("reference/errors.md", "Errors", "Class")
    bases = [re.findall(r"`(\w+)`", row[1]) for row in documented.rows]
    assert dict(zip(documented.column(), bases, strict=True)) == {
        name: [base.__name__ for base in value.__bases__]
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.PrismGraphError)
    }


def command_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(commands.__path__)]


def test_every_command_is_documented_with_its_options() -> None:
    page = DOCS / "reference/commands.md"
    of_options = [table for table in tables(page) if table.header[0] == "Option"]
    assert [table.heading for table in of_options] == command_names()
    every = set(BaseCommand().create_parser("manage.py", "any")._option_string_actions)
    for documented in of_options:
        command = load_command_class("prism_graph", documented.heading)
        options = command.create_parser("manage.py", documented.heading)._option_string_actions
        assert set(documented.column()) == set(options) - every
    in_readme = table("README.md", "Commands", "Command").column()
    assert in_readme == [f"manage.py {name}" for name in command_names()]


def test_every_finding_of_the_doctor_is_documented() -> None:
    documented = table("reference/commands.md", "prism_graph_doctor", "Finding")
    every = doctor.checks()
    assert set(documented.column()) == {check.id for check in every}
    unfixable = {row[0].strip("`") for row in documented.rows if row[2].startswith("Nothing")}
    assert unfixable == {check.id for check in every} - {check.id for check in every if check.fix}


@pytest.mark.parametrize("page", of_pages("console"))
def test_the_commands_that_a_page_shows_exist(page: Path) -> None:
    shown = [b.code for b in blocks(page) if b.language == "console"]
    named = re.findall(r"\bmanage\.py (\w+)", "\n".join(shown))
    assert set(named) <= {*get_commands(), "demo"}


def memory_methods() -> dict[str, Any]:
    public = {
        name: value
        for name, value in vars(Memory).items()
        if not name.startswith("_") and not isinstance(value, property)
    }
    return {n: v for n, v in public.items() if not (n[0] == "a" and n[1:] in public)}


def test_every_method_of_memory_is_documented_with_its_arguments() -> None:
    page = DOCS / "reference/memory.md"
    documented = {t.heading: t for t in tables(page) if t.header[0] == "Argument"}
    expected = {"Memory": Memory.__init__, **memory_methods()}
    headings = re.findall(r"^### (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in headings if name in expected] == list(expected)
    for name, method in expected.items():
        _, *parameters = inspect.signature(method).parameters.values()
        if not parameters:
            assert name not in documented
            continue
        found = documented[name]
        assert found.column() == [parameter.name for parameter in parameters], name
        defaults = literals([bare(row[1]) for row in found.rows])
        assert defaults == [parameter.default for parameter in parameters], name
        keyword = next((p.name for p in parameters if p.kind is p.KEYWORD_ONLY), None)
        said = [bare(row[0]) for row in found.rows if row[2].startswith("Keyword")]
        assert said == ([keyword] if keyword else []), name


def test_every_method_of_memory_has_a_documented_async_twin() -> None:
    text = (DOCS / "reference/memory.md").read_text(encoding="utf-8")
    for name in memory_methods():
        assert inspect.iscoroutinefunction(getattr(Memory(Scope("acme")), f"a{name}")), name
        assert f"`a{name}`" in text, name


VALUES = [
    Origin,
    *(
        v
        for v in vars(records).values()
        if v.__class__ is type and v.__module__ == records.__name__
    ),
]


def fields_of(record: Any) -> list[str]:
    """Return the names of a dataclass's fields or a named tuple's."""
    return (
        [entry.name for entry in dataclasses.fields(record)]
        if (dataclasses.is_dataclass(record))
        else list(record._fields)
    )


@pytest.mark.parametrize("record", VALUES)
def test_every_field_of_a_value_is_documented(record: Any) -> None:
    documented = table("reference/memory.md", record.__name__, "Field").column()
    assert documented == fields_of(record)


def test_the_trust_classes_are_documented_in_order() -> None:
    assert table("reference/memory.md", "Trust", "Member").column() == [each.name for each in Trust]


def test_the_doors_are_documented() -> None:
    documented = [
        cell.partition("(")[0] for cell in table("reference/scopes.md", "Doors", "Door").column()
    ]
    opening = [name for name in vars(ScopedManager) if not name.startswith("_")]
    assert set(documented) == set(opening) - {"get_queryset"}


def test_the_parts_and_members_of_a_scope_are_documented() -> None:
    parts = table("reference/scopes.md", "Scope", "Part").column()
    assert parts == [entry.name for entry in dataclasses.fields(Scope)]
    members = table("reference/scopes.md", "Scope", "Member").column()
    public = {name for name in vars(Scope) if not name.startswith("_")}
    assert {member.partition("(")[0] for member in members} == public - set(parts)


def test_the_models_are_documented() -> None:
    public = [getattr(prism_graph.models, name) for name in prism_graph.models.__all__]
    names = {each.__name__ for each in public if issubclass(each, models.Model)}
    assert set(table("reference/scopes.md", "Models", "Model").column()) == names


def public_signals() -> dict[str, Signal]:
    return {name: value for name, value in vars(signals).items() if type(value) is Signal}


def test_every_signal_is_documented() -> None:
    assert table("reference/signals.md", "Signals", "Signal").column() == [*public_signals()]


@pytest.mark.django_db
def test_every_signal_carries_what_is_documented(django_capture_on_commit_callbacks: Any) -> None:
    documented = table("reference/signals.md", "Signals", "Signal")
    carried = {bare(row[0]): set(re.findall(r"`(\w+)`", row[2])) for row in documented.rows}
    names = {signal: name for name, signal in public_signals().items()}
    heard: dict[str, set[str]] = {}

    def listen(signal: Signal, sender: Any, **sent: Any) -> None:
        heard[names[signal]] = set(sent)

    with contextlib.ExitStack() as stack, django_capture_on_commit_callbacks(execute=True):
        for signal in names:
            signal.connect(listen)
            stack.callback(signal.disconnect, listen)
        memory = Memory(Scope("acme"))
        told = memory.ingest("page", "text", origin=Origin(Trust.USER)).added
        found = memory.record("chat", "text", origin=Origin(Trust.TOOL)).added
        said = {"subject": "s", "predicate": "p", "value": "v"}
        memory.assert_fact("accepted", **said, evidence=told)
        memory.assert_fact("proposed", **said, evidence=found)
        memory.reject("proposed")
        memory.retract("accepted")
        memory.erase_fact("accepted")
        memory.retire_source("chat")
        memory.erase("page")
        memory.erase_everything(include_owners=True)
    assert heard == carried


def test_the_chunkers_are_documented_with_their_defaults() -> None:
    documented = table("reference/chunkers.md", "Chunkers", "Class")
    defaults = literals([bare(row[1]) for row in documented.rows])
    assert dict(zip(documented.column(), defaults, strict=True)) == {
        name: getattr(chunking, name)().max_chars
        for name in chunking.__all__
        if name.endswith("Chunker") and name != "Chunker"
    }


LIMITED = (
    *(
        "prism_graph.limits",
        "prism_graph.options",
        "prism_graph.search",
        "prism_graph.scope",
        "prism_graph.trust",
    ),
    *("prism_graph.chunking.limits", "prism_graph.analysis.query"),
)


def constant(path: str) -> Any:
    module, _, name = path.rpartition(".")
    if module == "prism_graph.conf.Config":
        return getattr(conf.Config(), name)
    return getattr(import_module(module), name)


def test_every_limit_is_documented_with_its_value() -> None:
    documented = table("reference/limits.md", "Limits", "Limit")
    values = {bare(row[1]): int(row[2].split()[0].replace(",", "")) for row in documented.rows}
    assert values == {path: constant(path) for path in values}
    for name in LIMITED:
        source = inspect.getsource(import_module(name))
        own = re.findall(r"^(MAX_\w+|PHRASE_WORK|PHRASE_EFFORT): Final = ", source, re.MULTILINE)
        assert {f"{name}.{each}" for each in own} <= set(values)


# links


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    every = tokens(page)
    titles = [every[i + 1].content for i, token in enumerate(every) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    """Return where a page's links and images point, those written as HTML included."""
    every = [each for token in tokens(page) for each in (token, *(token.children or ()))]
    found = []
    for each in every:
        if each.type in ("link_open", "image"):
            found.append(str(each.attrs.get("href") or each.attrs.get("src")))
        elif each.type.startswith("html_"):
            found += re.findall(r"""\b(?:href|src)=["']?([^"'\s>]+)""", each.content)
    return found


def test_links_of_every_kind_are_looked_at(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('[a](one) [![b](two)](three) [c][d]\n\n<img src="four">\n\n[d]: five\n')
    assert links(page) == ["one", "three", "two", "five", "four"]


def images(page: Path) -> Iterator[Path]:
    """Yield the pictures of a page, each of which says in words what it shows."""
    inline = [child for token in tokens(page) for child in token.children or ()]
    for child in inline:
        if child.type == "image":
            assert len(child.content) > 20, child.attrs["src"]
            yield (page.parent / str(child.attrs["src"])).resolve()


def test_every_picture_is_shown_by_a_page_and_every_page_has_its_pictures() -> None:
    # tests/browser/test_screenshots.py takes them.
    shown = {image for page in PAGES for image in images(page)}
    assert shown == set((DOCS / "images").iterdir())
    for image in shown:
        head = image.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        assert int.from_bytes(head[16:20]) == 1200, "pixels wide"
        assert image.stat().st_size < 200_000


@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in PAGES])
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = {(DOCS / link).resolve() for link in links(DOCS / "index.md")}
    assert set(PAGES) - {DOCS / "index.md"} <= listed


# guarantees


def defined_tests(file: Path) -> set[str]:
    """Return the tests that a file defines, as pytest names them: `test_x`, `TestY::test_x`."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, functions):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{e.name}" for e in node.body if isinstance(e, functions)}
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


def proofs(page: Path) -> dict[str, list[tuple[Path, str]]]:
    """Return, for each guarantee (a heading of the third level), the tests that it links to."""
    found: dict[str, list[tuple[Path, str]]] = {}
    every = tokens(page)
    for place, token in enumerate(every):
        if token.type == "heading_open" and token.tag == "h3":
            found[every[place + 1].content] = []
        children = token.children or []
        for link, text in pairwise(children):
            file = (page.parent / str(link.attrs.get("href", ""))).resolve()
            if link.type == "link_open" and file.name.startswith("test_"):
                found[[*found][-1]].append((file, text.content))
    return found


def unproved(page: Path) -> list[str]:
    """Return the guarantees of a page that name no test, and the tests named that are not there."""
    missing = []
    for guarantee, named in proofs(page).items():
        if not named:
            missing.append(guarantee)
        missing += [name for file, name in named if name not in defined_tests(file)]
    return missing


def test_every_guarantee_names_tests_that_exist() -> None:
    assert unproved(GUARANTEES) == []


def test_the_six_guarantees_of_scope_are_on_the_page_in_order() -> None:
    numbered = [re.match(r"(G\d+): ", guarantee) for guarantee in proofs(GUARANTEES)]
    assert [found[1] for found in numbered if found] == ["G1", "G2", "G3", "G4", "G5", "G6"]


def test_a_guarantee_without_a_test_would_be_noticed(tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "test_x.py"
    file.write_text("def test_a(): ...\nclass TestB:\n    def test_c(self): ...\ndef d(): ...\n")
    named = "".join(
        f"- [`{name}`](test_x.py)\n" for name in ("test_a", "TestB::test_c", "test_c", "d")
    )
    page.write_text(f"# All\n\n### One\n\n{named}\n### Two\n\n[`test_a`](other.py)\n")
    assert unproved(page) == ["test_c", "d", "Two"]


def test_every_block_says_what_it_is() -> None:
    for page in PAGES:
        assert {block.language for block in blocks(page)} <= LANGUAGES, page.name
        assert not [t for t in tokens(page) if t.type == "code_block"], page.name


def test_the_changelog_tells_of_this_version() -> None:
    assert prism_graph.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
