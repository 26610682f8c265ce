"""When to come back: durations and moments out of headers and texts.

Invariant: nothing here looks at a clock. A duration stays a duration; a wall-clock text becomes a moment only against
the event's own time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Any, NamedTuple

import re2

from analyzer.classifier.facts import MESSAGE_CHARS, STREAM_CHARS, Facts

_MAX_SECONDS = 400 * 86_400.0
_UNIT = r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|hr|h|days?|d|秒|分钟|小时|天)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PATTERNS = {
    # "try again in 11.054s", "resets in 6hr 29min", "reset after 8h44m7s", "retryDelay: 34s"
    "duration": (
        r"(?i)(?:\b(?:try|retry|retrying|resets?|refresh\w*|available|wait|back|regain access)\b(?: again)?"
        r"(?: after| in| for)?|retryDelay|quotaResetDelay)[\s:=\"'~]+"
        rf"((?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*)+)(?:[^0-9A-Za-z]|$)"
    ),
    "millis": r"(?i)\bretry[_-]after[_-]ms[\s:=\"']+(\d+(?:\.\d+)?)",
    "seconds": r"(?i)\b(?:retry[_ -]after|resets_in_seconds|try again in)[\s:=\"']+(\d+(?:\.\d+)?)(?:[^\d.\w-]|\.?$)",
    # "limit reached|1790000000", "resets_at: 1790000000"
    "epoch": r"(?i)(?:limit reached\||resets?_at[\s:=\"']+|quotaResetTimeStamp[\s:=\"']+)(\d{10}(?:\d{3})?)(?:[^\d]|$)",
    # "reset at 2027-01-02 10:30:00 +0800", "quotaResetTimeStamp: 2027-01-02T10:30:00Z"
    "date": (
        r"(?i)(?:resets?\w*|until|available|again|after|access)(?: again)?(?:[ _]at| on| after)?[\s:=\"']+"
        r"(\d{4}-\d\d-\d\d)(?:[T ]| at )(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?"
    ),
    # "resets 3pm (America/Bogota)", "resets Feb 7, 11am", "reset at 9:30 AM", "resets at midnight UTC"
    "clock": (
        rf"(?i)\bresets?(?:\s+at|\s+on)?\s+(?:({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?"
        r"(?:,|\s+at)?\s+(?:at\s+)?)?(?:(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b\.?|(\d{1,2}):(\d\d)|(midnight|noon))"
        r"(?:\s*\(([A-Za-z][A-Za-z0-9_+\-/]{1,40})\)|\s+(UTC|GMT)\b)?"
    ),
}
_PARTS = rf"(?i)(\d+(?:\.\d+)?)\s*({_UNIT})"


class Clock(NamedTuple):
    """A time as clocks of a zone show it, with or without its day."""

    month: int | None
    day: int | None
    hour: int
    minute: int
    zone: str
    """Name of the zone; empty for that of the event."""


class Reset(NamedTuple):
    """What the facts say about when to come back, before anybody's clock is consulted."""

    seconds: float | None = None
    moment: datetime | None = None
    clock: Clock | None = None


NOTHING = Reset()


class _Compiled(NamedTuple):
    check: Any
    regexes: dict[str, Any]
    names: tuple[str, ...]
    parts: Any


@cache
def _compiled() -> _Compiled:
    check = re2.Set.SearchSet()
    for pattern in _PATTERNS.values():
        check.Add(pattern)
    check.Compile()
    regexes = {name: re2.compile(pattern.encode()) for name, pattern in _PATTERNS.items()}
    return _Compiled(check, regexes, tuple(_PATTERNS), re2.compile(_PARTS.encode()))


def read(levels: Sequence[Facts], *, limited: bool) -> Reset:
    """What an error and its causes say; headers come before texts.

    Reset headers of rate limits stand on successful answers too, so they count only where a limit was hit (`limited`).
    """
    for level in levels:
        if level.headers:
            found = _from_headers(level.headers, limited)
            if found != NOTHING:
                return found
    for level in levels:
        for text in _texts(level):
            found = from_text(text)
            if found != NOTHING:
                return found
    return NOTHING


def from_text(text: bytes) -> Reset:
    """The first duration, moment and wall-clock time that a text names."""
    compiled = _compiled()
    hits = compiled.check.Match(text)
    if not hits:
        return NOTHING
    found = {compiled.names[i]: compiled.regexes[compiled.names[i]].search(text) for i in hits}
    return Reset(_seconds(found), _moment(found), _clock(found.get("clock")))


def resolve(clock: Clock, at: datetime) -> datetime | None:
    """The next time after `at` that clocks of the zone show this; None where the zone or the day does not exist."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    zone = _zone(clock.zone, aware)
    if zone is None:
        return None
    try:
        local = aware.astimezone(zone)
        target = local.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0, fold=0)
        if clock.month is not None and clock.day is not None:
            target = target.replace(month=clock.month, day=clock.day)
            if target < local - timedelta(days=1):
                target = target.replace(year=target.year + 1)
        elif target <= local:
            target += timedelta(days=1)
        return target.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _texts(facts: Facts) -> Iterable[bytes]:
    for text, limit in ((facts.message, MESSAGE_CHARS), (facts.stderr, STREAM_CHARS), (facts.stdout, STREAM_CHARS)):
        if text:
            yield text[:limit].encode("utf-8", "replace")


def _seconds(found: Mapping[str, Any]) -> float | None:
    match = found.get("duration")
    if match is not None:
        return duration_seconds(match.group(1).decode("utf-8", "replace"))
    match = found.get("millis")
    if match is not None:
        return _sane(float(match.group(1)) / 1000)
    match = found.get("seconds")
    return _sane(float(match.group(1))) if match is not None else None


def _moment(found: Mapping[str, Any]) -> datetime | None:
    match = found.get("epoch")
    if match is not None:
        return _epoch(float(match.group(1)))
    match = found.get("date")
    if match is None:
        return None
    day, clock, zone = (group.decode() if group is not None else "" for group in match.groups())
    return _iso(f"{day}T{clock}", zone)


def _clock(match: Any) -> Clock | None:
    if match is None:
        return None
    month, day, hour12, minute12, half, hour24, minute24, word, zone, utc = (
        group.decode("ascii", "replace") if group is not None else "" for group in match.groups()
    )
    if word:
        hour, minute = (0 if word.lower() == "midnight" else 12), 0
    elif half:
        if not 1 <= int(hour12) <= 12:
            return None
        hour, minute = int(hour12) % 12 + (12 if half.lower() == "p" else 0), int(minute12 or 0)
    else:
        hour, minute = int(hour24), int(minute24)
    number = _MONTHS.index(month.lower()) + 1 if month else None
    return Clock(number, int(day) if day else None, hour, minute, zone or ("UTC" if utc else ""))


def _zone(name: str, at: datetime) -> tzinfo | None:
    if not name:
        return at.tzinfo
    if name.upper() in ("UTC", "GMT"):
        return UTC
    from zoneinfo import ZoneInfo  # only for texts with a zone

    try:
        return ZoneInfo(name)
    except Exception:  # noqa: BLE001  # the zone database is foreign: a bad key raises one of several things
        return None


def _from_headers(headers: Mapping[str, str], limited: bool) -> Reset:
    millis = _float(headers.get("retry-after-ms"))
    if millis is not None:
        return Reset(seconds=_sane(millis / 1000))
    after = headers.get("retry-after")
    if after is not None:
        found = header_value(after)
        if found != NOTHING:
            return found
    if not limited:
        return NOTHING
    resets = [header_value(text) for name, text in headers.items() if "reset" in name]
    # Which of several limits was hit is not said; the last one to reset is safe.
    return Reset(
        max((reset.seconds for reset in resets if reset.seconds is not None), default=None),
        max((reset.moment for reset in resets if reset.moment is not None), default=None),
    )


def header_value(text: str) -> Reset:
    """A header's value: seconds, an epoch in s or ms, `6m0s`, an ISO moment or an HTTP date."""
    text = text.strip()[:100]
    number = _float(text)
    if number is not None:
        # Nobody waits thirty years: larger numbers are moments.
        return Reset(moment=_epoch(number)) if number >= 1e9 else Reset(seconds=_sane(number))
    seconds = duration_seconds(text)
    if seconds is not None:
        return Reset(seconds=seconds)
    moment = _iso(text, "")
    return Reset(moment=moment if moment is not None else _http_date(text))


def duration_seconds(text: str) -> float | None:
    """Seconds of `6m0s`, `8h44m7s`, `20ms`, `6hr 29min`, `5 days`; None for anything else."""
    raw = text.strip().strip("~ ,").encode("utf-8", "replace")
    total, end = 0.0, 0
    for match in _compiled().parts.finditer(raw):
        if raw[end : match.start()].strip(b" ,\t"):
            return None
        total += float(match.group(1)) * _factor(match.group(2).decode().lower())
        end = match.end()
    if end == 0 or raw[end:].strip(b" ,.\t"):
        return None
    return _sane(total)


def _factor(unit: str) -> float:
    if unit.startswith(("ms", "milli")):
        return 0.001
    by_letter = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "秒": 1.0, "分": 60.0, "小": 3_600.0, "天": 86_400.0}
    return by_letter[unit[0]]


def _float(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sane(seconds: float) -> float | None:
    return round(seconds, 6) if 0 <= seconds <= _MAX_SECONDS else None


def _epoch(number: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(number / 1000 if number >= 1e11 else number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _iso(text: str, zone: str) -> datetime | None:
    """An ISO moment; one without a zone is read as UTC."""
    if len(text) < 10 or not text[:4].isdigit():
        return None
    try:
        moment = datetime.fromisoformat(text + ("+00:00" if zone.upper() in ("Z", "UTC") else zone))
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _http_date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # 10 ms that HTTP dates alone cost

    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
