"""The four ways into a scoped table, as values: what each lets through and whether it may write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Final, Protocol

from django.db.models import Q

from prism_graph.conf import config, resolve
from prism_graph.errors import InvalidScope, UnscopedQuery
from prism_graph.scope import COLUMNS, Scope


class Door(Protocol):
    """Say which rows a queryset may touch."""

    @property
    def writes(self) -> bool:
        """Whether rows may be created, changed and deleted through it."""
        ...

    def predicate(self) -> Q:
        """Return the condition that every statement through this door carries."""
        ...

    def stamp(self) -> Scope | None:
        """Return the scope that new rows get; None when each row must name its own."""
        ...


@dataclass(frozen=True, slots=True)
class VisibleTo:
    """Read what a reader at this scope sees: its own level and every level above."""

    scope: Scope
    writes: bool = field(default=False, init=False)

    def predicate(self) -> Q:
        """Return one condition on each column: the tenant, and the part or its absence at each level.

        That is the chain and no more, since every table's CHECK refuses an agent without an owner and a
        thread without an agent. Whole levels as alternatives say the same, and no planner seeks by them.
        """
        chain = Q(tenant=self.scope.tenant)
        for name, part in self.scope.columns.items():
            if name != "tenant":
                chain &= Q(**{f"{name}__in": ["", part]}) if part else Q(**{name: ""})
        return chain

    def stamp(self) -> Scope | None:
        """Return None: nothing is written here."""
        return None


@dataclass(frozen=True, slots=True)
class At:
    """Read and write the rows of exactly this scope."""

    scope: Scope
    writes: bool = field(default=True, init=False)

    def predicate(self) -> Q:
        """Return equality on the four columns."""
        return Q(**self.scope.columns)

    def stamp(self) -> Scope | None:
        """Return this scope."""
        return self.scope


_ISSUED: Final = object()
SETTING: Final = "PRISM_GRAPH['REVIEW_SCOPES']"
# SQLite parses no condition of more than a thousand.
MAX_ALTERNATIVES: Final = 500


@dataclass(frozen=True, slots=True)
class ReviewGrant:
    """What one user may review: these scopes and everything below them.

    Made by `ReviewGrant.for_user` only, from what PRISM_GRAPH["REVIEW_SCOPES"] returns.
    """

    scopes: tuple[Scope, ...]
    # Not kept, so that neither a grant at hand nor dataclasses.replace() can make another one.
    issued: InitVar[object] = None

    def __post_init__(self, issued: object) -> None:
        if issued is not _ISSUED:
            raise UnscopedQuery("A ReviewGrant is made by ReviewGrant.for_user(user) only.")

    @classmethod
    def for_user(cls, user: Any) -> ReviewGrant:
        """Return what the project grants this user: nothing unless REVIEW_SCOPES says so.

        Raises InvalidScope when REVIEW_SCOPES raises, or returns anything but scopes.
        """
        granted: Sequence[Any] = ()
        if (ask := config().REVIEW_SCOPES) is not None:
            granted = _scopes(resolve(ask), user)
        return cls(tuple(dict.fromkeys(granted)), _ISSUED)

    def covers(self, scope: Scope) -> bool:
        """Say whether a scope is one of these or lies below one."""
        return any(granted in scope.chain for granted in self.scopes)


@dataclass(frozen=True, slots=True)
class ForReview:
    """Read everything that a grant covers."""

    grant: ReviewGrant
    writes: bool = field(default=False, init=False)

    def predicate(self) -> Q:
        """Return one alternative for each tenant and each parent; no row at all for an empty grant."""
        covered = Q(pk__in=[])
        for above, parts in _alternatives(self.grant.scopes).items():
            one = Q(**dict(zip(COLUMNS, above, strict=False)))
            if parts:
                one &= Q(**{f"{COLUMNS[len(above)]}__in": parts})
            covered |= one
        # Implied, and what SQLite's planner seeks by where there are several alternatives.
        tenants = list(dict.fromkeys(scope.tenant for scope in self.grant.scopes))
        return covered & Q(tenant__in=tenants) if tenants else covered

    def stamp(self) -> Scope | None:
        """Return None: nothing is written here."""
        return None


@dataclass(frozen=True, slots=True)
class System:
    """Touch every row, for maintenance; the reason stands where the door is opened."""

    reason: str
    writes: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise UnscopedQuery("Say why: Model.objects.system('what this maintenance does').")

    def predicate(self) -> Q:
        """Return no condition."""
        return Q()

    def stamp(self) -> Scope | None:
        """Return None: each row names its own scope."""
        return None


def _alternatives(scopes: Sequence[Scope]) -> dict[tuple[str, ...], list[str]]:
    """Return scopes by the parts above the last one, with all last parts there; a tenant by itself.

    What lies below another of these is left out.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    widest = set(scopes)
    for scope in scopes:
        if not widest.isdisjoint(scope.chain[1:]):
            continue
        parts = tuple(part for part in scope.parts if part)
        above = parts[:-1] or parts
        found.setdefault(above, []).extend(parts[len(above) :])
    return found


def _scopes(ask: Any, user: Any) -> list[Scope]:
    try:
        granted = list(ask(user))
    except Exception as error:  # the project's code
        raise InvalidScope(f"{SETTING} failed or returned no list of Scope.") from error
    if not all(isinstance(scope, Scope) for scope in granted):
        raise InvalidScope(f"{SETTING} must return a list of Scope.")
    if len(_alternatives(granted)) > MAX_ALTERNATIVES:
        raise InvalidScope(
            f"{SETTING} may name {MAX_ALTERNATIVES} tenants and parents of scopes at most."
        )
    return granted


def scope_of(row: Any) -> Scope:
    """Return the scope that a row's four columns name."""
    return Scope.from_columns(*(getattr(row, name) for name in COLUMNS))
