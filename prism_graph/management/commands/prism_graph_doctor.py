"""`manage.py prism_graph_doctor`: rows that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from prism_graph.doctor import Diagnosis, Place, examine, put_right
from prism_graph.errors import InvalidInput
from prism_graph.management.base import Answer, MemoryCommand


class Command(MemoryCommand):
    """Say what is wrong with the rows, or put right what can be."""

    help = (
        "Look for rows that contradict each other: after a restore, after raw SQL, every night. Exits "
        "with 1 if anything is wrong. --fix lowers or removes, and never invents or raises."
    )
    unit = "steps"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --tenant and --fix."""
        super().add_arguments(parser)
        parser.add_argument("--tenant", help="Look at this tenant only, and not at the index.")
        parser.add_argument("--fix", action="store_true", help="Put right what can be.")

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Look, and put right if asked to."""
        if options["tenant"] == "":
            raise InvalidInput("--tenant is empty: name the tenant, or leave the option out.")
        self.refuse_unknown_tenant(using, options["tenant"])
        place = Place(using, options["tenant"], self.progress)
        if options["fix"]:
            return {"fix": True, **asdict(put_right(place))}
        found = examine(place)
        return {"fix": False, **asdict(Diagnosis(found, found))}

    def failed(self, answer: Answer) -> bool:
        """Say whether anything is wrong still."""
        return bool(answer["left"])

    def show(self, answer: Answer) -> None:
        """Print the findings: what, how many, which, and what becomes of them."""
        left = [(each["id"], each["what"]) for each in answer["left"]]
        for each in answer["found"]:
            gone = (each["id"], each["what"]) not in left
            self._show_finding(each, self._fate(each, answer["fix"], gone))
        found = [(each["id"], each["what"]) for each in answer["found"]]
        for each in answer["left"]:
            if (each["id"], each["what"]) not in found:
                self._show_finding(each, "found after the other fixes: run it again")
        if not answer["found"]:
            self.say("Nothing is wrong.", self.style.SUCCESS)
        elif not answer["left"]:
            self.say("All was put right.", self.style.SUCCESS)

    def _fate(self, finding: Mapping[str, Any], fixing: bool, gone: bool) -> str:
        if not finding["fix"]:
            return "no fix: look at these rows yourself"
        if not fixing:
            return f"--fix: {finding['fix']}"
        return f"fixed: {finding['fix']}" if gone else "not fixed: some of it is left"

    def _show_finding(self, finding: Mapping[str, Any], fate: str) -> None:
        self.say(f"{finding['id']}: {finding['count']:,} x {finding['what']}", self.style.ERROR)
        if finding["examples"]:
            self.say(f"   for example {', '.join(finding['examples'])}")
        self.say(f"   {fate}")
