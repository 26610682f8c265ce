"""Answers of catalogue queries as tables, and the windows of time that they are asked for.

Invariant: a window is half open and in UTC; its days begin in its own time zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, tzinfo
from math import isfinite
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from analyzer.errors import AnalyzerError
from analyzer.events.times import EPOCH, format_time, now
from analyzer.frozen import frozen
from analyzer.store import Store, find, moment, span
from analyzer.store.db.frames import frame_of
from analyzer.store.shown import ShownRows

if TYPE_CHECKING:
    import polars as pl


@frozen
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
        """Return the parameters of a catalogue query."""
        return {"since": self.since, "until": self.until}

    @property
    def first_day(self) -> date | None:
        """Return the day, in the window's zone, of its first instant."""
        if self.since is None:
            return None
        return self.since.replace(tzinfo=UTC).astimezone(ZoneInfo(self.timezone)).date()


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
    """Build a window from what people type.

    That is times, spans back from now (`7d`), or `last="7d"`, back from `until` (now).

    Raises:
        AnalyzerError: a text that is no time, both `since` and `last`, an empty window, an unknown zone.
    """
    zone = _zone(timezone)
    present = now()
    if since is not None and last is not None:
        raise AnalyzerError("both --since and --last", "give one of them")
    try:
        end = _moment(until, present, zone)
        start = (end or present) - span(last) if last is not None else _moment(since, present, zone)
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


def as_window(asked: str | Window | None, **words: Unpack[WindowWords]) -> Window:
    """Return the window that a caller names: a `Window`, or a text such as `7d`.

    A text may also have two ends, as `2026-11-01..2026-11-08`. Either may be left out, and is anything
    that `window` takes: `yesterday..`, `..2026-11-08T06:00`. Its days are those of UTC. None is all time.

    Instead there may be the words that `window` takes: `last="7d"`, or `since` and `until`, and
    `timezone`.

    Raises:
        AnalyzerError: a text that names none, or an empty one.
    """
    if words:
        if asked is not None:
            raise AnalyzerError("a window, and its ends beside it", f"give only {' and '.join(words)}, or the window")
        return window(**words)
    if asked is None or isinstance(asked, Window):
        return asked or Window()
    since, dots, until = (part.strip() for part in asked.partition(".."))
    if dots:
        return window(since or None, until or None)
    try:
        return window(last=since)
    except AnalyzerError:
        hint = "write 7d, 2026-11-01..2026-11-08, 2026-11-01.. or ..2026-11-08"
        raise AnalyzerError(f"not a window of time: {asked!r}", hint) from None


def _moment(value: str | datetime | None, present: datetime, zone: tzinfo) -> datetime | None:
    if isinstance(value, str):
        return moment(value, present, zone)
    if value is not None and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _zone(name: str) -> tzinfo:
    try:
        # The database has its own list of zones: these names are only in Python's.
        if name.startswith(("posix/", "right/")) or name in {"localtime", "posixrules", "Factory"}:
            raise ValueError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise AnalyzerError(f"unknown time zone {name!r}", "write an IANA name such as Europe/Berlin, or UTC") from None


@dataclass(frozen=True, slots=True, repr=False)
class Table(ShownRows):
    """Rows of a catalogue query."""

    query: str
    """Its name in the catalogue."""
    title: str
    description: str
    columns: dict[str, str]
    """Column name → what it means."""
    frame: pl.DataFrame

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame."""
        return self.frame

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict: times are ISO texts in UTC."""
        return {"query": self.query, "title": self.title, "columns": list(self.columns), "rows": json_rows(self.frame)}

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        return f"Table {self.query}", {"rows": f"{self.frame.height:,}", "columns": f"{self.frame.width:,}"}


def table(store: Store, query: str, window: str | Window | None = None, **params: object) -> Table:
    """Run a catalogue query over a window, or its words (`last="7d"`).

    Parameters that it does not have are left out.

    Raises:
        QueryError: unknown query or a bad value.
        AnalyzerError: a window that cannot be read.
    """
    words = {name: params.pop(name) for name in WindowWords.__annotations__ if name in params}
    chosen = as_window(window, **words)  # type: ignore[arg-type]
    takes = {param.name for param in find(query).header.params}
    values = {"timezone": chosen.timezone, **chosen.params, **params}
    return _table(query, store.query(query, **{name: value for name, value in values.items() if name in takes}))


def table_without_rows(query: str) -> Table:
    """Return what `table` gives if the query has no row, without asking for it.

    Raises:
        QueryError: unknown query.
    """
    return _table(query, frame_of({item.name: _KINDS[item.type] for item in find(query).header.columns}))


_KINDS = {
    "VARCHAR": "String",
    "BIGINT": "Int64",
    "INTEGER": "Int32",
    "DOUBLE": "Float64",
    "BOOLEAN": "Boolean",
    "DATE": "Date",
    "TIMESTAMP": "Datetime",
}
"""Types of columns, and what they are called in a frame."""


def _table(query: str, frame: pl.DataFrame) -> Table:
    header = find(query).header
    return Table(
        query, header.title, header.description, {item.name: item.description for item in header.columns}, frame
    )


def json_ready(value: Any) -> Any:
    """Turn data into dictionaries and lists, days into ISO dates, and times into ISO texts in UTC.

    A frame is the list of its rows; an object with `to_dict` is what that returns.
    """
    if hasattr(value, "iter_rows"):
        return json_rows(value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return json_fields(value)
    if isinstance(value, Mapping):
        return {name: json_ready(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    return json_value(value) if not isinstance(value, float) or isfinite(value) else None


def json_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, JSON-ready."""
    return [{name: json_value(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def json_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, JSON-ready."""
    return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}


def json_value(value: object) -> object:
    """Return one cell, JSON-ready."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return value
