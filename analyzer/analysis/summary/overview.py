"""`Overview`: everything that a report says, as data: the verdict first, then the tables that it rests on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Unpack

from analyzer.analysis.kinds.families.causes import Drifts, drifts
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.sentences import LEAST_USD
from analyzer.analysis.objectives import ObjectiveState
from analyzer.analysis.summary.day_figures import FORTNIGHT, LatestDay, latest_day
from analyzer.analysis.summary.leading import Leading, leading
from analyzer.analysis.summary.window_findings import (
    Case,
    Judged,
    Spikes,
    judge_seen,
    observe_window,
    select_judged,
    spikes_of,
)
from analyzer.analysis.tables import (
    Table,
    Window,
    WindowWords,
    as_window,
    json_fields,
    json_ready,
    table,
    table_without_rows,
)
from analyzer.classifier import Rules
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.readable import counted, duration, percent
from analyzer.store import NOT_LOGS, Selection, Store
from analyzer.store.shown import Shown

SECTIONS = {
    "unknown": "unknown-share unknown-messages",
    "errors": (
        "errors-timeline errors-messages errors-by-reason errors-by-party errors-blame errors-by-caller"
        " versions-by-agent errors-by-reason-caller-outcome"
    ),
    "retries": "retries-outcomes retries-by-caller",
    "relays": "relays-by-day relays-by-step relays-by-session relays-utilization",
    "exhaustions": "exhaustions-list limits-ahead",
    "cost": "cost-of-failure cost-by-model cost-by-day",
    "endings": "endings-by-kind endings-sessions",
    "tools": "tools-by-tool tools-by-kind tools-by-project tools-by-day tools-messages tools-loops",
    "rules": "ruleset-applied changes-noted",
    "completeness": "sources-completeness quarantine-lines",
}
"""The sections of a report in their order, each with the catalogue queries that it shows."""
TABLES = tuple(name for names in SECTIONS.values() for name in names.split())
_UNPINNED = frozenset({"errors-messages"})
"""Those that ask for more columns than views have where they are pinned."""
_COUNTED = {
    "errors-": "errors",
    "unknown-": "errors",
    "retries-": "retry_chains",
    "relays-": "relays",
    "tools-": "tool_failures",
}
"""Queries by how their names begin, and the total of what they have rows about: of nothing none is asked."""
_MORE_THAN_COUNTED = frozenset({"tools-by-day"})
_SHOWN_TOOLS = 3
_KINDS = {
    "exit_code": "failed commands",
    "not_found": "things not found",
    "refused": "refused",
    "edit_mismatch": "edits without a match",
    "timeout": "time limits",
    "permission": "no permission",
    "environment": "machine problems",
    "cancelled": "stopped",
    "tests": "failed tests",
    "lint": "linters",
    "build": "failed builds",
}
"""The kinds of failed tools in the words of the sentence about them."""


@frozen
class Totals:
    """The figures that a report opens with: counts of the window."""

    first_at: datetime | None
    last_at: datetime | None
    events: int
    sessions: int
    error_sessions: int
    """Sessions with an error."""
    callers: int
    errors: int
    counted_errors: int
    """Errors that take part in the unknown share."""
    unknown_errors: int
    unknown_share: float | None
    without_facts: int
    """Errors that cannot be judged again."""
    retry_chains: int
    recovered_chains: int
    relays: int
    exhaustions: int
    requests: int | None
    """Model requests, where logs count them."""
    tool_failures: int
    """Calls of tools that failed; they are no errors."""
    tool_sessions: int
    """Sessions with a failed tool."""
    tool_calls: int | None
    """Calls of tools, where logs count them."""

    @property
    def tools_said(self) -> str:
        """Say in one sentence how many tools failed; empty if none did."""
        if not self.tool_failures:
            return ""
        failed, sessions = counted(self.tool_failures, "tool call"), counted(self.sessions, "session")
        within = f" in {self.tool_sessions:,} of {sessions}" if self.tool_sessions else ""
        return f"{failed} failed{within}."


@frozen
class Completeness:
    """The part of the logs that could be read: of all sources, whatever the window."""

    sources: int
    lines: int
    quarantined: int
    pending_sources: int
    """Sources whose last line is unfinished."""
    damaged_sources: int
    """Sources whose compressed data breaks off or is wrong."""
    unsupported: dict[str, int]
    """Files of formats that are not read yet, by format."""
    other_files: int
    """Files that were looked at and are no agent's log: texts, binaries, other JSON."""

    @property
    def read_share(self) -> float | None:
        """Return the lines that are not in quarantine / lines, 0..1; None without any line."""
        return 1 - self.quarantined / self.lines if self.lines else None


@frozen
class Verdict:
    """The conclusion of a report in a word, a line and sentences."""

    level: str
    """`critical`, `warning` or `info` by the gravest open finding; `quiet` without one, `unjudged` where history is too
    short to tell, `empty` where nothing happened."""
    headline: str
    details: tuple[str, ...]
    """One sentence each; of the findings, open ones first."""


@dataclass(frozen=True, slots=True, repr=False)
class Overview(Shown):
    """A report's content."""

    generated_at: datetime
    """Naive UTC."""
    window: Window
    totals: Totals
    completeness: Completeness
    cases: tuple[Case, ...]
    """The findings of the window with the numbers behind them: open ones, then ended ones; the gravest first."""
    spikes: Spikes
    """The days on which unknown shares rose, and the shares of all callers."""
    drifts: Drifts
    judged_until: date | None
    """The last day that was judged; None without any history."""
    too_little: str
    """Why the last whole day cannot be judged, in one sentence; empty where it can be."""
    not_replayed: int
    """Errors that count as they were recorded: today's rules could not judge them."""
    warnings_a_week: float | None
    """Warnings that opened a week in the twelve weeks before the last nightly check; None where fewer
    than four were checked."""
    tables: dict[str, Table]
    """By catalogue name."""
    only: Selection | None = None
    """The part of the store that it is about; None for all of it."""
    latest: LatestDay | None = None
    """The last whole day, with what it is held against; None without any event."""
    objectives: tuple[ObjectiveState, ...] = ()
    """How the objectives of analyzer.toml stand at the end of the window, if a command gave them."""
    asked: Window | None = None
    """The window that was asked for, where it is empty and this is about all there is; None where it is not."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the window."""
        return tuple(case.finding for case in self.cases)

    @property
    def reads_no_log(self) -> bool:
        """Return whether there are files that are not empty, and none is a log that is read."""
        formats = set(self.tables["sources-completeness"].frame["source_format"]) - {"empty"}
        return self.is_bare and not self.completeness.lines and bool(formats)

    @property
    def is_bare(self) -> bool:
        """Return whether there is no event, in the window or beside it."""
        return not self.totals.events

    @property
    def widened(self) -> str:
        """Say that the window asked for has no event; empty if this is about that window."""
        if self.asked is None:
            return ""
        ends = (("since", self.asked.since), ("until", self.asked.until))
        span = " ".join(f"{word} {end:%Y-%m-%d %H:%M}" for word, end in ends if end)
        return f"Nothing {span} UTC; shown instead: all that the logs hold."

    @property
    def verdict(self) -> Verdict:
        """Return the conclusion that the rest leads to."""
        return _verdict(self)

    @property
    def leading(self) -> tuple[Leading, ...]:
        """Return sentences on what failed most, its cost, who can mend it, and the week's change.

        There is a sentence each at most.
        """
        return leading(self.tables, self.totals.sessions, self.latest)

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        totals, verdict = self.totals, self.verdict
        facts = {
            "from": f"{totals.first_at:%Y-%m-%d %H:%M}" if totals.first_at else "–",
            "to": f"{totals.last_at:%Y-%m-%d %H:%M} UTC" if totals.last_at else "–",
            "findings": f"{len(self.cases):,}",
            "errors": f"{totals.errors:,}",
            "sessions": f"{totals.sessions:,}",
            "unknown": percent(totals.unknown_share),
            "retry chains": f"{totals.retry_chains:,}",
            "relays": f"{totals.relays:,}",
        }
        return f"Overview {verdict.level} {verdict.headline!r}", facts

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        content: dict[str, Any] = json_ready(
            {
                "schema": "analyzer.report/1",
                "generated_at": self.generated_at,
                "window": self.window,
                "asked_window": self.asked,
                **({"only": self.only.given} if self.only else {}),
                "verdict": self.verdict,
                "leading": self.leading,
                "findings": [_case_dict(case) for case in self.cases],
                "judged_until": self.judged_until,
                "ruleset": self.drifts.ruleset,
                "unjudged": self.spikes.unjudged,
                "not_replayed": self.not_replayed,
                "warnings_a_week": self.warnings_a_week,
                "objectives": self.objectives,
                "drifts": {
                    "since": self.drifts.split,
                    "changes": self.drifts.found,
                    "days": self.drifts.days,
                },
                "totals": self.totals,
                "completeness": {**json_fields(self.completeness), "read_share": self.completeness.read_share},
                "latest_day": self.latest,
                "tables": self.tables,
            }
        )
        return content


def overview(
    store: Store,
    window: str | Window | None = None,
    *,
    rules: Rules = None,
    only: Selection | None = None,
    **words: Unpack[WindowWords],
) -> Overview:
    """Return everything that a report says about a window of a store.

    History is judged by the rules that `check` goes by. The report of a part of the store (`only`) has
    its tables and the findings about it; drifts are those of the fleet. A window without any event is
    widened to all there is, which `asked` and `widened` say.

    Raises:
        AnalyzerError: a window that cannot be read, rules that cannot be used.
    """
    chosen = as_window(window, **words)
    report = _made(store, chosen, rules, only)
    if not report.is_bare or (chosen.since is None and chosen.until is None):
        return report
    whole = _made(store, Window(timezone=chosen.timezone), rules, only)
    return report if whole.is_bare else replace(whole, asked=chosen)


def _made(store: Store, chosen: Window, rules: Rules, only: Selection | None) -> Overview:
    ruleset = store.judge_history(rules)
    if only:
        judged, drift = _judge(store, chosen, ruleset)
        judged = select_judged(store, judged, only)
        with store.selecting(only):
            asked = _asked(store, chosen)
    else:
        with store.meanwhile(lambda beside: _asked_once(beside, chosen)) as answer:
            judged, drift = _judge(store, chosen, ruleset)
            asked = answer()
    return Overview(
        generated_at=asked.at,
        window=chosen,
        totals=asked.totals,
        completeness=asked.completeness,
        # What stays open while nothing happens at all is no news of an empty window.
        cases=judged.cases if asked.totals.events else (),
        spikes=spikes_of(judged, chosen, asked.tables["unknown-share"]),
        drifts=drift,
        judged_until=judged.last,
        too_little=judged.too_little,
        not_replayed=judged.not_replayed,
        warnings_a_week=asked.warnings_a_week,
        tables=asked.tables,
        only=only or None,
        latest=asked.latest,
    )


def _judge(store: Store, window: Window, ruleset: str) -> tuple[Judged, Drifts]:
    """Judge the history of a window, and search for drifts.

    The sums of history are released at its end: they can be of a million callers.
    """
    seen = observe_window(store, window, ruleset)
    judged = judge_seen(store, window, seen)
    return judged, drifts(store, seen, judged.first, judged.last, window)


@frozen
class _Asked:
    """The answers of the store that a report shows."""

    at: datetime
    totals: Totals
    completeness: Completeness
    warnings_a_week: float | None
    tables: dict[str, Table]
    latest: LatestDay | None


def _asked_once(store: Store, window: Window) -> _Asked:
    """Ask for the answers about the whole store, of views that are worked out once."""
    # The fortnight up to the window's last day may begin before the window.
    before = min(window.until or now(), now()) - FORTNIGHT
    seen = replace(window, since=window.since and min(window.since, before))
    with store.pinned(seen.since, seen.until) as drop:
        asked = _asked(store, window, drop)
    latest = asked.latest
    if latest and not latest.lies_in(seen):
        latest = latest_day(store, window, asked.totals.first_at, asked.totals.last_at, asked.at)
    return replace(asked, latest=latest)


def _asked(store: Store, window: Window, drop: Callable[[str], None] | None = None) -> _Asked:
    """Ask for the answers of a report.

    Tables that quote all errors come last, and without the pinned errors, which `drop` releases.
    """
    at = now()
    row = next(table(store, "overview-totals", window).frame.iter_rows(named=True))
    nothing = tuple(area for area, count in _COUNTED.items() if not row[count])
    tables = {
        name: table_without_rows(name)
        if name.startswith(nothing) and name not in _MORE_THAN_COUNTED
        else table(store, name, window)
        for name in TABLES
        if name not in _UNPINNED
    }
    totals, completed, warnings = Totals(**row), _completeness(store, window), _warnings_a_week(store)
    latest = latest_day(store, window, totals.first_at, totals.last_at, at)
    if drop:
        drop("errors")
    tables = {name: tables.get(name) or table(store, name, window) for name in TABLES}
    return _Asked(at, totals, completed, warnings, tables, latest)


def _warnings_a_week(store: Store) -> float | None:
    nights = store.query("detection-nights")["result"]
    return json.loads(nights[-1]).get("warnings_a_week") if len(nights) else None


def _case_dict(case: Case) -> dict[str, Any]:
    return {
        **case.finding.to_dict(),
        "numbers": case.numbers,
        "sessions_behind": case.sessions,
        "templates": case.templates,
        "changes": case.changes,
        "places": case.places,
        "excerpts": case.excerpts,
    }


def _completeness(store: Store, window: Window) -> Completeness:
    rows = json_ready(table(store, "sources-completeness", window).frame)
    unread = [row["source_format"] for row in rows if row["status"] == "unsupported"]
    read = [row for row in rows if row["status"] != "unsupported"]
    return Completeness(
        sources=len(read),
        lines=sum(row["lines"] for row in read),
        quarantined=sum(row["quarantined"] for row in read),
        pending_sources=sum(row["pending_bytes"] > 0 for row in read),
        damaged_sources=sum(row["status"] == "damaged" for row in read),
        unsupported=dict(sorted(Counter(name for name in unread if name not in NOT_LOGS).items())),
        other_files=sum(name in NOT_LOGS for name in unread),
    )


def _verdict(report: Overview) -> Verdict:
    totals = report.totals
    if not totals.events:
        completeness = report.completeness
        unread = not completeness.lines and (completeness.unsupported or completeness.other_files)
        about = f" about {report.only}" if report.only else ""
        headline = "None of these files is a log that is read." if unread else f"There is nothing{about} in these logs."
        return Verdict("empty", headline, ())
    details = tuple(finding.explanation for finding in report.findings)
    tools = (_tools_sentence(report),) if totals.tool_failures else ()
    if open_ones := [case.finding for case in report.cases if case.is_open]:
        return Verdict(open_ones[0].severity, _headline(open_ones), (*details, *tools))
    if report.too_little:
        sentences = (report.too_little, *details, _error_sentence(totals), *tools)
        return Verdict("unjudged", "Too little history to tell.", sentences)
    if details:
        return Verdict("quiet", "Nothing is open; what was found is resolved.", (*details, *tools))
    return Verdict("quiet", "No findings.", (_error_sentence(totals), *tools))


def _tools_sentence(report: Overview) -> str:
    """Say how many calls of tools failed, of which tools and kinds, and how many commands in loops."""
    tools = ", ".join(_tool_words(row) for row in _first_rows(report, "tools-by-tool"))
    kinds = [f"{_KINDS.get(row['kind'], 'other')} {row['failures']:,}" for row in _first_rows(report, "tools-by-kind")]
    text = f"{report.totals.tools_said} Tools: {tools}. Causes: {', '.join(kinds)}."
    if seconds := report.tables["tools-by-tool"].frame["failed_seconds"].sum():
        text += f" The failed calls took {duration(float(seconds))}."
    loops, causes = report.tables["tools-loops"].frame, report.tables["cost-of-failure"].frame
    if loops.is_empty():
        return text
    usd = causes.filter(causes["cause"] == "tool_loop")["cost_usd"].sum()
    cost = f", which cost ${usd:,.2f}" if usd >= LEAST_USD else ""
    times = f"up to {loops['failures'][0]:,}" if len(loops) > 1 else f"{loops['failures'][0]:,}"
    again = f"{counted(len(loops), 'command')} failed {times} times in a row with the same error"
    return f"{text} {again}{cost}."


def _first_rows(report: Overview, name: str) -> Iterator[dict[str, Any]]:
    return report.tables[name].frame.head(_SHOWN_TOOLS).iter_rows(named=True)


def _tool_words(row: Mapping[str, Any]) -> str:
    failed, share = f"{row['tool']} {row['failures']:,}", row["failure_share"]
    return failed if share is None else f"{failed} of {row['calls']:,} ({percent(share)})"


def _headline(findings: list[Finding]) -> str:
    """Name the gravest kind and whom it concerns, with the number of other findings."""
    kind = findings[0].finding
    alike = list(dict.fromkeys(finding.scope.who for finding in findings if finding.finding == kind))
    who = f"{len(alike):,} callers" if len(alike) > 1 else alike[0]
    rest = len(findings) - sum(finding.finding == kind for finding in findings)
    more = f", and {counted(rest, 'more finding')}" if rest else ""
    return f"{findings[0].kind.title} for {who}{more}."


def _error_sentence(totals: Totals) -> str:
    if not totals.errors:
        return "No errors."
    errors = counted(totals.errors, "error")
    if totals.unknown_share is None:
        return f"{errors}, all of them aborts or without any detail."
    return f"{errors}; {percent(totals.unknown_share)} of those that count are unknown."
