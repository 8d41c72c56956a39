"""What a piece of work costs: counted, or compared between two sizes, never held to a time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """Count the calls, of Python and of C, that the work makes."""
    count = 0

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(work: Callable[[str], object], small: str, large: str) -> float:
    """Return the CPU seconds of the large text over those of the small one, each the least of three."""

    def seconds(text: str) -> float:
        start = process_time()
        work(text)
        return process_time() - start

    return min(seconds(large) for _ in range(3)) / min(seconds(small) for _ in range(3))
