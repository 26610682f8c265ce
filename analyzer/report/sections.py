"""The sections of a report and the evidence of its findings, as blocks.

Every table of the overview is in exactly one section, beside the command of its catalogue query. What has no
row is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import sqrt

import polars as pl

from analyzer.analysis import Case, Overview, Table, charts
from analyzer.analysis.charts import Chart
from analyzer.analysis.kinds.families.causes import Drift
from analyzer.analysis.periods import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.leading import failure_usd
from analyzer.analysis.summary.overview import SECTIONS
from analyzer.analysis.summary.window_findings import MAX_SESSIONS, MAX_TEMPLATES
from analyzer.classifier import REASONS
from analyzer.command_lines import Asking, window_words
from analyzer.importers.programs import resuming
from analyzer.readable import counted, percent
from analyzer.report.document import Block, ChartBlock, Code, Command, Fold, Items, Paragraph, Section, TableBlock
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
from analyzer.report.rows import MEANINGS, count, plain_heading, shown
from analyzer.store import find, narrows

MAX_ROWS = 50
"""The most rows of one table in a report; its command gives the others."""
MAX_CALLERS = 30
"""The most callers of the table of callers and reasons."""
_DARKEST = 60
"""The percent of the shade's colour in the fullest cell."""
_ENDED_HEIGHT = 240
"""The height of the chart of a resolved finding, in pixels."""
_FIRST = "cost_usd"
"""The column that comes first: the money that sorts a table."""
_LEFT_OUT = ("of_cost_usd", "fingerprint", "first_at", "bytes")
"""The columns that only programs need, or with the same value in all rows, which the sentence over the table has."""
_CHARTS: dict[str, Callable[[Table], Chart]] = {
    "errors-timeline": charts.errors_timeline,
    "errors-by-reason-caller-outcome": charts.outcomes,
    "retries-outcomes": charts.retries,
    "relays-by-day": charts.relays,
    "relays-utilization": charts.utilization,
}
_OPENED = frozenset(
    {"unknown-messages", "errors-messages", "exhaustions-list", "tools-by-tool", "tools-messages"}
    | {"cost-of-failure", "cost-by-model", "changes-noted"}
)
"""The tables without a chart that are open; the others are a click away."""
_HEAT = "errors-by-reason-caller-outcome"


def sections(overview: Overview, asking: Asking) -> Iterator[Section]:
    """Yield the sections: the cost of failures if there is one, then those by lost sessions.

    Further sections are in their usual order. One without any row is left out, and a last one lists
    the tables without rows.
    """
    nothing: list[str | Command] = []
    for name in sorted(SECTIONS, key=lambda name: _rank(overview, name)):
        title, lead = _LEADS[name]
        tables = [(query, table_of(overview, query, asking)) for query in SECTIONS[name].split()]
        nothing += [Command(block.command, block.title) for _, block in tables if not block.rows]
        blocks = [*_rules(overview, asking)] if name == "rules" else []
        blocks += _blocks(overview, [(query, block) for query, block in tables if block.rows], asking)
        if name == "completeness":
            formats = sorted(overview.completeness.unsupported.items())
            unread = [f"{name}: {counted(files, 'file')}" for name, files in formats]
            blocks += [Items(unread, "Formats that are not read yet")] if unread else []
        if blocks or name == "completeness":
            yield Section(name, title, [Paragraph(lead(overview)), *blocks])
    words = TableBlock(("Word", "Meaning"), list(MEANINGS.items()))
    folded = [Fold("What the words of this report mean", [words])]
    if nothing:
        folded.append(Fold(f"{counted(len(nothing), 'table')} without any row", [Items(nothing)]))
    yield Section("glossary", "Words", folded)


def _blocks(overview: Overview, tables: list[tuple[str, TableBlock]], asking: Asking) -> Iterator[Block]:
    """Yield the charts and the open tables, then the folded ones."""
    for query, block in tables:
        if query in _CHARTS:
            yield from charted(partial(_chart, overview, query), f"chart-{query}", block)
        elif query in _OPENED:
            yield block
        if query == "errors-timeline":
            yield from heat_map(overview, asking)
    for query, block in tables:
        if query not in _CHARTS and query not in _OPENED:
            yield Fold(f"{block.title}: {counted(overview.tables[query].frame.height, 'row')}", [block])


def _chart(overview: Overview, query: str) -> Chart:
    """Draw a query's chart; one over days marks the changes that people wrote down."""
    chart = _CHARTS[query](overview.tables[query])
    return charts.with_changes(chart, overview.tables["changes-noted"])


def charted(chart: Callable[[], Chart], name: str, table: TableBlock, height: int | None = None) -> list[Block]:
    """Return a chart, and its numbers folded below it."""
    return [ChartBlock(chart, name, height), Fold(f"The numbers: {counted(len(table.rows), 'row')}", [table])]


def data_table(
    frame: pl.DataFrame, title: str, about: str, columns: Mapping[str, str], more: str = "", command: str = ""
) -> TableBlock:
    """Return the first rows of a frame as a table; `columns` are those that it shows, with their meanings."""
    rows = [
        [
            Code(value) if name == "resume_with" and value else shown(name, value)
            for name, value in zip(columns, row, strict=True)
        ]
        for row in frame.select(list(columns)).head(MAX_ROWS).rows()
    ]
    if not more and frame.height > MAX_ROWS:
        more = f"{MAX_ROWS} of {frame.height:,} rows."
    names = [plain_heading(name) for name in columns]
    return TableBlock(names, rows, more=more, title=title, about=about, columns=columns, command=command)


def table_of(overview: Overview, name: str, asking: Asking) -> TableBlock:
    """Return a table of the overview, without columns that say nothing."""
    table = overview.tables[name]
    left_out = {*_LEFT_OUT, *_redundant_columns(table.frame), *(("last_at",) if "day" in table.columns else ())}
    kept = {column: meaning for column, meaning in table.columns.items() if column not in left_out}
    columns = dict(sorted(kept.items(), key=lambda column: column[0] != _FIRST))
    limit, height = _limit(table.query), table.frame.height
    more = f"The first {min(height, MAX_ROWS)} rows; there may be more." if limit and height >= limit else ""
    command = _query_command(overview, name, asking)
    return data_table(table.frame, table.title, table.description, columns, more, command)


def _query_command(overview: Overview, query: str, asking: Asking) -> str:
    """Return the command that gives all rows of a query in the window of the overview."""
    header, limit = find(query).header, _limit(query)
    params = {param.name for param in header.params}
    chosen = overview.window
    since, until = chosen.since if "since" in params else None, chosen.until if "until" in params else None
    zone = chosen.timezone if "timezone" in params else "UTC"
    filters = overview.only.given if overview.only and narrows(header.body) else {}
    words = [word for name, value in filters.items() for word in (f"--{name}", value)]
    if limit is not None and query in overview.tables and overview.tables[query].frame.height >= limit:
        words += ["-p", f"limit={100 * limit}"]
    return asking.command("query", query, *words, *window_words(since, until, zone))


def _redundant_columns(frame: pl.DataFrame) -> Iterator[str]:
    """Yield the columns without any value but zero, and `project` if the caller of every row names it."""
    if frame.is_empty():
        return
    for name, values in frame.to_dict(as_series=False).items():
        if all(value is None or (value == 0 and value is not False) for value in values):
            yield name
    is_named = pl.col("caller").str.ends_with("@" + pl.col("project")).fill_null(pl.col("project").is_null())
    if {"caller", "project"} <= set(frame.columns) and frame.select(is_named.all()).item():
        yield "project"


def _limit(query: str) -> int | None:
    """Return the most rows that a query gives by default; None if it gives all."""
    defaults = [param.default for param in find(query).header.params if param.name == "limit"]
    return int(defaults[0]) if defaults and defaults[0].isdigit() else None


def heat_map(overview: Overview, asking: Asking) -> Iterator[TableBlock]:
    """Yield the errors by caller and reason; of reasons that no rule of today gives, the sum.

    Nothing without an error.
    """
    callers = overview.tables["errors-by-caller"].frame
    ranked = callers.select("caller", "errors").head(MAX_CALLERS)
    reason = pl.when(pl.col("reason").is_in(REASONS)).then("reason").otherwise(pl.lit("other")).alias("reason")
    cells = overview.tables[_HEAT].frame.select("caller", reason, "errors")
    sums = cells.group_by("caller", "reason").agg(pl.col("errors").sum())
    numbers = {(caller, name): errors for caller, name, errors in sums.iter_rows()}
    reasons = [name for name in (*REASONS, "other") if name in {name for _, name in numbers}]
    if not reasons:
        return
    top = max(numbers.get((caller, name), 0) for caller in ranked["caller"] for name in reasons)
    rows, shades = [], []
    for caller, errors in ranked.iter_rows():
        own = [numbers.get((caller, name), 0) for name in reasons]
        rows.append([caller, *(count(number) if number else "–" for number in own), count(errors)])
        # The root keeps a single loud caller from leaving all others white.
        shades.append([0, *(round(_DARKEST * sqrt(number / max(top, 1))) for number in own), 0])
    yield TableBlock(
        ("Caller", *(name.replace("_", " ") for name in reasons), "all"),
        rows,
        more=f"{len(rows)} of {count(callers.height)} callers." if callers.height > len(rows) else "",
        title="Errors by caller and reason",
        about="Error counts (darker = more).",
        command=_query_command(overview, _HEAT, asking),
        columns={"caller": "who made the call", **dict.fromkeys(reasons, "errors"), "all": "errors"},
        shades=shades,
    )


DRIFTS = {
    "traffic": "the mix of errors changed; the rules did not",
    "classifier": "the same errors are judged differently than when they were recorded",
    "wording": "texts that are new to a known reason, or a rule that fell silent while new unknown texts came",
}
"""The three drifts with their meanings."""


def changes_table(changes: tuple[Drift, ...], title: str, command: str = "") -> TableBlock:
    """Return drifts as a table, by kind, those with the most sessions first."""
    order = list(DRIFTS)
    rows = sorted(changes, key=lambda change: (order.index(change.drift), -change.sessions))
    meanings = {
        "drift": "; ".join(f"{name}: {meaning}" for name, meaning in DRIFTS.items()),
        "about": "a reason, a rule, or what a reason became",
        "said": "the evidence",
        "message": "the new text",
        "sessions": "distinct sessions that show it",
        "p_value": "probability of as much or more if nothing had changed; none if nothing is left to chance",
    }
    about = "Traffic, classifier and wording look alike in a chart and ask for different people."
    kinds = dict.fromkeys(meanings, pl.String) | {"sessions": pl.Int64, "p_value": pl.Float64}
    frame = pl.DataFrame([[getattr(change, name) for name in kinds] for change in rows], kinds, orient="row")
    return data_table(frame, title, about, meanings, command=command)


def evidence(case: Case, index: int, *, with_chart: bool = True) -> list[Block]:
    """Return the chart of a finding, its messages, its first lines of logs, drifts and sessions."""
    form, frame = case.finding.kind.chart, case.numbers
    blocks: list[Block] = []
    if form is not None and not frame.is_empty():
        if "day" in frame.columns:
            frame = frame.reverse()
        if "begins_at" in frame.columns:
            frame = frame.with_columns(pl.col("begins_at").dt.strftime("%Y-%m-%d %H:%M:%S"))
        numbers = data_table(frame, form.title, form.description, form.columns)
        height = None if case.is_open else _ENDED_HEIGHT
        drawn = charted(partial(charts.finding, case), f"chart-finding-{index}", numbers, height)
        blocks += drawn if with_chart else drawn[1:]
    tables = (_messages(case), _excerpts(case), changes_table(case.changes, "What else changed at its onset"))
    return [*blocks, *(table for table in (*tables, sessions_table(case)) if table.rows)]


def _counted_errors(case: Case) -> str:
    """Say which errors a finding counts, and of which days."""
    behind = case.finding.kind.behind
    first, last = behind.span(case.finding, case.last)
    days = f"from {first} to {last}" if first < last else f"on {first}"
    return f"{behind.said} {days}"


def _messages(case: Case) -> TableBlock:
    full = case.templates.height >= MAX_TEMPLATES
    return data_table(
        case.templates,
        "Messages",
        f"{_counted_errors(case)}, most widespread first.",
        {
            "message": "what all of them say, redacted and capped; <*> is what differs",
            "sessions": "distinct sessions that show it",
            "events": "errors with it",
        },
        f"The first {MAX_TEMPLATES}; there may be more." if full else "",
    )


def sessions_table(case: Case) -> TableBlock:
    """Return the sessions to look at, with agent, project and the command that resumes them."""
    frame, places = case.sessions, case.places
    columns = {
        "session": "the agent's session; without one the retry chain, else the file",
        "day": "the first day on which it shows the finding",
        "events": (case.finding.kind.behind.hand_offs or "errors").lower(),
    }
    if not (frame.is_empty() or places.is_empty()):
        commands = [resuming(*row) for row in places.select("agent", "session", "cwd").iter_rows()]
        facts = places.select("session", "agent", "project", pl.Series("resume_with", commands, pl.String))
        facts = facts.with_columns(pl.col("resume_with").replace("", None))
        frame = frame.join(facts, on="session", how="left", maintain_order="left")
        more = {
            "agent": "the program that was at work",
            "project": "the last name of the working directory",
            "resume_with": "the command that takes the session up again, for agents that have one",
        }
        columns |= {name: meaning for name, meaning in more.items() if frame[name].null_count() < frame.height}
    full = case.sessions.height >= MAX_SESSIONS
    about = f"{_counted_errors(case)}, most first."
    more_words = f"The first {MAX_SESSIONS}; there may be more." if full else ""
    return data_table(frame, "Sessions", about, columns, more_words)


def _excerpts(case: Case) -> TableBlock:
    frame = case.excerpts
    if frame.is_empty():
        return TableBlock((), ())
    meanings = {
        "occurred_at": "when it happened",
        "message": "its text, redacted and capped",
        "session": "the agent's session",
        "source_path": "file and line of the log",
    }
    line = pl.coalesce(pl.format("{}:{}", "source_path", "source_line"), "source_path").alias("source_path")
    return data_table(frame.with_columns(line), "In the log", "Its first errors, with file and line.", meanings)


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


def _unknown(overview: Overview) -> str:
    totals = overview.totals
    if not totals.counted_errors:
        return "No error of this window counts for the unknown share."
    words = f"{totals.unknown_errors:,} of {counted(totals.counted_errors, 'error')} are unknown "
    words += f"({percent(totals.unknown_share)})."
    if unjudged := overview.spikes.unjudged:
        words += (
            f" {counted(unjudged, 'day')} of callers with many unknown errors cannot be judged: too little history."
        )
    return words


def _errors(overview: Overview) -> str:
    totals = overview.totals
    words = f"{counted(totals.callers, 'caller')} met {counted(totals.errors, 'error')}."
    if totals.without_facts:
        words += f" {totals.without_facts:,} of them cannot be judged again: their events carry no facts."
    return words


def _retries(overview: Overview) -> str:
    others = overview.totals.retry_chains - ended_chains(overview)[1]
    more = f" {others:,} more were aborted, or the logs do not show their end." if others else ""
    return f"{retries_words(overview)}{more}"


def _relays(overview: Overview) -> str:
    words, requests = relays_words(overview), overview.totals.requests
    return words + (f" The logs count {counted(requests, 'model request')}." if requests else "")


def _cost(overview: Overview) -> str:
    lead = next((sentence.text for sentence in overview.leading if sentence.topic == "cost"), "")
    frame = overview.tables["cost-of-failure"].frame
    if frame.is_empty():
        return lead
    unpriced = int(frame.filter(frame["cost_usd"].is_null())["tokens"].sum())
    note = "The cost of a retry is estimated by the next prompt."
    return f"{lead} {note}" + (f" {counted(unpriced, 'token')} have no price." if unpriced else "")


def _tools(overview: Overview) -> str:
    totals = overview.totals
    words = f"{totals.tools_said} Failed tool calls are not counted as errors."
    return words + (f" The logs count {counted(totals.tool_calls, 'tool call')}." if totals.tool_calls else "")


def _rules(overview: Overview, asking: Asking) -> Iterator[Block]:
    """Yield the unknown share by day and the drifts, of the whole fleet."""
    drifts, command = overview.drifts, _query_command(overview, "detection-counts", asking)
    columns = {
        "day": "day in the time zone of the window",
        "errors": "errors that count: aborts and errors without any detail do not",
        "recorded_share": "share of these that were recorded as unknown, 0..1",
        "unknown_share": "share of these that the rules in force do not know, 0..1",
    }
    about = "All callers together. Where the two lines differ, the rules made the difference."
    title = "Unknown share by day, as recorded and under the rules in force"
    if drifts.days.height:
        days = data_table(drifts.days, title, about, columns, command=command)
        yield from charted(partial(charts.rules, drifts), "chart-detection-counts", days)
    if drifts.found:
        title = f"What is new in the last {RECENT_DAYS} days, compared with the {BASELINE_DAYS} before"
        table = changes_table(drifts.found, title, _query_command(overview, "ruleset-groups", asking))
        yield Fold(f"{title}: {counted(len(table.rows), 'row')}", [table])


def _rules_lead(overview: Overview) -> str:
    drifts = overview.drifts
    if overview.judged_until is None:
        return "There is no history to judge."
    if drifts.split is None:
        words = f"Drift cannot be judged: there is no day before the last {RECENT_DAYS}."
    else:
        kinds = [name for name in DRIFTS if any(change.drift == name for change in drifts.found)]
        what = f"a drift of {' and '.join(kinds)}" if kinds else "no drift of traffic, classifier or wording"
        words = f"The days from {drifts.split} to {overview.judged_until} show {what}."
    if drifts.ruleset:
        words += f" Ruleset {drifts.ruleset} is in force."
    if overview.not_replayed:
        words += f" It could not judge {counted(overview.not_replayed, 'error')}, which count as they were recorded."
    return words


_LEADS: dict[str, tuple[str, Callable[[Overview], str]]] = {
    "unknown": ("Unknown errors", _unknown),
    "errors": ("Errors", _errors),
    "retries": ("Retries", _retries),
    "relays": ("Hand-offs and compactions", _relays),
    "exhaustions": (
        "Usage limits",
        lambda overview: f"{exhaustions_words(overview)} {limits_words(overview)}".strip(),
    ),
    "cost": ("Cost", _cost),
    "endings": (
        "Sessions that ended silently",
        lambda overview: (
            f"{endings_words(overview)} Sessions that were alive in the last hour of the logs do not count."
        ),
    ),
    "tools": ("Failed tools", _tools),
    "rules": ("Rules and drift", _rules_lead),
    "completeness": ("What was read", lambda overview: f"{completeness(overview)} {alarms(overview)}"),
}
"""The title of each section, and the function that makes its lead sentence."""
