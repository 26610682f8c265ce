"""The sections of a report, each with its lead sentence and its parts; the parts of a finding.

A part is a table under its title, perhaps with a chart. Every table of the overview is in exactly
one section, beside the name of its catalogue query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from analyzer.analysis import Case, Overview, Table, charts
from analyzer.analysis.charts import Chart
from analyzer.analysis.kinds.families.causes import Drift
from analyzer.analysis.periods import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.leading import failure_usd
from analyzer.analysis.summary.overview import SECTIONS
from analyzer.analysis.summary.window_findings import MAX_SESSIONS, MAX_TEMPLATES
from analyzer.command_lines import Asking, window_words
from analyzer.importers.programs import resuming
from analyzer.readable import counted, percent
from analyzer.report.overview_words import (
    alarms,
    completeness,
    ended_chains,
    endings_words,
    exhaustions_words,
    limits_words,
    relays_words,
    retries_words,
)
from analyzer.report.rows import shown
from analyzer.store import find, narrows

MAX_ROWS = 50
"""The most rows of one table in a report; its command gives the others."""
_ORDER = {"cost_usd": -1, "fingerprint": 1}
"""The columns that come first (-1), as the money that sorts a table, or last (1), as a row's id
for machines."""
_CONSTANT = ("of_cost_usd",)
"""The columns with the same value in all rows; the sentence over the table has the value."""
_OPTIONAL = ("project", "provider", "detail", "named_party", "providers", "suggested_reason", "suggested_probability")
"""The columns that are left out if no row has a value: few logs have them, and a wide table
hides its end."""


_CHARTS: dict[str, Callable[[Table], Chart]] = {
    "errors-timeline": charts.errors_timeline,
    "errors-by-reason-caller-outcome": charts.outcomes,
    "retries-outcomes": charts.retries,
    "relays-by-day": charts.relays,
    "relays-utilization": charts.utilization,
}


@dataclass(frozen=True, slots=True)
class Part:
    """A table, and the chart over it."""

    query: str
    """The name of its query in the catalogue; empty if no single query gives it."""
    title: str
    description: str
    columns: dict[str, str]
    """The meanings of the columns by name, in their order."""
    frame: pl.DataFrame
    chart: Callable[[], Chart] | None = None
    """Makes the chart; None without one."""
    note: str = ""
    """The words about missing rows, if the number of rows does not tell."""
    command: str = ""
    """The command that gives all of its rows, as it is pasted into a shell; empty if none does."""

    @property
    def cells(self) -> list[list[str]]:
        """The texts of the shown rows, in the order of the columns."""
        rows = self.frame.select(list(self.columns)).head(MAX_ROWS).rows()
        return [[shown(name, value) for name, value in zip(self.columns, row, strict=True)] for row in rows]

    @property
    def names(self) -> list[str]:
        """The names of the columns in their order."""
        return list(self.columns)

    @property
    def numeric(self) -> list[bool]:
        """True for the columns that hold numbers."""
        return [self.frame.schema[name].is_numeric() for name in self.columns]

    @property
    def cut(self) -> str:
        """The words about missing rows; empty if all rows are shown."""
        if self.note or not self.query:
            return self.note
        total, limit = self.frame.height, _limit(self.query)
        if limit is not None and total >= limit:
            return f"The first {min(total, MAX_ROWS)} rows; there may be more."
        return f"{MAX_ROWS} of {total:,} rows." if total > MAX_ROWS else ""

    def with_command(self, overview: Overview, asking: Asking) -> Part:
        """Return the part with the command that gives all of its rows."""
        if not self.query:
            return self
        header = find(self.query).header
        params = {param.name for param in header.params}
        chosen, limit = overview.window, _limit(self.query)
        since, until = chosen.since if "since" in params else None, chosen.until if "until" in params else None
        zone = chosen.timezone if "timezone" in params else "UTC"
        filters = overview.only.given if overview.only and narrows(header.body) else {}
        words = [word for name, value in filters.items() for word in (f"--{name}", value)]
        if limit is not None and self.frame.height >= limit:
            words += ["-p", f"limit={100 * limit}"]
        return replace(self, command=asking.command("query", self.query, *words, *window_words(since, until, zone)))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its lead sentence and the parts that the sentence rests on."""

    name: str
    """The id: lower case letters and hyphens."""
    title: str
    lead: str
    """The sentence to remember, of our own words and numbers; never text from a log."""
    parts: tuple[Part, ...]


def part_of(overview: Overview, name: str) -> Part:
    """Return the part of a table of the overview, with its chart if it has one."""
    table, chart = overview.tables[name], _CHARTS.get(name)
    left_out = {*_CONSTANT, *_redundant_columns(table.frame)}
    kept = {column: meaning for column, meaning in table.columns.items() if column not in left_out}
    columns = dict(sorted(kept.items(), key=lambda column: _ORDER.get(column[0], 0)))
    draw = partial(chart, table) if chart else None
    return Part(table.query, table.title, table.description, columns, table.frame, draw)


def _redundant_columns(frame: pl.DataFrame) -> Iterator[str]:
    """Yield the columns without any value, and `project` if the caller of every row names it."""
    if frame.is_empty():
        return
    yield from (column for column in frame.columns if column in _OPTIONAL and frame[column].is_null().all())
    is_named = pl.col("caller").str.ends_with("@" + pl.col("project")).fill_null(pl.col("project").is_null())
    if {"caller", "project"} <= set(frame.columns) and frame.select(is_named.all()).item():
        yield "project"


def _limit(query: str) -> int | None:
    """Return the most rows that a query gives by default; None if it gives all."""
    defaults = [param.default for param in find(query).header.params if param.name == "limit"]
    return int(defaults[0]) if defaults and defaults[0].isdigit() else None


DRIFTS = {
    "traffic": "other errors come in: judged by one and the same rules, the mix of reasons differs",
    "classifier": "the same errors are judged otherwise than they were when they were recorded",
    "wording": "texts that are new to a known reason, or a rule that fell silent while new unknown texts came",
}
"""The three drifts with their meanings."""


def changes_part(changes: tuple[Drift, ...], title: str, query: str = "") -> Part:
    """Return drifts as a table, by kind, those with the most sessions first."""
    order = list(DRIFTS)
    rows = sorted(changes, key=lambda change: (order.index(change.drift), -change.sessions))
    meanings = {
        "drift": "; ".join(f"{name}: {meaning}" for name, meaning in DRIFTS.items()),
        "about": "a reason, a rule, or what a reason became",
        "said": "the evidence",
        "message": "the new text",
        "sessions": "distinct sessions that show it",
        "p_value": "probability of as much or more had nothing changed; none where nothing is left to chance",
    }
    about = "Traffic, classifier and wording look alike in a chart and ask for different people."
    kinds = dict.fromkeys(meanings, pl.String) | {"sessions": pl.Int64, "p_value": pl.Float64}
    frame = pl.DataFrame([[getattr(change, name) for name in kinds] for change in rows], kinds, orient="row")
    more = f"{MAX_ROWS} of {frame.height:,} rows." if frame.height > MAX_ROWS else ""
    return Part(query, title, about, meanings, frame, note=more)


def templates_part(case: Case) -> Part:
    """Return the messages of the errors that explain a finding."""
    full = case.templates.height >= MAX_TEMPLATES
    return Part(
        "",
        "Messages behind it",
        f"Errors {_behind(case)}, by message, the one that most sessions show first.",
        {
            "message": "what all of them say, redacted and capped; <*> stands for what differs",
            "sessions": "distinct sessions that show it",
            "events": "errors with it",
        },
        case.templates,
        note=f"The first {MAX_TEMPLATES}; there may be more." if full else "",
    )


def _behind(case: Case) -> str:
    """Say which errors a finding rests on, and of which days."""
    behind = case.finding.kind.behind
    first, last = behind.span(case.finding, case.last)
    return f"{behind.said} ({first} to {last})" if first < last else f"{behind.said} ({first})"


def sessions_part(case: Case) -> Part:
    """Return the sessions to look at for a finding."""
    full = case.sessions.height >= MAX_SESSIONS
    behind = case.finding.kind.behind
    what = behind.hand_offs or "Errors"
    return Part(
        "",
        "Sessions behind it",
        f"{what} {_behind(case)}, by session, those with the most first, then the latest.",
        {
            "session": "the agent's session; where there is none the retry chain, else the file",
            "day": "the first day on which it shows the finding",
            "events": what.lower(),
        },
        case.sessions,
        note=f"The first {MAX_SESSIONS}; there may be more." if full else "",
    )


def places_part(case: Case) -> Part:
    """Return the sessions to look at, with agent, project and the command that resumes them."""
    part = sessions_part(case)
    places = case.places
    if case.sessions.is_empty() or places.is_empty():
        return part
    commands = [resuming(*row) for row in places.select("agent", "session", "cwd").iter_rows()]
    facts = places.select("session", "agent", "project", pl.Series("resume_with", commands, pl.String))
    facts = facts.with_columns(pl.col("resume_with").replace("", None))
    frame = case.sessions.join(facts, on="session", how="left", maintain_order="left")
    meanings = {
        "agent": "the program that was at work",
        "project": "the last name of the working directory",
        "resume_with": "the command that takes the session up again, for agents that have one",
    }
    present = {name: meaning for name, meaning in meanings.items() if frame[name].null_count() < frame.height}
    return replace(part, columns={**part.columns, **present}, frame=frame)


def excerpts_part(case: Case) -> Part:
    """Return the first errors of a finding with their files and lines."""
    frame = case.excerpts
    line = pl.format("{}:{}", "source_path", "source_line") if frame.height else pl.lit(None, pl.String)
    shown = frame.with_columns(pl.coalesce(line, "source_path").alias("source_path")) if frame.height else frame
    meanings = {
        "occurred_at": "when it happened",
        "message": "its text, redacted and capped",
        "session": "the agent's session",
        "source_path": "file and line of the log",
    }
    return Part("", "In the log", "The first errors of it, with file and line.", meanings, shown)


def numbers_part(case: Case) -> Part:
    """Return the numbers of a finding's chart, the latest day first; the finding has a chart."""
    chart, frame = case.finding.kind.chart, case.numbers
    assert chart is not None, "causes have no chart"
    if "day" in frame.columns:
        frame = frame.reverse()
    if "begins_at" in frame.columns:
        frame = frame.with_columns(pl.col("begins_at").dt.strftime("%Y-%m-%d %H:%M:%S"))
    return Part("", chart.title, chart.description, chart.columns, frame)


def drift_part(case: Case) -> Part:
    """Return the drifts at the onset of a finding."""
    return changes_part(case.changes, "What else changed at its onset")


def sections(overview: Overview, asking: Asking) -> tuple[Section, ...]:
    """Return the sections: the cost of failures if there is one, then those by lost sessions.

    Further sections are in their usual order.
    """
    return tuple(
        replace(section, parts=tuple(part.with_command(overview, asking) for part in section.parts))
        for section in sorted(_sections(overview), key=lambda section: _rank(overview, section.name))
    )


_LOST = {
    "errors": ("errors-messages", "failed_sessions"),
    "unknown": ("unknown-messages", "sessions"),
    "retries": ("retries-outcomes", "exhausted"),
    "endings": ("endings-by-kind", "sessions"),
    "tools": ("tools-loops", "session_id"),
}
"""By section, the table and the column with the lost sessions or calls: their sum, or for texts
their number."""


def _rank(overview: Overview, section: str) -> tuple[float, int]:
    """Return the sort key of a section: its money in US dollars, then what was lost.

    Both are negative.
    """
    if section == "cost":
        return -round(failure_usd(overview.tables["cost-of-failure"]), 2), 0
    name, column = _LOST.get(section, ("", ""))
    if not name:
        return 0.0, 0
    values = overview.tables[name].frame[column]
    return 0.0, -int(values.n_unique() if values.dtype == pl.String else values.sum())


def _sections(overview: Overview) -> Iterator[Section]:
    for name, tables in SECTIONS.items():
        title, lead = _LEADS[name]
        parts = tuple(part_of(overview, table) for table in tables.split())
        yield Section(name, title, lead(overview), (*_rules(overview), *parts) if name == "rules" else parts)


def _unknown(overview: Overview) -> str:
    totals = overview.totals
    if not totals.counted_errors:
        return "No error in this window takes part in the unknown share."
    words = (
        f"{totals.unknown_errors:,} of {counted(totals.counted_errors, 'error')} that count are unknown "
        f"({percent(totals.unknown_share)})."
    )
    if unjudged := overview.spikes.unjudged:
        words += f" Too little history to judge {counted(unjudged, 'day')} of callers with many unknown errors."
    return words


def _errors(overview: Overview) -> str:
    totals = overview.totals
    if not totals.errors:
        return "No error in this window."
    words = f"{counted(totals.errors, 'classified error')} by {counted(totals.callers, 'caller')}."
    if totals.without_facts:
        words += f" {totals.without_facts:,} of them cannot be judged again: their events carry no facts."
    return words


def _retries(overview: Overview) -> str:
    chains = overview.totals.retry_chains
    if not chains:
        return "No retry chain began in this window."
    others = chains - ended_chains(overview)[1]
    more = f" {others:,} more were aborted or show no end in the logs." if others else ""
    return f"{retries_words(overview)}{more}"


def _relays(overview: Overview) -> str:
    words, requests = relays_words(overview), overview.totals.requests
    if not words:
        return "No hand-off to a fresh context and no compaction in this window."
    return words + (f" The logs that count them show {counted(requests, 'model request')}." if requests else "")


def _cost(overview: Overview) -> str:
    frame = overview.tables["cost-of-failure"].frame
    lead = next((sentence.text for sentence in overview.leading if sentence.topic == "cost"), "")
    if frame.is_empty():
        return lead or "No request led nowhere, as far as logs state tokens."
    unpriced = int(frame.filter(frame["cost_usd"].is_null())["tokens"].sum())
    note = "A retry is estimated by the prompt that came next; an answer that is an error costs nothing."
    return f"{lead} {note}" + (f" {counted(unpriced, 'token')} have no price." if unpriced else "")


def _exhaustions(overview: Overview) -> str:
    reached = exhaustions_words(overview) or "No agent ran into its usage limit."
    return f"{reached} {limits_words(overview)}".rstrip()


def _endings(overview: Overview) -> str:
    words = endings_words(overview) or "No session ended in the middle of something."
    return f"{words} Sessions that showed life in the last hour of the logs may still be at work and do not count."


def _tools(overview: Overview) -> str:
    totals = overview.totals
    if not totals.tool_failures:
        return "No tool failed."
    words = f"{totals.tools_said} Agents read what tools say, and go on: no error, share or finding rests on these."
    if totals.tool_calls:
        words += f" The logs that count them show {counted(totals.tool_calls, 'call')} of tools."
    return words


def _rules(overview: Overview) -> tuple[Part, Part]:
    """Return the unknown share by day and the drifts, of the whole fleet."""
    drifts = overview.drifts
    return (
        Part(
            "detection-counts",
            "Unknown share of errors by day, as recorded and under the rules in force",
            "Where the two lines part, rules made the difference and not the traffic. "
            "The share is that of all callers together.",
            {
                "day": "day in the time zone of the window",
                "errors": "errors that count: aborts and errors without any detail do not",
                "recorded_share": "of these recorded as unknown, 0..1",
                "unknown_share": "of these unknown to the rules in force, 0..1",
            },
            drifts.days,
            partial(charts.rules, drifts),
        ),
        changes_part(
            drifts.found,
            f"What the last {RECENT_DAYS} days have that the {BASELINE_DAYS} before them had not",
            "ruleset-groups",
        ),
    )


def _rules_lead(overview: Overview) -> str:
    drifts = overview.drifts
    if overview.judged_until is None:
        return "There is no history to judge."
    if drifts.split is None:
        words = f"Nothing comes before the last {RECENT_DAYS} days, so there is nothing to tell a drift from."
    else:
        kinds = [name for name in DRIFTS if any(change.drift == name for change in drifts.found)]
        what = f"a drift of {' and '.join(kinds)}" if kinds else "no drift of traffic, classifier or wording"
        words = f"The days from {drifts.split} to {overview.judged_until} show {what}."
    if drifts.ruleset:
        words += f" Ruleset {drifts.ruleset} is in force."
    if overview.not_replayed:
        words += f" It could not judge {counted(overview.not_replayed, 'error')}, which count as they were recorded."
    return words


def _completeness(overview: Overview) -> str:
    return f"{completeness(overview)} {alarms(overview)}"


_LEADS: dict[str, tuple[str, Callable[[Overview], str]]] = {
    "unknown": ("Unknown errors", _unknown),
    "errors": ("Errors", _errors),
    "retries": ("Retries", _retries),
    "relays": ("Relays", _relays),
    "exhaustions": ("Usage-limit exhaustions", _exhaustions),
    "cost": ("What it cost", _cost),
    "endings": ("Ends that nobody tells", _endings),
    "tools": ("Failed tools", _tools),
    "rules": ("Rules and drift", _rules_lead),
    "completeness": ("Completeness", _completeness),
}
"""The title of each section, and the function that makes its lead sentence."""
