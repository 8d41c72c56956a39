"""Vectors from spelling alone: for tests, and to try things out. No model, no package, no waiting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.embedders import options

_WORD: Final = re.compile(r"\w+")
# How much all trigrams of a word weigh together, beside the word itself.
_SPELLING: Final = 0.5
_ZERO: Final = 1e-9
_RULES: Final[options.Rules] = {"dimensions": options.COUNT}

Slot = tuple[int, float]


class HashingEmbedder:
    """Hash words and their trigrams to signed slots: texts are near that share words or parts of them.

    The same in every process, and no text is kept between two calls. Its vectors know spelling, not
    meaning. (Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009.)
    """

    name = "hashing"
    model = "hashing-1"  # another number whenever the vectors change

    def __init__(self, dimensions: int = 256) -> None:
        options.check_options(self.name, {"dimensions": dimensions}, _RULES)
        self.dimensions = dimensions

    @staticmethod
    def complaint(**given: Any) -> str | None:
        """Return what is wrong with the options; None where nothing is."""
        return options.broken_rule(given, _RULES)

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float64]]:
        """Return a vector for each text; none is zero, not even an empty text's."""
        words: dict[str, list[Slot]] = {}
        parts: dict[str, Slot] = {}
        return [self._vector(text, words, parts) for text in texts]

    def _vector(
        self, text: str, words: dict[str, list[Slot]], parts: dict[str, Slot]
    ) -> NDArray[np.float64]:
        slots: list[Slot] = []
        for word in _WORD.findall(text.casefold()):
            if (known := words.get(word)) is None:
                known = words[word] = self._slots(f" {word} ", parts)
            slots += known
        # Weights may cancel out, and a text of symbols has no words: then the text as a whole counts.
        found = self._sum(slots or [self._slot(text)])
        return found if np.abs(found).max() > _ZERO else self._sum([self._slot(text)])

    def _slots(self, word: str, parts: dict[str, Slot]) -> list[Slot]:
        trigrams = [word[start : start + 3] for start in range(len(word) - 2)]
        weight = _SPELLING / len(trigrams) ** 0.5
        found = [self._slot(word)]
        for trigram in trigrams:
            if (known := parts.get(trigram)) is None:
                known = parts[trigram] = self._slot(trigram)
            found.append((known[0], known[1] * weight))
        return found

    def _slot(self, part: str) -> Slot:
        digest = blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        return (number >> 1) % self.dimensions, 1.0 if number & 1 else -1.0

    def _sum(self, slots: list[Slot]) -> NDArray[np.float64]:
        places, weights = zip(*slots, strict=True)
        found = np.bincount(places, weights=weights, minlength=self.dimensions)
        return found.astype(np.float64, copy=False)
