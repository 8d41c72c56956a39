"""What every embedder must do, as tests: for those of this package, and for a project's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.embedders import Embedder, make, space_of, vectors

# How near, as a cosine, two vectors of one text must be: a batch may round in another order.
SAME: Final = 0.999


class EmbedderContract:
    """Tests to inherit together with `unittest.TestCase`, or alone under pytest.

    Define `embedder()`, and replace `TEXTS` where a model does not know these.
    """

    TEXTS: Sequence[str] = (
        "Invoices are kept in the safe on the second floor.",
        "The cat sleeps.",
        "How many people may enter the laboratory at once? At most twelve, and never without a guide.",
        "Zürich, 東京, Москва",
        "The cat sleeps all day, and nobody minds.",
    )

    def embedder(self) -> Embedder:
        """Return the embedder to test."""
        raise NotImplementedError

    def test_it_can_stand_in_the_setting(self) -> None:
        embedder = self.embedder()
        assert make(embedder) is embedder
        assert space_of(embedder) == space_of(self.embedder()), "its name and model change"

    def test_no_texts_have_no_vectors(self) -> None:
        assert _count(self.embedder().embed([])) == 0

    def test_every_text_has_a_vector_of_the_width_told(self) -> None:
        embedder = self.embedder()
        found = self._vectors(embedder, self.TEXTS)
        assert found.dtype == np.float32
        assert found.shape == (len(self.TEXTS), embedder.dimensions)
        assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)

    def test_questions_have_vectors_of_the_same_width(self) -> None:
        embedder = self.embedder()
        found = self._vectors(embedder, self.TEXTS, query=True)
        assert found.shape == (len(self.TEXTS), embedder.dimensions)

    def test_a_text_has_the_same_vector_every_time(self) -> None:
        embedder = self.embedder()
        again = self._vectors(embedder, self.TEXTS)
        assert _same(self._vectors(embedder, self.TEXTS), again)

    def test_a_text_has_the_same_vector_beside_any_others(self) -> None:
        embedder = self.embedder()
        together = self._vectors(embedder, self.TEXTS)
        backwards = self._vectors(embedder, self.TEXTS[::-1])[::-1]
        alone = np.concatenate([self._vectors(embedder, [text]) for text in self.TEXTS])
        assert _same(together, backwards), "the order of a batch changes its vectors"
        assert _same(together, alone), "the company of other texts changes a vector"

    def test_different_texts_have_different_vectors(self) -> None:
        found = self._vectors(self.embedder(), self.TEXTS)
        cosines = found @ found.T
        np.fill_diagonal(cosines, 0.0)
        assert cosines.max() < SAME

    def _vectors(
        self, embedder: Embedder, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        return vectors(embedder, texts, query=query)


def _same(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    return bool(((one * other).sum(axis=1) >= SAME).all())


def _count(found: Any) -> int:
    return len(list(found))
