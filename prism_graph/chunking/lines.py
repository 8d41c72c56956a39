"""Which lines of a text a slice of it touches."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import Final

from prism_graph.errors import InvalidInput

LINE_END: Final = re.compile(r"\r\n?|\n")


class LineIndex:
    """The line starts of one text, as CommonMark counts lines.

    A line ends at CR LF, LF or a lone CR and nowhere else; the line end belongs to the line it
    ends. Building reads the text once and keeps four bytes a line; a lookup is a binary search.
    """

    __slots__ = ("_length", "starts")

    def __init__(self, text: str) -> None:
        self._length = len(text)
        #: Offset of the first code point of every line, ascending, never empty. After a final line
        #: end there is one more, empty, line.
        self.starts = array("I", [0])
        self.starts.extend(match.end() for match in LINE_END.finditer(text))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line of the code points [start, end), 1-based and inclusive.

        An empty slice is on the line of its start. Offsets that are not 0 <= start <= end <= length
        of the text raise InvalidInput.
        """
        if not 0 <= start <= end <= self._length:
            raise InvalidInput("A slice needs 0 <= start <= end <= the length of the text.")
        return self._line_at(start), self._line_at(max(start, end - 1))

    def _line_at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)
