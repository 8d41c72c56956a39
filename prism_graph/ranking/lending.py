"""What a chunk takes from the turns beside it."""

from __future__ import annotations

import numpy as np

from prism_graph.ranking.directory import Directory, Floats, Integers


def spread(directory: Directory, positions: Integers, own: Floats, summed: float) -> Floats:
    """Return the score of every chunk: the best of its own and each share lent to it, or their sum.

    `own` are scores of at least 0 at distinct positions of the directory; elsewhere they are 0.
    `summed`, 0 to 1, is the weight of the sum, and the rest that of the best.
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
    return np.asarray((1.0 - summed) * best + summed * total)
