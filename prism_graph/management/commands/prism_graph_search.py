"""`manage.py prism_graph_search`: what a reader of a scope finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from prism_graph.management.base import Answer, MemoryCommand, spelt
from prism_graph.management.jsonable import jsonable
from prism_graph.memory import Memory
from prism_graph.trust import Trust


class Command(MemoryCommand):
    """Search as a reader of one scope, and print what that reader gets."""

    help = "Search as a reader of a scope does: its own level and every level above."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the query, the scope, and the options of Memory.search."""
        super().add_arguments(parser)
        self.add_scope_arguments(parser)
        parser.add_argument("query", metavar="QUERY", help="Any text; no character is an operator.")
        add = parser.add_argument
        add("--limit", type=int, default=10, help="At most this many passages, 1 to 100.")
        add("--known-at", help="Search what memory held then (ISO 8601 with an offset).")
        add("--phrase", action="append", default=[], help="Must stand in the passage; repeatable.")
        trust = [each.value for each in Trust]
        add("--min-trust", choices=trust, help="Leave out what is trusted less.")
        add("--source", action="append", help="Search the source with this key; repeatable.")
        add("--since", help="What occurred, or was recorded, from then on.")
        add("--until", help="What occurred, or was recorded, before then.")
        add("--neighbours", type=int, default=0, help="So many passages on each side as well.")
        add("--explain", action="store_true", help="Show what each score is made of.")

    def answer(self, using: str, options: Mapping[str, Any]) -> Answer:
        """Search."""
        scope, least = self.scope_of(options), options["min_trust"]
        hits = Memory(scope, using=using).search(
            options["query"],
            limit=options["limit"],
            known_at=options["known_at"],
            phrases=options["phrase"],
            min_trust=None if least is None else Trust.named(least),
            sources=options["source"],
            since=options["since"],
            until=options["until"],
            neighbours=options["neighbours"],
            explain=options["explain"],
        )
        return {"scope": scope.columns, "hits": jsonable(hits)}

    def show(self, answer: Answer) -> None:
        """Print the hits, best first."""
        if not answer["hits"]:
            self.say(f"Nothing found by a reader at {spelt(answer['scope'])}.")
        for rank, hit in enumerate(answer["hits"], 1):
            self._show_hit(rank, hit)

    def _show_hit(self, rank: int, hit: Mapping[str, Any]) -> None:
        chunk, neighbours = hit["chunk"], hit["neighbours"]
        place = f"{chunk['source_key']}  {_lines(chunk)}"
        self.say(
            f"{rank}. {hit['score']:.4f}  {hit['method']}  {place}", self.style.MIGRATE_HEADING
        )
        scope = spelt(chunk["scope"])
        writer = f", writer {chunk['writer']}" if chunk["writer"] else ""
        self.say(f"   trust {chunk['trust']}{writer}, scope {scope}, id {chunk['id']}")
        said = f", said by {chunk['speaker']}" if chunk["speaker"] else ""
        occurred = f", occurred {chunk['occurred_at']}" if chunk["occurred_at"] else ""
        self.say(f"   recorded {chunk['recorded_at']}{occurred}{said}")
        for each in hit["superseded_by"]:
            self.say(f"   superseded by version {each['version']} of {each['key']}")
        for name, part in (hit["explain"] or {}).items():
            self.say(f"   {name}: {part}")
        for each in sorted((chunk, *neighbours), key=lambda each: int(each["ordinal"])):
            self._show_text(each, "|" if each is chunk else ":")

    def _show_text(self, chunk: Mapping[str, Any], bar: str) -> None:
        for line in chunk["text"].split("\n"):
            self.say(f"   {bar} {line}")


def _lines(chunk: Mapping[str, Any]) -> str:
    first, last = chunk["lines"]
    return f"line {first}" if first == last else f"lines {first}-{last}"
