"""Names of constraints and indexes: an abstract base leaves the app's label to Django, which fills it in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, ClassVar, Final

DIGITS: Final = 8


class LabelledName(str):
    """The part of a name that follows the app's label; a digest ends what would be too long."""

    __slots__ = ()
    longest: ClassVar[int]

    def __mod__(self, names: Mapping[str, str]) -> str:
        """Return the whole name: Django completes names so, for each class made of an abstract one."""
        whole = f"{names['app_label']}_{self}"
        if len(whole) <= self.longest:
            return whole
        digest = blake2b(whole.encode(), digest_size=DIGITS // 2).hexdigest()
        return f"{whole[: self.longest - DIGITS - 1]}_{digest}"


class ConstraintName(LabelledName):
    """A name that PostgreSQL does not cut."""

    __slots__ = ()
    longest = 63


class IndexName(LabelledName):
    """A name that Django does not refuse."""

    __slots__ = ()
    longest = 30


def named(declared: Iterable[Any], app_label: str) -> list[Any]:
    """Return copies of an abstract base's constraints or indexes, named as in an app."""
    clones = [each.clone() for each in declared]
    for clone in clones:
        clone.name %= {"app_label": app_label}
    return clones
