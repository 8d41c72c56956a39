from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import override_settings

from prism_graph import Memory, Origin, Scope, Trust, conf
from prism_graph.chunking import MarkdownChunker, Piece, PlainTextChunker
from prism_graph.embedders import loading
from prism_graph.embedders.hashing import HashingEmbedder
from prism_graph.errors import InvalidScope, InvalidSettings

ACME = Scope("acme")
USER = Origin(Trust.USER)


class Lines:
    def split(self, text: str) -> list[str]:
        return text.splitlines(keepends=True)


def split_function(text: str) -> list[Piece]:
    return [Piece(0, len(text))]


def broken_factory() -> None:
    raise RuntimeError("this factory is broken")


def loud_owner(instance: Any) -> str:
    return f"person-{instance.pk}"


def numeric_owner(instance: Any) -> int:
    return int(instance.pk)


GOOD: list[Any] = [
    {},
    {"MAX_TEXT": 1},
    {"CHUNKER": "prism_graph.chunking.PlainTextChunker"},
    {"CHUNKER": PlainTextChunker},
    {"CHUNKER": lambda: MarkdownChunker(400)},
    {"CHUNKER": "tests.test_conf.Lines"},
    {"OWNER_ID": None, "REVIEW_SCOPES": None},
    {"OWNER_ID": "tests.test_conf.loud_owner"},
    {"OWNER_ID": loud_owner, "REVIEW_SCOPES": lambda user: []},
    *({"EMBEDDER": value} for value in (None, "hashing", HashingEmbedder, HashingEmbedder(8))),
    {"EMBEDDER": {"provider": "hashing", "dimensions": 8}},
    *({"EMBED_SECONDS": value} for value in (1, 0.25, 2.0)),
]
# The setting, and what its complaint must name.
BAD: list[tuple[Any, str]] = [
    *((raw, "must be a dict") for raw in (None, [], "MAX_TEXT", 7, {"a"})),
    ({"MAX_TEXTS": 1}, "MAX_TEXTS"),
    ({"max_text": 1}, "MAX_TEXT"),
    ({"CHUNKERS": "x"}, "CHUNKER"),
    ({"NOTHING_LIKE_IT": 1}, "Known keys"),
    ({7: 1}, "7"),
    *(({"MAX_TEXT": value}, "MAX_TEXT") for value in (0, -1, "10", 1.5, None, True, [1])),
    *(
        ({"CHUNKER": value}, "CHUNKER")
        for value in (
            *(None, 7, "", ".", "..", ".a", "a.", "nodots", "no.such.module", "os.nothing"),
            *("tests.test_conf.ACME", "tests.test_conf.split_function", "builtins.dict", dict),
            *("tests.test_conf.broken_factory", split_function, MarkdownChunker(), b"x", "\x00.a"),
        )
    ),
    *(
        ({name: value}, name)
        for name in ("OWNER_ID", "REVIEW_SCOPES")
        for value in (7, "", "no.such.module", "tests.test_conf.ACME", [])
    ),
    *(
        ({"EMBEDDER": value}, "EMBEDDER")
        for value in (
            7,
            "",
            "hashings",
            "tests.test_conf.ACME",
            [],
            {},
            {"provider": "hashing", "x": 1},
        )
    ),
    *(
        ({"EMBED_SECONDS": value}, "EMBED_SECONDS")
        for value in (0, -1.0, "2", None, True, float("nan"), float("inf"), 1e300)
    ),
]


@pytest.mark.parametrize("raw", GOOD, ids=[str(n) for n in range(len(GOOD))])
def test_a_good_setting_has_no_problems(raw: Any) -> None:
    assert conf.problems(raw) == []
    with override_settings(PRISM_GRAPH=raw):
        assert conf.config().MAX_TEXT >= 1
        assert conf.default_chunker().split("text")


@pytest.mark.parametrize(("raw", "named"), BAD, ids=[str(n) for n in range(len(BAD))])
def test_a_mistake_is_named_with_what_to_do(raw: Any, named: str) -> None:
    ((what, hint),) = conf.problems(raw)
    assert named in what + hint
    assert hint
    with override_settings(PRISM_GRAPH=raw), pytest.raises(InvalidSettings):
        conf.config()


def test_every_mistake_is_named_at_once() -> None:
    raw = {"MAX_TEXT": 0, "CHUNKER": "no.such", "TYPO": 1}
    assert len(conf.problems(raw)) == 3


def test_without_the_setting_the_defaults_hold(settings: Any) -> None:
    assert not hasattr(settings, "PRISM_GRAPH")
    assert conf.config() == conf.Config()
    assert conf.config().MAX_TEXT == 10 * 1024 * 1024
    assert isinstance(conf.default_chunker(), MarkdownChunker)


@pytest.mark.django_db
@override_settings(PRISM_GRAPH={"CHUNKER": "tests.test_conf.Lines"})
def test_the_chunker_of_the_setting_cuts_what_names_none() -> None:
    assert len(Memory(ACME).ingest("a", "one\ntwo\n", origin=USER).added) == 2
    report = Memory(ACME).ingest("b", "one\ntwo\n", origin=USER, chunker=PlainTextChunker())
    assert len(report.added) == 1


@pytest.mark.django_db
def test_an_owner_is_the_models_label_and_key() -> None:
    user = User.objects.create(username="ann")
    assert conf.owner_id(user) == f"auth.user/{user.pk}"
    assert ACME.for_owner(user).owner == f"auth.user/{user.pk}"
    with override_settings(PRISM_GRAPH={"OWNER_ID": "tests.test_conf.loud_owner"}):
        assert ACME.for_owner(user).owner == f"person-{user.pk}"
    with override_settings(PRISM_GRAPH={"OWNER_ID": numeric_owner}), pytest.raises(InvalidScope):
        ACME.for_owner(user)


@pytest.mark.parametrize("bad", [None, 7, object(), User, AnonymousUser(), [], b"ann"])
def test_what_is_no_saved_instance_is_no_owner(bad: Any) -> None:
    with pytest.raises(InvalidScope):
        conf.owner_id(bad)


def test_an_unsaved_instance_is_no_owner() -> None:
    with pytest.raises(InvalidScope):
        conf.owner_id(User(username="ann"))


def test_without_the_setting_there_is_no_embedder() -> None:
    assert conf.embedder() is None


def test_an_embedder_is_made_once_until_the_setting_changes() -> None:
    with override_settings(PRISM_GRAPH={"EMBEDDER": "hashing"}):
        first = conf.embedder()
        assert isinstance(first, HashingEmbedder)
        assert conf.embedder() is first
    assert conf.embedder() is None
    with override_settings(PRISM_GRAPH={"EMBEDDER": {"provider": "hashing", "dimensions": 8}}):
        assert getattr(conf.embedder(), "dimensions", None) == 8


def test_one_thread_makes_the_embedder_and_the_others_wait() -> None:
    made: list[HashingEmbedder] = []
    waiting = threading.Barrier(4, timeout=10)

    def slow() -> HashingEmbedder:
        threading.Event().wait(0.05)
        made.append(HashingEmbedder())
        return made[-1]

    def ask(_: int) -> Any:
        waiting.wait()
        return conf.embedder()

    with override_settings(PRISM_GRAPH={"EMBEDDER": slow}), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(made) == 1
    assert found == made * 4


def test_an_embedder_that_cannot_be_made_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "AGAIN", 0.0)
    answers: list[Any] = [None, HashingEmbedder()]
    with override_settings(PRISM_GRAPH={"EMBEDDER": lambda: answers.pop(0)}):
        with pytest.raises(InvalidSettings):
            conf.embedder()
        assert isinstance(conf.embedder(), HashingEmbedder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_makes_its_own() -> None:
    with override_settings(PRISM_GRAPH={"EMBEDDER": "hashing"}):
        parents = conf.embedder()
        conf._loaded.begin_after_fork()
        assert conf.embedder() is not parents
