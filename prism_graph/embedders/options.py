"""What the options of the providers may be, told before a model is loaded or a server asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from prism_graph.errors import InvalidSettings

# What an option must be, in words, and whether a value is.
Rule = tuple[str, Callable[[Any], bool]]
Rules = Mapping[str, Rule]


def broken_rule(options: Mapping[str, Any], rules: Rules) -> str | None:
    """Return the first option that is not what its rule wants, and what that is; None where all are."""
    for name, value in options.items():
        wanted, holds = rules[name]
        if not holds(value):
            return f"must have as {name!r} {wanted}"
    return None


def check_options(provider: str, options: Mapping[str, Any], rules: Rules) -> None:
    """Raise InvalidSettings unless every option is what its rule wants."""
    if wrong := broken_rule(options, rules):
        raise InvalidSettings(f"The embedder {provider} {wrong}.")


def optional(rule: Rule) -> Rule:
    """Return the rule that lets None pass as well."""
    wanted, holds = rule
    return f"{wanted}, or None", lambda value: value is None or holds(value)


def one_of(*values: Any) -> Rule:
    """Return the rule of a value among some."""
    return f"one of {', '.join(map(repr, values))}", lambda value: value in values


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_seconds(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _is_address(value: Any) -> bool:
    if not _is_text(value):
        return False
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return False
    bare = not (parts.username or parts.password or parts.query or parts.fragment)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and bare


def _are_headers(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        _is_text(name) and name.isascii() and isinstance(text, str) and text.isascii()
        for name, text in value.items()
    )


COUNT: Final[Rule] = ("a whole number of at least 1", lambda value: _is_whole(value, 1))
RETRIES: Final[Rule] = ("a whole number, 0 or more", lambda value: _is_whole(value, 0))
SECONDS: Final[Rule] = ("a number of seconds above 0", _is_seconds)
TEXT: Final[Rule] = ("a text", _is_text)
VARIABLE: Final[Rule] = (
    "the name of an environment variable, not what it holds",
    lambda value: isinstance(value, str) and value.isascii() and value.isidentifier(),
)
ADDRESS: Final[Rule] = (
    "an address with http or https, and without a user, a password or a query",
    _is_address,
)
HEADERS: Final[Rule] = ("a dict of texts in ASCII", _are_headers)
SWITCH: Final[Rule] = ("True or False", lambda value: isinstance(value, bool))
ANYTHING: Final[Rule] = ("anything", lambda value: True)
