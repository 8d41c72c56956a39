"""Composite foreign keys, declared with the model so that SQLite's table remakes keep them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.backends.ddl_references import Statement, Table
from django.db.models.signals import class_prepared
from django.dispatch import receiver


class Key(Statement):
    """A foreign key that waits for the end of the migration."""


def _defines(statement: Any, table: str) -> bool:
    """Say whether a deferred statement makes something of a table that no key is."""
    return (
        isinstance(statement, Statement)
        and not isinstance(statement, Key)
        and statement.references_table(table)
    )


class CompositeForeignKey(models.BaseConstraint):
    """Make a child's columns point at one row of a parent; the database deletes the child with it.

    `fields` and `to_fields` are column names and `to` the parent's table: while SQLite remakes a table, no
    other model can be asked. An abstract base names the parent's class instead, `model`, of whichever app
    makes it concrete. The parent needs a UNIQUE constraint on the target columns. Not deferrable: a refusal
    comes at the statement that earns it, not at the caller's commit.
    """

    def __init__(
        self,
        *,
        fields: Sequence[str],
        to_fields: Sequence[str],
        name: str,
        to: str = "",
        model: str = "",
    ) -> None:
        super().__init__(name=name)
        self.fields = tuple(fields)
        self.to_fields = tuple(to_fields)
        self._table, self._parent = to, model
        self._child: Any = None

    @property
    def to(self) -> str:
        """The parent's table; "" in an abstract base."""
        if self._table or self._child is None:
            return self._table
        known = self._child._meta
        return str(known.apps.get_model(known.app_label, self._parent)._meta.db_table)

    def belong_to(self, child: Any) -> None:
        """Look the parent up, when it is asked for, beside this model."""
        self._child = child

    def clone(self) -> Any:
        """Copy the constraint; from a model on, with the parent's table by name."""
        if self._child is not None:
            return super().clone()
        return type(self)(
            fields=self.fields,
            to_fields=self.to_fields,
            name=self.name,
            to=self._table,
            model=self._parent,
        )

    def constraint_sql(self, model: Any, schema_editor: Any) -> Any:
        """Return the clause for CREATE TABLE, or defer the constraint where the parent may be to come."""
        if schema_editor.sql_create_inline_fk:
            return self._clause(schema_editor)
        schema_editor.deferred_sql.append(self.create_sql(model, schema_editor))
        return None

    def _clause(self, schema_editor: Any) -> str:
        quote = schema_editor.quote_name
        return "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE CASCADE".format(
            quote(self.name),
            ", ".join(map(quote, self.fields)),
            quote(self.to),
            ", ".join(map(quote, self.to_fields)),
        )

    def create_sql(self, model: Any, schema_editor: Any) -> Any:
        """Return ALTER TABLE … ADD CONSTRAINT, once what is deferred of the parent has been done.

        `makemigrations` knows nothing of the parent, and may put its table behind this one; and Django defers
        the UNIQUE constraints of a table with a default in the database. So deferred keys come last.
        """
        deferred = schema_editor.deferred_sql
        for statement in [each for each in deferred if _defines(each, self.to)]:
            deferred.remove(statement)
            schema_editor.execute(statement, params=None)
        deferred.sort(key=lambda each: isinstance(each, Key))
        return Key(
            "ALTER TABLE %(table)s ADD %(clause)s",
            table=Table(model._meta.db_table, schema_editor.quote_name),
            clause=self._clause(schema_editor),
        )

    def remove_sql(self, model: Any, schema_editor: Any) -> Any:
        """Return ALTER TABLE … DROP CONSTRAINT."""
        return Statement(
            "ALTER TABLE %(table)s DROP CONSTRAINT %(name)s",
            table=schema_editor.quote_name(model._meta.db_table),
            name=schema_editor.quote_name(self.name),
        )

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """Leave it to the database, which looks in the same statement."""

    def deconstruct(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """Return what a migration file writes."""
        path, _, kwargs = super().deconstruct()
        return (
            path,
            (),
            {
                **kwargs,
                "fields": self.fields,
                "to": self.to,
                "to_fields": self.to_fields,
            },
        )

    def __eq__(self, other: object) -> bool:
        """Compare by what deconstruct() says."""
        if isinstance(other, CompositeForeignKey):
            return self.deconstruct() == other.deconstruct()
        return NotImplemented

    def __hash__(self) -> int:
        """Hash by name."""
        return hash(self.name)


@receiver(class_prepared)
def _belong(sender: Any, **_: Any) -> None:
    for constraint in sender._meta.constraints:
        if isinstance(constraint, CompositeForeignKey):
            constraint.belong_to(sender)
