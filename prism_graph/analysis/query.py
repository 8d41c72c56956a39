"""Queries: a text, read as data, as segments of weighted terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from prism_graph.analysis.folding import normalised
from prism_graph.analysis.functionwords import ELSEWHERE, ENGLISH
from prism_graph.analysis.sentences import sentences
from prism_graph.analysis.tokens import tokens
from prism_graph.analysis.words import Kind, words_of

MAX_TERMS: Final = 512
LONG_QUERY: Final = 400
PREFIX: Final = "*"
PREFIX_WEIGHT: Final = 0.3
# English has its stemmer; the words of any other language are also met by longer beginnings.
PREFIX_LETTERS: Final = (4,)
PREFIX_LETTERS_ELSEWHERE: Final = (4, 5, 7)
SHARED_WORDS: Final = -4.5


@dataclass(frozen=True, slots=True)
class Term:
    """A word to look up, and its weight; a word ending in `*` stands for all it begins."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence of the query: its terms, and the log weight of being what is asked."""

    terms: tuple[Term, ...]
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Query:
    """What a query text asks for: one segment, or the sentences of a long text."""

    segments: tuple[Segment, ...]

    def words(self) -> tuple[str, ...]:
        """Return every word to look up, once, in order: at most 512."""
        return tuple(dict.fromkeys(t.word for s in self.segments for t in s.terms))


def query_terms(text: str) -> Query:
    """Return the segments of a query text.

    Any text is taken as it is, nothing in it is an operator. Function words are left out unless
    the query has no others. A text over 400 characters falls into sentences, and those that least
    look like what is asked are dropped once 512 distinct words are reached.
    """
    plain = normalised(text)
    if len(plain) <= LONG_QUERY:
        found = tokens(plain)
        letters = _prefix_letters(found)
        segments = [Segment(tuple(_terms(_content(found) or found, letters)))]
    else:
        segments = _segments(plain)
    return Query(tuple(_affordable([s for s in segments if s.terms])))


def _segments(text: str) -> list[Segment]:
    found = [(sentence, tokens(sentence.text)) for sentence in sentences(text)]
    content = [(sentence, _content(each)) for sentence, each in found]
    if not any(each for _, each in content):
        content = found
    terms = [
        tuple(_terms(each, _prefix_letters(whole)))
        for (_, each), (_, whole) in zip(content, found, strict=True)
    ]
    uses = Counter(word for each in set(terms) for word in _exact(each))
    return [
        Segment(each, sentence.weight + SHARED_WORDS * _shared(each, uses))
        for (sentence, _), each in zip(content, terms, strict=True)
    ]


def _exact(terms: Sequence[Term]) -> list[str]:
    return [term.word for term in terms if not term.word.endswith(PREFIX)]


def _shared(terms: Sequence[Term], uses: Counter[str]) -> float:
    """Return the part of the words that other sentences use too: pasted prose keeps to a theme."""
    words = _exact(terms)
    return sum(uses[word] > 1 for word in words) / max(len(words), 1)


def _affordable(segments: Sequence[Segment]) -> list[Segment]:
    """Keep the segments of most weight that together ask for at most 512 words."""
    asked: set[str] = set()
    kept: dict[int, Segment] = {}
    for at, segment in sorted(enumerate(segments), key=lambda item: -item[1].weight):
        terms = []
        for term in segment.terms:
            if term.word in asked or len(asked) < MAX_TERMS:
                asked.add(term.word)
                terms.append(term)
        if terms and (len(terms) == len(segment.terms) or not kept):
            kept[at] = Segment(tuple(terms), segment.weight)
    return [kept[at] for at in sorted(kept)]


def _content(found: Sequence[str]) -> list[str]:
    return [token for token in found if token.lower().replace("’", "'") not in ENGLISH]


def _prefix_letters(found: Sequence[str]) -> tuple[int, ...]:
    english = len(found) - len(_content(found))
    if english * 8 >= len(found):
        return PREFIX_LETTERS
    foreign = any(not each.isascii() or each.lower() in ELSEWHERE for each in found)
    return PREFIX_LETTERS_ELSEWHERE if foreign else PREFIX_LETTERS


def _terms(found: Sequence[str], prefix_letters: Sequence[int]) -> list[Term]:
    weights: dict[str, float] = {}
    stems = []
    for token in found:
        words = words_of(token)
        stems += [word.term for word in words if word.kind is Kind.STEM]
        for word in words:
            if word.kind is not Kind.REMAINDER:
                weights.setdefault(word.term, word.kind.weight)
        if words and all(word.kind is Kind.REMAINDER for word in words):
            weights.setdefault(words[0].term + PREFIX, Kind.REMAINDER.weight)
    for letters in prefix_letters:
        for term in stems:
            if len(term) >= letters and not term.isdigit():
                weights.setdefault(term[:letters] + PREFIX, PREFIX_WEIGHT)
    return [Term(word, weight) for word, weight in weights.items()]
