"""A result is posted to a webhook, with the retries that users of this package get: see docs/how-to/recovery.md."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from analyzer.errors import UNREADABLE, AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis import Night

TIMEOUT_SECONDS = 10.0
MAX_WAIT_SECONDS = 30.0
"""A limit that holds longer is not waited for: the nightly job is to end."""


PAGERDUTY_KEY = "ANALYZER_PAGERDUTY_KEY"


def post_night(url: str, night: Night, form: str) -> bool:
    """Post a night in one of the forms; whether there was anything to tell.

    Raises:
        AnalyzerError: no web address, no key of PagerDuty, or nobody who takes it.
    """
    from analyzer.events.times import now
    from analyzer.report.documents.webhook_forms import webhook_bodies

    key = os.environ.get(PAGERDUTY_KEY, "")
    if form == "pagerduty" and not key:
        raise AnalyzerError("PagerDuty asks for a routing key", f"put it into ${PAGERDUTY_KEY}")
    bodies = webhook_bodies(night, form, now(), key)
    for body in bodies:
        post(url, body)
    return bool(bodies)


def post(url: str, body: Any) -> None:
    """One POST of JSON, tried again as the recovery table says: three calls in all where network or server fail.

    Raises:
        AnalyzerError: no web address, or nobody who takes it. The address is a secret and stands in no message.
    """
    from analyzer.recovery import Backoff, Policy, Retry
    from analyzer.recovery.limits.guard import RateLimitedError

    host = _host(url)
    if host is None:
        raise AnalyzerError("--webhook takes an http or https address", "check the URL")
    data = json.dumps(body, allow_nan=False).encode()
    policy = Policy(backoff=Backoff(base_seconds=0.5), max_wait_seconds=MAX_WAIT_SECONDS)
    try:
        # No log: what becomes of our own retries is no telemetry of anybody's agents.
        Retry("webhook", policy=policy).call(_send, url, data)
    except (OSError, HTTPException, RateLimitedError, ValueError) as error:
        failure = AnalyzerError(
            f"the webhook at {host} did not take the result: {_said(error)}",
            "the night is written down: mend the webhook and run the same command again",
        )
        failure.exit_code = UNREADABLE
        raise failure from None


def _host(url: str) -> str | None:
    """Whose web address it is; None for what is none."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def _send(url: str, data: bytes) -> None:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    try:
        with urllib.request.build_opener(_Straight).open(request, timeout=TIMEOUT_SECONDS):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise


class _Straight(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its body, and count as taken."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None at all."""


def _said(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    # The text of other errors may hold the address.
    return str(error.reason) if isinstance(error, urllib.error.URLError) else type(error).__name__
