"""JSON is posted over HTTP, with the retries that users of this package get: see docs/how-to/recovery.md."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPException
from threading import Thread
from types import MappingProxyType
from typing import Any

from analyzer.errors import UNREADABLE, AnalyzerError

MAX_WAIT_SECONDS = 30.0
"""A limit that holds longer is not waited for: the nightly job is to end."""
ATTEMPT_SECONDS = 30.0
"""A call that takes longer is given up: a socket's own timeout begins anew with every byte of a slow answer."""


class UndeliveredError(Exception):
    """Its text says what the other side answered, and neither an address nor a password."""


def patiently(send: Callable[..., None], *arguments: Any) -> None:
    """Call again as the recovery table says: three calls in all where network or server fail.

    Raises:
        UndeliveredError: a limit holds too long, or a call takes too long; that one may have arrived.
        Exception: whatever the last call raised.
    """
    from analyzer.recovery import Backoff, Policy, Retry
    from analyzer.recovery.limits.guard import RateLimitedError

    policy = Policy(backoff=Backoff(base_seconds=0.5), max_wait_seconds=MAX_WAIT_SECONDS)
    try:
        # No log: what becomes of our own retries is no telemetry of anybody's agents.
        Retry("delivery", policy=policy).call(_within, send, *arguments)
    except RateLimitedError as error:
        raise UndeliveredError(type(error).__name__) from None


def _within(send: Callable[..., None], *arguments: Any) -> None:
    """One call. One that takes too long goes on by itself, and ends with the process at the latest."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            send(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            failed.append(error)

    thread = Thread(target=run, name="delivery", daemon=True)
    thread.start()
    thread.join(ATTEMPT_SECONDS)
    if thread.is_alive():
        raise UndeliveredError(f"no whole answer within {ATTEMPT_SECONDS:g} s")
    if failed:
        raise failed[0]


def untaken(failures: Iterable[tuple[str, str]]) -> AnalyzerError:
    """What to raise where targets took nothing: their names, and what each of them answered."""
    said = "; ".join(f"{name} did not take the result: {why}" for name, why in failures)
    hint = "the night is written down: mend what is wrong there and run the same command again"
    return AnalyzerError(said, hint, exit_code=UNREADABLE)


TIMEOUT_SECONDS = 10.0
_ANSWER_BYTES = 65_536


def post(url: str, body: Any, headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """One POST of JSON, tried again as the recovery table says: three calls in all where network or server fail.

    Returns the beginning of the answer.

    Raises:
        UndeliveredError: nobody takes it. The address is a secret and stands in no message.
    """
    data, answers = json.dumps(body, allow_nan=False).encode(), [b""]
    try:
        patiently(_send, url, data, headers, answers)
    except (OSError, HTTPException, ValueError) as error:
        raise UndeliveredError(_message_of(error)) from None
    return answers[-1]


def host_of(url: str) -> str | None:
    """Whose web address it is; None for what is none."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def _send(url: str, data: bytes, headers: Mapping[str, str], answers: list[bytes]) -> None:
    said = {**headers, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, said, method="POST")  # noqa: S310
    try:
        with urllib.request.build_opener(_Straight).open(request, timeout=TIMEOUT_SECONDS) as answer:
            answers.append(answer.read(_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        raise


class _Straight(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its body, and count as taken."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None at all."""


def _message_of(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    # The text of other errors may hold the address.
    return str(error.reason) if isinstance(error, urllib.error.URLError) else type(error).__name__
