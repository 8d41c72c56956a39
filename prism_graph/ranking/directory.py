"""What the reader sees, as arrays, and who lends to whom."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Scores are rounded to this many decimals.
DECIMALS: Final = 9
# Turns are short: their length says little, and a word repeated says little more.
TURN_K1, TURN_B = 0.7, 0.2
PASSAGE_K1, PASSAGE_B = 1.2, 0.75
# What a turn lends to the first, second, … turn after it, and to those before it.
FROM_EARLIER: Final = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
FROM_LATER: Final = (0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True, eq=False)
class Directory:
    """The chunks a reader sees, as arrays of one length, in any order.

    `numbers` are distinct row numbers, `lengths` words, `sources` any integer per source,
    `ordinals` places within the source, `trust` levels (higher is more trusted), `votes` whether
    the chunk is a turn of a conversation. Raises ValueError when the arrays differ in length.
    """

    numbers: Integers
    lengths: Integers
    sources: Integers
    ordinals: Integers
    trust: Integers
    votes: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if len({len(getattr(self, field.name)) for field in fields(self)}) != 1:
            raise ValueError("A directory's arrays must have one length.")

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def _by_number(self) -> tuple[Integers, Integers]:
        order = np.argsort(self.numbers, kind="stable")
        return order, self.numbers[order]

    @cached_property
    def saturation(self) -> tuple[Floats, Floats]:
        """Return k1 + 1 and k1·(1 − b + b·length/average) of every chunk, by its kind."""
        k1 = np.where(self.votes, TURN_K1, PASSAGE_K1)
        b = np.where(self.votes, TURN_B, PASSAGE_B)
        average = np.ones(len(self))
        for kind in (self.votes, ~self.votes):
            if kind.any():
                average[kind] = max(int(self.lengths[kind].sum()) / int(kind.sum()), 1.0)
        return k1 + 1.0, k1 * (1.0 - b + b * self.lengths / average)

    @cached_property
    def takers(self) -> tuple[tuple[float, Integers], ...]:
        """Return, for each distance, the share lent over it and every chunk's taker (-1: none).

        A taker stands in the same conversation, exactly that many places on, and ranks no higher
        in trust than its giver.
        """
        turns = np.flatnonzero(self.votes)
        order = turns[np.lexsort((self.ordinals[turns], self.sources[turns]))]
        steps = [(share, at + 1) for at, share in enumerate(FROM_EARLIER)]
        steps += [(share, -at - 1) for at, share in enumerate(FROM_LATER)]
        lists = [
            (share, self._taker(order, step)) for share, step in steps if abs(step) < len(order)
        ]
        return tuple((share, taker) for share, taker in lists if taker.max() >= 0)

    def _taker(self, order: Integers, step: int) -> Integers:
        takers = np.full(len(self), -1, dtype=np.int64)
        earlier, later = order[: -abs(step)], order[abs(step) :]
        giver, taker = (earlier, later) if step > 0 else (later, earlier)
        fits = (
            (self.sources[giver] == self.sources[taker])
            & (self.ordinals[giver] + step == self.ordinals[taker])
            & (self.trust[giver] >= self.trust[taker])
        )
        takers[giver[fits]] = taker[fits]
        return takers

    def locate(self, numbers: ArrayLike) -> Integers:
        """Return the positions of those row numbers that are here; others fall away."""
        order, known = self._by_number
        wanted = np.asarray(numbers, dtype=np.int64)
        if not len(known) or not len(wanted):
            return np.empty(0, dtype=np.int64)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.asarray(order[at[known[at] == wanted]], dtype=np.int64)
