"""Word an overview for every medium: the verdict, the window, the findings, the last day.

Only this module decides what is new, worse or resolved.
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
"""The words for the endings of sessions."""
_HOURS_AS_DAYS = 48
_NO_STEP = "(no step)"
"""The step that the query gives to hand-offs whose log names none."""


def verdict_word(level: str) -> str:
    """Return the word for a level, which says how bad it is without any colour."""
    return _LEVELS.get(level, level.upper())


def window_words(overview: Overview) -> str:
    """Say from when to when the window is: times are UTC, days begin in the window's zone."""
    window, totals = overview.window, overview.totals
    begin, end = window.since or totals.first_at, window.until or totals.last_at or overview.generated_at
    words = f"{minute(begin)} to {minute(end)} UTC" if begin else f"up to {minute(end)} UTC"
    if window.since is None and window.until is None:
        words = f"All time: {words}"
    if window.until and window.until > overview.generated_at:
        words += f"; what is after {minute(overview.generated_at)} lies ahead"
    if window.timezone != "UTC":
        words += f"; days begin in {window.timezone}"
    return f"{words}; only {overview.only}" if overview.only else words


def window_details(overview: Overview) -> tuple[str, ...]:
    """Return the verdict's sentences about the window: the one about tools, if one failed."""
    return overview.verdict.details[-1:] if overview.totals.tool_failures else ()


def sessions_words(overview: Overview) -> str:
    """Say how many of the sessions in the logs have errors."""
    totals = overview.totals
    if totals.error_sessions in {0, totals.sessions}:
        return counted(totals.sessions, "session") if totals.error_sessions else "no named session"
    return f"{count(totals.error_sessions)} of {counted(totals.sessions, 'session')}"


def title_of(finding: Finding) -> str:
    """Return the title of a finding: its kind and whom it is about; the name comes from a log."""
    return f"{finding.kind.title}: {finding.scope.who}"


def draft_words(finding: Finding) -> str:
    """Describe the draft of a rule that comes with a finding; empty without one."""
    wording = finding.wording
    return f"draft of a rule: {wording.reason}, text '{wording.pattern}'" if wording and wording.pattern else ""


def course(finding: Finding) -> str:
    """Say since when a finding is new or goes on, or when it was open and last seen."""
    if finding.state == "resolved":
        why = RESOLUTIONS.get(finding.resolution or "", finding.resolution)
        days = f"{finding.onset} to {finding.last_seen}" if finding.onset < finding.last_seen else f"{finding.onset}"
        return f"{f'{finding.span}, over' if finding.span else days}, resolved on {finding.resolved_on}: {why}"
    if finding.state == "open":
        return f"open since {finding.onset}, last seen {finding.last_seen}"
    return f"{'new' if finding.state == 'new' else 'goes on'} since {finding.onset}"


def open_words(finding: Finding) -> str:
    """Describe a finding without new evidence: when it was last seen, its caller, its kind."""
    title = finding.kind.title
    seen = f"{finding.last_seen.day} {finding.last_seen:%B}"
    return f"Open, last seen {seen}: {finding.scope.who}: {title[:1].lower()}{title[1:]}"


def judging(finding: Finding) -> tuple[str, ...]:
    """Return the words of the command that judges, and so records, a finding's last day."""
    return ("check", *command_lines.window_words(until=finding.last_on + timedelta(days=1), timezone=finding.timezone))


def handled(decision: Handling) -> str:
    """Say what somebody decided about a finding."""
    until = f" until {decision.snoozed_until:%Y-%m-%d %H:%M} UTC" if decision.snoozed_until else ""
    by = f" by {decision.by}" if decision.by else ""
    note = f": {decision.note}" if decision.note else ""
    return f"{decision.act}{until}{by} on {decision.at:%Y-%m-%d}{note}"


def entry_of(finding: Finding, asking: Asking | None = None) -> FindingBlock:
    """Return the block of a finding in a document; `asking` says which store its command asks."""
    decided = [f"decided: {handled(finding.handling)}"] if finding.handling else []
    notes = [*(f"part of it: {part.explanation}" for part in finding.parts), *decided]
    return FindingBlock(
        finding.severity if finding.is_open else "resolved",
        finding.severity,
        state_of(finding),
        title_of(finding),
        finding.explanation or finding.kind.title,
        tuple(notes),
        draft_words(finding),
        course(finding),
        finding.id,
        finding.advice,
        asking.command(*finding.words) if asking else finding.command,
        finding.command_in_chats,
    )


def state_of(finding: Finding) -> str:
    """Return the state of a finding, with `worse` if it is graver than on the night before."""
    return f"{finding.state}, worse" if finding.worse else finding.state


def alarms(overview: Overview) -> str:
    """Say how many warnings a week the checks of this history give."""
    rate = overview.warnings_a_week
    if rate is None:
        return "Fewer than four weeks were checked, so how many warnings a week this history gives is not known."
    return f"In the weeks before the last check, {rate:.1f} warnings opened a week."


def completeness(overview: Overview) -> str:
    """Say how much of the logs the report rests on, without the formats that are not read yet."""
    coverage = overview.completeness
    others = f"{counted(coverage.other_files, 'file')} of no known format" if coverage.other_files else ""
    if not coverage.lines:
        return f"No line has been read{f'; {others}' if others else ''}."
    read = counted(coverage.lines - coverage.quarantined, "line")
    words = f"{read} read of {coverage.lines:,} in {counted(coverage.sources, 'file')}"
    if coverage.quarantined:
        words += f"; {coverage.quarantined:,} in quarantine"
    if coverage.damaged_sources:
        words += f"; {counted(coverage.damaged_sources, 'file')} with damaged compressed data"
    if coverage.pending_sources:
        words += f"; {counted(coverage.pending_sources, 'file')} with an unfinished last line"
    if others:
        words += f"; {others}"
    return words + "."


def retries_words(overview: Overview) -> str:
    """Say how many of the ended retry chains recovered, and how long all waited.

    Empty without any.
    """
    frame = overview.tables["retries-outcomes"].frame
    if frame.is_empty():
        return ""
    recovered, ended = ended_chains(overview)
    waited, wasted = (float(frame[name].sum() or 0) for name in ("waited_seconds", "wasted_seconds"))
    if ended:
        words = f"Retries: {count(recovered)} of {count(ended)} that ended recovered ({percent(recovered / ended)})"
    else:
        words = "Retries: none ended in these logs"
    return f"{words}; {duration(waited)} waited, {duration(wasted)} in vain."


def relays_words(overview: Overview) -> str:
    """Say how many hand-offs and compactions there are, in how many steps, at most in a session.

    Empty without any.
    """
    totals = overview.totals
    if not totals.relays:
        return ""
    frame = overview.tables["relays-by-step"].frame
    steps = len({step for step in frame["step_id"] if step != _NO_STEP})
    where = f"in {counted(steps, 'step')}" if steps else "in no named step"
    most, halted = frame["most_in_one_session"].max(), int(frame["halted"].sum() or 0)
    at_most = f", at most {brief(most)} in a session" if isinstance(most, int) else ""
    given_up = f", {brief(halted)} given up" if halted else ""
    compactions = int(frame["compactions"].sum() or 0)
    parts = []
    if hand_offs := totals.relays - compactions:
        target = "" if compactions else "to fresh context "
        parts.append(f"{counted(hand_offs, 'hand-off')} {target}{where}")
    if compactions:
        parts.append(counted(compactions, "compaction"))
    return f"{' and '.join(parts)}{at_most}{given_up}."


def exhaustions_words(overview: Overview) -> str:
    """Say how often a usage limit was reached, and when last; empty if none was."""
    frame = overview.tables["exhaustions-list"].frame
    if frame.is_empty():
        return ""
    last = frame.row(frame.height - 1, named=True)
    back = last["restored_at"] or last["reset_at"]
    until = f", back {minute(back)}" if back else ""
    return f"Usage limit reached {counted(frame.height, 'time')}, last {minute(last['occurred_at'])} UTC{until}."


def limits_words(overview: Overview) -> str:
    """Say how much is used of the fullest usage limit, and when it is reached at this pace.

    Empty without an open limit.
    """
    ahead = overview.tables["limits-ahead"].frame.iter_rows(named=True)
    first = next((row for row in ahead if row["reset_at"] > overview.generated_at), None)
    if first is None:
        return ""
    provider = " ".join(filter(None, (first["provider"], first["plan"]))) or "an unnamed provider"
    hours = round(first["window_minutes"] / 60)
    length = f"{hours}-hour" if hours < _HOURS_AS_DAYS else f"{round(hours / 24)}-day"
    at = first["observed_at"]
    used = f"{percent(first['used_share'])} of the {length} limit of {provider} used at {minute(at)} UTC"
    reset = _later(first["reset_at"], at)
    if first["reached_at"] is None:
        return f"{used}; at this pace not reached before it resets {reset}."
    late = _later(first["latest_at"], at) if first["latest_at"] else "not at all"
    likely = f"{_later(first['earliest_at'], at)} to {late}"
    return f"{used}; at this pace reached {_later(first['reached_at'], at)} ({likely}), reset {reset}."


def _later(moment: datetime, before: datetime) -> str:
    """Write a moment after another one; on the same day only its time."""
    return f"{moment:%H:%M}" if moment.date() == before.date() else minute(moment)


def endings_words(overview: Overview) -> str:
    """Say how many sessions stopped midway or did nothing, or grew by a compaction."""
    frame = overview.tables["endings-by-kind"].frame
    sessions = dict(frame.select("ending", "sessions").iter_rows())
    grown, empty = sessions.pop("grown_compaction", 0), sessions.pop("hollow", 0)
    parts = [f"{count(number)} {_ENDINGS[ending]}" for ending, number in sessions.items()]
    if parts:
        noun = "session" if next(iter(sessions.values())) == 1 else "sessions"
        first, *rest = parts
        parts = [first.replace(" ", f" {noun} stopped ", 1), *rest]
    if empty:
        parts.append(f"{counted(empty, 'session')} said success and did nothing")
    if grown:
        parts.append(f"in {counted(grown, 'session')} a compaction made the context larger")
    words = ", ".join(parts)
    return f"{words[0].upper()}{words[1:]}." if words else ""


def ended_chains(overview: Overview) -> tuple[int, int]:
    """Count the retry chains that recovered, and all that ended.

    Chains that were aborted or have no end in the logs did not end.
    """
    frame = overview.tables["retries-outcomes"].frame
    ends = [int(frame[name].sum()) for name in ("recovered", "exhausted", "surfaced", "escalated")]
    return ends[0], sum(ends)


_SHOWN = 6
"""The number of findings that are named of one kind of news; the others are only counted."""
NEWS = ("New", "Worse", "Resolved", "Goes on", "Open", "Resolved before")
"""The kinds of news, in the order of interest."""


@dataclass(frozen=True, slots=True)
class News:
    """The findings of one kind of news."""

    title: str
    cases: tuple[Case, ...]
    """The findings that are named."""
    more: int
    """The number of further findings."""


def day_title(latest: LatestDay) -> str:
    """Name the day that the page begins with."""
    return f"{'Yesterday' if latest.yesterday else 'The last day with events'}, {latest.day:%A} {latest.day}"


def day_words(latest: LatestDay) -> str:
    """Describe a day: sessions, errors, their cost, the best and the worst caller."""
    value = latest.value
    sessions, errors = int(value("sessions") or 0), int(value("errors") or 0)
    words = f"{counted(sessions, 'session')} looked at, "
    if errors:
        words += f"{counted(errors, 'error')} in {count(int(value('error_sessions') or 0))} of them"
    else:
        words += "no error"
    if failed := int(value("failed_sessions") or 0):
        words += f"; in {count(failed)} a retry gave up"
    if waited := value("waited_seconds"):
        words += f"; {duration(float(waited))} waited for retries"
    if dropped := value("dropped_tokens"):
        words += f"; {count(int(dropped))} tokens dropped by compaction"
    words += "."
    if latest.worst:
        words += f" Most errors: {_name(latest.worst[0])} ({count(latest.worst[1])})."
    if latest.best:
        caller, recovered, ended = latest.best
        words += f" Best recovery: {_name(caller)} ({count(recovered)} of {counted(ended, 'retried call')})."
    return words


def news(overview: Overview) -> tuple[News, ...]:
    """Group the findings by what is new, worse, resolved, goes on or is open on the latest day.

    No group is empty.
    """
    groups: dict[str, list[Case]] = {name: [] for name in NEWS}
    for case in overview.cases:
        groups[news_of(case, overview.latest)].append(case)
    shown = dict.fromkeys(groups, _SHOWN) | {"Resolved before": 0}
    return tuple(
        News(name, tuple(cases[: shown[name]]), len(cases[shown[name] :])) for name, cases in groups.items() if cases
    )


def news_of(case: Case, latest: LatestDay | None) -> str:
    """Return the kind of news that a finding is on the latest day."""
    finding = case.finding
    if not case.is_open:
        recent = latest is None or (finding.resolved_on is not None and finding.resolved_on >= latest.day)
        return "Resolved" if recent else "Resolved before"
    if finding.state == "new" or (latest is not None and finding.opened_on >= latest.day):
        return "New"
    if finding.worse and (latest is None or finding.last_on >= latest.day):
        return "Worse"
    return "Goes on" if finding.goes_on else "Open"


def leading_words(sentence: Leading) -> str:
    """Return a sentence that a report opens with, and quote the errors that it is about."""
    if not sentence.quote:
        return sentence.text
    return f"{sentence.text[:-1]}: “{' '.join(sentence.quote.split()).rstrip('.')}”."


def opening_words(leading: Iterable[Leading]) -> tuple[str, ...]:
    """Return the sentences that a report opens with, each with its advice."""
    return tuple(f"{leading_words(sentence)} {sentence.advice}".rstrip() for sentence in leading)


def dates(finding: Finding) -> str:
    """Say since when a finding is open, or when it was open and last seen."""
    if finding.is_open:
        return f"since {finding.onset}" + (f", last seen {finding.last_seen}" if finding.state == "open" else "")
    if finding.last_seen > finding.onset:
        return f"from {finding.onset} to {finding.last_seen}"
    return f"on {finding.onset}"


def cost_words(finding: Finding) -> str:
    """Say how many sessions failed on the finding's last day, and how long callers waited.

    Empty without a cost.
    """
    cost = finding.cost
    if cost is None or not (cost.sessions_failed or cost.waited_seconds):
        return ""
    if cost.sessions_seen is None:
        sessions = counted(cost.sessions_failed, "session")
    else:
        sessions = f"{count(cost.sessions_failed)} of {counted(cost.sessions_seen, 'session')}"
    words = f"{sessions} failed on {finding.last_on}"
    if cost.waited_seconds:
        words += f", {duration(cost.waited_seconds)} waited"
    return words


def cost_beside(finding: Finding) -> str:
    """Return `cost_words` for a place beside the sentence of the finding.

    Empty if that sentence counts the sessions itself.
    """
    cost = finding.cost
    if cost and f"{cost.sessions_failed:,} of {cost.sessions_seen or 0:,} sessions" in finding.explanation:
        return ""
    return cost_words(finding)


def _name(caller: str) -> str:
    return caller if caller.strip() else NOTHING
