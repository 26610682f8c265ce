"""Posting a result to a webhook, with the recovery that we sell: see docs/RECOVERY.md."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from analyzer.errors import UNREADABLE, AnalyzerError

TIMEOUT_SECONDS = 10.0
MAX_WAIT_SECONDS = 30.0
"""A limit that holds longer is not waited for: the nightly job is to end."""


def post(url: str, body: dict[str, Any]) -> None:
    """One POST of JSON, tried again as the recovery table says: three calls in all where network or server fail.

    Raises:
        AnalyzerError: no web address, or nobody who takes it. The address is a secret and stands in no message.
    """
    from analyzer.recovery import Backoff, Policy, Retry
    from analyzer.recovery.guard import RateLimitedError

    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise AnalyzerError("--webhook takes an http or https address", "check the URL")
    data = json.dumps(body, allow_nan=False).encode()
    policy = Policy(backoff=Backoff(base_seconds=0.5), max_wait_seconds=MAX_WAIT_SECONDS)
    try:
        # No log: what becomes of our own retries is no telemetry of anybody's agents.
        Retry("webhook", policy=policy).call(_send, url, data)
    except (urllib.error.URLError, RateLimitedError, OSError, ValueError) as error:
        failure = AnalyzerError(
            f"the webhook at {parts.hostname} did not take the result: {_said(error)}",
            "the night is written down: mend the webhook and run the same command again",
        )
        failure.exit_code = UNREADABLE
        raise failure from None


def _send(url: str, data: bytes) -> None:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310 - post checks the scheme
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise


def _said(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    return str(getattr(error, "reason", None) or type(error).__name__)
