"""Review: what a person decides on, and what a decision does."""

from prism_graph.review.cases import Case, Listed, case_of, evidence_of, listed
from prism_graph.review.decisions import (
    Change,
    Decision,
    Outcome,
    SourceTarget,
    Target,
    Verb,
    VersionTarget,
    decide,
    rehearse,
    seen,
)
from prism_graph.review.history import Area, FactHistory, histories

__all__ = [
    "Area",
    "Case",
    "Change",
    "Decision",
    "FactHistory",
    "Listed",
    "Outcome",
    "SourceTarget",
    "Target",
    "Verb",
    "VersionTarget",
    "case_of",
    "decide",
    "evidence_of",
    "histories",
    "listed",
    "rehearse",
    "seen",
]
