"""`manage.py prism_graph_migrate_vectors`: move the vectors to another store or embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from prism_graph import moving
from prism_graph.management.base import Answer, MemoryCommand


class Command(MemoryCommand):
    """Build beside, switch, clear away; or say what there is to do; or remove all vectors."""

    help = (
        "Move every tenant's vectors to the store and the embedder that PRISM_GRAPH names now. Searches go "
        "on by the old ones, if PRISM_GRAPH['PREVIOUS'] still names them, until a tenant's are all there. "
        "Interrupted, it goes on where it was."
    )
    unit = "scopes"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --tenant, --check, --accept-failures and --remove."""
        super().add_arguments(parser)
        parser.add_argument("--tenant", help="Only this tenant; without it, all.")
        parser.add_argument(
            "--accept-failures",
            action="store_true",
            help="Switch although the new embedder refuses chunks that have a vector now.",
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--check",
            action="store_true",
            help="Change nothing; say who is still searched by other vectors, and exit with 1 if any is.",
        )
        what.add_argument(
            "--remove",
            action="store_true",
            help="Delete all vectors, also those in use, and move nothing.",
        )

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Do what the options say."""
        tenant = options["tenant"]
        self.refuse_unknown_tenant(using, tenant)
        if options["remove"]:
            return {"removed": moving.sweep(using, tenant, everything=True)}
        waiting = moving.tenants(using, tenant)
        if options["check"]:
            return {"waiting": [{"tenant": name, "from": str(space)} for name, space in waiting]}
        moved = [
            moving.move(
                using, name, progress=self.progress, accept_failures=options["accept_failures"]
            )
            for name, _ in waiting
        ]
        target = moving.target_of(using).space
        cleared = moving.sweep(using, tenant)
        return {"to": str(target), "moved": list(map(asdict, moved)), "cleared": cleared}

    def failed(self, answer: Answer) -> bool:
        """Say whether anybody is still searched by the old vectors."""
        stays = any(not each["switched"] for each in answer.get("moved", ()))
        return stays or bool(answer.get("waiting"))

    def show(self, answer: Answer) -> None:
        """Print what was done, by tenant."""
        if "removed" in answer:
            self.say(f"Removed {answer['removed']} vectors.", self.style.SUCCESS)
            return
        for each in answer.get("waiting", ()):
            self.say(f"{each['tenant']} is searched by {each['from']}.", self.style.WARNING)
        for each in answer.get("moved", ()):
            self._show_tenant(each)
        if not answer.get("moved") and not answer.get("waiting"):
            self.say("Every tenant is searched by what the settings name.", self.style.SUCCESS)

    def _show_tenant(self, each: Mapping[str, Any]) -> None:
        done = f"{each['tenant']}: {each['copied']} copied, {each['made']} made, {each['failed']} failed"
        if each["switched"]:
            self.say(f"{done}; switched.", self.style.SUCCESS)
        elif each["left"]:
            self.say(f"{done}; another worker is at the rest: run it again.", self.style.WARNING)
        else:
            self.say(
                f"{done}; not switched. `prism_graph_embed --status` tells why, --accept-failures goes on.",
                self.style.ERROR,
            )
