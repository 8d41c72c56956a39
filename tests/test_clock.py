from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph import clock
from prism_graph.errors import InvalidInput

instants = st.datetimes(timezones=st.just(UTC))
offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


class TestParse:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01T01:30:00+01:30",
            "2025-12-31T23:00:00-01:00",
            "2026-01-01 00:00+00:00",
            "20260101T000000Z",
        ],
    )
    def test_iso_8601_with_an_offset_is_an_instant_in_utc(self, text):
        assert clock.parse(text) == datetime(2026, 1, 1, tzinfo=UTC)
        assert clock.parse(text).tzinfo is UTC

    @pytest.mark.parametrize(
        "value",
        [
            *("2026-01-01", "2026-01-01T00:00:00", "yesterday", "", " ", "now", "1767225600"),
            *("2026-13-01T00:00Z", "2026-01-01T25:00Z", "\x00", "\ud800", "2026-01-01T00:00Z\x00"),
            *("2026-01-01T00:00Z\x00garbage", "2026-01-01\ud80000:00Z", "2026-01-01x00:00Z"),
            *("9" * 10_000, "2026-01-01T00:00:00Z; DROP TABLE", "0001-01-01T00:00+01:00"),
            *("9999-12-31T23:59:59-01:00", "0000-01-01T00:00Z"),
            *(None, 7, 1767225600.0, True, b"2026-01-01T00:00Z", date(2026, 1, 1), [], object()),
            datetime(2026, 1, 1),
            datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        ],
        ids=lambda value: ascii(value)[:40],
    )
    def test_anything_else_is_refused(self, value):
        with pytest.raises(InvalidInput):
            clock.parse(value)

    def test_a_refusal_does_not_quote_the_value(self):
        with pytest.raises(InvalidInput) as refused:
            clock.parse("my secret")
        assert "secret" not in str(refused.value)

    @given(instants, offsets)
    def test_the_offset_does_not_change_the_instant(self, instant, offset):
        try:
            moved = instant.astimezone(offset)
        except OverflowError:
            return
        assert clock.parse(moved) == clock.parse(moved.isoformat()) == instant


class TestRender:
    def test_it_has_one_width(self):
        assert clock.render(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000000Z"
        assert clock.render(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"

    @given(instants)
    def test_what_it_writes_reads_back(self, instant):
        text = clock.render(instant)
        assert len(text) == 27
        assert clock.parse(text) == instant

    @given(instants, instants)
    def test_texts_sort_as_instants_do(self, one, other):
        assert (clock.render(one) < clock.render(other)) is (one < other)


class TestMicroseconds:
    @given(instants)
    def test_they_count_from_1970_and_back(self, instant):
        assert clock.from_microseconds(clock.to_microseconds(instant)) == instant
        assert clock.to_microseconds(clock.EPOCH) == 0
        assert clock.to_microseconds(clock.EPOCH + clock.MICROSECOND) == 1


def test_now_is_aware_and_in_utc():
    assert clock.now().utcoffset() == timedelta(0)
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
