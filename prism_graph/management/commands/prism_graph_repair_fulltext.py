"""`manage.py prism_graph_repair_fulltext`: make the index on words true again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.db import connections

from prism_graph import repair
from prism_graph.fulltext import engine
from prism_graph.management.base import Answer, MemoryCommand


class Command(MemoryCommand):
    """Repair, check, or print the statements."""

    help = (
        "Install what is missing of the full-text index, analyse stale passages again and rebuild "
        "what differs from the rows. Run it after raw SQL, a restore, or an upgrade of the analyser."
    )
    unit = "passages"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --check and --sql."""
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--check",
            action="store_true",
            help="Change nothing; say what is wrong and exit with 1 if anything is.",
        )
        what.add_argument(
            "--sql",
            action="store_true",
            help="Change nothing; print the statements that install the index.",
        )

    def refuse_without_tables(self, using: str) -> None:
        """Leave it to `answer`: the statements can be printed before there are tables."""

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Do what the options say."""
        if options["sql"]:
            return {"statements": engine(connections[using]).wanted_sql()}
        super().refuse_without_tables(using)
        if options["check"]:
            return {"problems": list(repair.problems(using, self.progress))}
        return asdict(repair.repair(using, self.progress))

    def failed(self, answer: Answer) -> bool:
        """Say whether --check found anything."""
        return bool(answer.get("problems"))

    def show(self, answer: Answer) -> None:
        """Print the statements, the problems, or what was done."""
        if "statements" in answer:
            for statement in answer["statements"]:
                self.stdout.write(f"{statement};")
        elif "problems" in answer:
            for problem in answer["problems"]:
                self.say(problem, self.style.ERROR)
            if not answer["problems"]:
                self.say("The full-text index is true.", self.style.SUCCESS)
        else:
            self._show_repair(**answer)

    def _show_repair(self, installed: list[str], analysed: int, rebuilt: bool) -> None:
        for name in installed:
            self.say(f"Installed {name}.")
        self.say(f"Analysed again: {analysed}.")
        if rebuilt:
            self.say("Rebuilt the index.")
        elif not analysed:
            self.say("The index was true.")
