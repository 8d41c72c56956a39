"""`manage.py prism_graph_embed`: the vectors that chunks wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from prism_graph import backlog, conf
from prism_graph.errors import InvalidInput
from prism_graph.management.base import ABSENT, Answer, MemoryCommand, spelt
from prism_graph.management.jsonable import jsonable


class Command(MemoryCommand):
    """Make the vectors that are waited for, or say what waits and what failed."""

    help = (
        "Make the vectors that passages wait for, in all scopes or in one and those below it. Exits with 1 "
        "if a passage got none or still waits. --status only tells. Prints no content."
    )
    unit = "scopes"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the scope, --status and --retry."""
        super().add_arguments(parser)
        parser.add_argument("--tenant", help="This tenant only; without it, all.")
        for name in ABSENT:
            parser.add_argument(f"--{name}", help=f"Of it this {name} only, and what lies below.")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--status",
            action="store_true",
            help="Change nothing; say what waits, what failed and why.",
        )
        what.add_argument(
            "--retry", action="store_true", help="Try again what failed, beside what waits."
        )

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Embed, or tell."""
        if not conf.vectors_wanted():
            raise InvalidInput(
                "PRISM_GRAPH names no VECTORS and EMBEDDER: there is nothing to embed."
            )
        only = self._only(options)
        self.refuse_unknown_tenant(using, only.get("tenant"))
        if options["status"]:
            return {"status": True, **_status(using, only)}
        done = backlog.work_off(
            using,
            only,
            retry=options["retry"],
            say=lambda said: self.say(said, self.style.WARNING, self.stderr),
            progress=self.progress,
        )
        return {"status": False, **asdict(done)}

    def _only(self, options: Mapping[str, Any]) -> dict[str, str]:
        if all(options[name] is None for name in ("tenant", *ABSENT)):
            return {}
        if options["tenant"] is None:
            raise InvalidInput("Name the --tenant as well.")
        return {name: part for name, part in self.scope_of(options).columns.items() if part}

    def failed(self, answer: Answer) -> bool:
        """Say whether a passage got no vector or still waits; with --status, whether anything failed."""
        if answer["status"]:
            return bool(answer["failures"] or answer["outages"])
        return bool(answer["failed"] or answer["pending"])

    def show(self, answer: Answer) -> None:
        """Print what was done, or what waits."""
        if answer["status"]:
            self._show_status(answer)
            return
        self.say(f"Made {answer['made']:,} vectors.", self.style.SUCCESS)
        if answer["failed"]:
            self.say(f"{answer['failed']:,} passages got none: see --status.", self.style.ERROR)
        if answer["pending"]:
            self.say(f"{answer['pending']:,} passages still wait.", self.style.ERROR)

    def _show_status(self, answer: Answer) -> None:
        if not answer["tenants"]:
            self.say("Nothing waits, and nothing failed.", self.style.SUCCESS)
        else:
            self.say(f"{'pending':>10}{'failed':>10}  tenant")
        for tenant, counts in answer["tenants"].items():
            self.say(f"{counts['pending']:>10,}{counts['failed']:>10,}  {tenant}")
        for each in answer["failures"]:
            tries = f"{each['attempts']} attempts, the last {each['failed_at']}"
            self.say(
                f"{each['id']}: {each['reason']} ({tries}; {each['embedder']})", self.style.ERROR
            )
        for each in answer["outages"]:
            times = f"{each['failures']} times, last {each['failed_at']}"
            where = f"{spelt(each['scope'])}, {each['embedder']}"
            self.say(f"Not reached {times}: {where}. {each['reason']}", self.style.ERROR)


def _status(using: str, only: Mapping[str, str]) -> dict[str, Any]:
    outages = [
        {**jsonable(each), "scope": each.scope.columns} for each in backlog.outages(using, only)
    ]
    return {
        "tenants": backlog.by_tenant(backlog.waiting(using, only)),
        "failures": jsonable(list(backlog.failures(using, only))),
        "outages": outages,
    }
