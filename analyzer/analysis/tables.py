"""`Table`: the answer to one catalogue query, with what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec
import polars as pl

from analyzer.analysis.window import Window, WindowWords, as_window
from analyzer.events.times import format_time
from analyzer.store import Answering, find
from analyzer.store.shown import ShownRows


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
        """The rows as a frame."""
        return self.frame

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: times as ISO texts in UTC."""
        return {"query": self.query, "title": self.title, "columns": list(self.columns), "rows": json_rows(self.frame)}

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        return f"Table {self.query}", {"rows": f"{self.frame.height:,}", "columns": f"{self.frame.width:,}"}


def table(store: Answering, query: str, window: str | Window | None = None, **params: object) -> Table:
    """Run a catalogue query over a window, or its words (`last="7d"`); parameters that it does not have are left out.

    Raises:
        QueryError: unknown query or a bad value.
        AnalyzerError: a window that cannot be read.
    """
    words = {name: params.pop(name) for name in WindowWords.__annotations__ if name in params}
    chosen = as_window(window, **words)  # type: ignore[arg-type]
    header = find(query).header
    takes = {param.name for param in header.params}
    given = {"timezone": chosen.timezone, **chosen.params, **params}
    frame = store.query(query, **{name: value for name, value in given.items() if name in takes})
    return Table(
        query, header.title, header.description, {item.name: item.description for item in header.columns}, frame
    )


def json_ready(value: object) -> Any:
    """Frozen data as dictionaries and lists, days as ISO dates; the times in it need `json_value`."""
    return msgspec.json.decode(msgspec.json.encode(value))


def json_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, JSON-ready."""
    return [{name: json_value(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def json_value(value: object) -> object:
    """One cell, JSON-ready."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return value
