from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import InvalidInput
from prism_graph.records import ChunkView

pytestmark = pytest.mark.django_db

THREAD = Scope("acme", "u1", "support", "chat-1")
USER = Origin(Trust.USER, writer="user:7")
AGENT = Origin(Trust.AGENT, writer="agent:support")
LONG = "".join(f"Sentence number {number} of a long turn. " for number in range(200))


@pytest.fixture
def memory() -> Memory:
    return Memory(THREAD)


def turn(memory: Memory, chunk_id: str) -> ChunkView:
    (view,) = memory.get([chunk_id])
    return view


def test_turns_keep_their_order_and_each_its_own_origin(memory: Memory) -> None:
    said = [("hello", USER, "Ann"), ("hi", AGENT, "Bot"), ("bye", USER, "Ann"), ("bye", USER, "")]
    ids = []
    for text, origin, speaker in said:
        report = memory.record("chat", text, origin=origin, speaker=speaker)
        assert (report.kept, report.retired) == ([], [])
        ids += report.added
    views = memory.get(ids)
    assert [(v.text, Origin(v.trust, v.writer), v.speaker) for v in views] == said
    assert [view.ordinal for view in views] == [0, 1, 2, 3]
    assert [view.recorded_at for view in views] == sorted({view.recorded_at for view in views})
    (source,) = memory.sources()
    assert (source.key, source.kind, source.trust, source.writer) == (
        *("chat", "conversation", None, ""),
    )
    assert {view.source_key for view in views} == {"chat"}


def test_a_turn_without_an_id_gets_one_of_its_own(memory: Memory) -> None:
    ids = [memory.record("chat", "same", origin=USER).added[0] for _ in range(3)]
    turn_ids = {view.turn_id for view in memory.get(ids)}
    assert len(turn_ids) == 3
    assert "" not in turn_ids


def test_the_same_turn_id_stores_the_turn_once_as_first_given(memory: Memory) -> None:
    first = memory.record("chat", "first", origin=USER, turn_id="t-1", speaker="Ann")
    again = memory.record("chat", "other", origin=AGENT, turn_id="t-1", speaker="Bob")
    assert again.source == first.source
    assert (again.added, again.kept, again.retired) == ([], first.added, [])
    view = turn(memory, first.added[0])
    assert (view.text, view.trust, view.speaker, view.turn_id) == (
        *("first", Trust.USER, "Ann", "t-1"),
    )
    assert memory.search("other") == []


def test_a_turn_id_belongs_to_its_conversation_and_scope(memory: Memory) -> None:
    places = [
        (memory, "chat"),
        (memory, "another chat"),
        (Memory(Scope("acme", "u1", "support")), "chat"),
        (Memory(Scope("acme", "u1", "support", "chat-2")), "chat"),
        (Memory(Scope("other")), "chat"),
    ]
    added = [
        where.record(conversation, "text", origin=USER, turn_id="t-1").added
        for where, conversation in places
    ]
    assert all(len(ids) == 1 for ids in added)
    assert len({ids[0] for ids in added}) == 5


def test_turn_ids_are_compared_byte_for_byte(memory: Memory) -> None:
    for turn_id in ("T", "t", "t ", "é", "e\u0301", "t%"):
        assert memory.record("chat", "text", origin=USER, turn_id=turn_id).added


def test_a_long_turn_is_cut_and_stored_once(memory: Memory) -> None:
    before = memory.record("chat", "before", origin=USER)
    report = memory.record("chat", LONG, origin=AGENT, turn_id="long", speaker="Bot")
    after = memory.record("chat", "after", origin=USER)
    parts = memory.get(report.added)
    assert len(parts) > 3
    assert "".join(part.text for part in parts) == LONG
    assert {(p.turn_id, p.speaker, p.trust) for p in parts} == {("long", "Bot", Trust.AGENT)}
    assert [p.ordinal for p in parts] == list(range(1, len(parts) + 1))
    assert turn(memory, before.added[0]).ordinal == 0
    assert turn(memory, after.added[0]).ordinal == len(parts) + 1
    assert memory.record("chat", LONG, origin=AGENT, turn_id="long").kept == report.added


def test_a_turn_is_verbatim_whatever_it_holds(memory: Memory) -> None:
    text = "\r\n# not a heading?\r\n\ufeff\u200b\u202e🇩🇪 e\u0301 \x1b[31m\t \n\n"
    assert turn(memory, memory.record("chat", text, origin=USER).added[0]).text == text


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-01-02T03:04:05+00:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.123456Z", datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)),
        ("2026-01-02T03:04:05-05:00", datetime(2026, 1, 2, 8, 4, 5, tzinfo=UTC)),
        (
            datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=9))),
            datetime(2026, 1, 1, 18, tzinfo=UTC),
        ),
        (datetime(1, 1, 1, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)),
        (
            datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        ),
        (None, None),
    ],
)
def test_when_a_turn_was_said_is_stored_in_utc(
    memory: Memory, given: datetime | str | None, stored: datetime | None
) -> None:
    report = memory.record("chat", "text", origin=USER, occurred_at=given)
    assert turn(memory, report.added[0]).occurred_at == stored


@pytest.mark.parametrize(
    "given",
    [
        *("", "yesterday", "2026-01-02", "2026-01-02T03:04:05", "2026-13-01T00:00:00Z", "1e9"),
        *("0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00", "2026-01-01\ud800", "\x00"),
        *(datetime(2026, 1, 2), 1767323045, 1.5, b"2026-01-02T03:04:05Z", [], object()),
    ],
)
def test_a_time_without_an_offset_and_what_is_no_time_are_refused(
    memory: Memory, given: object
) -> None:
    with pytest.raises(InvalidInput):
        memory.record("chat", "text", origin=USER, occurred_at=given)
    assert memory.sources() == []


def test_a_turn_is_found_by_its_speaker_and_date_and_never_returns_them_as_text(
    memory: Memory,
) -> None:
    said = memory.record(
        *("chat", "We ordered pizza."),
        origin=USER,
        speaker="Wilhelmina",
        occurred_at="2023-05-08T10:00:00Z",
    )
    memory.record("chat", "Something else.", origin=USER, speaker="Bob")
    for query in ("Wilhelmina", "8 May 2023", "2023-05-08"):
        hits = memory.search(query)
        assert hits[0].chunk.id == said.added[0]
        assert hits[0].chunk.text == "We ordered pizza."


def test_what_a_thread_records_is_not_seen_above_or_beside_it(memory: Memory) -> None:
    memory.record("chat", "secret plans", origin=USER)
    for scope in (THREAD.chain[1], THREAD.chain[2], Scope("acme", "u1", "support", "chat-2")):
        assert Memory(scope).search("secret") == []
        assert Memory(scope).sources() == []


def test_a_turn_can_be_derived_from_what_is_visible(memory: Memory) -> None:
    page = memory.record("chat", "page", origin=Origin(Trust.TOOL, "web")).added
    reply = memory.record("chat", "reply", origin=AGENT, derived_from=page)
    view = turn(memory, reply.added[0])
    assert (view.trust, view.origin_trust) == (Trust.TOOL, Trust.AGENT)
