"""Response headers → what is left of each limit, and when it resets.

Invariant: a pure function of headers and the present moment; whatever it is given, it answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from analyzer.classifier.reading.reset_times import header_value

RETRY_AFTER = "retry-after"
"""Name under which an explicit request to wait is kept among the limits."""
MAX_SECONDS = 400 * 86_400.0
"""No limit holds longer; what claims so is garbled."""

_MAX_HEADERS = 500
_MAX_CAUSES = 5
# "x-ratelimit-reset-tokens", "anthropic-ratelimit-requests-remaining", "x-rate-limit-reset", "x-codex-primary-reset-at"
_LIMIT_NAME = re.compile(r"^(?:x-|anthropic-|openai-)*(?:ratelimit|rate-limit|codex)-(.+)$")
# What a name says of the value, as opposed to which limit it belongs to.
_FIELD_WORDS = frozenset({"remaining", "reset", "status", "used", "percent", "after", "at", "seconds", "ms", "time"})
# `"burst";r=0;t=30` and `limit=10, remaining=0, reset=30`: the header `RateLimit` of the IETF's drafts, new and old.
_PARAMETER = re.compile(r"\b(r|remaining|t|reset)=(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Limit:
    """One of the limits that a response speaks of."""

    remaining: float | None = None
    """What is left, in the limit's own unit: requests, tokens, per cent."""
    seconds: float | None = None
    """Until it resets, from the moment of the response."""

    def stricter(self, other: Limit) -> Limit:
        """The smaller remainder and the later reset of two limits."""
        left = [each.remaining for each in (self, other) if each.remaining is not None]
        resets = [each.seconds for each in (self, other) if each.seconds is not None]
        return Limit(min(left, default=None), max(resets, default=None))


def read_limits(headers: object, now: datetime) -> dict[str, Limit]:
    """The limits by name; `headers` is a mapping or pairs, names in any case; `now` is aware.

    Moments are measured against the server's own clock where it sent a `Date`, so that a wrong clock here does no harm.
    """
    pairs = list(_pairs(headers))
    server_now = _server_time(dict(pairs)) or now
    found: dict[str, Limit] = {}
    for name, text in pairs:
        for limit, value in _read(name, text, server_now):
            found[limit] = found.get(limit, Limit()).stricter(value)
    millis = dict(pairs).get("retry-after-ms")
    if millis is not None and (exact := _number(millis)) is not None:
        # The same wait as `retry-after`, which is rounded up to whole seconds.
        found[RETRY_AFTER] = Limit(0.0, sane(exact / 1000))
    return found


def response_headers(error: BaseException) -> list[tuple[str, str]]:
    """The headers of the response that an exception, or one that it was raised from, carries; else nothing.

    Client libraries agree on `error.response.headers`; some have `error.headers`, botocore a dict.
    """
    seen: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if seen is None:
            break
        response = _attribute(seen, "response")
        if isinstance(response, Mapping):
            metadata = response.get("ResponseMetadata")
            candidate = metadata.get("HTTPHeaders") if isinstance(metadata, Mapping) else None
        else:
            candidate = _attribute(response, "headers")
        pairs = list(_pairs(candidate)) or list(_pairs(_attribute(seen, "headers")))
        if pairs:
            return pairs
        seen = seen.__cause__
    return []


def _attribute(thing: object, name: str) -> object:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class may raise anything
        return None


def _pairs(headers: object) -> Iterator[tuple[str, str]]:
    """The headers as pairs of lower-case name and text; other values are left out."""
    try:
        items: Any = headers.items() if hasattr(headers, "items") else headers
        listed = list(islice(items, _MAX_HEADERS))
    except Exception:  # noqa: BLE001 - a foreign class of headers; what is none has no pairs
        return
    for item in listed:
        if isinstance(item, (list, tuple)) and len(item) == 2:
            name, text = (part.decode("latin-1") if isinstance(part, bytes) else part for part in item)
            if isinstance(text, (list, tuple)) and text:
                text = text[0]
            if isinstance(name, str) and isinstance(text, (str, int, float)) and not isinstance(text, bool):
                yield name.strip().lower().replace("_", "-"), str(text).strip()[:300]


def _server_time(headers: Mapping[str, str]) -> datetime | None:
    moment = header_value(headers["date"]).moment if "date" in headers else None
    if moment is None:
        return None
    age = sane(_number(headers.get("age", "0")) or 0.0) or 0.0
    try:
        return moment + timedelta(seconds=age)
    except OverflowError:
        return None


def _read(name: str, text: str, now: datetime) -> Iterator[tuple[str, Limit]]:
    if name == "retry-after":
        if (seconds := _seconds(text, now)) is not None:
            yield RETRY_AFTER, Limit(0.0, seconds)
        return
    if name == "ratelimit":
        for part in re.split(r",\s*(?=\")", text):
            quoted = re.match(r'\s*"([^"]*)"', part)
            values = dict(_PARAMETER.findall(part))
            left, resets = values.get("r") or values.get("remaining"), values.get("t") or values.get("reset")
            yield (
                quoted[1] if quoted else "",
                Limit(float(left) if left else None, sane(float(resets)) if resets else None),
            )
        return
    match = _LIMIT_NAME.match(name)
    if match is None:
        return
    words = match[1].split("-")
    limit = "-".join(word for word in words if word not in _FIELD_WORDS)
    if "remaining" in words:
        numbers = [number for part in text.split(",") if (number := _number(part)) is not None and number >= 0]
        if numbers:
            yield limit, Limit(min(numbers), None)
    elif "reset" in words:
        seconds = _number(text) if "ms" in words else None
        seconds = sane(seconds / 1000) if seconds is not None else _seconds(text, now)
        if seconds is not None:
            yield limit, Limit(None, seconds)
    elif words[-2:] == ["used", "percent"]:
        if (used := _number(text)) is not None:
            yield limit, Limit(max(0.0, 100.0 - used), None)
    elif words[-1] == "status" and text.lower() == "rejected":
        yield limit, Limit(0.0, None)


def _seconds(text: str, now: datetime) -> float | None:
    """The seconds until the moment that a value names, 0 where it is past; None where it names none."""
    reset = header_value(text)
    if reset.seconds is not None:
        return reset.seconds
    if reset.moment is not None:
        return sane(max(0.0, (reset.moment - now).total_seconds()))
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def sane(seconds: float) -> float | None:
    """The seconds, or None where no limit can hold so long: then the value is garbled."""
    return seconds if 0 <= seconds <= MAX_SECONDS else None
