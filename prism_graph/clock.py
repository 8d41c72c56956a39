"""Instants: aware, in UTC, to the microsecond, in one text form."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from prism_graph.errors import InvalidInput

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
_ISO_8601: Final = re.compile(r"[0-9TWZ:+., -]+")

_source: Callable[[], datetime] = lambda: datetime.now(UTC)  # noqa: E731


def now() -> datetime:
    """Return the current instant."""
    return _source()


def parse(value: datetime | str) -> datetime:
    """Return an aware datetime or ISO 8601 text with an offset as an instant in UTC.

    Raises InvalidInput for anything else, naive datetimes included.
    """
    instant = _read(value) if isinstance(value, str) else value
    if not isinstance(instant, datetime):
        raise InvalidInput("Give a time as an aware datetime or as ISO 8601 with an offset.")
    if instant.utcoffset() is None:
        raise InvalidInput("The time has no offset: give an aware datetime.")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("The time lies outside the years 1 to 9999 in UTC.") from None


def _read(text: str) -> datetime | None:
    # fromisoformat() takes any character between date and time, and may read no further than a NUL.
    if _ISO_8601.fullmatch(text) is None:
        return None
    # Not raised from the ValueError, which quotes the text.
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


def render(value: datetime) -> str:
    """Return the instant as `2026-01-01T00:00:00.000000Z`."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def to_microseconds(value: datetime) -> int:
    """Return the whole microseconds from 1970 to the instant."""
    return (value - EPOCH) // MICROSECOND


def from_microseconds(value: int) -> datetime:
    """Return the instant that many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=value)
