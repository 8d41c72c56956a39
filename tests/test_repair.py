from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db import connection

from prism_graph import Memory, Origin, Scope, Trust, indexing, repair
from prism_graph.fulltext import engine
from prism_graph.repair import Repaired
from tests.rawsql import INDEX, sql, stored
from tests.vectors.doubles import UNFIT, Choosy, vectors

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
OWNER = ACME.for_owner("u1")
USER = Origin(Trust.USER)

ON_SQLITE: dict[str, Callable[[], Any]] = {
    **{
        f"a dropped trigger: {name}": lambda name=name: sql(f"DROP TRIGGER $fulltext_{name}")
        for name in ("insert", "delete", "update", "text")
    },
    "an altered trigger": lambda: (
        sql("DROP TRIGGER $fulltext_insert"),
        sql("CREATE TRIGGER $fulltext_insert AFTER INSERT ON $chunktext BEGIN SELECT 1; END"),
    ),
    "a dropped table": lambda: sql("DROP TABLE $fulltext"),
    "another table of its name": lambda: (
        sql("DROP TABLE $fulltext"),
        sql("CREATE VIRTUAL TABLE $fulltext USING fts5(words)"),
    ),
    "missing postings": lambda: sql("INSERT INTO $fulltext($fulltext) VALUES ('delete-all')"),
    "orphan postings": lambda: sql("INSERT INTO $fulltext(rowid, words) VALUES (999999, 'orphan')"),
    "postings of other words": lambda: sql(
        "INSERT INTO $fulltext(rowid, words) SELECT number, 'other' FROM $chunktext"
    ),
}
ON_POSTGRESQL: dict[str, Callable[[], Any]] = {
    "a dropped index": lambda: sql("DROP INDEX $fulltext"),
    "an index on another expression": lambda: (
        sql("DROP INDEX $fulltext"),
        sql(
            "CREATE INDEX $fulltext ON $chunktext "
            "USING gin (array_to_tsvector(string_to_array(terms || md5(text), ' ')))"
        ),
    ),
    "an index on another table": lambda: (
        sql("DROP INDEX $fulltext"),
        sql("CREATE INDEX $fulltext ON $chunk (number)"),
    ),
}
ON_BOTH: dict[str, Callable[[], Any]] = {
    "stale terms": lambda: sql("UPDATE $chunktext SET terms = 'stale'"),
    "no terms": lambda: sql("UPDATE $chunktext SET terms = ''"),
    "another analyser": lambda: sql("UPDATE $chunktext SET analyser = 'prism/0'"),
    "changed text": lambda: sql("UPDATE $chunktext SET text = text || ' albatross'"),
    "a changed heading": lambda: sql("UPDATE $chunktext SET heading = 'albatross'"),
    "a changed title": lambda: sql("UPDATE $source SET title = 'albatross'"),
    "a wrong token": lambda: sql("UPDATE $chunktext SET token = 'aaaaaaaaaa'"),
    "a wrong length": lambda: sql("UPDATE $chunk SET length = length + 1"),
    "a wrong digest of the text": lambda: sql("UPDATE $chunktext SET terms_of = ''"),
}


@pytest.fixture
def memory() -> Memory:
    memory = Memory(ACME)
    memory.ingest("guide", "penguins swim", origin=USER)
    memory.ingest("retired", "ostriches run", origin=USER)
    memory.retire_source("retired")
    Memory(OWNER).record("chat", "penguins dive", origin=USER, speaker="Ann")
    return memory


def faults(vendor: str) -> dict[str, Callable[[], Any]]:
    return {**ON_BOTH, **(ON_SQLITE if vendor == "sqlite" else ON_POSTGRESQL)}


def found(query: str) -> list[tuple[str, float]]:
    return [(hit.chunk.text, hit.score) for hit in Memory(OWNER).search(query)]


FAULTS = sorted({*ON_BOTH, *ON_SQLITE, *ON_POSTGRESQL})


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_reported_and_put_right(memory: Memory, vendor: str, name: str) -> None:
    if name not in faults(vendor):
        pytest.skip(f"{vendor} cannot have {name}.")
    before = found("penguins")
    faults(vendor)[name]()
    planted = stored()
    said = list(repair.problems("default"))
    assert said
    assert all("penguin" not in sentence for sentence in said)
    assert stored() == planted
    assert list(repair.problems("default")) == said
    repair.repair("default")
    assert list(repair.problems("default")) == []
    if name not in {"changed text", "a changed heading", "a changed title"}:
        assert found("penguins") == before
    else:
        assert {text for text, _ in found("albatross")} >= {found("penguins")[0][0]}


def test_a_true_index_is_left_as_it_is(memory: Memory) -> None:
    before = stored()
    assert list(repair.problems("default")) == []
    assert repair.repair("default") == Repaired([], 0, False)
    assert stored() == before


@pytest.mark.parametrize("name", FAULTS)
def test_a_second_repair_has_nothing_to_do(memory: Memory, vendor: str, name: str) -> None:
    if name not in faults(vendor):
        pytest.skip(f"{vendor} cannot have {name}.")
    faults(vendor)[name]()
    done = repair.repair("default")
    assert done.installed or done.analysed or done.rebuilt
    assert repair.repair("default") == Repaired([], 0, False)


def test_all_faults_at_once_are_put_right(memory: Memory, vendor: str) -> None:
    before = {text for text, _ in found("penguins")}
    for name, plant in faults(vendor).items():
        if "trigger" not in name and "table" not in name and "index" not in name:
            plant()
    next(iter((ON_SQLITE if vendor == "sqlite" else ON_POSTGRESQL).values()))()
    repair.repair("default")
    assert list(repair.problems("default")) == []
    assert {text.removesuffix(" albatross") for text, _ in found("penguins")} == before


def test_stale_texts_whose_words_the_index_lost_are_put_right(memory: Memory, vendor: str) -> None:
    if vendor != "sqlite":
        pytest.skip("PostgreSQL's index follows the row itself.")
    before = found("penguins")
    sql("UPDATE $chunktext SET analyser = 'prism/0'")
    sql(f"INSERT INTO {INDEX}({INDEX}) VALUES ('delete-all')")
    assert repair.repair("default") == Repaired([], 3, True)
    assert list(repair.problems("default")) == []
    assert found("penguins") == before


def test_text_written_while_the_triggers_were_missing_is_found_after_a_repair(
    memory: Memory, vendor: str
) -> None:
    if vendor != "sqlite":
        pytest.skip("PostgreSQL's index needs no triggers.")
    for name in ("insert", "delete", "update", "text"):
        sql(f"DROP TRIGGER $fulltext_{name}")
    memory.ingest("new", "albatrosses soar", origin=USER)
    memory.erase("guide")
    assert found("albatrosses") == []
    repair.repair("default")
    assert [text for text, _ in found("albatrosses")] == ["albatrosses soar"]
    assert [text for text, _ in found("penguins")] == ["penguins dive"]
    assert list(repair.problems("default")) == []


def test_an_upgrade_of_the_analyser_is_reported_and_analyses_every_row_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prism_graph.bases import evidence

    for module in (repair, evidence, indexing):
        monkeypatch.setattr(module, "ANALYSER", "prism/next", raising=False)
    monkeypatch.setattr("prism_graph.writing.ANALYSER", "prism/next")
    assert any("prism/next" in sentence for sentence in repair.problems("default"))
    assert repair.repair("default").analysed == 3
    assert list(repair.problems("default")) == []
    assert {row[0] for row in sql("SELECT analyser FROM $chunktext")} == {"prism/next"}


def test_install_names_what_was_missing_and_fills_it(memory: Memory, vendor: str) -> None:
    for statement in engine(connection).remove_sql():
        sql(statement)
    missing = repair.install("default")
    assert len(missing) == (5 if vendor == "sqlite" else 1)
    assert INDEX in missing
    assert [text for text, _ in found("penguins")] != []
    assert repair.install("default") == []


def test_progress_sees_every_row(memory: Memory) -> None:
    seen = []

    def watch(rows: Iterable[Any], total: int) -> Iterable[Any]:
        listed = list(rows)
        seen.append((len(listed), total))
        return listed

    list(repair.problems("default", watch))
    repair.repair("default", watch)
    assert seen == [(3, 3), (3, 3)]


def test_vectors_and_failures_of_a_text_that_was_changed_go_and_are_made_anew(
    memory: Memory,
) -> None:
    with vectors(Choosy()):
        memory.ingest("one", f"An {UNFIT} okapi.", origin=USER)
        memory.embed_pending()
        others = sql("SELECT number, of FROM $embedding ORDER BY number")
        sql("UPDATE $chunktext SET text = 'A heron.' WHERE number = %s", others[0][0])
        sql("UPDATE $chunktext SET text = 'An okapi.' WHERE text = %s", f"An {UNFIT} okapi.")
        assert "1 vectors are of another text than their passage has" in repair.problems("default")
        repair.repair("default")
        assert sql("SELECT number, of FROM $embedding ORDER BY number") == others[1:]
        assert memory.failed() == []
        assert memory.pending() == 2
        assert list(repair.problems("default")) == []
        assert memory.embed_pending() == 2
