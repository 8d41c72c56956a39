"""Sentences of a long query, and how much each looks like what is asked.

A question with other prose pasted around it is told by its form: it ends in a question mark, opens
with a question word, stands on a line of its own, is the first or last of the text, and is not cut
off before its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import regex

from prism_graph.analysis.tokens import PAIRS, TRIPLES, UNSPACED

MAX_SENTENCE: Final = 400
QUESTION_MARK: Final = 3.5
QUESTION_WORD: Final = 1.85
OWN_LINE: Final = 1.95
EDGE: Final = 1.65
ENDED: Final = 1.5

# Written without spaces between words, so that a space parts clauses (Hangul has them).
_UNSPACED = rf"[[{PAIRS}{TRIPLES}]--\p{{Hangul}}]"
_LINE = regex.compile(r"[\r\n\v\f\x85\u2028\u2029]+")
_END = regex.compile(
    r"(?V1)(?<=[.!?…:;](?:['\"”’»)\]]|))\s+|(?<=[。！？।॥؟۔።፧။៕])\s*|\s{2,}"
    rf"|(?<={_UNSPACED})\s(?={_UNSPACED})"
    r"|\s(?=(?:What|When|Where|Which|Who|Whom|Whose|Why|How)\b)"
)
_ASKS = regex.compile(r"[?？؟;՞፧]['\"”’»)\]]*$")
_ENDED = regex.compile(r"[.!?…。！？।॥؟۔።፧។៕]['\"”’»)\]]*$")
_ASKING: Final = frozenset(
    """what when where which who whom whose why how is are was were do does did can could will would
    should has have""".split()
)
_OPENING = regex.compile(r"\p{L}+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as written, and the log weight that its form gives it."""

    text: str
    weight: float


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a normalised text in order, cut where one passes 400 characters."""
    found = [
        (part, len(parts) == 1)
        for line in _LINE.split(text)
        for parts in [[p for s in _END.split(line) for p in _cut(s)]]
        for part in parts
    ]
    last = len(found) - 1
    return [
        Sentence(part, _form(part) + OWN_LINE * alone + EDGE * (i in (0, last)))
        for i, (part, alone) in enumerate(found)
    ]


def _form(sentence: str) -> float:
    opening = _OPENING.search(sentence)
    asking = opening is not None and opening[0].lower() in _ASKING
    return (
        QUESTION_MARK * bool(_ASKS.search(sentence))
        + QUESTION_WORD * asking
        + ENDED * bool(_ENDED.search(sentence))
    )


def _cut(sentence: str) -> Iterator[str]:
    """Yield the sentence in pieces of at most 400 characters, never inside a word."""
    rest = sentence.strip()
    while len(rest) > MAX_SENTENCE:
        at = rest.rfind(" ", 0, MAX_SENTENCE)
        if at < 0 and UNSPACED.search(rest, 0, MAX_SENTENCE):
            at = MAX_SENTENCE
        elif at < 0:
            at = rest.find(" ")
        if at < 0:
            break
        yield rest[:at]
        rest = rest[at:].lstrip()
    if rest:
        yield rest
