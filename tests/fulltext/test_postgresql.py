"""What only PostgreSQL has: statistics that show content, a planner, a search inside a transaction."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.fulltext import engine
from prism_graph.models import Chunk, ChunkText, Source
from prism_graph.transactions import write_block
from tests.rawsql import INDEX, TABLES, sql

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
USER = Origin(Trust.USER)


@pytest.fixture(autouse=True)
def _only_on_postgresql(vendor: str) -> None:
    if vendor != "postgresql":
        pytest.skip("PostgreSQL's own statistics and planner.")


def statistics() -> str:
    rows = sql(
        "SELECT tablename, attname, most_common_vals::text, histogram_bounds::text, "
        "most_common_elems::text FROM pg_stats WHERE tablename = ANY(%s) OR tablename = %s",
        [*TABLES],
        INDEX,
    )
    return repr(rows)


def test_no_statistics_hold_content_or_its_digests() -> None:
    memory = Memory(ACME)
    for number in range(20):
        memory.ingest(
            f"keycanary{number}",
            f"textcanary{number} is here",
            origin=USER,
            uri=f"uricanary{number}",
            title=f"titlecanary{number}",
            metadata={"a": f"metadatacanary{number}"},
        )
        memory.record(
            "chat",
            f"# headingcanary{number}\n\n" + f"turncanary{number} " * 300,
            origin=USER,
            speaker=f"speakercanary{number}",
            turn_id=f"idcanary{number}",
        )
    sql("ANALYZE")
    known = statistics()
    assert "tenant" in known
    assert "canary" not in known
    secrets = [*Source.objects.at(ACME).values_list("key_digest", flat=True)]
    secrets += Chunk.objects.at(ACME).values_list("digest", flat=True)
    secrets += Chunk.objects.at(ACME).values_list("turn_digest", flat=True)
    secrets += ChunkText.objects.at(ACME).values_list("terms_of", flat=True)
    assert not [secret for secret in secrets if secret and secret in known]


def test_a_search_gives_the_callers_planner_settings_back() -> None:
    Memory(ACME).ingest("guide", "penguins swim", origin=USER)
    names = ("enable_seqscan", "jit")
    show = lambda: [sql(f"SHOW {name}") for name in names]  # noqa: E731
    for wanted in ("on", "off"):
        with transaction.atomic():
            for name in names:
                sql(f"SET LOCAL {name} = {wanted}")
            before = show()
            assert Memory(ACME).search("penguins")
            assert show() == before
            with pytest.raises(TypeError):
                fail_while_reading()
            assert show() == before


def fail_while_reading() -> None:
    with engine(connection).reading():
        raise TypeError


def test_what_the_caller_wrote_before_a_search_is_kept() -> None:
    with transaction.atomic():
        Memory(ACME).ingest("guide", "penguins swim", origin=USER)
        assert len(Memory(ACME).search("penguins")) == 1
    assert len(Memory(ACME).search("penguins")) == 1


def test_a_large_write_leaves_no_pending_list() -> None:
    many = [f"passage number {number}\n" for number in range(300)]
    Memory(ACME).ingest("many", "".join(many), origin=USER, chunker=lambda text: many)
    sql("SELECT gin_clean_pending_list('$fulltext')")
    Memory(ACME).ingest("more", "".join(many), origin=USER, chunker=lambda text: many)
    assert sql("SELECT gin_clean_pending_list('$fulltext')") == [(0,)]


def test_small_writes_leave_a_short_pending_list() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    many = [f"{number} {words}\n" for number in range(190)]
    for number in range(6):
        Memory(ACME).ingest(f"d{number}", "".join(many), origin=USER, chunker=lambda text: many)
    (pages,) = sql("SELECT gin_clean_pending_list('$fulltext')")[0]
    assert 0 < pages * 8 <= 520


LIMIT = "SHOW gin_pending_list_limit"


def test_a_write_gives_the_callers_pending_list_limit_back() -> None:
    many = [f"passage number {number}\n" for number in range(300)]
    for wanted in ("4MB", "3MB"):
        with transaction.atomic():
            sql(f"SET LOCAL gin_pending_list_limit = '{wanted}'")
            Memory(ACME).record("chat", "penguins swim", origin=USER)
            assert sql(LIMIT) == [(wanted,)]
            Memory(ACME).ingest(wanted, "".join(many), origin=USER, chunker=lambda text: many)
            Memory(ACME).ingest(
                wanted, "".join(many), origin=USER, title="a", chunker=lambda _: many
            )
            assert sql(LIMIT) == [(wanted,)]
            with pytest.raises(TypeError), write_block("default"), engine(connection).loading(300):
                raise TypeError
            assert sql(LIMIT) == [(wanted,)]


def test_only_a_role_that_can_merge_it_lets_the_pending_list_grow() -> None:
    with transaction.atomic(), engine(connection).loading(300):
        assert sql(LIMIT) == [("2MB",)]
    with transaction.atomic():
        sql("CREATE ROLE serving")
        sql("SET LOCAL ROLE serving")
        with engine(connection).loading(300):
            assert sql(LIMIT) == [("512kB",)]


def test_a_search_uses_the_index() -> None:
    from prism_graph.fulltext.postgresql import POSTINGS

    many = [f"passage number {number}\n" for number in range(300)]
    Memory(ACME).ingest("many", "".join(many), origin=USER, chunker=lambda text: many)
    with engine(connection).reading():
        plan = sql(f"EXPLAIN {POSTINGS}", "acme", [f"'{ACME.token}passag'"])
    assert INDEX in repr(plan)
