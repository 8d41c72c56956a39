"""Stored text as a person must see it: nothing hidden, nothing that draws outside its place.

A stranger wrote it. Characters that are not drawn, or that turn or hide others, come apart from the rest,
and so does a pile of combining marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, NamedTuple

import regex

from prism_graph.codepoints import (
    CONTROL,
    DEFAULT_IGNORABLE,
    SURROGATE,
    UNSEEN,
    character_class,
)

# More marks than any script puts on a letter.
MAX_MARKS: Final = 8
_HIDDEN: Final = (
    r"(?!\r\n|[\n\t])[" + character_class(DEFAULT_IGNORABLE, CONTROL, SURROGATE, UNSEEN) + "]"
)
_ODD = regex.compile(rf"{_HIDDEN}|(?<=\p{{M}}{{{MAX_MARKS}}})\p{{M}}+")
_ANY_HIDDEN = re.compile(_HIDDEN)
# A backslash that would look like one of ours is spelt as well.
_ESCAPED = re.compile(
    "[" + character_class(DEFAULT_IGNORABLE, CONTROL, SURROGATE, UNSEEN) + "]|\\\\(?=u\\{)"
)


class Look(Enum):
    """How a piece of text is shown: as it is, marked as a match, or named in its place."""

    PLAIN = "plain"
    MATCH = "match"
    NAMED = "named"


class Piece(NamedTuple):
    """A piece of text as it is shown, how, and what stands there if it is only named."""

    text: str
    look: Look
    note: str = ""


def hides(text: str) -> bool:
    """Say whether a text holds characters that a reader would not see."""
    return _ANY_HIDDEN.search(text) is not None


def pieces(text: str, matches: Iterable[tuple[int, int]] = ()) -> Iterator[Piece]:
    """Yield a text in order: what can be seen, with the spans [start, end) as matches, and names."""
    at = 0
    for start, end in matches:
        yield from _named(text[at:start], Look.PLAIN)
        yield from _named(text[start:end], Look.MATCH)
        at = end
    yield from _named(text[at:], Look.PLAIN)


def plain(text: str) -> str:
    """Return a text in one string, where names stand in brackets."""
    return "".join(
        f"[{piece.text}]" if piece.look is Look.NAMED else piece.text for piece in pieces(text)
    )


def _named(text: str, look: Look) -> Iterator[Piece]:
    at = 0
    for odd in _ODD.finditer(text):
        if at < odd.start():
            yield Piece(text[at : odd.start()], look)
        yield _name(odd[0])
        at = odd.end()
    if at < len(text):
        yield Piece(text[at:], look)


def _name(odd: str) -> Piece:
    if len(odd) > 1 or (unicodedata.category(odd).startswith("M") and not hides(odd)):
        return Piece(f"+{len(odd)}", Look.NAMED, "combining marks")
    return Piece(f"U+{ord(odd):04X}", Look.NAMED, unicodedata.name(odd, "control").lower())


def escaped(text: str) -> str:
    r"""Return the text on one line, with what a reader would not see spelt `\u{XXXX}`.

    That is every control, invisible, bidi and surrogate character.
    """
    return _ESCAPED.sub(lambda found: f"\\u{{{ord(found[0]):04X}}}", text)
