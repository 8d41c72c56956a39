"""Looking for rows that contradict each other, and putting right what can be without inventing anything.

The database's constraints refuse nearly all of it. What raw SQL, a restore without them, or a bug left
behind is found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from prism_graph.doctor.check import Check, Finding
from prism_graph.doctor.counters import ClockBehind, LastVersion
from prism_graph.doctor.links import BrokenCitation, BrokenDerivation, NoEvidence
from prism_graph.doctor.parents import CHILDLESS, LEAVES, Childless, InvalidScope, parentless
from prism_graph.doctor.place import Place
from prism_graph.doctor.rules import rules
from prism_graph.doctor.standings import AboveEvidence, NoStanding, TwoOpen, UnknownStatus
from prism_graph.doctor.trusting import AboveLineage, UnknownTrust
from prism_graph.doctor.vectoring import vectoring
from prism_graph.doctor.wordindex import WordIndex
from prism_graph.models import MODELS, Chunk, ChunkText, FactVersion, Receipt, Source

__all__ = ["Check", "Diagnosis", "Finding", "Place", "checks", "examine", "put_right"]

ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found, and what is left of it after the fixes; both the same without them."""

    found: list[Finding]
    left: list[Finding]


def checks() -> list[Check]:
    """Return every check, in the order in which fixes build on one another."""
    return [
        ClockBehind(),
        *(UnknownTrust(Chunk, field) for field in ("trust", "origin_trust")),
        UnknownTrust(Source, "trust"),
        # First the links, so that what they lead to is judged before it goes.
        *(InvalidScope(model) for model in LEAVES),
        *parentless(*LEAVES),
        UnknownStatus(),
        TwoOpen(),
        *(BrokenCitation(elsewhere=elsewhere) for elsewhere in (True, False)),
        *(BrokenDerivation(elsewhere=elsewhere) for elsewhere in (True, False)),
        *(
            # Receipts outlast everything.
            InvalidScope(model, removable=model is not Receipt)
            for model in MODELS
            if model not in LEAVES
        ),
        *parentless(ChunkText, Chunk, FactVersion),
        *(Childless(model, child, **pairs) for model, child, pairs in CHILDLESS),
        NoEvidence(),
        NoStanding(),
        AboveLineage(),
        AboveEvidence(),
        LastVersion(),
        *vectoring(),
        *rules(),
        WordIndex(),
    ]


def examine(place: Place) -> list[Finding]:
    """Return what is wrong, and write nothing."""
    every = checks()
    looked = (check.examine(place) for check in place.progress(every, len(every)))
    return [finding for finding in looked if finding is not None]


def put_right(place: Place) -> Diagnosis:
    """Put right what can be, each scope's rows in a transaction of their own, and look again.

    Raises WriteConflict when the database gave way to another writer; what was put right stays so.
    """
    found = left = examine(place)
    for _ in range(ROUNDS):
        if not any(finding.fix for finding in left):
            break
        if any(finding.id == WordIndex.id for finding in left):
            # SQLite deletes no text whose words its index lacks.
            WordIndex().put_right(place)
        every = checks()
        for check in place.progress(every, len(every)):
            if check.fix:
                check.put_right(place)
        left = examine(place)
    return Diagnosis(found, left)
