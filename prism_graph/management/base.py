"""What every command shares: the database, the scope, two ways of printing, and how it ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connections
from tqdm import tqdm

from prism_graph.errors import InvalidInput, InvalidScope, PrismGraphError
from prism_graph.models import MODELS, ScopeClock, Source
from prism_graph.scope import COLUMNS, Scope
from prism_graph.visible import escaped

Answer = Mapping[str, Any]
WHY = "see whether a tenant is known, for an operator"
ABSENT = {"owner": "the tenant", "agent": "the owner", "thread": "the agent"}


class MemoryCommand(BaseCommand):
    """Answer with one JSON-ready mapping, printed for people or as JSON; exit with 1 when it failed.

    A command implements `answer`, `show`, and `failed` if it can fail without an error.
    """

    # What tqdm counts.
    unit: ClassVar[str] = "rows"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --database and --json."""
        parser.add_argument(
            "--database",
            default=DEFAULT_DB_ALIAS,
            choices=tuple(connections),
            help="Alias of the database.",
        )
        parser.add_argument(
            "--json", action="store_true", help="Print one JSON object and nothing else."
        )

    def add_scope_arguments(self, parser: CommandParser) -> None:
        """Add --tenant, --owner, --agent and --thread."""
        parser.add_argument("--tenant", required=True, help="The scope's tenant.")
        for name, above in ABSENT.items():
            parser.add_argument(f"--{name}", help=f"Its {name}; without it, {above}'s own level.")

    def scope_of(self, options: Mapping[str, Any]) -> Scope:
        """Return the scope that the options name, an owner spelt `app.model/pk` included.

        Raises InvalidScope for an empty part: an unset variable of a shell must not widen the scope.
        """
        for name in COLUMNS:
            if options[name] == "":
                raise InvalidScope(f"--{name} is empty: name the {name}, or leave the option out.")
        return Scope.from_columns(*(options[name] or "" for name in COLUMNS))

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the answer and end with its exit code."""
        self.refuse_without_tables(options["database"])
        try:
            answer = self.answer(options["database"], options)
        except PrismGraphError as error:
            raise CommandError(str(error)) from None
        if options.get("json"):
            # Not a part of ASCII that a terminal shows, and the one control that json leaves.
            self.stdout.write(json.dumps(answer).replace("\x7f", "\\u007f"))
        else:
            self.show(answer)
        if self.failed(answer):
            sys.exit(1)

    def refuse_without_tables(self, using: str) -> None:
        """Raise CommandError unless the database has every table."""
        existing = set(connections[using].introspection.table_names())
        if {model._meta.db_table for model in MODELS} - existing:
            raise CommandError(
                f"{using!r} has no tables of prism_graph: run `manage.py migrate` first."
            )

    def refuse_unknown_tenant(self, using: str, tenant: str | None) -> None:
        """Raise InvalidInput for a tenant that memory never heard of: a slip of the pen looks healthy."""
        if tenant is None:
            return
        heard_of = any(
            model.objects.db_manager(using).system(WHY).filter(tenant=tenant).exists()
            for model in (ScopeClock, Source)
        )
        if not heard_of:
            raise InvalidInput("Memory holds nothing of this tenant, and never has.")

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Do what the options say and return what came of it."""
        raise NotImplementedError

    def show(self, answer: Answer) -> None:
        """Print the answer for people."""
        raise NotImplementedError

    def failed(self, answer: Answer) -> bool:
        """Say whether the exit code is 1."""
        return False

    def say(self, text: str, style: Any = str, out: Any = None) -> None:
        """Print one line, with what a terminal would hide or obey made visible."""
        out = out or self.stdout
        encoding = getattr(out, "encoding", None) or "utf-8"
        safe = escaped(text).encode(encoding, "backslashreplace").decode(encoding)
        # Its own style would colour every line on stderr as an error.
        out.write(style(safe), str)

    def progress(self, rows: Iterable[Any], total: int) -> Iterable[Any]:
        """Show the rows as they pass, on a terminal."""
        # disable=None is tqdm's own test for a terminal; it writes to stderr.
        return tqdm(rows, total=total, disable=None, unit=f" {self.unit}")


def spelt(columns: Mapping[str, str]) -> str:
    """Return a scope for people: `acme / ana / support`."""
    return " / ".join(columns[name] for name in COLUMNS if columns[name])
