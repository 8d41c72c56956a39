"""Post JSON to a server: in bounded time, with retries, and without telling anybody what was posted."""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from prism_graph.errors import EmbedderUnavailable, EmbeddingFailed, InvalidVector

if TYPE_CHECKING:
    import httpx2
    import tenacity

# The longest wait, in seconds, that a server may ask for between two tries.
LONGEST_WAIT: Final = 20.0
# Statuses that may be others at the next try, besides 500 and above.
_PASSING: Final = frozenset({408, 409, 425, 429})
_HINTS: Final = {
    401: "refuses the key: see what the environment variable that 'api_key_env' names holds",
    403: "refuses the key: see what the environment variable that 'api_key_env' names holds",
    404: "knows no such address or model: see 'base_url' and 'model'",
    405: "takes no texts at this address: see 'base_url'",
}


class _Again(Exception):
    """Worth another try, after so many seconds where the server says so."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Server:
    """An address that takes JSON and returns JSON. Follows no redirects, sends a key nowhere else."""

    def __init__(
        self,
        address: str,
        *,
        key_env: str | None,
        timeout: float,
        retries: int,
        headers: Mapping[str, str],
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        import httpx2
        import tenacity

        self._address, self._timeout = address, timeout
        self._failure: type[Exception] = httpx2.HTTPError
        self._client = httpx2.Client(
            timeout=timeout,
            headers=dict(headers),
            auth=partial(_authorise, key_env) if key_env else None,
            follow_redirects=False,
            transport=transport,
        )
        self._policy: dict[str, Any] = {
            "stop": tenacity.stop_after_attempt(retries + 1),
            "wait": _wait(tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)),
            "retry": tenacity.retry_if_exception_type(_Again),
            "reraise": True,
        }
        self._retrying: type[tenacity.Retrying] = tenacity.Retrying
        # Not at exit: in a forked process that would end the parent's connections.
        weakref.finalize(self, self._client.close).atexit = False

    def post(self, payload: Mapping[str, Any], *, limit: int) -> Any:
        """Return the server's JSON, of at most `limit` bytes.

        Raises EmbedderUnavailable where another time or another setting may help, EmbeddingFailed where the
        server refuses what was posted, InvalidVector for a reply that is no JSON.
        """
        try:
            # One for each call: afterwards it still holds what it was called with.
            held = self._retrying(**self._policy)(self._once, payload, limit)
        except _Again as error:
            raise EmbedderUnavailable(f"The server {error}: try again later.") from None
        try:
            return json.loads(held)
        except (ValueError, RecursionError):
            raise InvalidVector("The server's reply is no JSON: see 'base_url'.") from None

    def _once(self, payload: Mapping[str, Any], limit: int) -> bytes:
        until = time.monotonic() + self._timeout
        try:
            with self._client.stream("POST", self._address, json=payload) as response:
                _judge(response)
                return _read(response, until, limit)
        except self._failure as error:
            # What it says may hold a header.
            raise _Again(f"cannot be reached ({type(error).__name__})") from None


def _authorise(key_env: str, request: httpx2.Request) -> httpx2.Request:
    # Called while a request is made, so that the key is in no frame that a failure passes through.
    key = os.environ.get(key_env, "").strip()
    if not (key and key.isascii() and key.isprintable()):
        raise EmbedderUnavailable(
            f"The environment variable {key_env} holds no key: set it, or see 'api_key_env'."
        )
    request.headers["Authorization"] = f"Bearer {key}"
    return request


def _judge(response: httpx2.Response) -> None:
    status = response.status_code
    if 200 <= status < 300:
        return
    if status in _PASSING or status >= 500:
        after = _asked_wait(response.headers.get("Retry-After"))
        if after is not None and after > LONGEST_WAIT:
            raise EmbedderUnavailable(
                f"The server answers with status {status}, and asks to wait {after:.0f} seconds."
            )
        raise _Again(f"answers with status {status}", after)
    if 300 <= status < 400:
        raise EmbedderUnavailable("The server redirects: set 'base_url' to the final address.")
    if hint := _HINTS.get(status):
        raise EmbedderUnavailable(f"The server {hint} (status {status}).")
    raise EmbeddingFailed(f"The server refuses these texts with status {status}.")


def _read(response: httpx2.Response, until: float, limit: int) -> bytes:
    held = bytearray()
    for part in response.iter_bytes():
        held += part
        if len(held) > limit:
            raise InvalidVector("The server's reply is far larger than vectors are.")
        if time.monotonic() > until:
            raise _Again("takes too long")
    return bytes(held)


def _asked_wait(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which are a number or a date."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    # A date "in -0000" comes without a zone.
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _wait(otherwise: tenacity.wait.wait_base) -> Any:
    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = error.after if isinstance(error, _Again) else None
        return float(otherwise(state)) if after is None else after

    return wait
