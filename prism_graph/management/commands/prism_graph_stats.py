"""`manage.py prism_graph_stats`: how much memory holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.template.defaultfilters import filesizeformat

from prism_graph.management.base import Answer, MemoryCommand
from prism_graph.stats import stats

# The columns of the table of tenants: a heading, and where its number stands.
COLUMNS = {
    "scopes": ("scopes",),
    "sources": ("sources", "all"),
    "in search": ("chunks", "in_search"),
    "retired": ("chunks", "retired"),
    "vectors": ("vectors", "all"),
    "facts": ("facts",),
    "waiting": ("waiting",),
    "receipts": ("receipts",),
}


class Command(MemoryCommand):
    """Print counts, overall and by tenant; no stored content."""

    help = "Count what memory holds, overall and by tenant. Prints no content but tenants' names."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --tenant."""
        super().add_arguments(parser)
        parser.add_argument("--tenant", help="Count this tenant only.")

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Count."""
        self.refuse_unknown_tenant(using, options["tenant"])
        return {"database": using, **asdict(stats(using, options["tenant"]))}

    def show(self, answer: Answer) -> None:
        """Print the totals, and a line for each tenant."""
        size = answer["index_bytes"]
        # Django puts a space there that an ASCII terminal lacks.
        told = "unknown" if size is None else filesizeformat(size).replace("\xa0", " ")
        self.say(f"Database {answer['database']}")
        self.say(f"  {'index on words':<32}{told:>14}")
        for name, count in _lines(answer["total"]):
            self.say(f"  {name:<32}{count:>14,}")
        if answer["tenants"]:
            self._show_tenants(answer["tenants"])

    def _show_tenants(self, tenants: Mapping[str, Any]) -> None:
        self.say("")
        self.say("".join(f"{name:>10}" for name in COLUMNS) + "  tenant")
        for tenant, counts in tenants.items():
            numbers = (_at(counts, path) for path in COLUMNS.values())
            self.say("".join(f"{number:>10,}" for number in numbers) + f"  {tenant}")


def _at(counts: Any, path: tuple[str, ...]) -> int:
    for name in path:
        counts = counts[name]
    return int(counts)


def _lines(counts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, int]]:
    for name, value in counts.items():
        said = f"{above}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _lines(value, f"{said}: ")
        else:
            yield said, value
