"""What people type for a time → a naive UTC moment: `2026-11-01`, `2026-11-01T06:00`, `7d`, `now-7d`, `yesterday`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from analyzer.errors import AnalyzerError
from analyzer.events.times import now, to_naive_utc

_SPAN = re.compile(r"^(\d{1,6})(mo|m|h|d|w|y)$")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
SPANS = "90m, 36h, 7d, 2w, 6mo or 1y"
"""Lengths of time as people write them; a month has 30 days and a year 365."""
HINT = "write a date (2026-11-01), a time (2026-11-01T06:00), a span back from now (7d, 6mo), yesterday or today"


def moment(text: str, now: datetime, zone: tzinfo = UTC) -> datetime:
    """The moment a text stands for, naive UTC. `now` is naive UTC; a date without an offset is one of `zone`.

    Raises:
        AnalyzerError: it stands for none.
    """
    word = text.strip().lower()
    if word == "now":
        return now
    if word in {"today", "yesterday"}:
        local = now.replace(tzinfo=UTC).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        return to_naive_utc(local - timedelta(days=word == "yesterday"))
    try:
        if found := _SPAN.match(word.removeprefix("now-")):
            return now - span(found[0])
        parsed = datetime.fromisoformat(text.strip())
        return to_naive_utc(parsed if parsed.tzinfo else parsed.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise AnalyzerError(f"not a time: {text!r}", HINT) from None


def span(text: str) -> timedelta:
    """A length of time: `90m`, `36h`, `7d`, `2w`, `6mo`, `1y`; a month has 30 days and a year 365.

    Raises:
        AnalyzerError: it is none.
    """
    found = _SPAN.match(text.strip().lower())
    if found is None:
        raise AnalyzerError(f"not a length of time: {text!r}", f"write {SPANS}")
    try:
        return int(found[1]) * _UNITS[found[2]]
    except OverflowError:
        raise AnalyzerError(f"too long a time: {text!r}", f"write {SPANS}") from None


def kept_since(older_than: str) -> datetime:
    """The midnight (naive UTC) before which everything is older than a length of time, as 90d.

    Raises:
        AnalyzerError: it is none.
    """
    return (now() - span(older_than)).replace(hour=0, minute=0, second=0, microsecond=0)
