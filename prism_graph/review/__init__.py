"""Review: what a person decides on, and what a decision does."""

from prism_graph.review.cases import Case, Listed, case_of, evidence_of, listed
from prism_graph.review.decisions import Change, Outcome, decide, rehearse, seen
from prism_graph.review.history import MAX_FACTS, MAX_STANDINGS, Area, FactHistory, histories
from prism_graph.review.targets import Decision, SourceTarget, Target, Verb, VersionTarget

__all__ = [
    "MAX_FACTS",
    "MAX_STANDINGS",
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
