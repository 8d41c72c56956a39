"""What a provider gives for one text, as numbers. Messages never quote it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism_graph.errors import InvalidVector

LARGEST: Final = float(np.finfo(np.float32).max)
_NUMBERS: Final = (int, float, np.integer, np.floating)


def decode(reply: object) -> NDArray[np.float64]:
    """Return a vector from floats, an array, or little-endian float32 in base64.

    Raises InvalidVector for anything else: NaN, infinity, what float32 cannot hold, no numbers at all.
    """
    found = _from_base64(reply) if isinstance(reply, str) else _from_numbers(reply)
    if not found.size:
        raise InvalidVector("The vector is empty.")
    # False for NaN as well.
    if not np.abs(found).max() <= LARGEST:
        raise InvalidVector("The vector holds NaN, infinity or a number that float32 cannot hold.")
    return found


def _from_base64(text: str) -> NDArray[np.float64]:
    try:
        held = base64.b64decode(text, validate=True)
    except ValueError:
        raise InvalidVector("The vector is text, and not base64.") from None
    # Decoding ignores the bits behind the last byte: what differs there was damaged on its way.
    if base64.b64encode(held).decode() != text or len(held) % 4:
        raise InvalidVector("The vector's base64 is not a whole number of float32.")
    return _wide(np.frombuffer(held, dtype="<f4"))


def _from_numbers(reply: Any) -> NDArray[np.float64]:
    if isinstance(reply, bytes | bytearray | memoryview | Mapping):
        raise InvalidVector("The vector is neither a list of numbers nor text in base64.")
    if hasattr(reply, "__array__"):
        reply = np.asarray(reply)
        if reply.dtype.kind in "fiu" and reply.ndim == 1:
            return _wide(reply)
        reply = reply.tolist()
    if not isinstance(reply, list | tuple) or not all(map(_numeric, set(map(type, reply)))):
        raise InvalidVector("The vector is neither a list of numbers nor text in base64.")
    try:
        return np.asarray(reply, dtype=np.float64)
    except OverflowError:
        raise InvalidVector("The vector holds a number that float32 cannot hold.") from None


def _numeric(kind: type) -> bool:
    return issubclass(kind, _NUMBERS) and not issubclass(kind, bool)


def _wide(numbers: NDArray[Any]) -> NDArray[np.float64]:
    # What does not fit becomes infinite, and signals nothing: it is refused below.
    with np.errstate(all="ignore"):
        return numbers.astype(np.float64)
