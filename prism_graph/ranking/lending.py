"""What a chunk takes from the turns beside it."""

from __future__ import annotations

from typing import Final

import numpy as np

from prism_graph.ranking.directory import Directory, Floats, Integers

# A chunk takes the best of its own and what is lent; this part is the sum instead.
SUMMED: Final = 0.15


def spread(directory: Directory, positions: Integers, own: Floats) -> Floats:
    """Return the score of every chunk of the directory: its own, or the best share lent to it.

    `own` are scores of at least 0 at distinct positions; elsewhere they are 0.
    """
    best = np.zeros(len(directory))
    best[positions] = own
    if not directory.takers:
        return best
    total = best.copy()
    for share, takers in directory.takers:
        taker = takers[positions]
        takes = taker >= 0
        taker, lent = taker[takes], share * own[takes]
        best[taker] = np.maximum(best[taker], lent)
        total[taker] += lent
    return np.asarray((1.0 - SUMMED) * best + SUMMED * total)
