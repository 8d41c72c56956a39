"""A fact over both clocks as an SVG drawing: valid time across, recorded time down. Pure geometry.

Every instant at which anything begins or ends has its own line, and the space between two lines is the
same wherever they are: what happened within a second can be read beside what lasted for years.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from prism_graph.policy import FactStatus
from prism_graph.review import Area

LEFT: Final = 150
TOP: Final = 44
# Fits beside the admin's sidebar in a window of 1,200 px.
WIDTH: Final = 810
ROW: Final = 36
LEAST_COLUMN: Final = 74
# Lines that fit on a page; what lies beyond is in the table below the drawing.
MAX_LINES: Final = 60


@dataclass(frozen=True, slots=True)
class Box:
    """An area in the drawing's units."""

    version: int
    status: FactStatus
    x: float
    y: float
    width: float
    height: float
    open_ended: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line at an instant, labelled or not."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that the template draws."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    columns: tuple[Line, ...]
    rows: tuple[Line, ...]
    at: float | None
    known_at: float | None


@dataclass(frozen=True, slots=True)
class _Scale:
    """Places on one axis: the same room between any two instants, before the first and after the last."""

    instants: Sequence[datetime]
    start: float
    room: float

    def of(self, instant: datetime | None) -> float:
        """Return the place of an instant; None is the end of the axis."""
        if instant is None:
            return self.end
        after = bisect_right(self.instants, instant)
        if after == 0:
            return self.start
        if after == len(self.instants):
            past = self.instants[-1] < instant
            return self.start + self.room * (after + (0.5 if past else 0.0))
        before, following = self.instants[after - 1], self.instants[after]
        part = (instant - before) / (following - before)
        return self.start + self.room * (after + part)

    @property
    def end(self) -> float:
        """The end of the axis."""
        return self.start + self.room * (len(self.instants) + 1)


def draw(
    areas: Sequence[Area], at: datetime | None = None, known_at: datetime | None = None
) -> Drawing:
    """Return the drawing of a fact's areas, with a line at each of two instants if they are given."""
    across = _lines(each for area in areas for each in (area.valid_from, area.valid_to))
    down = _lines(each for area in areas for each in (area.known_from, area.known_to))
    room = max(LEAST_COLUMN, (WIDTH - LEFT) / (len(across) + 1))
    x, y = _Scale(across, LEFT, room), _Scale(down, TOP, ROW)
    boxes = [
        Box(
            version=area.version,
            status=area.status,
            x=x.of(area.valid_from),
            y=y.of(area.known_from),
            width=x.of(area.valid_to) - x.of(area.valid_from),
            height=y.of(area.known_to) - y.of(area.known_from),
            open_ended=area.valid_to is None,
        )
        for area in areas
    ]
    # What lies wholly before the first line has no room.
    boxes = [box for box in boxes if box.width > 0 and box.height > 0]
    # What waits lies over what holds.
    boxes.sort(key=lambda box: (box.status is not FactStatus.ACCEPTED, box.version))
    return Drawing(
        width=x.end,
        height=y.end,
        boxes=tuple(boxes),
        columns=tuple(Line(x.of(each), each.strftime("%Y-%m-%d")) for each in across),
        rows=tuple(Line(y.of(each), _label(each)) for each in down),
        at=None if at is None else x.of(at),
        known_at=None if known_at is None else y.of(known_at),
    )


def _label(instant: datetime) -> str:
    """Return an instant to the millisecond, which whole seconds do without."""
    return instant.isoformat(" ", "milliseconds" if instant.microsecond else "seconds")[:23].split(
        "+"
    )[0]


def _lines(instants: Iterable[datetime | None]) -> list[datetime]:
    return sorted({each for each in instants if each is not None})[-MAX_LINES:]
