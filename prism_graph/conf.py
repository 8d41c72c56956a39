"""The only reader of the PRISM_GRAPH setting."""

from __future__ import annotations

import difflib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Final

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from prism_graph import embedders, storenames
from prism_graph.embedders import Embedder
from prism_graph.embedders.loading import Loaded
from prism_graph.errors import InvalidScope, InvalidSettings
from prism_graph.policy import NoPolicy
from prism_graph.ranking import Fusion
from prism_graph.scope import Scope

logger = logging.getLogger(__name__)

NAME: Final = "PRISM_GRAPH"
APP: Final = "prism_graph"


def _positive(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return "must be a whole number of at least 1"
    return None


def _seconds(value: Any) -> str | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= threading.TIMEOUT_MAX:
        return "must be a number of seconds above 0"
    return None


def _importable(value: Any) -> str | None:
    if callable(value):
        return None
    if not isinstance(value, str):
        return "must be a dotted path or a callable"
    try:
        target = import_string(value)
    except Exception as error:  # whatever a module does while it is imported
        return f"cannot be imported: {error}"
    return None if callable(target) else "must name something callable"


def _chunker(value: Any) -> str | None:
    if complaint := _importable(value):
        return complaint
    try:
        chunker = resolve(value)()
    except Exception as error:
        return f"must make a chunker when called without arguments: {error}"
    if callable(getattr(chunker, "split", chunker)):
        return None
    return "must make something with a split(text) method"


def _policy(value: Any) -> str | None:
    if complaint := _importable(value):
        return complaint
    try:
        policy = resolve(value)()
    except Exception as error:
        return f"must make a policy when called without arguments: {error}"
    if callable(getattr(policy, "judge", None)):
        return None
    return "must make something with a judge(cited) method"


def _label(value: Any) -> str | None:
    if isinstance(value, str) and value.isidentifier() and value != APP:
        return None
    return "must be the label of an app of your own"


def _fusion(value: Any) -> str | None:
    try:
        Fusion.of(value)
    except ValueError as error:
        return str(error)
    return None


def _previous(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not set(value) <= {"VECTORS", "EMBEDDER"}:
        return "must be a dict with VECTORS, EMBEDDER or both, as they were"
    checks = {"VECTORS": storenames.complaint, "EMBEDDER": embedders.complaint}
    for key, each in value.items():
        if complaint := checks[key](each):
            return f"is wrong at {key!r}, which {complaint}"
    return None


def _optional(check: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    return lambda value: None if value is None else check(value)


@dataclass(frozen=True, slots=True)
class Config:
    """The settings, one field a key; the default is what holds when the key is absent."""

    MAX_TEXT: int = field(default=10 * 1024 * 1024, metadata={"check": _positive})
    CHUNKER: str | Callable[[], Any] = field(
        default="prism_graph.chunking.MarkdownChunker", metadata={"check": _chunker}
    )
    ACCEPTANCE_POLICY: str | Callable[[], Any] = field(
        default="prism_graph.policy.AcceptancePolicy", metadata={"check": _policy}
    )
    OWNER_ID: str | Callable[[Any], str] | None = field(
        default=None, metadata={"check": _optional(_importable)}
    )
    REVIEW_SCOPES: str | Callable[[Any], list[Scope]] | None = field(
        default=None, metadata={"check": _optional(_importable)}
    )
    MODELS_APP: str | None = field(default=None, metadata={"check": _optional(_label)})
    EMBEDDER: str | Mapping[str, Any] | Callable[[], Any] | Embedder | None = field(
        default=None, metadata={"check": _optional(embedders.complaint)}
    )
    VECTORS: str | Mapping[str, Any] | None = field(
        default=None, metadata={"check": _optional(storenames.complaint)}
    )
    # What VECTORS and EMBEDDER were, until the move to what they are now is through.
    PREVIOUS: Mapping[str, Any] | None = field(
        default=None, metadata={"check": _optional(_previous)}
    )
    FUSION: str | Mapping[str, Any] | None = field(default=None, metadata={"check": _fusion})
    # How long a search waits for the vector of its query.
    EMBED_SECONDS: float = field(default=2.0, metadata={"check": _seconds})


def problems(raw: Any) -> list[tuple[str, str]]:
    """Return what is wrong with a PRISM_GRAPH value, each as (what, what to do)."""
    if not isinstance(raw, Mapping):
        return [(f"{NAME} must be a dict.", f"Set {NAME} = {{}} or remove it.")]
    known = {entry.name: entry for entry in fields(Config)}
    found = []
    for key, value in raw.items():
        if key not in known:
            close = difflib.get_close_matches(str(key).upper(), known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(known)}."
            found.append((f"{NAME} has no key {key!r}.", hint))
        elif complaint := known[key].metadata["check"](value):
            found.append((f"{NAME}[{key!r}] {complaint}.", f"Correct or remove {key!r}."))
    return found


def is_valid() -> bool:
    """Say whether `config` would return the settings."""
    return not problems(getattr(settings, NAME, {}))


@lru_cache(maxsize=1)
def config() -> Config:
    """Return the settings in force. Raises InvalidSettings when any of them is wrong."""
    raw = getattr(settings, NAME, {})
    if wrong := problems(raw):
        raise InvalidSettings(" ".join(f"{what} {hint}" for what, hint in wrong))
    return Config(**raw)


def models_app() -> str | None:
    """Return the label of the app whose models are memory's; None for this package's own.

    Read while models are loaded, so whatever else is wrong with the settings is not told here.
    """
    raw = getattr(settings, NAME, {})
    label = raw.get("MODELS_APP") if isinstance(raw, Mapping) else None
    return None if _optional(_label)(label) else label


def migrates_nothing() -> bool:
    """Say whether the project leaves this package's own migrations out."""
    return settings.MIGRATION_MODULES.get(APP, APP) is None


def _forget(*, setting: str, **_: Any) -> None:
    if setting == NAME:
        config.cache_clear()


setting_changed.connect(_forget)


def resolve(value: Any) -> Any:
    """Return what a dotted path names; anything else as it is."""
    return import_string(value) if isinstance(value, str) else value


def default_chunker() -> Any:
    """Return a new chunker of the class or factory that CHUNKER names."""
    return resolve(config().CHUNKER)()


def acceptance_policy() -> Any:
    """Return a new policy of the class or factory that ACCEPTANCE_POLICY names.

    One that cannot be made now is NoPolicy: an erasure must not wait for it.
    """
    factory = resolve(config().ACCEPTANCE_POLICY)
    try:
        return factory()
    except Exception:
        logger.exception("The acceptance policy cannot be made; facts are kept as proposals.")
        return NoPolicy()


def owner_id(instance: Any) -> str:
    """Return the owner text of a model instance: what OWNER_ID says, else `app.model/pk`.

    Raises InvalidScope for what is not a saved model instance, or when OWNER_ID returns no text.
    """
    known = hasattr(instance, "_meta") and not isinstance(instance, type)
    if not known or instance.pk is None:
        raise InvalidScope("An owner must be text or a saved model instance.")
    custom = config().OWNER_ID
    if custom is None:
        return f"{instance._meta.concrete_model._meta.label_lower}/{instance.pk}"
    owner = resolve(custom)(instance)
    if not isinstance(owner, str):
        raise InvalidScope("PRISM_GRAPH['OWNER_ID'] must return text.")
    return owner


_loaded: Final = Loaded()


def embedder() -> Embedder | None:
    """Return what EMBEDDER makes, loaded at the first call; None where no embedder is set.

    Raises InvalidSettings when it cannot be made.
    """
    return _loaded.get(config(), "EMBEDDER", config().EMBEDDER)


def vectors_wanted() -> bool:
    """Say whether the settings name a store of vectors and what makes them."""
    return config().VECTORS is not None and config().EMBEDDER is not None


def vector_stores() -> list[Any]:
    """Return what VECTORS names, then what it was."""
    now, before = config().VECTORS, config().PREVIOUS or {}
    return [value for value in (now, before.get("VECTORS")) if value is not None]


def vector_setups() -> list[tuple[Any, Embedder]]:
    """Return the store and the embedder that are to be used, then those of PREVIOUS, if it is set.

    None without VECTORS or EMBEDDER. Raises InvalidSettings when an embedder cannot be made.
    """
    current = embedder() if vectors_wanted() else None
    if current is None:
        return []
    found = [(config().VECTORS, current)]
    if before := config().PREVIOUS:
        then = _loaded.get(config(), "PREVIOUS", before.get("EMBEDDER"))
        found.append((before.get("VECTORS", config().VECTORS), then or current))
    return found


def fusion() -> Fusion:
    """Return how the arms of a search are put together."""
    return Fusion.of(config().FUSION)
