from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import hypothesis
import pytest
from asgiref.sync import async_to_sync
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test import TransactionTestCase

from prism_graph.asking import KEPT
from prism_graph.vectors.blocks import BLOCKS
from tests import statement_guard

hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "thorough",
    hypothesis.settings.get_profile("ci"),
    derandomize=False,
    max_examples=2000,
    print_blob=True,
)
hypothesis.settings.load_profile(os.environ.get("PRISM_TEST_PROFILE", "ci"))

# Wrappers (see Connection.execute_wrapper) around every statement that a test runs, in any thread.
STATEMENT_GUARDS: list[Callable[..., Any]] = [statement_guard.guard]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Give SQLite a file: in memory there is no locking to get wrong."""
    for settings in connections.settings.values():
        if settings["ENGINE"] == "django.db.backends.sqlite3":
            settings["TEST"]["NAME"] = str(tmp_path_factory.mktemp("sqlite") / "test.sqlite3")


@pytest.fixture
def vendor() -> str:
    """`sqlite` or `postgresql`: what `default` is in this run."""
    return connection.vendor


@pytest.fixture
def aliases() -> dict[str, str]:
    """Alias by vendor, for tests marked `both_databases`."""
    return {connections[alias].vendor: alias for alias in connections}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-database", action="store_true", help="Leave out the tests that open no database."
    )


@pytest.hookimpl(tryfirst=True)  # pytest-django then sorts by what each test opens
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if marker := item.get_closest_marker("both_databases"):
            item.add_marker(pytest.mark.django_db(databases=["default", "other"], **marker.kwargs))
    if config.getoption("only_database"):
        pure = [item for item in items if not opens_a_database(item)]
        config.hook.pytest_deselected(items=pure)
        items[:] = [item for item in items if opens_a_database(item)]


def opens_a_database(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return (
        item.get_closest_marker("django_db") is not None
        or not {"db", "transactional_db", "live_server"}.isdisjoint(fixtures)
        or issubclass(getattr(item, "cls", None) or object, TransactionTestCase)
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test as Django's test cases do: its ORM calls share the test's transaction."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    async_to_sync(pyfuncitem.obj)(**{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    def guard(connection: BaseDatabaseWrapper, **_: Any) -> None:
        missing = [each for each in STATEMENT_GUARDS if each not in connection.execute_wrappers]
        connection.execute_wrappers.extend(missing)

    with ExitStack() as stack:
        for each in connections.all():
            for wrapper in STATEMENT_GUARDS:
                stack.enter_context(each.execute_wrapper(wrapper))
        connection_created.connect(guard)
        stack.callback(connection_created.disconnect, guard)
        return (yield)


@pytest.fixture(autouse=True)
def nothing_held() -> None:
    """Let every test begin without vectors that another one read."""
    BLOCKS.clear()
    KEPT.clear()
