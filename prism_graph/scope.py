"""Scope: whose memory it is, in four parts compared byte for byte."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any, Final

from prism_graph.codepoints import is_identifier_safe
from prism_graph.errors import InvalidScope

MAX_PART_CHARACTERS: Final = 191
MAX_PART_BYTES: Final = 255
COLUMNS: Final = ("tenant", "owner", "agent", "thread")
TOKEN_LENGTH: Final = 10


class ModelOwner(str):
    """The owner text of a model instance, `app.model/pk` by default: no plain text can pass for it."""

    __slots__ = ()


# Only these: what a subclass says of itself need not be what the database gets.
_TEXT: Final = (str, ModelOwner)


@dataclass(frozen=True, slots=True)
class Scope:
    """Name one level of memory: a tenant, or an owner, agent or thread inside it.

    `""` means that the level is absent. Raises InvalidScope for a part that is not text of 1 to 191
    characters and at most 255 UTF-8 bytes, or that holds control, invisible or surrogate characters or
    spaces at its ends, for an owner spelt like a model instance's (`app.model/pk`: pass the instance to
    `for_owner`), for an agent without an owner, and for a thread without an agent.
    """

    tenant: str
    owner: str = ""
    agent: str = ""
    thread: str = ""

    def __post_init__(self) -> None:
        _check_part("tenant", self.tenant)
        absent = False
        for name in COLUMNS[1:]:
            part = getattr(self, name)
            if type(part) in _TEXT and not part:
                absent = True
                continue
            _check_part(name, part)
            if absent:
                raise InvalidScope("A thread needs an agent, and an agent needs an owner.")
        if type(self.owner) is not ModelOwner and _names_a_model(self.owner):
            raise InvalidScope(
                "An owner spelt app.model/pk names a model instance: pass the instance to for_owner()."
            )

    def for_owner(self, owner: Any) -> Scope:
        """Return this tenant's scope of one owner: text, or a model instance (`OWNER_ID` names it)."""
        return Scope(self.tenant, _stated("owner", owner_text(owner)))

    def for_agent(self, agent: str) -> Scope:
        """Return the scope of one agent of this owner. Raises InvalidScope without an owner."""
        return Scope(self.tenant, self.owner, _stated("agent", agent))

    def for_thread(self, thread: str) -> Scope:
        """Return the scope of one thread of this agent. Raises InvalidScope without an agent."""
        return Scope(self.tenant, self.owner, self.agent, _stated("thread", thread))

    @classmethod
    def from_columns(cls, tenant: str, owner: str, agent: str, thread: str) -> Scope:
        """Return the scope that a stored row's four columns name."""
        return cls(tenant, ModelOwner(owner), agent, thread)

    @property
    def columns(self) -> dict[str, str]:
        """The four parts by column name."""
        return {name: getattr(self, name) for name in COLUMNS}

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """The four parts, outermost first."""
        return (self.tenant, self.owner, self.agent, self.thread)

    @property
    def chain(self) -> tuple[Scope, ...]:
        """This scope and every level above it, nearest first: what a reader here sees."""
        depth = sum(1 for part in self.parts if part)
        return tuple(Scope(*self.parts[:count]) for count in range(depth, 0, -1))

    @property
    def token(self) -> str:
        """10 characters of [a-z2-7] (50 bits) that stand before every indexed word of this scope.

        For speed only: what a reader sees is always told by the four columns.
        """
        digest = hashlib.blake2b(digest_size=9, person=b"prism-scope")
        for part in self.parts:
            raw = part.encode()
            digest.update(len(raw).to_bytes(2, "big") + raw)
        return base64.b32encode(digest.digest())[:TOKEN_LENGTH].decode().lower()

    def covers(self, other: Scope) -> bool:
        """Say whether the other scope is this one or lies below it."""
        return all(
            mine in ("", theirs) for mine, theirs in zip(self.parts, other.parts, strict=True)
        )


def owner_text(owner: Any) -> str:
    """Return the owner column for plain text or a model instance."""
    if isinstance(owner, str):
        return owner
    # Only a model instance needs settings; scopes of text work without them.
    from prism_graph.conf import owner_id

    return ModelOwner(owner_id(owner))


def _names_a_model(owner: str) -> bool:
    app_and_model, slash, _ = owner.partition("/")
    app, dot, model = app_and_model.partition(".")
    return bool(slash and dot) and app.isidentifier() and model.isidentifier()


def _stated(name: str, part: str) -> str:
    if isinstance(part, str) and not part:
        raise InvalidScope(f"The scope's {name} must not be empty.")
    return part


def _check_part(name: str, part: Any) -> None:
    if type(part) not in _TEXT:
        raise InvalidScope(f"The scope's {name} must be text, not {type(part).__name__}.")
    if not part:
        raise InvalidScope(f"The scope's {name} must not be empty.")
    if len(part) > MAX_PART_CHARACTERS or not is_identifier_safe(part):
        raise InvalidScope(
            f"The scope's {name} must be 1 to {MAX_PART_CHARACTERS} visible characters "
            "without spaces at its ends."
        )
    if len(part.encode()) > MAX_PART_BYTES:
        raise InvalidScope(f"The scope's {name} is longer than {MAX_PART_BYTES} bytes in UTF-8.")
