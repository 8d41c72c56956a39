"""The drawing of a fact over both clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prism_graph.admin.drawing import LEFT, MAX_LINES, ROW, TOP, draw
from prism_graph.policy import FactStatus
from prism_graph.review import Area

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def area(version: int, valid: tuple, known: tuple, status=FactStatus.ACCEPTED) -> Area:
    return Area(version, status, *valid, *known)


ONE = area(1, (day(0), None), (day(0), day(5)))
CUT = area(1, (day(0), day(3)), (day(5), None))
NEXT = area(2, (day(3), None), (day(5), None))


def test_boxes_touch_where_one_version_follows_another():
    boxes = {(box.version, box.y): box for box in draw([ONE, CUT, NEXT]).boxes}
    first, cut, following = boxes[1, TOP + ROW], boxes[1, TOP + 2 * ROW], boxes[2, TOP + 2 * ROW]
    assert cut.x + cut.width == pytest.approx(following.x)
    assert first.y + first.height == cut.y
    assert first.x + first.width == following.x + following.width


def test_every_box_lies_within_the_drawing():
    drawing = draw([ONE, CUT, NEXT])
    for box in drawing.boxes:
        assert LEFT <= box.x < box.x + box.width <= drawing.width
        assert TOP <= box.y < box.y + box.height <= drawing.height


def test_there_is_a_labelled_line_for_every_instant():
    drawing = draw([ONE, CUT, NEXT])
    assert [line.label for line in drawing.columns] == ["2026-01-01", "2026-01-04"]
    assert [line.label[:10] for line in drawing.rows] == ["2026-01-01", "2026-01-06"]


@pytest.mark.parametrize(
    ("at", "between"), [(day(-1), (0, 0)), (day(1), (0, 1)), (day(3), (1, 1)), (day(9), (1, 9))]
)
def test_the_instant_asked_for_lies_where_it_belongs(at, between):
    drawing = draw([ONE, CUT, NEXT], at=at)
    lines = [line.at for line in drawing.columns] + [drawing.width] * 9
    first, second = (lines[place] for place in between)
    if at < START:
        assert drawing.at == LEFT
    else:
        assert first <= drawing.at <= second


def test_nothing_asked_for_draws_no_line():
    drawing = draw([ONE])
    assert (drawing.at, drawing.known_at) == (None, None)


def test_what_waits_lies_over_what_holds():
    waiting = area(2, (day(1), None), (day(1), None), FactStatus.PROPOSAL)
    assert [box.version for box in draw([waiting, ONE]).boxes] == [1, 2]


def test_a_long_history_is_drawn_from_its_newest_lines():
    areas = [area(n, (day(n), None), (day(n), day(n + 1))) for n in range(500)]
    drawing = draw(areas)
    assert len(drawing.columns) == len(drawing.rows) == MAX_LINES
    assert all(box.width >= 0 and box.height >= 0 for box in drawing.boxes)


def test_nothing_is_drawn_of_nothing():
    assert draw([]).boxes == ()
