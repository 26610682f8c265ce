"""What a report shows and in which order, once for HTML and Markdown: sections of tables, some with a chart.

Invariant: every table of the overview stands in exactly one section, beside the name of its catalogue query.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analyzer.analysis import Overview, Table
from analyzer.report.cells import counted, percent
from analyzer.store import find

MAX_ROWS = 50
"""Rows of one table in a report; it says where the others are."""


@dataclass(frozen=True, slots=True)
class Part:
    """A table, and the chart over it."""

    query: str
    """Its name in the catalogue; for the spikes, of the query that they are found in."""
    title: str
    description: str
    columns: dict[str, str]
    """Column name → what it means."""
    frame: pl.DataFrame
    chart: str = ""
    """The builder in `analysis.charts`; empty where the table says it all."""

    @property
    def rows(self) -> pl.DataFrame:
        """The rows that are shown."""
        return self.frame.head(MAX_ROWS)

    @property
    def cut(self) -> str:
        """Says that rows are missing and where they are; empty where all are shown."""
        total, limit = self.frame.height, _limit(self.query)
        if limit is not None and total >= limit:
            more = f"analyzer query {self.query} -p limit={100 * limit}"
            return f"The first {min(total, MAX_ROWS)} rows; there may be more: {more}"
        return f"{MAX_ROWS} of {total:,} rows; all: analyzer query {self.query}" if total > MAX_ROWS else ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the sentence to take away and what it rests on."""

    name: str
    """An id: lower case letters and hyphens."""
    title: str
    lead: str
    """Our own words and numbers; never text from a log."""
    parts: tuple[Part, ...]


def sections(overview: Overview) -> tuple[Section, ...]:
    """The report's sections in their order."""
    return (
        Section(
            "unknown",
            "Unknown errors",
            _unknown(overview),
            (_share(overview), _spikes(overview), _part(overview, "unknown-messages")),
        ),
        Section(
            "errors",
            "Errors",
            _errors(overview),
            (
                _part(overview, "errors-timeline", "errors_timeline_chart"),
                _part(overview, "errors-by-reason"),
                _part(overview, "errors-by-caller"),
                _part(overview, "errors-by-reason-caller-outcome", "outcomes_chart"),
            ),
        ),
        Section("retries", "Retries", _retries(overview), (_part(overview, "retries-outcomes", "retries_chart"),)),
        Section(
            "relays",
            "Relays",
            _relays(overview),
            (
                _part(overview, "relays-by-day", "relays_chart"),
                _part(overview, "relays-by-step"),
                _part(overview, "relays-by-session"),
                _part(overview, "relays-utilization", "utilization_chart"),
            ),
        ),
        Section(
            "exhaustions", "Usage-limit exhaustions", _exhaustions(overview), (_part(overview, "exhaustions-list"),)
        ),
        Section(
            "completeness",
            "Completeness",
            completeness(overview),
            (_part(overview, "sources-completeness"), _part(overview, "quarantine-lines")),
        ),
    )


def completeness(overview: Overview) -> str:
    """How much of the logs the report rests on, without the formats that are not read yet."""
    known = overview.completeness
    others = f"{counted(known.other_files, 'file')} of no known log format" if known.other_files else ""
    if not known.lines:
        return f"No line has been read{f'; {others}' if others else ''}."
    read = counted(known.lines - known.quarantined, "line")
    said = f"{read} read of {known.lines:,} in {counted(known.sources, 'file')}"
    if known.quarantined:
        said += f"; {known.quarantined:,} in quarantine"
    if known.damaged_sources:
        said += f"; {counted(known.damaged_sources, 'file')} with damaged compressed data"
    if known.pending_sources:
        said += f"; {counted(known.pending_sources, 'file')} with an unfinished last line"
    if others:
        said += f"; {others}"
    return said + "."


def ended_chains(overview: Overview) -> tuple[int, int]:
    """Retry chains that recovered, and all that ended on their own: neither aborted nor without an end in the logs."""
    frame = overview.tables["retries-outcomes"].frame
    ends = [int(frame[name].sum()) for name in ("recovered", "exhausted", "surfaced", "escalated")]
    return ends[0], sum(ends)


def _part(overview: Overview, name: str, chart: str = "") -> Part:
    table: Table = overview.tables[name]
    return Part(table.query, table.title, table.description, table.columns, table.frame, chart)


def _share(overview: Overview) -> Part:
    table = overview.spikes.share
    return Part(table.query, table.title, table.description, table.columns, table.frame, "unknown_share_chart")


def _spikes(overview: Overview) -> Part:
    return Part(
        "unknown-share",
        "Spikes",
        "Days on which a caller's unknown share was far above that of its days before.",
        {
            "caller": "who made the calls",
            "day": "day in the time zone of the window",
            "unknown_errors": "unknown errors of that day",
            "errors": "errors of that day that count: aborts and errors without any detail do not",
            "unknown_share": "unknown errors / errors",
            "baseline_share": "the share over the caller's days before, smoothed",
            "baseline_errors": "errors that the baseline rests on",
            "unknown_sessions": "distinct sessions with an unknown error",
            "p_value": "probability of as many unknown ones or more, had the baseline's share still held",
        },
        overview.spikes.to_polars(),
    )


def _limit(query: str) -> int | None:
    """Rows that a query gives at most unless asked for more; None for all."""
    defaults = [param.default for param in find(query).header.params if param.name == "limit"]
    return int(defaults[0]) if defaults and defaults[0].isdigit() else None


def _unknown(overview: Overview) -> str:
    totals = overview.totals
    if not totals.counted_errors:
        return "No error in this window takes part in the unknown share."
    found = len(overview.spikes.found)
    spikes = counted(found, "spike") if found else "no spike"
    said = (
        f"{totals.unknown_errors:,} of {counted(totals.counted_errors, 'error')} that count are unknown "
        f"({percent(totals.unknown_share)}); {spikes}."
    )
    if unjudged := overview.spikes.unjudged:
        said += f" Too little history to judge {counted(unjudged, 'day')} of callers with many unknown errors."
    return said


def _errors(overview: Overview) -> str:
    totals = overview.totals
    if not totals.errors:
        return "No error in this window."
    said = f"{counted(totals.errors, 'classified error')} by {counted(totals.callers, 'caller')}."
    if totals.without_facts:
        said += f" {totals.without_facts:,} of them cannot be judged again: their events carry no facts."
    return said


def _retries(overview: Overview) -> str:
    totals = overview.totals
    if not totals.retry_chains:
        return "No retry chain began in this window."
    recovered, ended = ended_chains(overview)
    share = percent(recovered / ended if ended else None)
    said = f"{recovered:,} of {counted(ended, 'retry chain')} that ended recovered ({share})"
    if others := totals.retry_chains - ended:
        said += f"; {others:,} more were aborted or show no end in the logs"
    return said + "."


def _relays(overview: Overview) -> str:
    totals = overview.totals
    if not totals.relays:
        return "No hand-off to a fresh context in this window."
    said = f"{counted(totals.relays, 'hand-off')} to a fresh context."
    if totals.requests:
        said += f" The logs that count them show {counted(totals.requests, 'model request')}."
    return said


def _exhaustions(overview: Overview) -> str:
    number = overview.totals.exhaustions
    return (
        f"Agents ran into their usage limit {counted(number, 'time')}."
        if number
        else "No agent ran into its usage limit."
    )
