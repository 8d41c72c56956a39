"""`manage.py prism_graph_repair_fulltext`: make the index on words true again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connections
from tqdm import tqdm

from prism_graph import repair
from prism_graph.fulltext import engine
from prism_graph.models import ChunkText


class Command(BaseCommand):
    """Repair, check, or print the statements."""

    help = (
        "Install what is missing of the full-text index, analyse stale passages again and rebuild "
        "what differs from the rows. Run it after raw SQL, a restore, or an upgrade of the analyser."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --database, --check and --sql."""
        parser.add_argument(
            "--database",
            default=DEFAULT_DB_ALIAS,
            choices=tuple(connections),
            help="Alias of the database.",
        )
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

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the options say."""
        using = options["database"]
        if options["sql"]:
            for statement in engine(connections[using]).wanted_sql():
                self.stdout.write(f"{statement};")
            return
        if ChunkText._meta.db_table not in connections[using].introspection.table_names():
            raise CommandError(
                f"{using!r} has no tables of prism_graph: run `manage.py migrate` first."
            )
        (self._check if options["check"] else self._repair)(using)

    def _check(self, using: str) -> None:
        found = False
        for problem in repair.problems(using, self._progress):
            found = True
            self.stdout.write(self.style.ERROR(problem))
        if found:
            sys.exit(1)
        self.stdout.write(self.style.SUCCESS("The full-text index is true."))

    def _repair(self, using: str) -> None:
        done = repair.repair(using, self._progress)
        for name in done.installed:
            self.stdout.write(f"Installed {name}.")
        self.stdout.write(f"Analysed again: {done.analysed}.")
        if done.rebuilt:
            self.stdout.write("Rebuilt the index.")
        elif not done.analysed:
            self.stdout.write("The index was true.")

    def _progress(self, rows: Iterable[Any], total: int) -> Iterable[Any]:
        # disable=None is tqdm's own test for a terminal.
        return tqdm(rows, total=total, disable=None, unit="passages")
