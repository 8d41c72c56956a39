"""Filters of the admin's templates: stored values come out of these only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from prism_graph import display
from prism_graph.doors import scope_of

register = template.Library()

register.filter("badge", display.badge)
register.filter("instant", display.instant)
register.filter("place", display.scope)


@register.filter
def shown(value: str) -> SafeString | str:
    """Show a stored text whole; nothing for none."""
    return display.text(value) if value else ""


@register.filter
def brief(value: str) -> SafeString:
    """Show the beginning of a stored text."""
    return display.short(value, 60)


@register.filter
def place_of(row: Any) -> SafeString:
    """Show where a row stands."""
    return display.scope(scope_of(row))


@register.filter
def told(value: Any) -> SafeString:
    """Show a part of an explanation; a number to four digits."""
    if isinstance(value, str):
        return display.text(value)
    if isinstance(value, float):
        return display.text(f"{value:.4g}")
    return display.text(json.dumps(value, ensure_ascii=False, default=str))


@register.filter
def rows(value: Any) -> list[Mapping[str, Any]] | None:
    """Return a part of an explanation that is a table; None for any other."""
    if isinstance(value, list | tuple) and value and all(isinstance(e, Mapping) for e in value):
        return list(value)
    return None


@register.filter
def of(values: Mapping[str, Any], name: str) -> Any:
    """Return one of several values by name."""
    return values.get(name, "")


@register.filter
def u(value: float) -> str:
    """Write a length for SVG, whatever the language."""
    return f"{value:.1f}"


@register.filter
def plus(value: float, more: float) -> str:
    """Write a length with some more for SVG."""
    return f"{value + more:.1f}"
