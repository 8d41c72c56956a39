"""From files into memory: Markdown documents for a whole tenant, chats for the people in them."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from django.contrib.auth.models import User

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.records import IngestReport


def ingest_document(memory: Memory, path: Path) -> IngestReport:
    """Ingest one Markdown file under its name; its first heading is the title."""
    text = path.read_text(encoding="utf-8")
    title = next(
        (line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), ""
    )
    origin = Origin(Trust.DOCUMENT, writer="importer")
    return memory.ingest(path.stem, text, origin=origin, title=title, uri=f"docs/{path.name}")


def record_chats(path: Path, users: dict[str, User]) -> Iterator[tuple[str, IngestReport]]:
    """Record each turn where its speaker's words belong, and say where.

    What a person said is kept for that person, what the agent answered for that person's agent, and
    what a tool returned for the one thread that called it.
    """
    for chat in json.loads(path.read_text(encoding="utf-8")):
        owner = Scope(chat["tenant"]).for_owner(users[chat["user"]])
        agent = owner.for_agent(chat["agent"])
        places = {
            "user": (owner, Origin(Trust.USER, writer=chat["user"])),
            "assistant": (agent, Origin(Trust.AGENT, writer=f"agent:{chat['agent']}")),
            "tool": (agent.for_thread(chat["thread"]), Origin(Trust.TOOL, writer="tool:orders")),
        }
        for turn in chat["turns"]:
            scope, origin = places[turn["role"]]
            report = Memory(scope).record(
                chat["thread"],
                turn["text"],
                origin=origin,
                speaker=turn["speaker"],
                turn_id=turn["id"],
                occurred_at=datetime.fromisoformat(turn["at"]),
            )
            yield f"{chat['thread']} {turn['id']} {turn['role']}", report
