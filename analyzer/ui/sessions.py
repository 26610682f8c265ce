"""The pages of sessions: the list with its filters, and one session with its time line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from analyzer.analysis import window
from analyzer.analysis.timeline import Happening, timeline
from analyzer.errors import AnalyzerError
from analyzer.readable import duration
from analyzer.report.charts.elements import Svg, element, title
from analyzer.report.document import Block, Command, Heading, Paragraph, TableBlock
from analyzer.report.rows import shown
from analyzer.report.timeline import happening_words, timeline_document
from analyzer.ui.page import Field, Link, Page, session_link, table_of, window_fields, words_of

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.store import Store

PER_PAGE = 100
SECONDS = 20.0
"""Seconds that a question of these pages may take."""
SORTS = {
    "ended_at": "the newest",
    "cost_usd": "the dearest",
    "errors": "most errors",
    "tool_failures": "most failed tools",
    "tokens": "most tokens",
    "seconds": "the longest",
}
"""Columns that sort the list, and what stands first then."""
FILTERS = ("agent", "caller", "project", "model", "ending")
_LISTED = """
with every as materialized (
  select
    session_id, started_at, ended_at, agent, caller, project, model, errors, tool_failures,
    input_tokens + coalesce(output_tokens, 0) as tokens, cost_usd, epoch(ended_at) - epoch(started_at) as seconds
  from sessions
),
choices as (
  select list(distinct agent) as agents, list(distinct caller) as callers, list(distinct project) as projects,
    list(distinct model) as models
  from every
),
named as (
  select session_id from every where contains(lower(session_id), lower($text))
  union select session_id from errors where contains(lower(message), lower($text))
  union select session_id from tool_failures
  where contains(lower(concat_ws(' ', tool, command, message)), lower($text))
),
listed as (
  select
    s.session_id, s.ended_at, s.agent, s.caller, s.project, s.model, coalesce(e.ending, 'no problem seen') as ending,
    s.errors, s.tool_failures, s.tokens, s.cost_usd, s.seconds
  from every as s left join endings as e on s.session_id = e.session_id
  where ($since is null or s.ended_at >= $since) and ($until is null or s.started_at < $until)
    and ($agent is null or s.agent = $agent) and ($caller is null or s.caller = $caller)
    and ($project is null or s.project = $project) and ($model is null or s.model = $model)
    and ($least_usd is null or s.cost_usd >= $least_usd)
    and ($ending is null or coalesce(e.ending, 'no problem seen') = $ending)
    and ($text is null or s.session_id in (select session_id from named))
  order by {0} desc nulls last, s.session_id limit {1} offset {2}
)
select listed.*, choices.* from choices left join listed on true order by {0} desc nulls last, session_id
"""
"""The page of the list and the choices of its filters at once: each look at the sessions sums up all requests."""
MAX_CHOICES = 200
"""Names of a filter."""
_ENDINGS = (
    "no problem seen", "endless_retries", "in_retry", "after_error", "after_tool", "hollow", "grown_compaction",
)  # fmt: skip


def listing(store: Store, values: Mapping[str, str]) -> Page:
    """Return the page of sessions that match the filters of the address."""
    sort = values.get("sort") if values.get("sort") in SORTS else "ended_at"
    chosen = window(**words_of(values))
    offset = int(values["from"]) if values.get("from", "").isdecimal() and len(values["from"]) < 9 else 0
    asked: dict[str, object] = {"text": values.get("text") or None, "least_usd": _least(values.get("least_usd", ""))}
    asked |= {name: values.get(name) or None for name in FILTERS}
    # The column is one of ours, the others are numbers.
    statement = _LISTED.format(sort, PER_PAGE + 1, offset)
    rows = store.sql(statement, {**chosen.params, **asked}, timeout=SECONDS)
    choices = {name: rows[f"{name}s"][0] for name in FILTERS if name != "ending"}
    frame = rows.drop([f"{name}s" for name in choices]).drop_nulls("session_id")
    table = table_of(frame.head(PER_PAGE), {"session_id": session_link})
    names = [Link(name, "/sessions", **{**values, "sort": column, "from": ""}) if column in SORTS else name
             for column, name in zip(frame.columns, table.names, strict=True)]  # fmt: skip
    blocks: list[Block] = [replace(table, names=names)] if len(frame) else [Paragraph("No session matches.")]
    links = []
    if offset:
        links.append(Link("← before", "/sessions", **{**values, "from": max(offset - PER_PAGE, 0)}))
    if len(frame) > PER_PAGE:
        links.append(Link("further →", "/sessions", **{**values, "from": offset + PER_PAGE}))
    return Page("Sessions", blocks, [*_fields(values, str(sort), choices)], links=links)


def _least(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise AnalyzerError(f"no amount of dollars: {text!r}", "write 0.5 or 2") from None


def _fields(values: Mapping[str, str], sort: str, choices: Mapping[str, Iterable[str | None]]) -> Iterator[Field]:
    yield Field("text", "Search", values.get("text", ""), kind="search")
    for name in FILTERS:
        names = _ENDINGS if name == "ending" else sorted(filter(None, choices[name]))[:MAX_CHOICES]
        yield Field(name, name.capitalize(), values.get(name, ""), {"": "any", **dict(zip(names, names, strict=True))})
    yield Field("least_usd", "Cost from ($)", values.get("least_usd", ""))
    yield from window_fields(values)
    yield Field("sort", "First", sort, SORTS)


_FACTS = """
select agent, agent_version, caller, project, branch, provider, model, started_at, ended_at, requests, errors,
  tool_calls, tool_failures, relays, input_tokens, output_tokens, cost_usd
from sessions where session_id = $id
"""
_REQUESTS = """
select occurred_at, coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
  as input_tokens, output_tokens, cost_usd
from usage where session_id = $id order by occurred_at, event_id limit 5000
"""


def session(store: Store, values: Mapping[str, str], asking: Asking) -> Page:
    """Return the page of a session, a chain of retries or a finding: its facts, time line and events."""
    whole = timeline(store, values.get("id", ""))
    blocks: list[Block] = []
    requests: list[dict[str, Any]] = []
    if whole.kind == "session":
        facts = store.sql(_FACTS, {"id": whole.id}, timeout=SECONDS)
        requests = store.sql(_REQUESTS, {"id": whole.id}, timeout=SECONDS).to_dicts()
        for row in facts.iter_rows(named=True):
            cells = [(_label(name), shown(name, value)) for name, value in row.items() if value is not None]
            blocks.append(TableBlock((), cells))
    picture = time_line(whole.happenings, requests)
    document: list[Block] = [Paragraph(whole.said)]
    document += [Paragraph(picture)] if picture else []
    document += timeline_document(whole)[1:]
    if blocks:
        document += [Heading("Facts", 3), *blocks]
    return Page(
        f"{whole.kind.capitalize()} {whole.id}", [*document, Command(asking.command("show", whole.id), "In a shell")]
    )


def _label(name: str) -> str:
    return name.replace("_", " ").removesuffix(" usd") + (" ($)" if name.endswith("_usd") else "")


LANES = {
    "requests": (),
    "errors": ("error.classified",),
    "retries": ("retry.scheduled", "retry.settled"),
    "tools": ("tool.failed",),
    "context": ("relay.", "context."),
    "limits": ("agent.exhausted", "agent.restored", "budget.exhausted"),
}
"""Lanes of the time line, and how the types of their events begin."""
_LANE_HEIGHT = 34
_MAX_MARKS = 1500
"""Marks of a lane; further events of a long session are left to the list."""
_Mark = tuple[datetime, datetime, str]
"""When an event began, when its wait ended, and what it was."""


def time_line(happenings: Sequence[Happening], requests: Sequence[Mapping[str, Any]]) -> Svg | None:
    """Draw a session along its time: a lane for each kind of event, waits as long as they were.

    None without an event.
    """
    lanes: dict[str, list[_Mark]] = {name: [] for name in LANES}
    for row in requests:
        words = ", ".join(f"{_label(name)} {shown(name, row[name])}" for name in row if name != "occurred_at")
        lanes["requests"].append((row["occurred_at"], row["occurred_at"], f"request: {words}"))
    for happening in happenings:
        begins = happening.occurred_at
        ends = begins + timedelta(seconds=happening.delay_seconds or 0)
        if happening.type == "agent.exhausted" and happening.reset_at:
            ends = max(ends, happening.reset_at)
        for name, types in LANES.items():
            if happening.type.startswith(types or ("-",)):
                lanes[name].append((begins, ends, f"{happening_words(happening)}\n{(happening.message or '')[:200]}"))
    used = {name: marks for name, marks in lanes.items() if marks}
    if not used:
        return None
    first = min(mark[0] for marks in used.values() for mark in marks)
    last_begin = max(mark[0] for marks in used.values() for mark in marks)
    last = min(max(mark[1] for marks in used.values() for mark in marks), last_begin + timedelta(hours=6))
    span = max((last - first).total_seconds(), 1.0)
    parts: list[Svg] = []
    for index, (name, marks) in enumerate(used.items()):
        parts += _lane(index, name, marks, first, span)
    height = _LANE_HEIGHT * len(used) + 22
    parts += [
        element("text", f"{first:%Y-%m-%d %H:%M:%S}", x="0", y=f"{height - 4}"),
        element("text", f"{last:%H:%M:%S} UTC, {duration(span)}", x="100%", y=f"{height - 4}", text_anchor="end"),
    ]
    words = ", ".join(f"{len(marks):,} of {name}" for name, marks in used.items())
    return element("svg", element("title", f"Time line: {words}"), *parts, class_="lanes", role="img",
                   width="100%", height=f"{height}")  # fmt: skip


def _lane(index: int, name: str, marks: Sequence[_Mark], first: datetime, span: float) -> Iterator[Svg]:
    top = index * _LANE_HEIGHT
    number = f"{len(marks):,}" if len(marks) <= _MAX_MARKS else f"first {_MAX_MARKS:,} of {len(marks):,}"
    yield element("text", f"{name}, {number}", x="0", y=f"{top + 12}")
    yield element("rect", x="0", y=f"{top + 17}", width="100%", height="12", class_="lane")
    for begins, ends, words in marks[:_MAX_MARKS]:
        left = 99.4 * (begins - first).total_seconds() / span
        width = max(100 * (ends - begins).total_seconds() / span, 0.6)
        yield element(
            "rect", title(f"{begins:%H:%M:%S}  {words}"), x=f"{left:.2f}%", y=f"{top + 17}",
            width=f"{min(width, 100 - left):.2f}%", height="12", class_=f"mark {name}",
        )  # fmt: skip
