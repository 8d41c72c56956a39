"""The text analyser: one for both databases, and for every language at once."""

from prism_graph.analysis.folding import fold
from prism_graph.analysis.query import PREFIX, Query, Segment, Term, query_terms
from prism_graph.analysis.terms import index_terms

NAME = "prism"
VERSION = "1"

__all__ = ["NAME", "PREFIX", "VERSION", "Query", "Segment", "Term", "fold", "index_terms", "query_terms"]
