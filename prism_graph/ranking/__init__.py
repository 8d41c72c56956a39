"""Ranking: BM25 over what the reader sees, neighbours' votes, and the fusion of arms.

Pure numpy. Scores depend on the query and the visible chunks, and on nothing else: each chunk's
score is summed in the order of the query's terms, so neither row numbers nor their order can change
a bit of it.
"""

from __future__ import annotations

from prism_graph.ranking.contrast import CANDIDATES, ContrastPart, Contrasts, contrast
from prism_graph.ranking.directory import FROM_EARLIER, FROM_LATER, Directory
from prism_graph.ranking.fusion import ArmPart, Fused, FusedPart, Fusion, fuse
from prism_graph.ranking.matches import Lookup, TermMatch, match
from prism_graph.ranking.scoring import Explanation, Ranking, TermPart, rank
from prism_graph.ranking.segments import SUMMED

__all__ = [
    "CANDIDATES",
    "FROM_EARLIER",
    "FROM_LATER",
    "SUMMED",
    "ArmPart",
    "ContrastPart",
    "Contrasts",
    "Directory",
    "Explanation",
    "Fused",
    "FusedPart",
    "Fusion",
    "Lookup",
    "Ranking",
    "TermMatch",
    "TermPart",
    "contrast",
    "fuse",
    "match",
    "rank",
]
