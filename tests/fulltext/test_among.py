"""The condition that a column is one of many numbers, in one parameter."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import Lookup, Q

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.fulltext import engine
from prism_graph.models import Chunk

pytestmark = pytest.mark.django_db

ACME = Scope("acme")


@pytest.fixture
def numbers() -> list[int]:
    text = "one\n\ntwo\n\nthree\n"
    lines = text.splitlines(keepends=True)
    Memory(ACME).ingest("doc", text, origin=Origin(Trust.USER), chunker=lambda _: lines)
    return list(Chunk.objects.at(ACME).order_by("number").values_list("number", flat=True))


def found(condition: Lookup | Q) -> list[int]:
    rows = Chunk.objects.at(ACME).filter(condition).order_by("number")
    return list(rows.values_list("number", flat=True))


def test_it_is_a_lookup(numbers):
    """From Django 6.1 on anything else is compared with 1 on SQLite, which no index serves."""
    assert isinstance(engine(connection).among("number", numbers), Lookup)


def test_it_finds_those_numbers_alone_and_combines_as_conditions_do(numbers):
    among = engine(connection).among
    assert found(among("number", numbers[:2])) == numbers[:2]
    assert found(among("number", [])) == []
    assert found(among("number", range(10**9, 10**9 + 40_000))) == []
    assert found(~Q(among("number", numbers[:1]))) == numbers[1:]
    assert found(Q(among("number", numbers[:1])) | Q(among("number", numbers[2:3]))) == [
        numbers[0],
        numbers[2],
    ]
