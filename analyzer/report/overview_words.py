"""The words that every medium says of an overview: the verdict, the window, findings, the last day, how much was read.

What is new, worse or resolved is decided here alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from analyzer import command_lines
from analyzer.analysis.kinds.finding import RESOLUTIONS
from analyzer.readable import counted, duration, percent
from analyzer.report.document import FindingBlock
from analyzer.report.rows import NOTHING, brief, count, minute

if TYPE_CHECKING:
    from analyzer.analysis import Case, Finding, Handling, LatestDay, Leading, Overview
    from analyzer.command_lines import Asking

_LEVELS = {"unjudged": "NOT JUDGED"}
_ENDINGS = {
    "endless_retries": "in retries without end",
    "in_retry": "before a retry that was due",
    "after_error": "after an error without an answer",
    "after_tool": "after a failed tool without an answer",
}
"""What is said of sessions by their ending."""
_HOURS_AS_DAYS = 48
_NO_STEP = "(no step)"
"""What the query says of hand-offs whose log names no step."""


def verdict_word(level: str) -> str:
    """One word that says how bad it is without any colour."""
    return _LEVELS.get(level, level.upper())


def window_words(overview: Overview) -> str:
    """From when to when, with the zones: times are UTC, days begin in the window's zone."""
    window, totals = overview.window, overview.totals
    begin, end = window.since or totals.first_at, window.until or totals.last_at or overview.generated_at
    said = f"{minute(begin)} to {minute(end)} UTC" if begin else f"up to {minute(end)} UTC"
    if window.since is None and window.until is None:
        said = f"All time: {said}"
    if window.until and window.until > overview.generated_at:
        said += f"; what is after {minute(overview.generated_at)} lies ahead"
    if window.timezone != "UTC":
        said += f"; days begin in {window.timezone}"
    return f"{said}; only {overview.only}" if overview.only else said


def window_details(overview: Overview) -> tuple[str, ...]:
    """Return the sentences of the verdict about the window: the one about tools, where one failed."""
    return overview.verdict.details[-1:] if overview.totals.tool_failures else ()


def sessions_words(overview: Overview) -> str:
    """In how many sessions there are errors, of those that the logs show."""
    totals = overview.totals
    if totals.error_sessions in {0, totals.sessions}:
        return counted(totals.sessions, "session") if totals.error_sessions else "no named session"
    return f"{count(totals.error_sessions)} of {counted(totals.sessions, 'session')}"


def title_of(found: Finding) -> str:
    """What was found and of whom; the name comes from a log."""
    return f"{found.kind.title}: {found.scope.who}"


def draft_words(found: Finding) -> str:
    """The draft of a rule that a finding comes with, in words; empty without one."""
    wording = found.wording
    return f"draft of a rule: {wording.reason}, text '{wording.pattern}'" if wording and wording.pattern else ""


def course(found: Finding) -> str:
    """Say since when it is new or goes on, when it was last seen, or from when to when it was."""
    if found.state == "resolved":
        why = RESOLUTIONS.get(found.resolution or "", found.resolution)
        days = f"{found.onset} to {found.last_seen}" if found.onset < found.last_seen else f"{found.onset}"
        return f"{f'{found.span}, over' if found.span else days}, resolved on {found.resolved_on}: {why}"
    if found.state == "open":
        return f"open since {found.onset}, last seen {found.last_seen}"
    return f"{'new' if found.state == 'new' else 'goes on'} since {found.onset}"


def open_words(found: Finding) -> str:
    """Say of a finding without new evidence when it was last seen, of whom it is, and what it is."""
    title = found.kind.title
    seen = f"{found.last_seen.day} {found.last_seen:%B}"
    return f"Open, last seen {seen}: {found.scope.who}: {title[:1].lower()}{title[1:]}"


def judging(found: Finding) -> tuple[str, ...]:
    """The words of the command that judges the last day of a finding, and so writes the finding down."""
    return ("check", *command_lines.window_words(until=found.last_on + timedelta(days=1), timezone=found.timezone))


def handled(decision: Handling) -> str:
    """What somebody decided of a finding."""
    until = f" until {decision.snoozed_until:%Y-%m-%d %H:%M} UTC" if decision.snoozed_until else ""
    whose = f" by {decision.by}" if decision.by else ""
    note = f": {decision.note}" if decision.note else ""
    return f"{decision.act}{until}{whose} on {decision.at:%Y-%m-%d}{note}"


def entry_of(one: Finding, asking: Asking | None = None) -> FindingBlock:
    """All that a document tells of a finding."""
    decided = [f"decided: {handled(one.handling)}"] if one.handling else []
    notes = [*(f"part of it: {part.explanation}" for part in one.parts), *decided]
    return FindingBlock(
        one.severity if one.is_open else "resolved",
        one.severity,
        state_of(one),
        title_of(one),
        one.explanation or one.kind.title,
        tuple(notes),
        draft_words(one),
        course(one),
        one.id,
        one.advice,
        asking.command(*one.words) if asking else one.command,
        one.command_in_chats,
    )


def state_of(one: Finding) -> str:
    """Its state, and whether it is graver than on the night before."""
    return f"{one.state}, worse" if one.worse else one.state


def alarms(overview: Overview) -> str:
    """How many warnings the checks of this history give."""
    rate = overview.warnings_a_week
    if rate is None:
        return "Fewer than four weeks were checked, so how many warnings a week this history gives is not known."
    return f"In the weeks before the last check, {rate:.1f} warnings opened a week."


def completeness(overview: Overview) -> str:
    """How much of the logs the report rests on, without the formats that are not read yet."""
    known = overview.completeness
    others = f"{counted(known.other_files, 'file')} of no known format" if known.other_files else ""
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


def retries_words(overview: Overview) -> str:
    """Retry chains that recovered, of those that ended, and what they waited; empty without any."""
    frame = overview.tables["retries-outcomes"].frame
    if frame.is_empty():
        return ""
    recovered, ended = ended_chains(overview)
    waited, vain = (float(frame[name].sum() or 0) for name in ("waited_seconds", "wasted_seconds"))
    if ended:
        said = f"Retries: {count(recovered)} of {count(ended)} that ended recovered ({percent(recovered / ended)})"
    else:
        said = "Retries: none ended in these logs"
    return f"{said}; {duration(waited)} waited, {duration(vain)} in vain."


def relays_words(overview: Overview) -> str:
    """Count hand-offs, their steps, compactions, and how many at most in one session; empty without any."""
    totals = overview.totals
    if not totals.relays:
        return ""
    frame = overview.tables["relays-by-step"].frame
    steps = len({step for step in frame["step_id"] if step != _NO_STEP})
    said = f"in {counted(steps, 'step')}" if steps else "in no named step"
    most, halted = frame["most_in_one_session"].max(), int(frame["halted"].sum() or 0)
    at_most = f", at most {brief(most)} in a session" if isinstance(most, int) else ""
    given_up = f", {brief(halted)} given up" if halted else ""
    compactions = int(frame["compactions"].sum() or 0)
    parts = []
    if hand_offs := totals.relays - compactions:
        target = "" if compactions else "to fresh context "
        parts.append(f"{counted(hand_offs, 'hand-off')} {target}{said}")
    if compactions:
        parts.append(counted(compactions, "compaction"))
    return f"{' and '.join(parts)}{at_most}{given_up}."


def exhaustions_words(overview: Overview) -> str:
    """How often a usage limit was reached, and when last; empty where none was."""
    frame = overview.tables["exhaustions-list"].frame
    if frame.is_empty():
        return ""
    last = frame.row(frame.height - 1, named=True)
    back = last["restored_at"] or last["reset_at"]
    until = f", back {minute(back)}" if back else ""
    return f"Usage limit reached {counted(frame.height, 'time')}, last {minute(last['occurred_at'])} UTC{until}."


def limits_words(overview: Overview) -> str:
    """The limit of which most is used, and when it is reached at this pace; empty where none is open any more."""
    ahead = overview.tables["limits-ahead"].frame.iter_rows(named=True)
    first = next((row for row in ahead if row["reset_at"] > overview.generated_at), None)
    if first is None:
        return ""
    whose = " ".join(filter(None, (first["provider"], first["plan"]))) or "an unnamed provider"
    hours = round(first["window_minutes"] / 60)
    length = f"{hours}-hour" if hours < _HOURS_AS_DAYS else f"{round(hours / 24)}-day"
    at = first["observed_at"]
    used = f"{percent(first['used_share'])} of the {length} limit of {whose} used at {minute(at)} UTC"
    reset = _later(first["reset_at"], at)
    if first["reached_at"] is None:
        return f"{used}; at this pace not reached before it resets {reset}."
    late = _later(first["latest_at"], at) if first["latest_at"] else "not at all"
    likely = f"{_later(first['earliest_at'], at)} to {late}"
    return f"{used}; at this pace reached {_later(first['reached_at'], at)} ({likely}), reset {reset}."


def _later(moment: datetime, known: datetime) -> str:
    """A moment after a known one: its time alone on the same day."""
    return f"{moment:%H:%M}" if moment.date() == known.date() else minute(moment)


def endings_words(overview: Overview) -> str:
    """How many sessions stopped in the middle of something, and in how many a compaction made the context larger."""
    frame = overview.tables["endings-by-kind"].frame
    sessions = dict(frame.select("ending", "sessions").iter_rows())
    grown, empty = sessions.pop("grown_compaction", 0), sessions.pop("hollow", 0)
    told = [f"{count(number)} {_ENDINGS[ending]}" for ending, number in sessions.items()]
    if told:
        noun = "session" if next(iter(sessions.values())) == 1 else "sessions"
        first, *rest = told
        told = [first.replace(" ", f" {noun} stopped ", 1), *rest]
    if empty:
        told.append(f"{counted(empty, 'session')} said success and did nothing")
    if grown:
        told.append(f"in {counted(grown, 'session')} a compaction made the context larger")
    said = ", ".join(told)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def ended_chains(overview: Overview) -> tuple[int, int]:
    """Retry chains that recovered, and all that ended on their own: neither aborted nor without an end in the logs."""
    frame = overview.tables["retries-outcomes"].frame
    ends = [int(frame[name].sum()) for name in ("recovered", "exhausted", "surfaced", "escalated")]
    return ends[0], sum(ends)


_SHOWN = 6
"""Findings of one group of news; of more it is told that they are there."""
NEWS = ("New", "Worse", "Resolved", "Goes on", "Open", "Resolved before")
"""The kinds of news, in the order of interest."""


@dataclass(frozen=True, slots=True)
class News:
    """The findings of one kind of news."""

    title: str
    cases: tuple[Case, ...]
    """Those that are named."""
    more: int
    """Further ones."""


def day_title(latest: LatestDay) -> str:
    """Which day it is that the page begins with."""
    return f"{'Yesterday' if latest.yesterday else 'The last day with events'}, {latest.day:%A} {latest.day}"


def day_words(latest: LatestDay) -> str:
    """How much was looked at on the day, what that cost, and what was best and worst."""
    value = latest.value
    sessions, errors = int(value("sessions") or 0), int(value("errors") or 0)
    said = f"{counted(sessions, 'session')} looked at, "
    said += (
        f"{counted(errors, 'error')} in {count(int(value('error_sessions') or 0))} of them" if errors else "no error"
    )
    if failed := int(value("failed_sessions") or 0):
        said += f"; in {count(failed)} a retry gave up"
    if waited := value("waited_seconds"):
        said += f"; {duration(float(waited))} waited for retries"
    if dropped := value("dropped_tokens"):
        said += f"; {count(int(dropped))} tokens dropped by compaction"
    said += "."
    if latest.worst:
        said += f" Most errors: {_name(latest.worst[0])} ({count(latest.worst[1])})."
    if latest.best:
        caller, recovered, ended = latest.best
        said += f" Best recovery: {_name(caller)} ({count(recovered)} of {counted(ended, 'retried call')})."
    return said


def news(overview: Overview) -> tuple[News, ...]:
    """What is new, worse, resolved, goes on or is open, as of the latest day; groups without any are left out."""
    groups: dict[str, list[Case]] = {name: [] for name in NEWS}
    for case in overview.cases:
        groups[news_of(case, overview.latest)].append(case)
    shown = dict.fromkeys(groups, _SHOWN) | {"Resolved before": 0}
    return tuple(
        News(name, tuple(cases[: shown[name]]), len(cases[shown[name] :])) for name, cases in groups.items() if cases
    )


def news_of(case: Case, latest: LatestDay | None) -> str:
    """The kind of news that a finding is on the latest day."""
    one = case.finding
    if not case.is_open:
        recent = latest is None or (one.resolved_on is not None and one.resolved_on >= latest.day)
        return "Resolved" if recent else "Resolved before"
    if one.state == "new" or (latest is not None and one.opened_on >= latest.day):
        return "New"
    if one.worse and (latest is None or one.last_on >= latest.day):
        return "Worse"
    return "Goes on" if one.goes_on else "Open"


def leading_words(one: Leading) -> str:
    """A sentence that a report opens with, and what the errors say that it is about."""
    return f"{one.text[:-1]}: “{' '.join(one.quote.split()).rstrip('.')}”." if one.quote else one.text


def opening_words(leading: Iterable[Leading]) -> tuple[str, ...]:
    """The sentences that a report opens with, each with what to do about it."""
    return tuple(f"{leading_words(one)} {one.advice}".rstrip() for one in leading)


def dates(one: Finding) -> str:
    """Say since when it is so, when it was last seen if it does not go on, or from when to when it was."""
    if one.is_open:
        return f"since {one.onset}" + (f", last seen {one.last_seen}" if one.state == "open" else "")
    return f"from {one.onset} to {one.last_seen}" if one.last_seen > one.onset else f"on {one.onset}"


def cost_words(one: Finding) -> str:
    """What its last day cost; empty for what has no cost."""
    cost = one.cost
    if cost is None or not (cost.sessions_failed or cost.waited_seconds):
        return ""
    of = f" of {counted(cost.sessions_seen, 'session')}" if cost.sessions_seen is not None else ""
    failed = f"{count(cost.sessions_failed)}{of}" if of else counted(cost.sessions_failed, "session")
    said = f"{failed} failed on {one.last_on}"
    return said + (f", {duration(cost.waited_seconds)} waited" if cost.waited_seconds else "")


def cost_beside(one: Finding) -> str:
    """What its last day cost, beside its sentence; empty where the sentence counts the sessions itself."""
    cost = one.cost
    counts = cost is not None and f"{cost.sessions_failed:,} of {cost.sessions_seen or 0:,} sessions" in one.explanation
    return "" if counts else cost_words(one)


def _name(caller: str) -> str:
    return caller if caller.strip() else NOTHING
