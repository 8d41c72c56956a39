"""Embedding through the task framework that is there, and without one."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import pytest
from django.test import override_settings
from django.utils.module_loading import import_string

from prism_graph import Memory, Origin, Scope, Trust, clock, spaces, tasks
from prism_graph.errors import EmbedderUnavailable
from prism_graph.models import VectorPartition
from tests.vectors.doubles import UNFIT, Choosy, vectors

ANA = Scope("acme", "ana")
PLACE = ("acme", "ana", "", "", "default")
USER = Origin(Trust.USER, "ana")
SECRET = "zebra"

FRAMEWORK = next((name for name in ("django.tasks", "django_tasks") if find_spec(name)), "")
with_a_queue = pytest.mark.skipif(not FRAMEWORK, reason="neither Django 6 nor django-tasks is here")


class Down(Choosy):
    def embed(self, texts: Any) -> Any:
        self.calls += 1
        raise ConnectionError(texts)


def backend(name: str, **options: Any) -> override_settings:
    """Return the settings of a task backend, one of the framework's own."""
    path = f"{FRAMEWORK}.backends.{name.lower()}.{name}Backend"
    return override_settings(TASKS={"default": {"BACKEND": path, **options}})


def queued() -> list[Any]:
    """Return what waits in the queue of DummyBackend, and leave it empty."""
    results = tasks.embed_scope.get_backend().results
    found, results[:] = list(results), []
    return found


@pytest.fixture
def store(django_capture_on_commit_callbacks: Any) -> Any:
    """Return what stores passages and runs what waits for the commit."""

    def store_them(*texts: str) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            for text in texts:
                Memory(ANA).record("chat", text, origin=USER)

    return store_them


@with_a_queue
@pytest.mark.django_db
class TestWithAFramework:
    def test_a_worker_finds_the_task_by_its_path(self):
        assert tasks.embed_scope.module_path == "prism_graph.tasks.embed_scope"
        assert import_string("prism_graph.tasks.embed_scope") is tasks.embed_scope

    def test_the_immediate_backend_embeds_at_once(self, store):
        with vectors(Choosy()), backend("Immediate"):
            store(f"My {SECRET}.")
            assert Memory(ANA).pending() == 0

    def test_a_queue_is_told_where_and_nothing_else(self, store):
        with vectors(Choosy()), backend("Dummy"):
            store(f"My {SECRET}.")
            (result,) = queued()
            assert Memory(ANA).pending() == 1
        assert (result.args, result.kwargs) == ([*PLACE], {})
        assert json.loads(json.dumps(result.args)) == [*PLACE]
        assert SECRET not in repr(result)

    def test_a_poison_item_fails_no_task_and_stands_in_no_log(self, store, caplog):
        with vectors(Choosy()), backend("Immediate"), caplog.at_level(logging.DEBUG):
            result = None
            with override_settings(PRISM_GRAPH={}):
                store(f"My {UNFIT}.", f"My {SECRET}.")
            result = tasks.embed_scope.enqueue(*PLACE)
            assert (result.status.name, result.return_value) == ("SUCCESSFUL", 1)
            assert len(Memory(ANA).failed()) == 1
        assert not {UNFIT, SECRET} & {*caplog.text.replace(".", " ").split()}

    def test_an_embedder_that_is_down_fails_the_task_without_content(self, store, caplog):
        with vectors(Down()), backend("Immediate"), caplog.at_level(logging.DEBUG):
            store(f"My {SECRET}.")
            result = tasks.embed_scope.enqueue(*PLACE)
        assert result.status.name == "FAILED"
        told = str([error.traceback for error in result.errors]) + caplog.text
        assert "EmbedderUnavailable" in told
        assert SECRET not in told

    def test_a_queue_that_refuses_is_logged_and_the_text_is_stored(
        self, store, monkeypatch, caplog
    ):
        def refuse(*_: Any) -> None:
            raise OSError("no route to the queue")

        with vectors(Choosy()), backend("Dummy"):
            monkeypatch.setattr(type(tasks.embed_scope), "enqueue", refuse)
            store(f"My {SECRET}.")
            assert Memory(ANA).pending() == 1
        assert "could not be asked for" in caplog.text
        assert SECRET not in caplog.text


@with_a_queue
@pytest.mark.django_db
class TestLookingAgain:
    def test_a_queue_is_asked_to_before_the_work_begins(self, store):
        with vectors(Choosy()), backend("Dummy"):
            store("My zebra.")
            queued()
            assert tasks.embed_scope.call(*PLACE) == 1
            (again,) = queued()
            assert again.args == [*PLACE]
            assert again.task.run_after > clock.now() + timedelta(seconds=50)
            assert tasks.embed_scope.call(*PLACE) == 0
            assert queued() == []

    def test_while_the_embedder_is_down_one_looks_again_and_the_others_do_not_ask(self, store):
        down = Down()
        with vectors(down), backend("Dummy"):
            store("My zebra.")
            queued()
            with pytest.raises(EmbedderUnavailable):
                tasks.embed_scope.call(*PLACE)
            assert len(queued()) == 2
            for _ in range(3):
                assert tasks.embed_scope.call(*PLACE) == 0
            assert (queued(), down.calls) == ([], 1)
            before = clock.now() - tasks.AGAIN - timedelta(seconds=1)
            VectorPartition.objects.at(ANA).update(failed_at=before)
            assert not spaces.down_since(ANA, "default", clock.now() - tasks.AGAIN)
            with pytest.raises(EmbedderUnavailable):
                tasks.embed_scope.call(*PLACE)
            assert len(queued()) == 2

    def test_what_another_worker_holds_is_looked_at_later(self, store):
        with vectors(Choosy()), backend("Dummy"):
            store("My zebra.")
            tasks.embed_scope.call(*PLACE)
            store("My heron.")
            queued()
            until = clock.now() + timedelta(seconds=30)
            VectorPartition.objects.at(ANA).update(lease="other", leased_until=until)
            assert tasks.embed_scope.call(*PLACE) == 0
            assert len(queued()) == 1


WITHOUT = """
import sys
sys.modules["django.tasks"] = sys.modules["django_tasks"] = None
import django
from django.conf import settings
settings.configure(
    SECRET_KEY="x", USE_TZ=True, INSTALLED_APPS=["prism_graph"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    PRISM_GRAPH={"VECTORS": "exact", "EMBEDDER": "hashing"},
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from prism_graph import Memory, Origin, Scope, Trust, tasks
memory = Memory(Scope("acme"))
memory.record("chat", "My zebra.", origin=Origin(Trust.USER, "ana"))
print(memory.pending(), hasattr(tasks.embed_scope, "enqueue"))
"""


@pytest.mark.skipif(FRAMEWORK == "django.tasks", reason="Django 6 has a task framework of its own")
def test_without_a_framework_it_is_done_at_once() -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120
    )
    assert said.stdout.split() == ["0", "False"]
