"""Posting a result to a webhook."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from analyzer.errors import AnalyzerError

TIMEOUT_SECONDS = 10.0


def post(url: str, body: dict[str, Any]) -> None:
    """One POST of JSON.

    Raises:
        AnalyzerError: no web address, or nobody who takes it.
    """
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        raise AnalyzerError("--webhook takes an http or https address", "check the URL")
    data = json.dumps(body, allow_nan=False).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310 - the scheme is checked above
        pass
