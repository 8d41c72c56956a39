"""Ranking: BM25 over what the reader sees, neighbours' votes, and the fusion of arms.

Pure numpy. Scores depend on the query and the visible chunks, and on nothing else: each chunk's
score is summed in the order of the query's terms, so neither row numbers nor their order can change
a bit of it.
"""

from __future__ import annotations

from prism_graph.ranking.directory import FROM_EARLIER, FROM_LATER, Directory
from prism_graph.ranking.fusion import fuse_ranks, fuse_scores
from prism_graph.ranking.lending import SUMMED
from prism_graph.ranking.matches import Lookup, TermMatch, match
from prism_graph.ranking.scoring import Explanation, Ranking, TermPart, rank

__all__ = [
    "FROM_EARLIER",
    "FROM_LATER",
    "SUMMED",
    "Directory",
    "Explanation",
    "Fused",
    "Fusion",
    "Lookup",
    "Ranking",
    "TermMatch",
    "TermPart",
    "fuse",
    "match",
    "rank",
]
