"""From values that memory hands out to what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from prism_graph import clock


def jsonable(value: Any) -> Any:
    """Return a value as objects, lists, text and numbers: instants as ISO 8601, members by name."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, datetime):
        return clock.render(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: jsonable(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "_asdict"):
        return jsonable(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    return value
