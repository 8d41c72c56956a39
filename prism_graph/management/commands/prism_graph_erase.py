"""`manage.py prism_graph_erase`: erase on request, after a look at what would go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser

from prism_graph import erase, erase_scope
from prism_graph.errors import InvalidInput, StaleReview
from prism_graph.management.base import Answer, MemoryCommand, spelt
from prism_graph.receipts import Erasure, Order
from prism_graph.scope import Scope
from prism_graph.transactions import rehearsal, write_block


class Command(MemoryCommand):
    """Erase a source, a turn, a fact, or all of a scope; or say what that would remove."""

    help = (
        "Erase what memory holds, for good, with all that rests on it. Shows what would go and asks "
        "first, on a terminal. --dry-run only shows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the scope, what to erase, who ordered it, and whether to ask."""
        super().add_arguments(parser)
        self.add_scope_arguments(parser)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--source", metavar="KEY", help="The document or conversation of a key.")
        what.add_argument(
            "--turn", nargs=2, metavar=("CONVERSATION", "TURN_ID"), help="One turn of one."
        )
        what.add_argument("--fact", metavar="KEY", help="The fact of a key, all its versions.")
        what.add_argument("--everything", action="store_true", help="All of it, and all below it.")
        add = parser.add_argument
        add("--fact-version", type=int, metavar="N", help="With --fact: this version only.")
        add("--include-owners", action="store_true", help="With --everything of a whole tenant.")
        add("--actor", default="", help="Who ordered it; stays in the receipt.")
        add("--reason", default="", help="Why; stays in the receipt.")
        add("--dry-run", action="store_true", help="Say what would go; change nothing.")
        add("--no-input", action="store_false", dest="interactive", help="Do not ask.")

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Erase, or rehearse it."""
        scope = self.scope_of(options)
        run = _erasure(scope, using, options)
        if options["dry_run"]:
            return _answer(scope, rehearsed(using, run), dry_run=True)
        if options["interactive"]:
            if not sys.stdin.isatty():
                raise CommandError(
                    "Nothing was erased: nobody can be asked here. Look with --dry-run, then give "
                    "--no-input."
                )
            looked = rehearsed(using, run)
            shown = _answer(scope, looked, dry_run=True)
            if not shown["found"]:
                return {**shown, "dry_run": False}
            self._ask(shown)
            return _answer(scope, confirmed(using, run, looked), dry_run=False)
        return _answer(scope, run(), dry_run=False)

    def _ask(self, rehearsed: Answer) -> None:
        # On stderr, as the answer alone belongs on stdout.
        self.show(rehearsed, self.stderr)
        self.stderr.write("This cannot be undone. Type 'yes' to erase it: ", str, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip() != "yes":
            raise CommandError("Nothing was erased.")

    def failed(self, answer: Answer) -> bool:
        """Say whether there was nothing of the kind."""
        return not answer["found"]

    def show(self, answer: Answer, out: Any = None) -> None:
        """Print the counts."""
        where, dry = spelt(answer["scope"]), answer["dry_run"]
        if not answer["found"]:
            self.say(f"Nothing of the kind at {where}.", self.style.WARNING, out)
            return
        self.say(f"{'Would erase' if dry else 'Erased'} at {where}:", str, out)
        self._show_counts(answer["here"], out)
        if any(answer["below"].values()):
            self.say("In the scopes below it:", str, out)
            self._show_counts(answer["below"], out)
        if dry and out is None:
            self.say("Nothing was changed.")

    def _show_counts(self, counts: Mapping[str, int], out: Any) -> None:
        for name, count in counts.items():
            self.say(f"  {name.replace('_', ' '):<16} {count:>10,}", str, out)


def _erasure(scope: Scope, using: str, options: Mapping[str, Any]) -> Callable[[], Erasure]:
    order, place = Order.by(options["actor"], options["reason"]), (scope, using)
    if options["fact_version"] is not None and options["fact"] is None:
        raise InvalidInput("--fact-version goes with --fact.")
    if options["include_owners"] and not options["everything"]:
        raise InvalidInput("--include-owners goes with --everything.")
    if options["source"] is not None:
        return partial(erase.erase, *place, options["source"], order)
    if options["turn"] is not None:
        conversation, turn_id = options["turn"]
        return partial(erase.erase_turn, *place, conversation, turn_id, order)
    if options["fact"] is not None:
        return partial(erase.erase_fact, *place, options["fact"], options["fact_version"], order)
    if not scope.owner and not options["include_owners"]:
        raise InvalidInput(
            "This erases every owner of the tenant: give --include-owners if that is meant."
        )
    return partial(erase_scope.erase_everything, *place, options["include_owners"], order)


def rehearsed(using: str, run: Callable[[], Erasure]) -> Erasure:
    """Erase, count, and take it back: no receipt stays, and no signal is sent."""
    with rehearsal(using):
        return run()


def confirmed(using: str, run: Callable[[], Erasure], shown: Erasure) -> Erasure:
    """Erase what was shown. Raises StaleReview, and erases nothing, when more or less would go by now."""
    with write_block(using):
        done = run()
        if (done.here, done.below) != (shown.here, shown.below):
            raise StaleReview
    return done


def _answer(scope: Scope, done: Erasure, *, dry_run: bool) -> Answer:
    return {
        "scope": scope.columns,
        "dry_run": dry_run,
        "found": bool(done.receipt),
        "here": done.here.counts,
        "below": done.below.counts,
    }
