"""The stretch of time that an analysis looks at: half open, in UTC, with the zone in which its days begin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Any, TypedDict, Unpack
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from analyzer.errors import AnalyzerError
from analyzer.events.times import EPOCH, format_time, now
from analyzer.store import moment, span


@dataclass(frozen=True, slots=True)
class Window:
    """From `since`, inclusive, to `until`, exclusive; None is open on that side."""

    since: datetime | None = None
    """Naive UTC."""
    until: datetime | None = None
    """Naive UTC."""
    timezone: str = "UTC"
    """IANA name of the zone in which days begin and end."""

    @property
    def params(self) -> dict[str, object]:
        """As parameters of a catalogue query."""
        return {"since": self.since, "until": self.until}

    @property
    def first_day(self) -> date | None:
        """The day, in the window's zone, that its first instant lies in."""
        if self.since is None:
            return None
        return self.since.replace(tzinfo=UTC).astimezone(ZoneInfo(self.timezone)).date()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "since": format_time(self.since) if self.since else None,
            "until": format_time(self.until) if self.until else None,
            "timezone": self.timezone,
        }


class WindowWords(TypedDict, total=False):
    """A window in the words of the command line, as `window` takes them."""

    since: str | datetime | None
    until: str | datetime | None
    last: str | None
    timezone: str


def window(
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    last: str | None = None,
    timezone: str = "UTC",
) -> Window:
    """A window from what people type: times, spans back from now (`7d`), or `last="7d"`.

    Raises:
        AnalyzerError: a text that is no time, both `since` and `last`, an empty window, an unknown zone.
    """
    zone = _zone(timezone)
    present = now()
    if since is not None and last is not None:
        raise AnalyzerError("both --since and --last", "give one of them")
    try:
        start = present - span(last) if last is not None else _moment(since, present, zone)
        end = _moment(until, present, zone)
    except OverflowError:
        raise AnalyzerError(f"too long ago: {last or since or until}", "name a time after 1970") from None
    if end is not None and end < EPOCH:
        raise AnalyzerError(f"too long ago: {until}", "name a time after 1970")
    # No log is older, and further back there is no room for a baseline before the window.
    start = max(start, EPOCH) if start is not None else None
    if start is not None and end is not None and start >= end:
        raise AnalyzerError(
            f"nothing lies between {format_time(start)} and {format_time(end)}", "swap --since and --until"
        )
    return Window(start, end, timezone)


def as_window(given: str | Window | None, **words: Unpack[WindowWords]) -> Window:
    """The window that a caller names: a made one, or a text as `7d` or `2026-11-01..2026-11-08`; None is all time.

    In its place there may be the words that `window` takes: `last="7d"`, or `since` and `until`, and `timezone`.

    Either end may be left out, and is anything that `window` takes: `yesterday..`, `..2026-11-08T06:00`. Days are those
    of UTC; a window with days of another zone comes from `window`.

    Raises:
        AnalyzerError: a text that names none, or an empty one.
    """
    if words:
        if given is not None:
            raise AnalyzerError("a window, and its ends beside it", f"give {' and '.join(words)} alone, or the window")
        return window(**words)
    if given is None or isinstance(given, Window):
        return given or Window()
    since, dots, until = (part.strip() for part in given.partition(".."))
    if dots:
        return window(since or None, until or None)
    try:
        return window(last=since)
    except AnalyzerError:
        hint = "write 7d, 2026-11-01..2026-11-08, 2026-11-01.. or ..2026-11-08"
        raise AnalyzerError(f"not a window of time: {given!r}", hint) from None


def _moment(value: str | datetime | None, present: datetime, zone: tzinfo) -> datetime | None:
    if isinstance(value, str):
        return moment(value, present, zone)
    if value is not None and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _zone(name: str) -> tzinfo:
    try:
        # The database has its own list of zones: these names stand in Python's alone.
        if name.startswith(("posix/", "right/")) or name in {"localtime", "posixrules", "Factory"}:
            raise ValueError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise AnalyzerError(f"unknown time zone {name!r}", "write an IANA name such as Europe/Berlin, or UTC") from None
