"""Acceptance: from the trust of what is cited to the status of a fact. Pure."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, Self

from prism_graph.codepoints import is_storable
from prism_graph.trust import Trust

logger = logging.getLogger(__name__)


class FactStatus(Enum):
    """What memory makes of a version of a fact; open statuses come first, best first."""

    ACCEPTED = ("accepted", 3)
    BELIEF = ("belief", 2)
    PROPOSAL = ("proposal", 1)
    REJECTED = ("rejected", 0)
    RETRACTED = ("retracted", 0)

    rank: int

    def __new__(cls, label: str, rank: int) -> Self:
        """Make the label the value; `rank` orders the statuses that a policy gives."""
        member = object.__new__(cls)
        member._value_ = label
        member.rank = rank
        return member

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def named(cls, label: str) -> FactStatus:
        """Return the status of this name. Raises KeyError for any other text."""
        return _BY_NAME[label]


_BY_NAME: Final = {member.value: member for member in FactStatus}


MAX_NAME: Final = 255
# What a policy may answer.
JUDGEMENTS: Final = (FactStatus.ACCEPTED, FactStatus.BELIEF, FactStatus.PROPOSAL)
# What waits for a decision, and what has had its last one.
UNDECIDED: Final = (FactStatus.BELIEF, FactStatus.PROPOSAL)
CLOSED: Final = (FactStatus.REJECTED, FactStatus.RETRACTED)
_BELIEVED: Final = (Trust.USER, Trust.DOCUMENT)


class AcceptancePolicy:
    """Accept what people and documents say, keep what the agent concludes, ask about the rest.

    A policy of a project's own has the same method and a `name` that decisions are recorded under. With a
    method `why(cited)` it tells a reviewer what its judgement rests on; it may do without.
    """

    name = "default/1"

    def judge(self, cited: Sequence[Trust]) -> FactStatus:
        """Return a status for the effective trust of all cited chunks, of which there is at least one."""
        if all(trust in _BELIEVED for trust in cited):
            return FactStatus.ACCEPTED
        if all(trust is Trust.AGENT for trust in cited):
            return FactStatus.BELIEF
        return FactStatus.PROPOSAL

    def why(self, cited: Sequence[Trust]) -> str:
        """Return a sentence on what the judgement rests on."""
        status = self.judge(cited)
        if status is FactStatus.ACCEPTED:
            return "Every passage it rests on is the word of a user or a document."
        if status is FactStatus.BELIEF:
            return "Every passage it rests on is the agent's own word."
        others = [trust for trust in Trust if trust in cited and trust not in _BELIEVED]
        names = " and ".join(trust.value for trust in others)
        return f"Not every passage it rests on is the word of a user or a document: some come from {names}."


class NoPolicy:
    """Accept nothing: stands in for a policy that cannot be made."""

    name = "none"

    def judge(self, cited: Sequence[Trust]) -> FactStatus:
        """Return a proposal."""
        return FactStatus.PROPOSAL


def judged(policy: Any, cited: Sequence[Trust]) -> FactStatus:
    """Ask a policy; no evidence, an exception and any other answer count as a proposal."""
    if not cited:
        return FactStatus.PROPOSAL
    try:
        status = policy.judge(tuple(cited))
    except Exception:
        logger.exception("The acceptance policy failed; the fact is kept as a proposal.")
        return FactStatus.PROPOSAL
    if isinstance(status, FactStatus) and status in JUDGEMENTS:
        return status
    logger.error("The acceptance policy gave no status; the fact is kept as a proposal.")
    return FactStatus.PROPOSAL


def lower(first: FactStatus, second: FactStatus) -> FactStatus:
    """Return the status of lower rank."""
    return min(first, second, key=lambda status: status.rank)


def name_of(policy: Any) -> str:
    """Return the name that a policy's decisions are recorded under: its own, else its class's. Never `""`."""
    try:
        own = policy.name
    except Exception:  # the project's code, a property perhaps
        own = None
    for name in (own, type(policy).__qualname__):
        # The characters of a subclass, whatever its own methods say of them.
        text = str.__str__(name) if isinstance(name, str) else ""
        if 0 < len(text) <= MAX_NAME and is_storable(text):
            return text
    return "policy"
