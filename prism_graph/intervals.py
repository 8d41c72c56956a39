"""When versions hold: computed from what was said, never stored. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

from prism_graph.policy import FactStatus


@dataclass(frozen=True, slots=True)
class Stated:
    """A version of a fact with its open standing: what was said of its time, and its status since when.

    `contests` is the version whose place it would take, `weakened_at` when it last lost evidence.
    """

    number: int
    valid_from: datetime
    valid_to: datetime | None
    status: FactStatus
    contests: int | None = None
    since: datetime | None = None
    weakened_at: datetime | None = None

    @property
    def weakened(self) -> bool:
        """Whether it has lost evidence since it got its status."""
        lost, since = self.weakened_at, self.since
        return lost is not None and (since is None or since < lost)


@dataclass(frozen=True, slots=True)
class Held:
    """The interval [start, end) in which a version holds; end None is open."""

    number: int
    start: datetime
    end: datetime | None


def held(versions: Iterable[Stated]) -> list[Held]:
    """Return when each accepted version holds, oldest start first; one that never holds is absent.

    Each holds from its start until its stated end or the next one's start, whichever comes first; of equal
    starts the later number holds.
    """
    accepted = sorted(
        (each for each in versions if each.status is FactStatus.ACCEPTED),
        key=lambda each: (each.valid_from, each.number),
    )
    starts = [each.valid_from for each in accepted]
    intervals = (
        Held(each.number, each.valid_from, earliest(each.valid_to, following))
        for each, following in zip_longest(accepted, starts[1:])
    )
    return [each for each in intervals if each.end is None or each.end > each.start]


def earliest(*instants: datetime | None) -> datetime | None:
    """Return the first of these ends; None is later than any."""
    return min((each for each in instants if each is not None), default=None)


def overlaps(interval: Held, start: datetime, end: datetime | None) -> bool:
    """Say whether an interval has an instant in common with [start, end)."""
    begins_in_time = end is None or interval.start < end
    return begins_in_time and (interval.end is None or start < interval.end)


def in_force(intervals: Sequence[Held], at: datetime) -> int | None:
    """Return the version that holds at an instant; there is at most one."""
    for each in intervals:
        if each.start <= at and (each.end is None or at < each.end):
            return each.number
    return None


def contested(
    intervals: Sequence[Held], start: datetime, end: datetime | None, at: datetime
) -> int | None:
    """Return the version whose place a claim of [start, end) would take, as things are at `at`.

    That is the one in force now, or when the claim begins if it lies wholly ahead or behind; else the
    first one that the claim reaches.
    """
    ended = end is not None and end <= at
    there = in_force(intervals, start if ended else max(start, at))
    if there is not None:
        return there
    return next((each.number for each in intervals if overlaps(each, start, end)), None)
