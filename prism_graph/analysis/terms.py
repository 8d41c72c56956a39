"""What a chunk stores of its words: the terms string."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Final

from prism_graph.analysis.folding import normalised
from prism_graph.analysis.tokens import tokens
from prism_graph.analysis.words import JOINT, words_of

# A user cannot type these: normalisation turns each into its digit.
COUNT_MARKS: Final = ("", "²", "³", "⁴")
CACHED_PIECES: Final = 100_000
CACHED_CHARACTERS: Final = 40
_EDGES: Final = ".,;:!?()[]\"'"
MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip


def index_terms(
    text: str, context: Sequence[str] = (), when: datetime | None = None
) -> tuple[str, int]:
    """Return the terms string of a chunk, and its length: how many terms its text has.

    The string holds each distinct term once, with `term²`, `term³`, `term⁴` beside one that occurs
    twice, three times, four times or more; "" when there are no words. `context` (speaker, heading,
    title) and the date are searchable, and do not count as length. Any text is taken.
    """
    counts = _counted(text)
    length = sum(counts.values())
    for extra in context:
        counts.update(_counted(extra))
    if when is not None:
        for term in _date_terms(when):
            counts.setdefault(term, 1)
    return " ".join(_marked(counts)), length


def length_of(text: str) -> int:
    """Return the length that index_terms() gives a text, at a fraction of its cost."""
    return sum(map(len, map(_terms_of.__getitem__, normalised(text).split())))


class _Terms(dict[str, tuple[str, ...]]):
    """The terms of pieces seen before: at most 100,000 pieces of at most 40 characters."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        # No token starts or ends in these, so what stands between them says the same.
        terms = self.get(piece.strip(_EDGES))
        if terms is None:
            terms = tuple([word.term for token in tokens(piece) for word in words_of(token)])
        if len(piece) <= CACHED_CHARACTERS:
            if len(self) >= CACHED_PIECES:
                self.clear()
            self[piece] = terms
        return terms


_terms_of = _Terms()


def _counted(text: str) -> Counter[str]:
    # No token reaches across white space, and most pieces between it were seen before.
    return Counter(chain.from_iterable(map(_terms_of.__getitem__, normalised(text).split())))


def _marked(counts: Counter[str]) -> list[str]:
    words = list(counts)
    for term, times in counts.items():
        if times > 1:
            words += [term + mark for mark in COUNT_MARKS[1 : min(times, 4)]]
    return words


def _date_terms(when: datetime) -> list[str]:
    """Return the words a person would ask for the date by: names, numbers, ISO form."""
    names = (MONTHS[when.month - 1], WEEKDAYS[when.weekday()])
    month = f"{when.year:04d}{JOINT}{when.month:02d}"
    return [
        *(word.term for name in names for word in words_of(name)),
        str(when.day),
        f"{when.year:04d}",
        month,
        f"{month}{JOINT}{when.day:02d}",
    ]
