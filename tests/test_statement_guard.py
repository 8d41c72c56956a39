"""The guard itself: what it catches, what it lets through, and that it looked at every table."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef
from django.db.models.query import QuerySet

from prism_graph import Memory, Scope
from prism_graph.fulltext.sqlite import POSTINGS
from prism_graph.models import Chunk, ChunkText, Source
from prism_graph.tables import named
from tests import conftest
from tests.planting import ASIDE, MINE, MODELS, SECRET, plant, plant_again, row_of
from tests.statement_guard import EXCEPTIONS, UnscopedStatement, check, guard, seen, unguarded

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def test_it_stands_around_every_connection():
    assert guard in conftest.STATEMENT_GUARDS
    assert guard in connection.execute_wrappers


@pytest.mark.django_db
class TestWhatDjangoWrites:
    @pytest.fixture(autouse=True)
    def world(self) -> None:
        plant_again(MINE, *ASIDE)

    @each_model
    def test_a_plain_queryset_is_caught(self, model):
        ways: list[Any] = [
            list,
            lambda rows: rows.count(),
            lambda rows: rows.exists(),
            lambda rows: rows.first(),
            lambda rows: list(rows.filter(owner=MINE.owner)),
            lambda rows: list(rows.filter(tenant__in=["acme", "globex"])),
            lambda rows: list(rows.filter(tenant__startswith="acme")),
            lambda rows: list(rows.exclude(tenant="globex").values("pk")),
            lambda rows: list(rows.filter(tenant="acme").union(rows.all())),
            lambda rows: rows.aggregate(Count("pk")),
            lambda rows: rows.update(tenant="acme"),
            lambda rows: rows.filter(pk=row_of(model, MINE).pk).update(tenant="acme"),
            lambda rows: rows.filter(owner="nobody")._raw_delete("default"),
            lambda rows: list(
                Source.objects.at(MINE).filter(Exists(rows.filter(pk=OuterRef("pk"))))
            ),
            lambda rows: list(Source.objects.at(MINE).filter(id__in=rows.values("pk"))),
        ]
        passed = []
        for place, way in enumerate(ways):
            try:
                with transaction.atomic():
                    way(QuerySet(model))
            except UnscopedStatement:
                continue
            passed.append(place)
        assert passed == []

    @each_model
    def test_every_door_passes(self, model, settings):
        for rows in (model.objects.at(MINE), model.objects.visible_to(MINE)):
            assert list(rows)
            assert rows.count()
            assert rows.filter(pk__in=rows.values("pk")).exists()
            assert list(rows.union(rows.filter(pk=None)))
            assert rows.annotate(found=Exists(rows.filter(pk=OuterRef("pk")))).aggregate(
                Count("pk")
            )
        assert list(ChunkText.objects.at(MINE).select_related("chunk__source"))
        assert not ChunkText.objects.at(MINE).filter(chunk__source__key="none").delete()[0]

    @each_model
    def test_the_system_door_passes_and_nothing_after_it(self, model):
        rows = model.objects.system("look at all")
        assert rows.count() == len(rows) == len(list(rows.iterator()))
        assert rows.aggregate(found=Count("pk"))["found"] == len(rows.distinct())
        assert rows.filter(pk=rows[0].pk).exists()
        with pytest.raises(UnscopedStatement):
            list(QuerySet(model))

    def test_a_system_subquery_does_not_excuse_the_query_around_it(self):
        everywhere = Chunk.objects.system("look at all").values("id")
        with pytest.raises(UnscopedStatement):
            list(QuerySet(Chunk).filter(id__in=everywhere))
        with pytest.raises(UnscopedStatement):
            list(Chunk.objects.at(MINE).filter(id__in=everywhere))


CAUGHT = [
    "SELECT * FROM prism_graph_chunk",
    'select * from "prism_graph_chunk" where "tenant" <> %s',
    "SELECT * FROM prism_graph_chunk WHERE tenant = 'acme'",
    "SELECT * FROM prism_graph_chunk WHERE tenant LIKE %s",
    "SELECT * FROM prism_graph_chunk WHERE tenant IN (%s)",
    "SELECT * FROM prism_graph_chunk WHERE subtenant = %s",
    "SELECT * FROM prism_graph_chunk WHERE other.tenant = %s",
    "SELECT * FROM prism_graph_chunk WHERE token = %s",
    "SELECT * FROM prism_graph_chunk, prism_graph_source WHERE prism_graph_chunk.tenant = %s",
    "SELECT * FROM prism_graph_chunk c JOIN prism_graph_source s ON c.number = s.number WHERE c.tenant = %s",
    "SELECT 1 FROM prism_graph_chunk WHERE tenant = %s UNION ALL SELECT 1 FROM prism_graph_chunk",
    "INSERT INTO prism_graph_chunk (id, owner) VALUES (%s, %s)",
    "INSERT INTO prism_graph_chunk SELECT * FROM prism_graph_chunk WHERE tenant = %s",
    "INSERT INTO prism_graph_chunk (tenant) SELECT tenant FROM prism_graph_source",
    "UPDATE prism_graph_chunk SET tenant = %s",
    "UPDATE prism_graph_chunk SET tenant = %s WHERE id = %s",
    "DELETE FROM prism_graph_chunk WHERE id = %s",
    "COPY prism_graph_chunk (id, owner) FROM STDIN",
    "COPY prism_graph_chunk TO STDOUT",
    "SELECT rowid FROM prism_graph_fulltext",
    "SELECT * FROM prism_graph_chunk WHERE NOT (tenant = %s)",
    "SELECT * FROM prism_graph_chunk WHERE tenant = %s OR 1 = 1",
    "SELECT * FROM prism_graph_chunk WHERE (tenant = %s AND owner = %s) OR owner = %s",
    "SELECT * FROM prism_graph_chunk c WHERE ((c.tenant = %s AND c.id = %s) OR (c.id = %s))",
    "SELECT * FROM prism_graph_chunk c JOIN prism_graph_source s ON (c.tenant = s.tenant)",
    (
        "SELECT 1 FROM prism_graph_chunk c JOIN prism_graph_source s "
        "ON (c.tenant = s.tenant OR 1) WHERE c.tenant = %s"
    ),
    "DELETE FROM prism_graph_chunk WHERE id IN (SELECT id FROM prism_graph_chunk U0 WHERE U0.tenant = %s)",
    "SELECT * FROM prism_graph_chunk WHERE NOT (id = %s AND (tenant = %s))",
    "EXPLAIN SELECT * FROM prism_graph_chunk",
    "SELECT number, token, terms FROM prism_graph_chunktext WHERE terms <> '' OR 1 = 1",
]
LET_THROUGH = [
    "SELECT 1",
    "SELECT * FROM auth_user",
    "SELECT seq FROM sqlite_sequence WHERE name = %s",
    "SELECT * FROM prism_graph_chunk WHERE tenant = %s",
    "SELECT 1 FROM prism_graph_chunk c JOIN prism_graph_source s ON c.tenant = s.tenant WHERE c.tenant = %s",
    " UNION ALL ".join(["SELECT 1 FROM prism_graph_chunk WHERE tenant = %s"] * 2),
    "INSERT INTO prism_graph_chunk (id, tenant) VALUES (%s, %s)",
    "UPDATE prism_graph_chunk SET length = %s WHERE tenant = %s",
    "SELECT * FROM prism_graph_chunk WHERE (tenant = %s AND owner = %s) OR (tenant = %s AND owner = %s)",
    "SELECT * FROM prism_graph_chunk c WHERE (c.tenant = %s AND (c.owner = %s OR c.id IS NULL)) LIMIT 1",
    "SELECT 1 FROM prism_graph_chunk c WHERE c.tenant = %s AND NOT (c.tenant = %s OR c.id = %s) ORDER BY 1",
    "COPY prism_graph_chunk (id, tenant) FROM STDIN",
    "ALTER TABLE prism_graph_chunk ADD COLUMN extra integer",
    'INSERT INTO "new__prism_graph_chunk" ("id") SELECT "id" FROM "prism_graph_chunk"',
]


class TestWhatIsWrittenByHand:
    @pytest.mark.parametrize("statement", CAUGHT)
    def test_it_is_caught_without_its_scope(self, statement):
        with pytest.raises(UnscopedStatement):
            check(statement, ["x", "y"])
        with unguarded("to see that it can be"):
            check(statement, ["x", "y"])

    @pytest.mark.parametrize("statement", LET_THROUGH)
    def test_it_passes_with_it(self, statement):
        check(statement, ["x", "y"])

    def test_full_text_is_asked_under_tokens_only(self):
        statement = named(POSTINGS)
        one, other = (scope.token for scope in (MINE, ASIDE[0]))
        for query in (f'"{one}word"', f'"{one}word" OR "{other}word"*', f'"{one}a""b"'):
            check(statement, [0, query])
        for query in (
            "word",
            '"word"',
            f'"{one}word" OR "word"',
            f"{one}word",
            f'"{one}x" OR *',
            "",
        ):
            with pytest.raises(UnscopedStatement):
                check(statement, [0, query])

    def test_full_text_excuses_no_table_beside_it(self):
        with pytest.raises(UnscopedStatement):
            check(
                "SELECT 1 FROM prism_graph_fulltext JOIN prism_graph_chunk ON number = rowid "
                "WHERE prism_graph_fulltext MATCH %s",
                [f'"{MINE.token}word"'],
            )

    def test_every_exception_says_why(self):
        assert all(EXCEPTIONS.values())


@pytest.mark.django_db
def test_it_saw_statements_of_every_table():
    before = dict(seen)
    plant(MINE)
    memory = Memory(MINE)
    assert memory.search(SECRET)
    memory.erase("doc-1")
    for model in MODELS:
        list(model.objects.at(MINE))
    looked = {table for table in seen if seen[table] > before.get(table, 0)}
    assert {model._meta.db_table for model in MODELS} <= looked
    if connection.vendor == "sqlite":
        assert "prism_graph_fulltext" in looked


@pytest.mark.django_db
def test_it_watches_the_driver_s_copy():
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no COPY")
    with connection.cursor() as cursor, pytest.raises(UnscopedStatement):
        cursor.copy("COPY prism_graph_chunk (id) FROM STDIN")


@pytest.mark.django_db
def test_memory_names_its_scope_in_every_statement():
    plant(Scope("acme"))
    plant(MINE)
    memory = Memory(MINE)
    found = memory.search(SECRET, neighbours=1, phrases=[SECRET], metadata={"kind": SECRET})
    memory.search(
        SECRET, sources=["doc-1"], since="2020-01-01T00:00Z", known_at="2100-01-01T00:00Z"
    )
    memory.get(found)
    memory.sources(retired=True)
    memory.retire_source("summary")
    memory.erase_turn("chat", "turn-1")
    memory.erase("doc-1")
