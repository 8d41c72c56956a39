"""Instants as a browser's picker writes them: in UTC, to the second."""

from __future__ import annotations

from datetime import datetime, timedelta

from prism_graph import clock
from prism_graph.errors import InvalidInput

REST_OF_SECOND = timedelta(microseconds=999_999)


def picked(text: str, *, to_the_end: bool = False) -> datetime | None:
    """Return the instant that a field names, None for an empty one; without an offset it is in UTC.

    With `to_the_end` a whole second is its end: what a page says was recorded in it is known by then.
    Raises InvalidInput.
    """
    written = text.strip()
    if not written:
        return None
    offset = written.endswith(("Z", "z")) or "+" in written or "-" in written[10:]
    try:
        instant = clock.parse(written if offset else f"{written}Z")
    except InvalidInput:
        raise InvalidInput("Give an instant in UTC, as in 2026-01-01T00:00:00.") from None
    return instant + REST_OF_SECOND if to_the_end and not instant.microsecond else instant
