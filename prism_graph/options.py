"""What a search may be told besides the query, checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from prism_graph import limits
from prism_graph.errors import InvalidInput, LimitExceeded
from prism_graph.trust import Trust

MAX_LIMIT: Final = 100
MAX_NEIGHBOURS: Final = 10
MAX_PHRASES: Final = 10
MAX_PHRASE: Final = 1000
MAX_KEYS: Final = 100


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a search, each in one form. See Memory.search."""

    limit: int
    known_at: datetime | None
    phrases: tuple[str, ...]
    min_trust: Trust | None
    sources: tuple[str, ...] | None
    since: datetime | None
    until: datetime | None
    metadata: Mapping[str, Any] | None
    neighbours: int
    explain: bool

    @classmethod
    def checked(
        cls,
        *,
        limit: int,
        known_at: datetime | str | None,
        phrases: Iterable[str],
        min_trust: Trust | None,
        sources: Iterable[str] | None,
        since: datetime | str | None,
        until: datetime | str | None,
        metadata: Mapping[str, Any] | None,
        neighbours: int,
        explain: bool,
    ) -> Options:
        """Return the options. Raises InvalidInput or LimitExceeded."""
        if min_trust is not None and not isinstance(min_trust, Trust):
            raise InvalidInput("min_trust must be a prism_graph.Trust.")
        return cls(
            limit=_whole("limit", limit, 1, MAX_LIMIT),
            known_at=limits.check_instant(known_at, "known_at"),
            phrases=_texts("phrases", phrases, MAX_PHRASES, MAX_PHRASE),
            min_trust=min_trust,
            sources=None
            if sources is None
            else _texts("sources", sources, MAX_KEYS, limits.MAX_KEY),
            since=limits.check_instant(since, "since"),
            until=limits.check_instant(until, "until"),
            metadata=None if metadata is None else limits.check_metadata(metadata),
            neighbours=_whole("neighbours", neighbours, 0, MAX_NEIGHBOURS),
            explain=bool(explain),
        )


def _whole(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number.")
    if not least <= value <= most:
        raise LimitExceeded(f"{name} must be {least} to {most}.")
    return value


def _texts(name: str, given: Iterable[str], most: int, longest: int) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"Give {name} as a list of text.")
    listed = tuple(item for item, _ in zip(given, range(most + 1), strict=False))
    if not all(isinstance(item, str) for item in listed):
        raise InvalidInput(f"Give {name} as a list of text.")
    if len(listed) > most or any(len(item) > longest for item in listed):
        raise LimitExceeded(f"{name} takes at most {most} texts of {longest} characters.")
    return listed
