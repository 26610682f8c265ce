"""The pages Now, Errors, Report and Ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from analyzer.analysis import overview, table, window
from analyzer.analysis.charts.chart import MAX_DAILY, WATER, Axis, Bars, Chart, counts, day_axis, day_bars, short
from analyzer.analysis.nightly.decisions import findings
from analyzer.analysis.rules.unknowns import unknowns
from analyzer.analysis.summary.overview import SECTIONS
from analyzer.classifier import classify
from analyzer.errors import AnalyzerError
from analyzer.readable import counted
from analyzer.report.document import Block, ChartBlock, Command, Heading, Items, Paragraph, TableBlock, quote
from analyzer.report.rules import verdict_document
from analyzer.report.sections import sections
from analyzer.report.timeline import happening_words
from analyzer.report.unknowns import render_rules, unknowns_document
from analyzer.store import Selection, catalogue
from analyzer.ui.incidents import listed
from analyzer.ui.live import View, waiting
from analyzer.ui.page import Field, Link, Page, error_link, linked, session_link, table_of, window_fields, words_of

if TYPE_CHECKING:
    import polars as pl

    from analyzer.analysis.timeline import Happening
    from analyzer.classifier import Ruleset
    from analyzer.command_lines import Asking
    from analyzer.store import Store
    from analyzer.ui.kept import Kept

SECONDS = 20.0
"""Seconds that a question of these pages may take."""
OVERVIEW_SECONDS = 60.0
"""Seconds for which a window that ends now is that of an earlier look."""
MAX_SQL = 8000
"""Characters of a statement in an address."""
_SHOWN_ROWS = 500
_LAST_HOUR = """
select
  coalesce(provider, '(none)') as provider,
  count(*) filter (where occurred_at >= $hour) as errors,
  round(count(*) filter (where occurred_at < $hour) / greatest(1, least(672, date_diff(
    'hour', (select min(occurred_at) from errors), $hour
  ))), 1) as usual_errors,
  max(occurred_at) as last_at
from errors
where occurred_at >= $hour - to_days(28) and occurred_at < $now and detail is distinct from 'aborted'
group by 1 having errors > 0 order by errors desc, 1
"""


def present(store: Store, at: datetime) -> Sequence[Block]:
    """Return what the store says of the hour before a moment (naive UTC), of limits and of incidents."""
    asked = {"now": at, "hour": at - timedelta(hours=1)}
    hour = store.sql(_LAST_HOUR, asked, timeout=SECONDS)
    blocks: list[Block] = [Heading("Errors of the last hour", 2)]
    blocks += [table_of(hour)] if len(hour) else [Paragraph("The store has none.")]
    limits = table(store, "limits-ahead").frame
    if len(limits):
        blocks += [Heading("Limits ahead", 2), table_of(limits)]
    return [*blocks, Heading("Open incidents", 2), *listed(findings(store))]


def current(view: View, blocks: Sequence[Block]) -> Page:
    """Return the page Now: what the logs say, then the blocks of the store."""
    return Page("Now", [*_live_blocks(view), *blocks], is_live=True)


def _live_blocks(view: View) -> list[Block]:
    blocks: list[Block] = [Heading("At work", 2)]
    if view.sessions:
        rows = [
            (_session(last), last.caller or "", f"{last.occurred_at:%H:%M:%S}", waiting(last, view.at))
            for last in view.sessions
        ]
        blocks.append(TableBlock(("Session", "Caller", "Last record (UTC)", "Waits for"), rows))
    else:
        blocks.append(Paragraph(f"No session of {counted(view.files, 'log')} has written within the last hour."))
    blocks.append(Heading("As it happens", 2))
    if view.happenings:
        rows = [
            (f"{happening.occurred_at:%H:%M:%S}", _session(happening), happening_words(happening),
             quote(happening.message or "", 120))
            for happening in view.happenings
        ]  # fmt: skip
        blocks.append(TableBlock(("Time (UTC)", "Session", "What", "Message"), rows))
    else:
        blocks.append(Paragraph("Nothing went wrong within the last hour."))
    return blocks


def _session(happening: Happening) -> str:
    return session_link({"session_id": happening.session_id}) or ""


_GROUPS = [
    "message", "errors", "sessions", "failed_sessions", "callers", "reason", "detail", "party", "provider", "first_at",
    "last_at", "fingerprint",
]  # fmt: skip


def errors(store: Store, values: Mapping[str, str], kept: Kept) -> Page:
    """Return the page of errors by template, and of the unknown ones."""
    words, caller = words_of(values), values.get("caller") or None

    def groups() -> pl.DataFrame:
        return table(store, "errors-messages", window(**words), limit=200, caller=caller).frame.select(_GROUPS)

    frame = kept.of(store, ("errors", caller, *words.items()), groups, OVERVIEW_SECONDS)
    blocks: list[Block] = [Paragraph("No error in this window.")]
    if len(frame):
        table_block = table_of(frame, {"message": error_link}, 200)
        # The link has the id of the group.
        blocks = [replace(table_block, names=table_block.names[:-1], rows=[row[:-1] for row in table_block.rows])]
    return Page("Errors", blocks, [Field("caller", "Caller", values.get("caller", "")), *window_fields(values)])


_GROUP = """
select {0}, count(*) as errors, count(distinct session_id) as sessions, min(occurred_at) as first_at,
  max(occurred_at) as last_at
from errors where fingerprint = $id group by {0} order by errors desc, {0} limit 30
"""
_DIMENSIONS = {
    "Verdicts": "reason, detail, rule, confidence",
    "Outcomes": "outcome",
    "Callers": "caller",
    "Versions": "agent, agent_version",
    "Providers": "provider, model",
}
_DAYS = """
select cast(occurred_at as date) as day, count(*) as errors
from errors where fingerprint = $id group by day order by day
"""
_LATEST = """
select session_id, occurred_at, outcome, message from errors where fingerprint = $id order by occurred_at desc limit 20
"""


def error(store: Store, values: Mapping[str, str], rules: Callable[[], Ruleset], asking: Asking) -> Page:
    """Return the page of the errors of one template: who met it, how it was judged, what came of it."""
    asked = {"id": values.get("fingerprint", "")}
    latest = store.sql(_LATEST, asked, timeout=SECONDS)
    if latest.is_empty():
        raise AnalyzerError(f"no error of the group {asked['id']!r}", "the page Errors lists the groups")
    message = str(latest["message"][0])
    days = dict(store.sql(_DAYS, asked, timeout=SECONDS).iter_rows())
    blocks: list[Block] = [
        *verdict_document(classify(message, rules=rules())),
        ChartBlock(partial(_trend, days), "chart-trend", 160),
    ]
    for name, columns in _DIMENSIONS.items():
        frame = store.sql(_GROUP.format(columns), asked, timeout=SECONDS)
        blocks += [Heading(name, 3), table_of(frame)]
    blocks += [Heading("Latest", 3), table_of(latest, {"session_id": session_link})]
    return Page(quote(message, 160), [*blocks, *_draft(store, asked["id"], rules(), asking)])


def _trend(days: Mapping[date, int]) -> Chart:
    bars = day_bars(days, "errors", (WATER, ""), weekly=len(days) > MAX_DAILY)
    return Chart("Errors by day", "", day_axis([*days]), counts(""), (bars,))


def _draft(store: Store, fingerprint: str, rules: Ruleset, asking: Asking) -> list[Block]:
    """Return the draft of a rule with what it takes of history; nothing if a rule knows the error."""
    unknown = "select 1 from errors where fingerprint = $id and counts_as_unknown limit 1"
    if store.sql(unknown, {"id": fingerprint}, timeout=SECONDS).is_empty():
        return []
    report = unknowns(store, suggest=True, rules=rules)
    group = next((group for group in report.groups if fingerprint in group.fingerprints), None)
    if group is None:
        return []
    own = replace(report, groups=(group,))
    accept = asking.command("rules", "accept", group.fingerprint)
    return [
        Heading("Draft of a rule", 2),
        *unknowns_document(own, asking)[1:2],
        Items([*map(Command, render_rules(own).splitlines())]),
        Command(accept, "It goes into analyzer.toml, or the file of --rules, by"),
    ]


_SELECTED = ("project", "agent", "caller", "reason", "model")


def report(store: Store, values: Mapping[str, str], kept: Kept, asking: Asking) -> Page:
    """Return a section of the report for a window: cost, retries, tools, versions and so on."""
    name = values.get("section", "cost")
    if name not in SECTIONS:
        raise AnalyzerError.unknown_value("section", name, SECTIONS)
    only = Selection(**{name: values[name] for name in _SELECTED if values.get(name)})
    words = words_of(values)
    shown = kept.of(
        store, ("overview", only, *words.items()), lambda: overview(store, window(**words), only=only), OVERVIEW_SECONDS
    )
    section = next((section for section in sections(shown, asking) if section.name == name), None)
    blocks: list[Block] = [Paragraph("The window has nothing of this.")]
    if section:
        blocks = [Heading(section.title, 2), *map(linked, section.blocks)]
    others = {key: value for key, value in values.items() if key != "section"}
    links = [
        other.capitalize() if other == name else Link(other.capitalize(), "/report", section=other, **others)
        for other in SECTIONS
    ]
    fields = [Field("section", "", name, kind="hidden"), *window_fields(values)]
    fields += [Field(other, other.capitalize(), values.get(other, "")) for other in _SELECTED]
    return Page("Report", blocks, fields, links=links)


def ask(store: Store, values: Mapping[str, str], answer: dict[str, Any] | AnalyzerError | None) -> Page:
    """Return the page of questions: the catalogue, a statement, and its answer if there is one."""
    statement, name = values.get("sql", "").strip(), values.get("query", "")
    names = [entry.name for entry in catalogue().values() if not entry.inner]
    fields = [
        Field("query", "From the catalogue", name, {"": "none", **dict(zip(names, names, strict=True))}),
        Field("sql", "or SQL", statement, kind="area"),
        *window_fields(values),
    ]
    links: list[Link] = []
    blocks: list[Block]
    if isinstance(answer, AnalyzerError):
        blocks = [Items([answer.hint], answer.message)]
    elif answer is not None:
        links = [Link(f"these rows as {form}", "/rows", sql=statement, form=form) for form in ("csv", "parquet")]
        blocks = _rows(answer)
    elif name:
        blocks = [Paragraph(f"{name}: {catalogue()[name].header.description}")] if name in catalogue() else []
        blocks.append(table_of(table(store, name, window(**words_of(values))).frame, most=_SHOWN_ROWS))
    else:
        blocks = [Paragraph("Choose a question of the catalogue, or write SQL over these views.")]
    views = [(row["view"], ", ".join(row["columns"])) for row in store.views.iter_rows(named=True)]
    blocks += [Heading("Views and their columns", 2), TableBlock(("View", "Columns"), views)]
    return Page("Ask", blocks, fields, links=links)


def _rows(answer: dict[str, Any]) -> list[Block]:
    rows = [tuple(_cell(row[name]) for name in answer["columns"]) for row in answer["rows"][:_SHOWN_ROWS]]
    more = f"{_SHOWN_ROWS:,} of {len(answer['rows']):,} rows." if len(answer["rows"]) > _SHOWN_ROWS else ""
    if not rows:
        return [Paragraph("No row.")]
    charted = _quick_chart(answer)
    if answer["truncated"]:
        more += " There are more rows: the limit cut them off."
    chart = [ChartBlock(lambda: charted, "chart-ask")] if charted else []
    return [Items([counted(len(answer["rows"]), "row")]), *chart, TableBlock(answer["columns"], rows, more=more)]


CHART_ROWS = 30
"""Rows of an answer that its chart shows."""


def _quick_chart(answer: Mapping[str, Any]) -> Chart | None:
    """Draw the first column of numbers by the first other column, a bar a row; None without either."""
    rows = answer["rows"][:CHART_ROWS]
    numbers: list[str] = []
    others: list[str] = []
    for name in answer["columns"]:
        values = [row[name] for row in rows if row[name] is not None]
        is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        (numbers if values and is_number else others).append(name)
    if not numbers or not others or len(rows) < 2:
        return None
    number, other = numbers[0], others[0]
    drawn = {f"{index + 1}. {short(_cell(row[other]))}": row[number] or 0 for index, row in enumerate(rows)}
    tips = tuple(f"{name}: {value:,}" for name, value in drawn.items())
    bars = Bars(number, (WATER, ""), (*drawn,), (*drawn.values(),), tips)
    more = f"The first {CHART_ROWS} rows." if len(answer["rows"]) > CHART_ROWS else ""
    height = 100 + 22 * len(drawn)
    return Chart(f"{number} by {other}", more, Axis("", form=",~r"), Axis(kind="category"), (bars,), height=height)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
