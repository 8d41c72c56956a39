"""The refusing manager: no queryset without a door, and no door that a queryset can lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from django.db import models, transaction
from django.db.models import sql
from django.db.models.query import BaseIterable, ModelIterable, QuerySet

from prism_graph.doors import At, Door, ForReview, ReviewGrant, System, VisibleTo
from prism_graph.errors import InvalidScope, ReadOnlyDoor, UnscopedQuery
from prism_graph.scope import COLUMNS, Scope

Row = TypeVar("Row", bound=models.Model)

# Django's classes take type arguments in the stubs only.
if TYPE_CHECKING:
    AnyModelIterable = ModelIterable[Any]
else:
    AnyModelIterable = ModelIterable


class ClosedQuery(sql.Query):
    """A query that can be built but never become SQL, as itself or inside another query."""

    def get_compiler(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UnscopedQuery."""
        raise UnscopedQuery

    def chain(self, klass: Any = None) -> Any:
        """Copy the query; it never turns into an UPDATE, DELETE or aggregation."""
        if klass is not None:
            raise UnscopedQuery
        return super().chain()

    def get_aggregation(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UnscopedQuery."""
        raise UnscopedQuery

    def resolve_expression(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UnscopedQuery."""
        raise UnscopedQuery


class ScopedIterable(AnyModelIterable):
    """Give each instance, and what select_related() loaded with it, the queryset's door."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the instances."""
        queryset: Any = self.queryset
        door = queryset._door
        for row in super().__iter__():
            remember_door(row, door)
            yield row


def remember_door(row: Any, door: Door | None) -> None:
    """Bind an instance, and the related instances cached on it, to a door."""
    if getattr(row._state, "prism_graph_door", None) is door is not None:
        return
    row._state.prism_graph_door = door
    for related in row._state.fields_cache.values():
        if related is not None:
            remember_door(related, door)


class ScopedQuerySet(QuerySet[Row]):
    """A queryset that carries its door through every method, or refuses."""

    def __init__(
        self,
        model: type[Row] | None = None,
        query: sql.Query | None = None,
        using: str | None = None,
        hints: dict[str, Any] | None = None,
        door: Door | None = None,
    ) -> None:
        if query is None and door is None and model is not None:
            query = ClosedQuery(model)
        super().__init__(model, query, using, hints)
        self._door = door
        self._iterable_class: type[BaseIterable[Any]] = ScopedIterable

    @classmethod
    def through(
        cls, door: Door, model: type[Row], using: str | None, hints: Any = None
    ) -> ScopedQuerySet[Row]:
        """Return the rows of a model that the door lets through."""
        queryset = cls(model, sql.Query(model), using, hints, door)
        rows = queryset.filter(door.predicate())
        if isinstance(door, VisibleTo) and not model.shown_below:  # type: ignore[attr-defined]
            return rows.filter(**door.scope.columns)
        return rows

    def iterator(self, chunk_size: int | None = None) -> Iterator[Row]:
        """Stream the rows. Without a door only an empty table can be streamed.

        Django reads every table so when it serialises a new test database, whether the project needs
        that or not; it finds ours empty, and must not fail there.
        """
        if self._door is None and not self._anything():
            return iter(())
        return super().iterator(chunk_size)

    def _anything(self) -> bool:
        door = System("see whether a table is empty")
        return ScopedQuerySet.through(door, self.model, self.db).exists()

    def _clone(self) -> Self:
        clone: Any = super()._clone()  # type: ignore[misc]
        clone._door = self._door
        return clone  # type: ignore[no-any-return]

    # combining

    def _same_door(self, others: Iterable[Any]) -> None:
        for other in others:
            if getattr(other, "_door", None) != self._door or self._door is None:
                raise UnscopedQuery("Only querysets opened by the same door can be combined.")

    def __and__(self, other: Any) -> Self:
        """Combine with a queryset of the same door."""
        self._same_door([other])
        return super().__and__(other)

    def __or__(self, other: Any) -> Self:
        """Combine with a queryset of the same door."""
        self._same_door([other])
        if self.query.is_sliced or other.query.is_sliced:
            raise UnscopedQuery("Combine first, slice afterwards.")
        return super().__or__(other)

    def __xor__(self, other: Any) -> Self:
        """Combine with a queryset of the same door."""
        self._same_door([other])
        if self.query.is_sliced or other.query.is_sliced:
            raise UnscopedQuery("Combine first, slice afterwards.")
        return super().__xor__(other)

    def union(self, *others: Any, all: bool = False) -> Self:  # noqa: A002
        """Combine with querysets of the same door."""
        self._same_door(others)
        return super().union(*others, all=all)

    def intersection(self, *others: Any) -> Self:
        """Combine with querysets of the same door."""
        self._same_door(others)
        return super().intersection(*others)

    def difference(self, *others: Any) -> Self:
        """Combine with querysets of the same door."""
        self._same_door(others)
        return super().difference(*others)

    # text of the caller's own

    def raw(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the caller's own SQL carries no scope."""
        raise UnscopedQuery("raw() carries no scope: use a door and the ORM.")

    def extra(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: what the caller writes into the SQL can end the scope's condition."""
        raise UnscopedQuery("extra() can end the scope's condition: use expressions.")

    # writing

    def beside(self, model: type[Any]) -> ScopedQuerySet[Any]:
        """Return the rows of any model behind this door, to write."""
        return self.through(self._writing(), model, self._db, self._hints)  # type: ignore[attr-defined]

    def written_at(self) -> Scope | None:
        """Return the one scope that is written at; None through the system door."""
        return self._writing().stamp()

    def _writing(self) -> Door:
        if self._door is None:
            raise UnscopedQuery
        if not self._door.writes:
            raise ReadOnlyDoor
        return self._door

    def _stamp(self, values: dict[str, Any]) -> dict[str, Any]:
        scope = self._writing().stamp()
        if scope is None:
            return values
        for name, part in scope.columns.items():
            if values.setdefault(name, part) != part:
                raise InvalidScope("A row lands at the scope that was opened, nowhere else.")
        return values

    def create(self, **kwargs: Any) -> Row:
        """Create a row at the opened scope. Raises InvalidScope when it names another one."""
        row = self.model(**self._stamp(kwargs))
        remember_door(row, self._door)
        self._for_write = True
        row.save(force_insert=True, using=self.db)
        return row

    def bulk_create(  # type: ignore[override]
        self,
        objs: Iterable[Row],
        batch_size: int | None = None,
        ignore_conflicts: bool = False,
        update_conflicts: bool = False,
        **kwargs: Any,
    ) -> list[Row]:
        """Create rows at the opened scope. Raises UnscopedQuery for update_conflicts."""
        self._writing()
        if update_conflicts:
            raise UnscopedQuery("update_conflicts can overwrite another scope's row: use update().")
        rows = list(objs)
        for row in rows:
            self._adopt(row)
            row.prepare_for_write()  # type: ignore[attr-defined]
        return super().bulk_create(rows, batch_size, ignore_conflicts, **kwargs)

    def _adopt(self, row: Any) -> None:
        given = {name: getattr(row, name) for name in COLUMNS}
        stated = given if any(given.values()) else {}
        for name, part in self._stamp(dict(stated)).items():
            setattr(row, name, part)
        remember_door(row, self._door)

    def bulk_update(
        self, objs: Iterable[Row], fields: Iterable[str], batch_size: int | None = None
    ) -> int:
        """Change rows that lie behind this door; rows of other scopes are not found."""
        self._writing()
        names = list(fields)
        self._refuse_columns(names)
        return super().bulk_update(objs, names, batch_size)

    def update(self, **kwargs: Any) -> int:
        """Change rows that lie behind this door. Raises UnscopedQuery for the scope's columns."""
        self._writing()
        self._refuse_columns(kwargs)
        self._result_cache = None
        return super(ScopedQuerySet, self._rooted()).update(**kwargs)

    update.alters_data = True  # type: ignore[attr-defined]

    def _rooted(self) -> Self:
        """Return these rows chosen from their table alone.

        Django writes what was selected by joins `WHERE pk IN (…)`, with the scope in the brackets only.
        """
        if self.query.is_sliced or self.query.count_active_tables() <= 1:
            return self
        rows: Any = self.beside(self.model)
        return rows.filter(pk__in=self.order_by().values("pk"))  # type: ignore[no-any-return]

    def _refuse_columns(self, names: Iterable[str]) -> None:
        # A relation of these models is its row's four columns and one more.
        relations = (each.name for each in self.model._meta.fields if each.is_relation)
        fixed = {*COLUMNS, *relations, *self.model.written_once}  # type: ignore[attr-defined]
        if fixed.intersection(names):
            raise UnscopedQuery(
                "A row's scope, its text and where they came from never change: write through Memory."
            )

    def _update(self, *args: Any, **kwargs: Any) -> Any:
        self._writing()
        return super()._update(*args, **kwargs)  # type: ignore[misc]

    def _insert(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        scope = self._writing().stamp()
        rows = list(objs)
        if scope is not None and any(
            getattr(row, name) != part for row in rows for name, part in scope.columns.items()
        ):
            raise InvalidScope("A row lands at the scope that was opened, nowhere else.")
        return super()._insert(rows, *args, **kwargs)  # type: ignore[misc]

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows in one statement that carries the scope; the database cascades.

        Django's own collector deletes by primary key alone and sends signals; this does neither.
        """
        self._writing()
        self._not_support_combined_queries("delete")  # type: ignore[attr-defined]
        query, fields = self.query, self._fields  # type: ignore[attr-defined]
        if query.is_sliced or query.distinct or query.group_by is not None or fields is not None:
            raise TypeError("Delete a plain queryset: not sliced, distinct, grouped or values().")
        with transaction.atomic(using=self.db):
            self.model.check_delete(self)  # type: ignore[attr-defined]
            return self._delete_unchecked()

    def _delete_unchecked(self) -> tuple[int, dict[str, int]]:
        doomed: Any = self._rooted()._chain()  # type: ignore[attr-defined]
        doomed._for_write = True
        doomed.query.select_for_update = False
        doomed.query.select_related = False
        doomed.query.clear_ordering(force=True)
        count = doomed._raw_delete(doomed.db)
        self._result_cache = None
        return count, ({self.model._meta.label: count} if count else {})

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def _raw_delete(self, using: str | None) -> int:
        self._writing()
        return super()._raw_delete(using) or 0


class ScopedManager(models.Manager[Row]):
    """The manager of every scoped model: it opens doors and is none itself."""

    def get_queryset(self) -> NoReturn:
        """Raise UnscopedQuery."""
        raise UnscopedQuery

    def _through(self, door: Door) -> ScopedQuerySet[Row]:
        hints = self._hints  # type: ignore[attr-defined]
        return ScopedQuerySet.through(door, self.model, self._db, hints)

    def visible_to(self, scope: Scope) -> ScopedQuerySet[Row]:
        """Open the rows that a reader at this scope sees, to read."""
        return self._through(VisibleTo(_scope(scope)))

    def at(self, scope: Scope) -> ScopedQuerySet[Row]:
        """Open the rows of exactly this scope, to read and write."""
        return self._through(At(_scope(scope)))

    def for_review(self, grant: ReviewGrant) -> ScopedQuerySet[Row]:
        """Open what a grant covers, to read."""
        if not isinstance(grant, ReviewGrant):
            raise UnscopedQuery("Give a ReviewGrant, made by ReviewGrant.for_user(user).")
        return self._through(ForReview(grant))

    def system(self, reason: str) -> ScopedQuerySet[Row]:
        """Open every row, for maintenance. Raises UnscopedQuery without a reason."""
        return self._through(System(reason))


class ClosedManager(models.Manager[Row]):
    """What Django's machinery gets as the base manager: querysets that never become SQL."""

    def get_queryset(self) -> ScopedQuerySet[Row]:
        """Return a queryset without a door."""
        hints = self._hints  # type: ignore[attr-defined]
        return ScopedQuerySet(self.model, using=self._db, hints=hints)


def _scope(value: object) -> Scope:
    if not isinstance(value, Scope):
        raise InvalidScope("Give a prism_graph.Scope.")
    return value
