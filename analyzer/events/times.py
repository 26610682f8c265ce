"""Conversion of timestamps between text and `datetime`: ISO 8601 in UTC in the log, naive UTC in the store.

A text that names a moment gives that moment; a text without a single digit ("…", "...") names none and is no error.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC is the store's own form
LAST = datetime(2200, 1, 1)  # noqa: DTZ001 - as above


def parse_time(value: object) -> datetime | None:
    """Parse ISO 8601 text, or an epoch in seconds or milliseconds, into a naive UTC moment.

    Returns None if the value names no moment at all: absent, or a text without digits.

    Raises:
        ValueError: there is a value, and it is not a moment.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError("a boolean is not a time")
    if isinstance(value, int | float):
        return from_epoch(value)
    if not isinstance(value, str):
        raise ValueError(f"a {type(value).__name__} is not a time")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        if not any(character.isdigit() for character in value):
            return None
        raise ValueError(f"not an ISO 8601 time: {value[:40]!r}") from None
    return _plausible(to_naive_utc(moment))


def from_epoch(value: float) -> datetime:
    """Convert an epoch in seconds, or in milliseconds if it is too large for seconds, to a naive UTC moment.

    Raises:
        ValueError: outside the years 1970 to 2199, or no number.
    """
    try:
        number = float(value)
        return _plausible(EPOCH + timedelta(seconds=number / 1000 if abs(number) > 1e11 else number))
    except (OverflowError, ValueError):
        raise ValueError(f"not an epoch: {str(value)[:40]}") from None


def _plausible(moment: datetime) -> datetime:
    """Cut a moment to the millisecond, as a log keeps it.

    Raises ValueError before 1970 and after 2199, when no agent ran.
    """
    if not EPOCH <= moment < LAST:
        raise ValueError(f"out of the years 1970 to 2199: {moment.isoformat()[:10]}")
    return _to_millisecond(moment)


def _to_millisecond(moment: datetime) -> datetime:
    beyond = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - beyond) if beyond else moment


def to_naive_utc(moment: datetime) -> datetime:
    """Convert a moment to naive UTC, which the store keeps; a naive moment is UTC already.

    Raises:
        ValueError: the shift to UTC leaves the years 1 to 9999.
    """
    if moment.tzinfo is None:
        return moment
    if moment.tzinfo is UTC:
        return moment.replace(tzinfo=None)
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise ValueError(f"out of range: {moment}") from None


def format_time(moment: datetime) -> str:
    """Format a moment as `2026-11-21T08:15:30.123Z`, in UTC and to the millisecond."""
    return to_naive_utc(moment).isoformat(timespec="milliseconds") + "Z"


def now() -> datetime:
    """Return the present moment, naive UTC, to the millisecond."""
    return _to_millisecond(datetime.now(UTC).replace(tzinfo=None))


def format_milliseconds(milliseconds: int) -> str:
    """Format milliseconds since 1970.

    Raises:
        OverflowError: after the year 9999.
    """
    return format_time(EPOCH + timedelta(milliseconds=milliseconds))
