"""What the options of a search leave in of what the reader sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.codepoints import is_storable
from prism_graph.fulltext import FullText
from prism_graph.models import Source
from prism_graph.options import Options
from prism_graph.ranking import Directory
from prism_graph.scope import Scope
from prism_graph.writing import digest

# A directory names a source by its scope's place in the chain, and its number there.
SCOPE_SHIFT: Final = 40

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Filter:
    """A reader's directory, and the rows behind it that options ask about."""

    scope: Scope
    using: str
    index: FullText
    directory: Directory

    def mask(self, options: Options) -> Mask:
        """Return which passages of the directory the options leave in."""
        directory = self.directory
        mask = np.ones(len(directory), dtype=bool)
        if options.min_trust is not None:
            mask &= directory.trust >= options.min_trust.level
        if options.sources is not None:
            mask &= np.isin(directory.sources, self._sources_with_keys(options.sources))
        if options.metadata:
            mask &= np.isin(directory.sources, self._sources_with_metadata(options.metadata))
        if options.since is not None or options.until is not None:
            mask &= np.isin(directory.numbers, self._numbers_within(options))
        return mask

    def _sources(self) -> Any:
        return Source.objects.db_manager(self.using).visible_to(self.scope)

    def _named(self, rows: Iterable[Any]) -> list[int]:
        """Return sources as the directory names them."""
        depth = {level.parts: place for place, level in enumerate(self.scope.chain)}
        return [(depth[tuple(parts)] << SCOPE_SHIFT) | number for *parts, number in rows]

    def _sources_with_keys(self, keys: Iterable[str]) -> list[int]:
        digests = [digest(key) for key in keys if is_storable(key)]
        rows = self._sources().filter(key_digest__in=digests)
        return self._named(rows.values_list("tenant", "owner", "agent", "thread", "number"))

    def _sources_with_metadata(self, wanted: Mapping[str, Any]) -> list[int]:
        rows = self._sources().values_list(
            "metadata", "tenant", "owner", "agent", "thread", "number"
        )
        return self._named(row[1:] for row in rows.iterator() if _has_members(row[0], wanted))

    def _numbers_within(self, options: Options) -> Any:
        levels = self.index.directory(
            self.scope.chain, options.known_at, options.since, options.until
        )
        return np.concatenate([level.numbers for level in levels])


def _has_members(metadata: Any, wanted: Mapping[str, Any]) -> bool:
    return isinstance(metadata, dict) and all(
        name in metadata and _equals(metadata[name], value) for name, value in wanted.items()
    )


def _equals(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_same(stored, value) for value in wanted)
    return _same(stored, wanted)


def _same(stored: Any, wanted: Any) -> bool:
    # True is not 1: JSON tells them apart, Python's equality does not.
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return stored.keys() == wanted.keys() and all(
            _same(stored[name], wanted[name]) for name in stored
        )
    if isinstance(stored, list) and isinstance(wanted, list):
        return len(stored) == len(wanted) and all(map(_same, stored, wanted))
    return isinstance(stored, bool) == isinstance(wanted, bool) and bool(stored == wanted)
