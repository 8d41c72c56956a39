"""Where a block that is too long may be cut."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final
from unicodedata import category

from prism_graph.chunking.blocks import Kind

# The scripts that write these write a space after a sentence; "3.14" is no end.
_SPACED_STOP: Final = ".!?\u2026"
# Unicode Sentence_Terminal of the scripts that may not.
_CLOSED_STOP: Final = (
    "\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u0f0d\u0f0e"
    "\u104a\u104b\u1362\u1367\u1368\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945"
    "\u1aa8-\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d\u2047-\u2049\u3002"
    "\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0"
    "\uaaf1\uabeb\ufe12\ufe15\ufe16\uff01\uff0e\uff1f\uff61"
)
# ASCII quotes and brackets, then every closing bracket and quotation mark of CJK and Europe.
_CLOSERS: Final = (
    r"""["')\]}\u00bb\u2019\u201d\u203a\u3009\u300b\u300d\u300f\u3011\u3015"""
    r"""\uff09\uff3d\uff5d\uff63]*+"""
)
# Possessive, and never begun inside a run, so that a million dots cost a million steps.
_SENTENCE_END: Final = re.compile(
    rf"(?:(?<![{_SPACED_STOP}])[{_SPACED_STOP}]++{_CLOSERS}(?=\s|(?P<limit>\Z))"
    rf"|[{_CLOSED_STOP}]++{_CLOSERS})\s*+"
)
_JOINER: Final = "\N{ZERO WIDTH JOINER}"
# What extends an emoji besides the marks (category M): joiners, skin tones, tags.
_EXTENDERS: Final = frozenset(
    {_JOINER, "\N{ZERO WIDTH NON-JOINER}"}
    | set(map(chr, range(0x1F3FB, 0x1F400)))
    | set(map(chr, range(0xE0020, 0xE0080)))
)
_LONGEST_GRAPHEME: Final = 32

Seam = Callable[[str, int, int], int]


def boundary(text: str, start: int, limit: int) -> int:
    """Return the last offset in (start, limit] that is not inside CR LF or a grapheme.

    A grapheme is looked at over 32 code points only. Where there is no such offset, return limit.
    """
    for offset in range(limit, max(start, limit - _LONGEST_GRAPHEME), -1):
        if not _is_inside(text, start, offset):
            return offset
    return limit


def cut(text: str, start: int, limit: int, kind: Kind, items: Sequence[int]) -> int:
    """Return the best offset in (start, limit] to cut a block of this kind that goes on after it.

    A list is cut before an item (items: ascending offsets), prose after a sentence, anything else
    after a line; failing that after a word, and as a last resort at the limit.
    """
    before = bisect_right(items, limit) - 1
    if before >= 0 and items[before] > start:
        return items[before]
    seams = (_sentence, _line) if kind is Kind.PROSE else (_line, _sentence)
    for seam in (*seams, _word):
        offset = seam(text, start, limit)
        if offset > start:
            return boundary(text, start, offset)
    return boundary(text, start, limit)


def _line(text: str, start: int, limit: int) -> int:
    stop = limit - 1 if text[limit - 1 : limit + 1] == "\r\n" else limit
    return max(text.rfind("\n", start, stop), text.rfind("\r", start, stop)) + 1


def _sentence(text: str, start: int, limit: int) -> int:
    last = 0
    for match in _SENTENCE_END.finditer(text, start, limit):
        # The pattern cannot look beyond the limit: "3." may go on as "3.14".
        if match["limit"] is None or text[limit : limit + 1].isspace():
            last = match.end()
    return last


def _word(text: str, start: int, limit: int) -> int:
    if text[limit - 1].isspace() or text[limit : limit + 1].isspace():
        return limit
    # Half the room at least is used: a line without spaces is cut at the limit.
    half = text[(start + limit) // 2 : limit]
    word = half.rsplit(None, 1)[-1]
    return limit - len(word) if len(word) < len(half) else 0


def _is_inside(text: str, start: int, offset: int) -> bool:
    """Say whether the offset is inside CR LF or, by a short approximation, inside a grapheme."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if before in "\r\n" or after in "\r\n":
        return before + after == "\r\n"
    if before < "\u0300" and after < "\u0300":
        return False
    if _is_flag(before) and _is_flag(after):
        return _flags(text, start, offset) % 2 == 1
    return before == _JOINER or after in _EXTENDERS or category(after).startswith("M")


def _flags(text: str, start: int, offset: int) -> int:
    """Count the regional indicators that end at the offset: two make a flag."""
    first = offset
    while first > start and _is_flag(text[first - 1]):
        first -= 1
    return offset - first


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
