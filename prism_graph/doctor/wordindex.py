"""The index on words, as prism_graph.repair sees it."""

from __future__ import annotations

from django.db import connections

from prism_graph import repair
from prism_graph.doctor.check import Check, Finding
from prism_graph.doctor.place import Place
from prism_graph.errors import InvalidScope
from prism_graph.fulltext import engine
from prism_graph.transactions import write_block


class WordIndex(Check):
    """Look for an index that differs from the rows; it is one for all tenants."""

    id = "index"
    what = "the index on words"
    fix = "installed, analysed and built again, as prism_graph_repair_fulltext does"

    def examine(self, place: Place) -> Finding | None:
        """Ask prism_graph.repair."""
        if place.tenant is not None:
            return None
        try:
            said = list(repair.index_problems(place.using, place.progress))
        except (InvalidScope, KeyError):
            # Not the error itself, which could quote what is stored.
            said = ["it cannot be compared before the other findings are put right"]
        what = f"{self.what}: {'; '.join(said)}"
        return Finding(self.id, what, len(said), (), self.fix) if said else None

    def put_right(self, place: Place) -> None:
        """Let prism_graph.repair do it; fill the index from the rows as they are where it cannot yet."""
        try:
            repair.repair(place.using, place.progress)
        except (InvalidScope, KeyError):
            with write_block(place.using):
                repair.install(place.using)
                engine(connections[place.using]).rebuild()
