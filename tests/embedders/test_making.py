from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pytest

from prism_graph.embedders import complaint, make, making, space_of
from prism_graph.embedders.hashing import HashingEmbedder
from prism_graph.errors import EmbedderUnavailable, InvalidSettings


class Own:
    name, model = "own", "a/b"

    def __init__(self, dimensions: int = 3, *, depth: int = 1) -> None:
        self.dimensions, self.depth = dimensions, depth

    def embed(self, texts: Sequence[str]) -> Any:
        return [[1.0] * self.dimensions for _ in texts]


class CallableOwn(Own):
    def __call__(self) -> None:
        raise AssertionError("an embedder is not called")


class Checking(Own):
    @staticmethod
    def complaint(depth: int = 1) -> str | None:
        return None if depth < 9 else "is too deep"


def factory(**options: Any) -> Own:
    return Own(**options)


def broken() -> Own:
    raise RuntimeError("no model here")


def unavailable() -> Own:
    raise EmbedderUnavailable("Come back later.")


def unlike(**changed: Any) -> Own:
    made = Own()
    for name, value in changed.items():
        setattr(made, name, value)
    return made


OWN = Own()
HERE = "tests.embedders.test_making."
GOOD: list[tuple[Any, str]] = [
    ("hashing", "hashing/hashing-1/256"),
    ({"provider": "hashing"}, "hashing/hashing-1/256"),
    ({"provider": "hashing", "dimensions": 8, "options": {}}, "hashing/hashing-1/8"),
    ({"provider": "hashing", "model": None, "dimensions": None}, "hashing/hashing-1/256"),
    ("prism_graph.embedders.hashing.HashingEmbedder", "hashing/hashing-1/256"),
    (HashingEmbedder, "hashing/hashing-1/256"),
    (HashingEmbedder(5), "hashing/hashing-1/5"),
    *((value, "own/a/b/3") for value in (HERE + "Own", HERE + "factory", HERE + "OWN")),
    *((value, "own/a/b/3") for value in (Own, OWN, factory, CallableOwn(), lambda: OWN)),
    ({"provider": HERE + "Own", "dimensions": 4, "options": {"depth": 2}}, "own/a/b/4"),
    ({"provider": HERE + "factory", "options": {"depth": 2}}, "own/a/b/3"),
    ({"provider": factory, "dimensions": 4}, "own/a/b/4"),
    ({"provider": HERE + "OWN"}, "own/a/b/3"),
    (Checking, "own/a/b/3"),
]
# The value, and what its complaint must name.
BAD: list[tuple[Any, str]] = [
    *((value, "embed(texts)") for value in (7, [], b"hashing", object(), HERE + "HERE")),
    *(
        (value, "'hashing'")
        for value in ("", "hashings", "no.such.module", HERE + "nothing", ".", "\x00.a")
    ),
    ({}, "'provider'"),
    ({"model": "x"}, "'provider'"),
    ({"provider": None}, "embed(texts)"),
    ({"provider": "hashin"}, "'hashing'"),
    ({"provider": "hashing", "option": {}}, "did you mean 'options'"),
    ({"provider": "hashing", "zzz": {}}, "it takes provider, model, dimensions, options"),
    ({"provider": "hashing", 7: 1}, "7"),
    *(
        ({"provider": "hashing", "options": value}, "'options'")
        for value in (None, [], "x", {1: 2})
    ),
    ({"provider": "hashing", "options": {"dimensions": 8}}, "beside its 'options'"),
    ({"provider": "hashing", "options": {"depth": 8}}, "depth"),
    ({"provider": "hashing", "model": "x"}, "model"),
    ({"provider": "hashing", "dimensions": 0}, "dimensions"),
    ({"provider": HERE + "Own", "options": {"width": 8}}, "width"),
    ({"provider": HERE + "OWN", "dimensions": 8}, "takes no options"),
    ({"provider": OWN, "options": {"depth": 8}}, "takes no options"),
    ({"provider": Checking, "options": {"depth": 9}}, "too deep"),
    *((unlike(name=value), "name") for value in ("", None, 7, "a/b", "a\n")),
    *((unlike(model=value), "model") for value in ("", None, 7, "m" * 256)),
    *((unlike(dimensions=value), "dimensions") for value in (0, -1, None, "3", 1.5, True)),
]


@pytest.mark.parametrize(("value", "space"), GOOD, ids=[str(n) for n in range(len(GOOD))])
def test_a_good_value_makes_an_embedder(value: Any, space: str) -> None:
    assert complaint(value) is None
    assert space_of(make(value)) == space


def test_options_arrive() -> None:
    assert make({"provider": Own, "options": {"depth": 2}}).depth == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(("value", "named"), BAD, ids=[str(n) for n in range(len(BAD))])
def test_a_mistake_is_named(value: Any, named: str) -> None:
    assert named in (complaint(value) or "")
    with pytest.raises(InvalidSettings) as refusal:
        make(value)
    assert named in str(refusal.value)
    assert str(refusal.value).startswith("PRISM_GRAPH['EMBEDDER'] ")


@pytest.mark.parametrize(
    "value",
    [broken, HERE + "broken", lambda: None, lambda: unlike(dimensions=0)],
    ids=["raises", "raises by its path", "nothing", "no width"],
)
def test_what_only_its_making_shows_is_found_then(value: Any) -> None:
    assert complaint(value) is None
    with pytest.raises(InvalidSettings):
        make(value)


def test_a_refusal_of_the_tree_passes() -> None:
    with pytest.raises(EmbedderUnavailable):
        make(unavailable)


def test_a_missing_package_is_named_by_its_extra() -> None:
    provider = making.Provider(HERE + "Own", "small", ("no_such_package",))
    with mock.patch.dict(making.PROVIDERS, {"small": provider}):
        assert "`pip install 'django-prism-graph[small]'`" in (complaint("small") or "")
        with pytest.raises(InvalidSettings):
            make({"provider": "small"})


def test_every_provider_can_be_named_without_settings_and_without_its_packages() -> None:
    program = (
        "import sys\n"
        "from prism_graph.embedders import complaint, making\n"
        "for provider in making.PROVIDERS.values():\n"
        "    sys.modules.update(dict.fromkeys(provider.packages))\n"
        "    making.import_string(provider.path)\n"
        "print([name for name in making.PROVIDERS if complaint({'provider': name, 'model': 'm'})])"
    )
    environment = {
        name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (str([*making.PROVIDERS]), "")
