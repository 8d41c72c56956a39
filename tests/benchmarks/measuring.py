"""What the benchmark programs share: databases, clocks and tables."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence


def start(vendor: str) -> None:
    """Set Django up on two new databases of one vendor: `default` and `small`."""
    os.environ["PRISM_TEST_DATABASE"] = vendor
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.settings"
    import django
    from django.db import connections

    django.setup()
    for alias in connections:
        connections[alias].creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)


def stop() -> None:
    """Remove the databases."""
    from django.db import connections

    for alias in connections:
        connections[alias].close()
        connections[alias].creation.destroy_test_db(
            str(connections[alias].settings_dict["NAME"]), verbosity=0
        )


def run(parts: Mapping[str, Callable[[str], None]]) -> None:
    """Run the parts that the command line names, or all: VENDOR [PART …]."""
    vendor, *names = sys.argv[1:]
    start(vendor)
    try:
        for name in names or parts:
            parts[name](vendor)
    finally:
        stop()


def milliseconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def interleaved(
    calls: dict[str, Callable[[str], object]], inputs: Sequence[str], rounds: int
) -> dict[str, list[list[float]]]:
    """Time every call on every input, one after the other, round by round."""
    times: dict[str, list[list[float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name in calls:
            times[name].append([])
        for value in inputs:
            for name, call in calls.items():
                times[name][-1].append(milliseconds(lambda call=call, value=value: call(value)))
    return times


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def median_of_rounds(rounds: Sequence[Sequence[float]], share: float) -> float:
    """Return the median over rounds of each round's percentile."""
    return statistics.median(percentile(each, share) for each in rounds)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        cells = (f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row)
        print(f"| {' | '.join(cells)} |")
    sys.stdout.flush()
