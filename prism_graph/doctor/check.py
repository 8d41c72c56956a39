"""A check: what it looks for, what it found, and how that is put right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from prism_graph.doctor.place import Place

EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong: the check's id, a sentence, how many rows, and a few of their ids.

    `fix` says how it is put right, and is `""` where only a person can.
    """

    id: str
    what: str
    count: int
    examples: tuple[str, ...]
    fix: str


class Check(ABC):
    """Look for one kind of contradiction. Fixes lower or remove; none invents, none raises trust."""

    id: str
    what: str
    fix: str = ""

    @abstractmethod
    def examine(self, place: Place) -> Finding | None:
        """Return what is wrong, or None."""

    def put_right(self, place: Place) -> None:
        """Put right what is wrong, as `fix` says."""
        raise NotImplementedError

    def told(self, keys: Iterable[Any]) -> Finding | None:
        """Count these primary keys and keep a few, reading each once; return None for none."""
        count, examples = 0, []
        for count, key in enumerate(keys, 1):
            if count <= EXAMPLES:
                examples.append(str(key))
        if not count:
            return None
        return Finding(self.id, self.what, count, tuple(examples), self.fix)


class RowCheck(Check):
    """Look for rows that one condition picks out."""

    model: Any

    @abstractmethod
    def wrong(self, place: Place) -> Any:
        """Return a queryset of the rows that are wrong."""

    def examine(self, place: Place) -> Finding | None:
        """Count the rows."""
        return self.told(self.wrong(place).values_list("pk", flat=True).iterator())
