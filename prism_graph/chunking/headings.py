"""The plain text of headings and the path of the ones that enclose a block."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

SEPARATOR: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
MAX_PATH: Final = 500
_MAX_SOURCE: Final = 1_000

# Every alternative reads a stretch that no other match begins in, so a heading costs its length.
_LINK: Final = re.compile(
    r"!?\[(?P<label>[^\[\]]*+)\](?:\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\])"
)
_INLINE: Final = re.compile(
    r"""
    ``(?P<code>.+?)`` | `(?P<short_code>[^`]+)`
    | \\(?P<escaped>[!-/:-@\[-`{-~])
    | <(?P<address>[A-Za-z][A-Za-z0-9+.-]*+:[^<>\s]*+)>
    | </?[A-Za-z][^<>]*+>
    | ~~
    | (?<!\*)\*++(?=\S) | (?<=[^\s*])\*++
    | (?<!\w)_++(?=\S) | (?<=[^\s_])_++(?!\w)
    """,
    re.VERBOSE | re.DOTALL,
)


def plain_title(source: str) -> str:
    """Return the text of a heading without its inline markup, on one line, at most 500 code points.

    The markup is stripped lightly: links, images, code, emphasis, tags, escapes and entities.
    """
    # Twice, for an image inside a link.
    text = _LINK.sub(r"\g<label>", _LINK.sub(r"\g<label>", source[:_MAX_SOURCE]))
    text = unescape(_INLINE.sub(_content, text))
    title = " ".join(text.split())
    return title if len(title) <= MAX_PATH else title[: MAX_PATH - 1] + "…"


def _content(match: re.Match[str]) -> str:
    return match[match.lastgroup].strip() if match.lastgroup else ""


class HeadingPath:
    """The headings that enclose the place reached in a document."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> str:
        """Go on below a heading of this level (1 to 6) and return the path of titles to it.

        Where the path would be over 500 code points, its outermost titles are left out.
        """
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, title))
        titles = [title for _, title in self._open if title]
        while len(SEPARATOR.join(titles)) > MAX_PATH:
            del titles[0]
        return SEPARATOR.join(titles)
