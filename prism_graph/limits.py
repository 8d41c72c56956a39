"""What memory accepts, decided before the first write. Messages never quote what was given."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from prism_graph import clock
from prism_graph.codepoints import is_storable
from prism_graph.errors import (
    InvalidChunking,
    InvalidInput,
    InvalidMetadata,
    InvalidOrigin,
    InvalidText,
    LimitExceeded,
)
from prism_graph.trust import Origin

KB: Final = 1024
MAX_KEY: Final = 512
MAX_LABEL: Final = 2 * KB
MAX_VALUE: Final = 8 * KB
MAX_METADATA: Final = 16 * KB
MAX_DEPTH: Final = 4
MAX_CITATIONS: Final = 50
MAX_IDS: Final = 100
MAX_VERSION: Final = 2**31


def check_key(key: object, what: str = "key") -> str:
    """Return a key, a conversation's name or a turn's id: text of 1 to 512 characters."""
    text = check_text(key, what)
    if not text:
        raise InvalidInput(f"The {what} must not be empty.")
    if len(text) > MAX_KEY:
        raise LimitExceeded(f"The {what} is longer than {MAX_KEY} characters: shorten it.")
    return text


def check_text(text: object, what: str = "text", limit: int | None = None) -> str:
    """Return text that every database can hold, of at most `limit` bytes in UTF-8."""
    text = _exact(text, what)
    if not is_storable(text):
        raise InvalidText(f"The {what} holds a NUL or a lone surrogate: remove it before storing.")
    if limit is not None and (len(text) > limit or len(text.encode()) > limit):
        raise LimitExceeded(
            f"The {what} is longer than {limit} bytes in UTF-8: shorten or split it."
        )
    return text


def _exact(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"The {what} must be text, not {type(text).__name__}.")
    # The characters of a subclass, whatever its own methods say of them.
    return str.__str__(text)


def check_instant(value: datetime | str | None, argument: str) -> datetime | None:
    """Return an instant in UTC, None for None. Raises InvalidInput, which names the argument."""
    if value is None:
        return None
    try:
        return clock.parse(value)
    except InvalidInput as error:
        raise InvalidInput(f"{argument}: {error}") from None


def check_version(number: object, argument: str) -> int | None:
    """Return a version's number, None for None."""
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < MAX_VERSION:
        raise InvalidInput(f"{argument} must be a version's number, from 1.")
    return int(number)


def check_origin(origin: object) -> Origin:
    """Return an Origin, or raise InvalidOrigin."""
    if not isinstance(origin, Origin):
        raise InvalidOrigin
    return Origin(origin.trust, _exact(origin.writer, "writer"))


def check_chunker(chunker: object) -> Any:
    """Return what cuts a text. Raises InvalidChunking for a chunker's class in place of a chunker."""
    if isinstance(chunker, type) and hasattr(chunker, "split"):
        raise InvalidChunking("Give a chunker, not its class: MarkdownChunker().")
    return chunker


def check_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a JSON object of at most 16 KB and four levels, as JSON reads it back."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidMetadata
    copied = _plain(metadata, MAX_DEPTH)
    if len(json.dumps(copied, ensure_ascii=False).encode()) > MAX_METADATA:
        raise InvalidMetadata(
            f"The metadata is larger than {MAX_METADATA} bytes as JSON: leave some of it out."
        )
    return copied  # type: ignore[no-any-return]


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, "metadata")
    if isinstance(value, int):
        return _number(int(value))
    if isinstance(value, float):
        # jsonb gives a whole number of this size back as an integer.
        if not math.isfinite(value) or (value.is_integer() and abs(value) >= 1e16):
            raise InvalidMetadata("The metadata holds a number that JSON cannot write: use a text.")
        return float(value)
    if isinstance(value, Mapping | list | tuple):
        if depth < 1:
            raise InvalidMetadata(f"The metadata is deeper than {MAX_DEPTH} levels: flatten it.")
        if isinstance(value, Mapping):
            return {_member(key): _plain(inner, depth - 1) for key, inner in value.items()}
        return [_plain(inner, depth - 1) for inner in value]
    raise InvalidMetadata


def _number(value: int) -> int:
    # Beyond 64 bits the databases' JSON disagree on what they give back.
    if not -(2**63) <= value < 2**63:
        raise InvalidMetadata("The metadata holds a number of more than 64 bits: use a text.")
    return value


def _member(key: Any) -> str:
    if not isinstance(key, str):
        raise InvalidMetadata
    return check_text(key, "metadata")


def check_ids(ids: Iterable[Any], limit: int, what: str) -> list[str]:
    """Return chunk ids, each once and in order, from ids, chunks or hits; at most `limit` of them."""
    if isinstance(ids, str | bytes):
        raise InvalidInput(f"Give the {what} as a list.")
    try:
        # One more than the limit is enough to refuse, however many follow.
        given = [item for item, _ in zip(ids, range(limit + 1), strict=False)]
    except TypeError:
        raise InvalidInput(f"Give the {what} as a list.") from None
    if len(given) > limit:
        raise LimitExceeded(f"More than {limit} {what} at once: ask in parts.")
    named = [_chunk_id(item) for item in given]
    return list(dict.fromkeys(named))


def askable(ids: Iterable[str]) -> list[str]:
    """Return those that a row could have; the others need not reach a database that may refuse them."""
    return [name for name in ids if name.isascii() and name.isalnum()]


def _chunk_id(item: Any) -> str:
    item = getattr(item, "chunk", item)
    item = getattr(item, "id", item)
    if not isinstance(item, str):
        raise InvalidInput("A chunk is named by its id, by itself or by a hit.")
    return str.__str__(item)
