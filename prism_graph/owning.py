"""What a project's own models must keep of their bases, and what they may add."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

from django.db import models
from django.db.models import NOT_PROVIDED, CheckConstraint, UniqueConstraint

from prism_graph.bases.naming import named
from prism_graph.bases.rows import ScopedRelation
from prism_graph.constraints import CompositeForeignKey
from prism_graph.scope import COLUMNS

# Statements and names of the index are made of it; PostgreSQL cuts what is longer with its suffix.
TABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,47}")
MODULES: Final = "prism_graph.bases"
METHODS: Final = (FunctionType, classmethod, staticmethod, property)
DECLARED: Final = ("written_once", "shown_below")


def weakened(model: Any, base: Any) -> Iterator[str]:
    """Yield what a model lacks, replaces or adds of what keeps its base's rows in their scopes."""
    if model._meta.proxy or model._meta.parents or not model._meta.managed:
        yield "is not a managed table of its own"
    if not TABLE.fullmatch(model._meta.db_table):
        yield "has a table whose name is not 1 to 48 ASCII letters, digits and underscores"
    yield from _fields(model, base)
    yield from _constraints(model, base)
    kept = [(each.name, type(each)) for each in base._meta.managers]
    if [(each.name, type(each)) for each in model._meta.managers] != kept:
        yield "has other managers than objects and closed"
    for option in ("base_manager_name", "default_manager_name", "default_permissions"):
        if getattr(model._meta, option) != getattr(base._meta, option):
            yield f"changes {option}"
    if not set(base._meta.permissions) <= set(model._meta.permissions):
        yield "lacks permissions of its base, which reviewers need"
    for name in _guards(base):
        if inspect.getattr_static(model, name) is not inspect.getattr_static(base, name):
            yield f"overrides {name}"


def unfilled(model: Any, base: Any) -> Iterator[str]:
    """Yield the added columns that rows written by this package would leave without their value."""
    for field in added(model, base):
        if not field.concrete or field.is_relation or getattr(field, "generated", False):
            continue
        in_database = field.db_default is not NOT_PROVIDED
        if not in_database and (not field.null or field.has_default()):
            yield field.name


def added(model: Any, base: Any) -> Iterator[Any]:
    """Yield the fields that a model has and its base has not."""
    declared = {field.name for field in base._meta.local_fields}
    for field in model._meta.get_fields():
        if not field.auto_created and field.name not in declared:
            yield field


def _fields(model: Any, base: Any) -> Iterator[str]:
    present = {field.name: field for field in model._meta.local_fields}
    for declared in base._meta.local_fields:
        field = present.get(declared.name)
        if field is None or _declaration(field) != _declaration(declared):
            yield f"changes the field {declared.name}"
        elif field.is_relation and field.related_model._meta.app_label != model._meta.app_label:
            yield f"relates {declared.name} to another app"
    for field in added(model, base):
        if field.is_relation:
            yield f"adds the relation {field.name}: joins along it carry no scope"
        elif field.unique:
            yield f"makes {field.name} unique, which tells what other scopes hold"
    for together in model._meta.unique_together:
        if not set(COLUMNS) <= set(together):
            yield f"makes {', '.join(together)} unique without the four columns of the scope"


def _declaration(field: models.Field[Any, Any]) -> Any:
    _, path, args, kwargs = field.deconstruct()
    if isinstance(field, ScopedRelation):
        # An abstract base names the class only.
        kwargs["to"] = kwargs["to"].lower().rpartition(".")[2]
    return path, args, kwargs


def _constraints(model: Any, base: Any) -> Iterator[str]:
    wanted = named(base._meta.constraints, model._meta.app_label)
    for constraint in wanted:
        if isinstance(constraint, CompositeForeignKey):
            constraint.belong_to(model)
        if constraint not in model._meta.constraints:
            yield f"lacks the constraint {constraint.name}"
    for index in named(base._meta.indexes, model._meta.app_label):
        if index not in model._meta.indexes:
            yield f"lacks the index {index.name}"
    for constraint in model._meta.constraints:
        if constraint not in wanted and not _harmless(constraint):
            yield f"adds the constraint {constraint.name}, which reaches beyond the scope"


def _harmless(constraint: models.BaseConstraint) -> bool:
    if isinstance(constraint, UniqueConstraint):
        return set(COLUMNS) <= set(constraint.fields)
    return isinstance(constraint, CheckConstraint)


def _guards(base: Any) -> Iterator[str]:
    """Yield the names of what the bases declare besides fields."""
    for declaring in base.__mro__:
        if declaring.__module__.startswith(MODULES):
            for name, value in vars(declaring).items():
                if isinstance(value, METHODS) or name in DECLARED:
                    yield name
