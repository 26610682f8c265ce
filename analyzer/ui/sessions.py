"""The pages of sessions: the list with its filters, and one session with its time line."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from analyzer.analysis import window
from analyzer.analysis.timeline import Happening, Timeline, identified, refuse, timeline_of
from analyzer.errors import AnalyzerError
from analyzer.readable import counted, duration
from analyzer.report.charts.elements import Svg, element, title
from analyzer.report.document import Block, Command, Heading, Paragraph, TableBlock
from analyzer.report.rows import shown
from analyzer.report.timeline import happening_words, timeline_document
from analyzer.ui.page import Field, Link, Page, session_link, table_of, window_fields, words_of

if TYPE_CHECKING:
    import polars as pl

    from analyzer.analysis import Window
    from analyzer.command_lines import Asking
    from analyzer.store import Store
    from analyzer.ui.kept import Kept

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
_EVERY = """
select
  s.session_id, s.started_at, s.ended_at, s.agent, s.caller, s.project, s.model,
  e.ending, s.errors, s.tool_failures,
  s.input_tokens + coalesce(s.output_tokens, 0) as tokens, s.cost_usd,
  epoch(s.ended_at) - epoch(s.started_at) as seconds
from sessions as s left join endings as e on s.session_id = e.session_id
"""
_NAMED = """
select session_id from internal.event_v1
where type = 'error.classified' and (
  contains(lower(message), lower($text))
  or facts_id in (select facts_id from internal.facts_v1 where contains(lower(message), lower($text)))
)
union
select session_id from tool_failures where contains(lower(concat_ws(' ', tool, command, message)), lower($text))
"""
"""The sessions whose errors or failed tools have a text; the view of errors would first fold all chains."""
SUM_SECONDS = 120.0
"""Seconds that the sums of all sessions may take, once after each change of the store."""
MAX_CHOICES = 200
"""Names of a filter."""
_PROBLEMS = {"no problem seen": False, "any problem": True}
"""Choices of an ending, and whether a session has one then."""
_ENDINGS = (
    *_PROBLEMS, "endless_retries", "in_retry", "after_error", "after_tool", "hollow", "grown_compaction",
)  # fmt: skip


def listing(store: Store, values: Mapping[str, str], kept: Kept) -> Page:
    """Return the page of sessions that match the filters of the address."""
    sort = values.get("sort") if values.get("sort") in SORTS else "ended_at"
    chosen = window(**words_of(values))
    offset = int(values["from"]) if values.get("from", "").isdecimal() and len(values["from"]) < 9 else 0
    every = kept.of(store, "sessions", lambda: store.sql(_EVERY, timeout=SUM_SECONDS))
    frame = every.filter(*_conditions(store, values, chosen, kept))
    frame = frame.sort(sort, "session_id", descending=[True, False], nulls_last=True).drop("started_at")
    table = table_of(frame.slice(offset, PER_PAGE), {"session_id": session_link})
    names = [Link(name, "/sessions", **{**values, "sort": column, "from": ""}) if column in SORTS else name
             for column, name in zip(frame.columns, table.names, strict=True)]  # fmt: skip
    blocks: list[Block] = [Paragraph("No session matches.")]
    if len(frame):
        blocks = [Paragraph(f"{counted(len(frame), 'session')}."), replace(table, names=names)]
    links = []
    if offset:
        links.append(Link("← before", "/sessions", **{**values, "from": max(offset - PER_PAGE, 0)}))
    if len(frame) > offset + PER_PAGE:
        links.append(Link("further →", "/sessions", **{**values, "from": offset + PER_PAGE}))
    return Page("Sessions", blocks, [*_fields(values, str(sort), every)], links=links)


def _conditions(store: Store, values: Mapping[str, str], chosen: Window, kept: Kept) -> Iterator[pl.Expr]:
    import polars as pl

    if chosen.since is not None:
        yield pl.col("ended_at") >= chosen.since
    if chosen.until is not None:
        yield pl.col("started_at") < chosen.until
    for name in FILTERS:
        if name == "ending" and values.get(name) in _PROBLEMS:
            yield pl.col(name).is_not_null() == _PROBLEMS[values[name]]
        elif values.get(name):
            yield pl.col(name) == values[name]
    if (least := _least(values.get("least_usd", ""))) is not None:
        yield pl.col("cost_usd") >= least
    if text := values.get("text"):
        named = kept.of(store, ("text", text), lambda: store.sql(_NAMED, {"text": text}, timeout=SECONDS))
        is_named = pl.col("session_id").is_in(named["session_id"].implode())
        yield is_named | pl.col("session_id").str.to_lowercase().str.contains(text.lower(), literal=True)


def _least(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise AnalyzerError(f"no amount of dollars: {text!r}", "write 0.5 or 2") from None


def _fields(values: Mapping[str, str], sort: str, every: pl.DataFrame) -> Iterator[Field]:
    yield Field("text", "Search", values.get("text", ""), kind="search")
    for name in FILTERS:
        names = _ENDINGS if name == "ending" else every[name].drop_nulls().unique().sort().to_list()[:MAX_CHOICES]
        yield Field(name, name.capitalize(), values.get(name, ""), {"": "any", **dict(zip(names, names, strict=True))})
    yield Field("least_usd", "Cost from ($)", values.get("least_usd", ""))
    yield from window_fields(values)
    yield Field("sort", "First", sort, SORTS)


_FACTS = """
select agent, agent_version, caller, project, branch, provider, model, started_at, ended_at, requests, errors,
  tool_calls, tool_failures, relays
from internal.session where session_id = $id
"""
"""The view of all sessions would price the requests again."""
_REQUESTS = """
select u.occurred_at, coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0)
  + coalesce(u.cache_write_tokens, 0) as input_tokens, u.output_tokens, u.cost_usd, e.source_path
from usage as u inner join internal.event_v1 as e on u.event_id = e.event_id
where u.session_id = $id order by u.occurred_at, u.event_id
"""
_EVENT_NAMES = ("Time (UTC)", "Event", "Tokens", "Cost so far ($)")


def session(store: Store, values: Mapping[str, str], asking: Asking) -> Page:
    """Return the page of a session, a chain of retries or a finding: its facts, time line and events."""
    asked = values.get("id", "")
    # Most links have the whole id of a session: to look for what it is the id of takes longer than to try.
    whole, facts, requests = _of_session(store, asked)
    if not facts:
        kind, name = identified(store, asked) or refuse(store, asked)
        if kind == "session":
            whole, facts, requests = _of_session(store, name)
        else:
            whole = timeline_of(store, kind, name)
    document: list[Block] = [Paragraph(whole.said)]
    if picture := time_line(whole.happenings, requests):
        document.append(Paragraph(picture))
    document += timeline_document(whole, *_spending(requests))[1:]
    for row in facts:
        for column in _SPENT:
            amounts = [request[column] for request in requests if request[column] is not None]
            row[column] = sum(amounts) if amounts else None
        cells = [(_label(name), shown(name, value)) for name, value in row.items() if value is not None]
        document += [Heading("Facts", 3), TableBlock((), cells)]
    title = f"{whole.kind.capitalize()} {whole.id}"
    return Page(title, [*document, Command(asking.command("show", whole.id), "In a shell")])


_Rows = list[dict[str, Any]]


def _of_session(store: Store, name: str) -> tuple[Timeline, _Rows, _Rows]:
    """Return the timeline of a session, its facts and its requests; without facts there is no such session."""

    def rows(beside: Store) -> list[_Rows]:
        return [beside.sql(asked, {"id": name}, timeout=SECONDS).to_dicts() for asked in (_FACTS, _REQUESTS)]

    with store.part([name]) as near, near.meanwhile(rows) as answer:
        whole = timeline_of(store, "session", name, near)
        facts, requests = answer()
        return whole, facts, requests


def _spending(requests: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return the names of the columns of events, and what a session had spent when an event happened."""
    if not requests:
        return ()
    moments = [row["occurred_at"] for row in requests]
    tokens = list(accumulate(row["input_tokens"] + (row["output_tokens"] or 0) for row in requests))
    dollars = list(accumulate(row["cost_usd"] or 0.0 for row in requests))

    def cells(happening: Happening) -> tuple[str, str]:
        made = bisect_right(moments, happening.occurred_at)
        return (f"{tokens[made - 1]:,}", f"{dollars[made - 1]:.2f}") if made else ("0", "0.00")

    return _EVENT_NAMES, cells


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
_SPENT = ("input_tokens", "output_tokens", "cost_usd")
MAX_LOGS = 12
"""Lanes of logs beside the first one: sub-agents write logs of their own."""
_Mark = tuple[datetime, datetime, str, str]
"""When an event began, when its wait ended, what it was, and its kind."""


def time_line(happenings: Sequence[Happening], requests: Sequence[Mapping[str, Any]]) -> Svg | None:
    """Draw a session along its time: a lane for each kind of event, waits as long as they were.

    None without an event.
    """
    lanes: dict[str, list[_Mark]] = {name: [] for name in LANES}
    logs: dict[str, list[_Mark]] = {}
    for row in requests:
        spent = ", ".join(f"{_label(name)} {shown(name, row[name])}" for name in _SPENT)
        mark = row["occurred_at"], row["occurred_at"], f"request: {spent}", "requests"
        lanes["requests"].append(mark)
        logs.setdefault(row["source_path"] or "", []).append(mark)
    for happening in happenings:
        begins = happening.occurred_at
        ends = begins + timedelta(seconds=happening.delay_seconds or 0)
        if happening.type == "agent.exhausted" and happening.reset_at:
            ends = max(ends, happening.reset_at)
        for name, types in LANES.items():
            if happening.type.startswith(types or ("-",)):
                mark = begins, ends, f"{happening_words(happening)}\n{(happening.message or '')[:200]}", name
                lanes[name].append(mark)
                logs.setdefault(happening.source_path or "", []).append(mark)
    used = {name: marks for name, marks in lanes.items() if marks}
    if len(logs) > 1:
        by_begin = sorted(logs, key=lambda path: min(mark[0] for mark in logs[path]))
        used |= {f"log {os.path.basename(path)}": logs[path] for path in by_begin[1 : MAX_LOGS + 1]}
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
    for begins, ends, words, kind in marks[:_MAX_MARKS]:
        left = 99.4 * (begins - first).total_seconds() / span
        width = max(100 * (ends - begins).total_seconds() / span, 0.6)
        yield element(
            "rect", title(f"{begins:%H:%M:%S}  {words}"), x=f"{left:.2f}%", y=f"{top + 17}",
            width=f"{min(width, 100 - left):.2f}%", height="12", class_=f"mark {kind}",
        )  # fmt: skip
