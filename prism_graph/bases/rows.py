"""What every stored row has: a random id, the four columns, and no way around its scope."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.fields.related_descriptors import ForwardManyToOneDescriptor

from prism_graph.doors import At, Door, scope_of
from prism_graph.errors import InvalidScope, ReadOnlyDoor, UnscopedQuery
from prism_graph.managers import ClosedManager, ScopedManager, ScopedQuerySet
from prism_graph.scope import MAX_PART_CHARACTERS
from prism_graph.trust import Trust

ID_LENGTH: Final = 26

# Django's classes take type arguments in the stubs only.
if TYPE_CHECKING:
    AnySmallIntegerField = models.SmallIntegerField[Any, Any]
    AnyForeignObject = models.ForeignObject[Any, Any]
    AnyCharField = models.CharField[str, str]
    AnyForwardDescriptor = ForwardManyToOneDescriptor[Any]
else:
    AnySmallIntegerField = models.SmallIntegerField
    AnyForeignObject = models.ForeignObject
    AnyCharField = models.CharField
    AnyForwardDescriptor = ForwardManyToOneDescriptor


def random_id() -> str:
    """Return 26 characters of [a-z2-7]: 130 random bits, no sequence and no time."""
    return random_ids(1)[0]


def random_ids(count: int) -> list[str]:
    """Return that many random ids."""
    # 20 bytes are exactly 32 base32 characters, so each id's digits are random bits of its own.
    raw = base64.b32encode(os.urandom(count * 20)).decode().lower()
    return [raw[start : start + ID_LENGTH] for start in range(0, count * 32, 32)]


class TrustField(AnySmallIntegerField):
    """Store a Trust as its number."""

    # IntegerField's own compare numbers; every Trust is in range.
    validators = []

    def from_db_value(self, value: int | None, *_: Any) -> Trust | None:
        """Return the class that the number stands for."""
        return None if value is None else Trust.from_code(value)

    def to_python(self, value: Any) -> Any:
        """Return a class from a class, its number or its name. Raises ValidationError for others."""
        if value is None or isinstance(value, Trust):
            return value
        try:
            return Trust.from_code(value) if isinstance(value, int) else Trust.named(value)
        except (KeyError, TypeError):
            raise ValidationError("Give a prism_graph.Trust, its number or its name.") from None

    def get_prep_value(self, value: Any) -> Any:
        """Return the number of a class."""
        return value.code if isinstance(value, Trust) else super().get_prep_value(value)


class IdField(AnyCharField):
    """A random id. Nobody searches in it, so PostgreSQL need not keep its index for LIKE."""

    def get_prep_value(self, value: Any) -> Any:
        """Return what is asked for; of a text that PostgreSQL cannot hold, one that names no row."""
        return "" if isinstance(value, str) and "\0" in value else super().get_prep_value(value)

    def db_type(self, connection: Any) -> str | None:
        """Spell PostgreSQL's varchar in full: Django adds that index to the short name only."""
        if connection.vendor == "postgresql":
            return f"character varying({self.max_length})"
        return super().db_type(connection)


class ScopedForwardDescriptor(AnyForwardDescriptor):
    """Follow a relation through the door of the instance it starts from."""

    def get_queryset(self, **hints: Any) -> Any:
        """Return the related rows behind the instance's door; a closed queryset without one."""
        instance = hints.get("instance")
        if instance is None:
            return super().get_queryset(**hints)
        return _open(door_of(instance), self.field.remote_field.model, instance._state.db)

    def get_prefetch_querysets(self, instances: Any, querysets: Any = None) -> Any:
        """Prefetch through the door that all the instances share, unless a queryset is given."""
        if not querysets:
            if any(door_of(instance) != door_of(instances[0]) for instance in instances):
                raise UnscopedQuery("Prefetch for the instances of one door at a time.")
            querysets = [self.get_queryset(instance=instances[0])]
        return super().get_prefetch_querysets(instances, querysets)


class ScopedRelation(AnyForeignObject):
    """A relation on the four columns and one id. The constraint beside it guards and cascades."""

    forward_related_accessor_class = ScopedForwardDescriptor

    def __init__(
        self,
        to: Any,
        on_delete: Any = models.DO_NOTHING,
        from_fields: Sequence[str] = (),
        to_fields: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("related_name", "+")
        super().__init__(to, on_delete, from_fields, to_fields, **kwargs)
        # Its columns are serialised as what they are; the row that they name is not theirs to read.
        self.serialize = False

    def deconstruct(self) -> Any:
        """Return what a migration file writes."""
        name, path, args, kwargs = super().deconstruct()
        del kwargs["serialize"]
        return name, path, args, kwargs


def door_of(row: models.Model) -> Door:
    """Return the door an instance came through. Raises UnscopedQuery when it came through none."""
    door: Door | None = getattr(row._state, "prism_graph_door", None)
    if door is None:
        raise UnscopedQuery("This instance came through no door: use Model.objects.at(scope).")
    return door


def _open(door: Door, model: Any, using: str | None) -> ScopedQuerySet[Any]:
    return ScopedQuerySet.through(door, model, using)


def part_field() -> models.CharField[str, str]:
    """Return one column of a scope: text of up to 191 characters, `""` when the level is absent."""
    return models.CharField(max_length=MAX_PART_CHARACTERS, blank=True, default="")


class ScopedRow(models.Model):
    """Abstract base of every table of this package: the four columns and the doors."""

    written_once: ClassVar[Iterable[str]] = ()
    # Whether a reader sees the rows of the levels above its own.
    shown_below: ClassVar[bool] = True

    tenant = models.CharField(max_length=MAX_PART_CHARACTERS)
    owner = part_field()
    agent = part_field()
    thread = part_field()

    objects = ScopedManager()
    closed = ClosedManager()

    class Meta:
        """Django reads rows by the closed manager wherever it is not told a door."""

        abstract = True
        base_manager_name = "closed"
        default_manager_name = "objects"
        # Memory writes; nobody is permitted to add, change or delete a row by itself.
        default_permissions = ("view",)

    def __str__(self) -> str:
        # The admin log keeps this text for ever, so it never shows content.
        return f"{self._meta.verbose_name} {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write the row through its door, or raise UnscopedQuery, ReadOnlyDoor or InvalidScope."""
        self._own_door()
        self._refuse_rewriting()
        super().save(*args, **kwargs)

    save.alters_data = True  # type: ignore[attr-defined]

    def delete(self, using: Any = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        """Delete the row through its door."""
        rows = _open(self._own_door(), type(self), using or self._state.db)
        return rows.filter(pk=self.pk).delete()

    delete.alters_data = True  # type: ignore[attr-defined]

    def refresh_from_db(
        self, using: Any = None, fields: Any = None, from_queryset: Any = None
    ) -> None:
        """Read the row again through its door. Raises UnscopedQuery without one."""
        door = door_of(self)
        if from_queryset is None:
            from_queryset = _open(door, type(self), using or self._state.db)
        elif getattr(from_queryset, "_door", None) != door:
            raise UnscopedQuery("Refresh an instance through its own door only.")
        super().refresh_from_db(using, fields, from_queryset)
        self._state.prism_graph_door = door  # type: ignore[attr-defined]
        self._remember_written()

    @classmethod
    def from_db(cls, db: Any, field_names: Any, values: Any, **options: Any) -> Self:
        """Make an instance that remembers what may not be written again."""
        row = super().from_db(db, field_names, values, **options)
        row._remember_written()
        return row

    @classmethod
    def sibling(cls, name: str) -> Any:
        """Return the model of this name in the same app."""
        return cls._meta.apps.get_model(cls._meta.app_label, name)

    def _remember_written(self) -> None:
        held = self.__dict__
        written = {name: held[name] for name in self.written_once if name in held}
        self._state.prism_graph_written = written  # type: ignore[attr-defined]

    def _refuse_rewriting(self) -> None:
        written = getattr(self._state, "prism_graph_written", {})
        if not self._state.adding and any(
            self.__dict__.get(name, value) != value for name, value in written.items()
        ):
            raise UnscopedQuery("What a row says and where it came from never change.")

    @classmethod
    def check_delete(cls, rows: ScopedQuerySet[Any]) -> None:
        """Raise when rows of this model may not be deleted as they are."""

    def prepare_for_write(self) -> None:
        """Derive what is stored from what was given; bulk_create calls it, save() by a signal."""

    def _own_door(self) -> At:
        """Return the door to exactly this row's scope, if the instance came through one that writes."""
        door, scope = door_of(self), scope_of(self)
        if not door.writes:
            raise ReadOnlyDoor
        if door.stamp() not in (None, scope):
            raise InvalidScope("A row never leaves the scope it was written at.")
        return At(scope)

    def _do_update(
        self, base_qs: Any, using: Any, pk_val: Any, values: Any, *args: Any, **kwargs: Any
    ) -> Any:
        rows = _open(self._own_door(), type(self), using)
        kept = [each for each in values if each[0].name not in self.written_once]
        return super()._do_update(rows, using, pk_val, kept, *args, **kwargs)

    def _do_insert(self, manager: Any, using: Any, *args: Any, **kwargs: Any) -> Any:
        # Django inserts what it could not update: an erased row would come back, and a foreign row's
        # primary key would answer otherwise than an unused one.
        if not self._state.adding:
            raise UnscopedQuery(
                "No such row lies behind this instance's door: create() makes new ones."
            )
        rows = _open(self._own_door(), type(self), using)
        return super()._do_insert(rows, using, *args, **kwargs)  # type: ignore[misc]


class ScopedModel(ScopedRow):
    """Abstract base of the tables whose rows are named to the outside: by a random id."""

    id = IdField(primary_key=True, max_length=ID_LENGTH, default=random_id, editable=False)

    class Meta(ScopedRow.Meta):
        """As ScopedRow."""

        abstract = True


SCOPE_RULE: Final = ~Q(tenant="") & (~Q(owner="") | Q(agent="")) & (~Q(agent="") | Q(thread=""))


def scope_check(name: str) -> models.CheckConstraint:
    """Return the rule on the four columns: a tenant always, no agent without owner, and so on."""
    return models.CheckConstraint(condition=SCOPE_RULE, name=name)
