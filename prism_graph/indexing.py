"""What is stored of a text for the index: one function, whoever writes the row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import md5
from typing import Final

from prism_graph import analysis

ANALYSER: Final = f"{analysis.NAME}/{analysis.VERSION}"
SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class Indexed:
    """A text's distinct words with their counts, their number, and which row's words they are."""

    terms: str
    length: int
    terms_of: str


def spoken(text: str, speaker: str) -> str:
    """Return what a vector is made of: of a turn with who said it, of a passage of a document as it is."""
    return f"{speaker}: {text}" if speaker else text


def indexed(
    text: str,
    *,
    title: str = "",
    heading: str = "",
    speaker: str = "",
    when: datetime | None = None,
) -> Indexed:
    """Analyse a passage with what else it is found by: the source's title, heading, speaker, date."""
    context = [label for label in (title, heading, speaker) if label]
    terms, length = analysis.index_terms(text, context, when)
    # MD5 because PostgreSQL computes it in an index expression; it notices edits, not attacks.
    row = SEPARATOR.join((heading, speaker, text))
    return Indexed(terms, length, md5(row.encode(), usedforsecurity=False).hexdigest())
