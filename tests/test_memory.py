from __future__ import annotations

import subprocess
import sys

import pytest
from django.test import override_settings

import prism_graph
from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import InvalidScope
from prism_graph.models import Chunk

ACME = Scope("acme")
USER = Origin(Trust.USER)


def test_a_memory_says_whose_it_is_and_keeps_it() -> None:
    memory = Memory(ACME)
    assert memory.scope is ACME
    assert repr(memory) == f"Memory({ACME!r})"
    with pytest.raises(AttributeError):
        memory.scope = Scope("other")  # type: ignore[misc]


def test_only_a_scope_opens_a_memory() -> None:
    for bad in ("acme", None, {"tenant": "acme"}, ("acme", "", "", "")):
        with pytest.raises(InvalidScope):
            Memory(bad)  # type: ignore[arg-type]


class ToOther:
    def db_for_write(self, model: type, **_: object) -> str | None:
        return "other" if model._meta.app_label == Chunk._meta.app_label else None  # type: ignore[attr-defined]


@pytest.mark.both_databases
def test_memory_is_kept_in_the_database_named_else_where_the_router_says() -> None:
    Memory(ACME, using="other").ingest("doc", "in other", origin=USER)
    Memory(ACME).ingest("doc", "in default", origin=USER)
    read = lambda memory: [hit.chunk.text for hit in memory.search("in")]  # noqa: E731
    assert read(Memory(ACME, using="other")) == ["in other"]
    assert read(Memory(ACME)) == ["in default"]
    with override_settings(DATABASE_ROUTERS=[ToOther()]):
        assert read(Memory(ACME)) == ["in other"]
        assert read(Memory(ACME, using="default")) == ["in default"]


@pytest.mark.both_databases
def test_every_method_works_on_the_database_named() -> None:
    memory, default = Memory(ACME, using="other"), Memory(ACME)
    page = memory.ingest("page", "penguins swim", origin=USER)
    memory.record("chat", "penguins dive", origin=USER, turn_id="t", derived_from=page.added)
    memory.ingest("page", "penguins glide", origin=USER, title="Handbook")
    assert len(memory.search("penguins", phrases=(), neighbours=1)) == 2
    assert len(memory.get(page.added)) == 1
    assert len(memory.sources()) == 2
    memory.retire_source("page")
    assert memory.erase_turn("chat", "t").chunks == 1
    assert memory.erase("page").chunks == 2
    assert memory.sources(retired=True) == default.sources(retired=True) == []
    assert default.get(page.added) == []


def test_the_package_is_imported_before_django_is_set_up() -> None:
    code = (
        "import prism_graph; from prism_graph import Scope, Trust, Origin, PrismGraphError; "
        "print(Scope('acme').for_owner('u1').for_agent('a').for_thread('t'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "thread='t'" in done.stdout


def test_public_names_are_there_and_no_others() -> None:
    for name in prism_graph.__all__:
        assert getattr(prism_graph, name)
    with pytest.raises(AttributeError):
        prism_graph.Nothing  # noqa: B018
