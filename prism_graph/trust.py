"""Trust: who is behind a text. Bound by the calling code, never read from the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

from prism_graph.codepoints import is_storable
from prism_graph.errors import InvalidOrigin

MAX_WRITER_CHARACTERS: Final = 255


class Trust(Enum):
    """Rank a source by who speaks: user = document > system > agent > subagent > consolidator > tool."""

    USER = ("user", 5, 0)
    DOCUMENT = ("document", 5, 1)
    SYSTEM = ("system", 4, 2)
    AGENT = ("agent", 3, 3)
    SUBAGENT = ("subagent", 2, 4)
    CONSOLIDATOR = ("consolidator", 1, 5)
    TOOL = ("tool", 0, 6)

    level: int
    code: int

    def __new__(cls, label: str, level: int, code: int) -> Self:
        """Make the label the value; `level` orders classes, `code` is what a row stores."""
        member = object.__new__(cls)
        member._value_ = label
        member.level = level
        member.code = code
        return member

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def from_code(cls, code: int) -> Trust:
        """Return the class stored as this number. Raises KeyError for any other number."""
        return _BY_CODE[code]

    @classmethod
    def named(cls, label: str) -> Trust:
        """Return the class of this name. Raises KeyError for any other text."""
        return _BY_NAME[label]


_BY_CODE: Final = {member.code: member for member in Trust}
_BY_NAME: Final = {member.value: member for member in Trust}


def least(own: Trust, cited: Iterable[Trust]) -> Trust:
    """Return the lowest of a text's own class and those it was derived from; its own on equal rank."""
    return min((own, *cited), key=lambda trust: trust.level)


@dataclass(frozen=True, slots=True)
class Origin:
    """Bind a trust class and the writer's name to what is stored.

    Raises InvalidOrigin unless `trust` is a Trust and `writer` is text of at most 255 characters.
    """

    trust: Trust
    writer: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.trust, Trust):
            raise InvalidOrigin("An origin's trust must be a member of prism_graph.Trust.")
        if not isinstance(self.writer, str) or len(self.writer) > MAX_WRITER_CHARACTERS:
            raise InvalidOrigin(
                f"An origin's writer must be text of at most {MAX_WRITER_CHARACTERS} characters."
            )
        if not is_storable(self.writer):
            raise InvalidOrigin("An origin's writer holds a NUL or a lone surrogate.")
