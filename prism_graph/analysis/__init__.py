"""The text analyser: one for both databases, and for every language at once."""

from __future__ import annotations

from typing import Final

from prism_graph.analysis.folding import fold
from prism_graph.analysis.phrases import phrase_pattern, phrase_words
from prism_graph.analysis.query import MAX_TERMS, PREFIX, Query, Segment, Term, query_terms
from prism_graph.analysis.spans import sought, spans
from prism_graph.analysis.terms import index_terms, length_of

NAME: Final = "prism"
# Raise it with every change to what `index_terms` returns for any text: repair analyses again.
VERSION: Final = 1

__all__ = [
    "MAX_TERMS",
    "NAME",
    "PREFIX",
    "VERSION",
    "Query",
    "Segment",
    "Term",
    "fold",
    "index_terms",
    "length_of",
    "phrase_pattern",
    "phrase_words",
    "query_terms",
    "sought",
    "spans",
]
