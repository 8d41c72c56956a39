"""The table of sqlite-vec for one width, with its triggers: what is missing, making it, removing it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from django.db import connections, transaction

from prism_graph.errors import InvalidSettings
from prism_graph.tables import wide
from prism_graph.vectors import extension
from prism_graph.vectors.base import Space

# A vector's row is numbered by its chunk's number and the first digits of its space, which a trigger can
# compute. Two spaces that begin alike would refuse each other's vectors; they never share one.
DIGITS: Final = 7
SPACE_BITS: Final = 4 * DIGITS
MOST_CHUNKS: Final = 1 << (63 - SPACE_BITS)


def _row(table: str) -> str:
    digits = (
        f"(instr('123456789abcdef', substr({table}.space, {place + 1}, 1)) << {4 * (DIGITS - 1 - place)})"
        for place in range(DIGITS)
    )
    return f"(({table}.number << {SPACE_BITS}) | {' | '.join(digits)})"


OLD_ROW: Final = _row("OLD")
E_ROW: Final = _row("e")
AT: Final = "e.space = %s AND e.tenant = %s AND e.owner = %s AND e.agent = %s AND e.thread = %s"

# A scope takes room by whole blocks: three vectors that of sixteen. Smaller blocks make large scopes slow.
TABLE: Final = (
    "CREATE VIRTUAL TABLE $vectors USING vec0(place text partition key, "
    "embedding float[$dimensions] distance_metric=cosine, chunk_size=16)"
)
# Without it each insert and each search looks at the blocks of all scopes.
PLACES: Final = "CREATE INDEX $vectors_place ON $vectors_chunks (partition00)"
GONE: Final = f"BEGIN DELETE FROM $vectors WHERE rowid = {OLD_ROW}; END"
DELETED: Final = f"CREATE TRIGGER $vectors_delete AFTER DELETE ON $embedding {GONE}"
MOVED: Final = (
    "CREATE TRIGGER $vectors_move AFTER UPDATE OF number, space, tenant, owner, agent, thread ON $embedding "
    "WHEN (NEW.number, NEW.space, NEW.tenant, NEW.owner, NEW.agent, NEW.thread) IS NOT "
    f"(OLD.number, OLD.space, OLD.tenant, OLD.owner, OLD.agent, OLD.thread) {GONE}"
)
PARTS: Final = {
    "vectors": TABLE,
    "vectors_place": PLACES,
    "vectors_delete": DELETED,
    "vectors_move": MOVED,
}
UNDO: Final = {
    "vectors_place": "DROP INDEX $vectors_place",
    "vectors_delete": "DROP TRIGGER $vectors_delete",
    "vectors_move": "DROP TRIGGER $vectors_move",
}
EXISTING: Final = "SELECT name, sql FROM sqlite_master WHERE name LIKE %s"
ORPHANS: Final = f"DELETE FROM $vectors WHERE rowid NOT IN (SELECT {E_ROW} FROM $embedding e)"
LOST: Final = (
    "DELETE FROM $embedding AS e WHERE e.space IN (SELECT p.space FROM $vectorpartition p "
    f"WHERE p.store = %s AND p.dimensions = %s) AND {E_ROW} NOT IN (SELECT rowid FROM $vectors)"
)


def rowids(space: Space, numbers: Iterable[int]) -> list[int]:
    """Return the rows of these chunks' vectors. Raises OverflowError beyond 2**35 chunks."""
    slot, listed = int(space.key[:DIGITS], 16), [int(number) for number in numbers]
    if listed and max(listed) >= MOST_CHUNKS:
        raise OverflowError("sqlite-vec's rows have no numbers left for this chunk.")
    return [number << SPACE_BITS | slot for number in listed]


class Upkeep:
    """What a store needs of its table besides reading and writing vectors."""

    using: str
    dimensions: int

    def prepare(self) -> None:
        """Create the table, and restore what a remake of the rows' table dropped.

        Then what went missing meanwhile is put right: vectors without a row are deleted, and rows without a
        vector as well, so that they wait to be embedded again.
        """
        if self.hindrance() or not self._migrated():
            return
        missing, there = self.missing(), self._existing()
        if not missing:
            return
        with transaction.atomic(using=self.using), connections[self.using].cursor() as cursor:
            for part, statement in PARTS.items():
                if self._name(part) in missing:
                    if self._name(part) in there:
                        cursor.execute(self.filled(UNDO[part]))
                    cursor.execute(self.filled(statement))
            cursor.execute(self.filled(ORPHANS))
            cursor.execute(self.filled(LOST), [extension.NAME, self.dimensions])

    def remove(self) -> None:
        """Drop the table with every vector in it, and its triggers."""
        self.require()
        with transaction.atomic(using=self.using), connections[self.using].cursor() as cursor:
            cursor.execute(self.filled("DROP TRIGGER IF EXISTS $vectors_delete"))
            cursor.execute(self.filled("DROP TRIGGER IF EXISTS $vectors_move"))
            cursor.execute(self.filled("DROP TABLE IF EXISTS $vectors"))

    def missing(self) -> list[str]:
        """Return the table, index and triggers that are absent or not as they are made here."""
        if not self._migrated():
            return []
        there, absent = self._existing(), []
        for part, statement in PARTS.items():
            name = self._name(part)
            # A table that an earlier version made keeps its vectors.
            if name not in there or (
                part in UNDO and there[name] != _normal(self.filled(statement))
            ):
                absent.append(name)
        return absent

    def exists(self) -> bool:
        """Say whether there is a table for this width."""
        return (
            connections[self.using].vendor == "sqlite" and self._name("vectors") in self._existing()
        )

    def hindrance(self) -> str:
        """Return what keeps the extension from working on this database, or `""`."""
        return extension.load(connections[self.using])

    def require(self) -> None:
        """Load the extension. Raises InvalidSettings where that cannot be."""
        if hindrance := self.hindrance():
            raise InvalidSettings(hindrance)

    def filled(self, template: str) -> str:
        """Return the statement that a template becomes for this width."""
        return wide(self.dimensions).fill(template)

    def _name(self, part: str) -> str:
        return wide(self.dimensions).names[part]

    def _migrated(self) -> bool:
        tables = connections[self.using].introspection.table_names()
        return wide(self.dimensions).names["embedding"] in tables

    def _existing(self) -> dict[str, str]:
        with connections[self.using].cursor() as cursor:
            cursor.execute(EXISTING, [f"{self._name('vectors')}%"])
            return {name: _normal(text or "") for name, text in cursor.fetchall()}


def _normal(statement: str) -> str:
    return re.sub(r"\s+", " ", statement.replace('"', "")).strip()
