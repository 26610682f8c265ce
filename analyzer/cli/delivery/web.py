"""JSON is posted over HTTP, with the retries that users of this package get: see docs/how-to/recovery.md."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import Any

from analyzer.cli.delivery.failed import UndeliveredError, patiently

TIMEOUT_SECONDS = 10.0


def post(url: str, body: Any) -> None:
    """One POST of JSON, tried again as the recovery table says: three calls in all where network or server fail.

    Raises:
        UndeliveredError: nobody takes it. The address is a secret and stands in no message.
    """
    data = json.dumps(body, allow_nan=False).encode()
    try:
        patiently(_send, url, data)
    except (OSError, HTTPException, ValueError) as error:
        raise UndeliveredError(_said(error)) from None


def host_of(url: str) -> str | None:
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
