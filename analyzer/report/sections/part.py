"""`Part`: a table under its title, perhaps with a chart; `Section`: parts under a heading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from analyzer.analysis import Overview, Table
from analyzer.analysis.charts import Chart
from analyzer.command_lines import Asking, window_words
from analyzer.report.cells import shown
from analyzer.store import find, narrows

MAX_ROWS = 50
"""Rows of one table in a report; it says where the others are."""
_IDS = ("fingerprint",)
"""Columns that name a row to a machine."""


@dataclass(frozen=True, slots=True)
class Part:
    """A table, and the chart over it."""

    query: str
    """Its name in the catalogue; empty where no single query gives it."""
    title: str
    description: str
    columns: dict[str, str]
    """Column name → what it means."""
    frame: pl.DataFrame
    chart: Callable[[], Chart] | None = None
    """Makes its chart; None where the table says it all."""
    note: str = ""
    """What is left out, where it is not said by the number of rows."""
    command: str = ""
    """What gives all of its rows, as it is pasted into a shell; empty where nothing does."""

    @property
    def cells(self) -> list[list[str]]:
        """The texts of the rows that are shown, by column."""
        rows = self.frame.select(list(self.columns)).head(MAX_ROWS).rows()
        return [[shown(name, value) for name, value in zip(self.columns, row, strict=True)] for row in rows]

    @property
    def names(self) -> list[str]:
        """The columns in their order."""
        return list(self.columns)

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [self.frame.schema[name].is_numeric() for name in self.columns]

    @property
    def cut(self) -> str:
        """Says that rows are missing; empty where all are shown."""
        if self.note or not self.query:
            return self.note
        total, limit = self.frame.height, _limit(self.query)
        if limit is not None and total >= limit:
            return f"The first {min(total, MAX_ROWS)} rows; there may be more."
        return f"{MAX_ROWS} of {total:,} rows." if total > MAX_ROWS else ""

    def asked(self, overview: Overview, asking: Asking) -> Part:
        """The same with the command that gives all of its rows."""
        if not self.query:
            return self
        header = find(self.query).header
        known = {param.name for param in header.params}
        chosen, limit = overview.window, _limit(self.query)
        since, until = chosen.since if "since" in known else None, chosen.until if "until" in known else None
        zone = chosen.timezone if "timezone" in known else "UTC"
        part = overview.only.given if overview.only and narrows(header.body) else {}
        words = [word for name, value in part.items() for word in (f"--{name}", value)]
        if limit is not None and self.frame.height >= limit:
            words += ["-p", f"limit={100 * limit}"]
        return replace(self, command=asking.command("query", self.query, *words, *window_words(since, until, zone)))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the sentence to take away and what it rests on."""

    name: str
    """An id: lower case letters and hyphens."""
    title: str
    lead: str
    """Our own words and numbers; never text from a log."""
    parts: tuple[Part, ...]


def part_of(overview: Overview, name: str, chart: Callable[[Table], Chart] | None = None) -> Part:
    """A table of the overview as it is."""
    table = overview.tables[name]
    # People read what was said first; what names it to a machine comes last.
    columns = dict(sorted(table.columns.items(), key=lambda column: column[0] in _IDS))
    drawn = partial(chart, table) if chart else None
    return Part(table.query, table.title, table.description, columns, table.frame, drawn)


def _limit(query: str) -> int | None:
    """Rows that a query gives at most unless asked for more; None for all."""
    defaults = [param.default for param in find(query).header.params if param.name == "limit"]
    return int(defaults[0]) if defaults and defaults[0].isdigit() else None
