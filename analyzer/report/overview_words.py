"""Word an overview for every medium: the verdict, the window, the findings, the last day.

Only this module decides what is new, worse or resolved.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from analyzer import command_lines
from analyzer.analysis.kinds.finding import RESOLUTIONS
from analyzer.analysis.summary.day_figures import WEEK, moves_of
from analyzer.readable import counted, duration, percent
from analyzer.report.document import Figure, Figures, FindingBlock
from analyzer.report.rows import NOTHING, brief, count, minute

if TYPE_CHECKING:
    from analyzer.analysis import Case, Finding, Handling, LatestDay, Leading, Overview
    from analyzer.command_lines import Asking

_LEVELS = {"unjudged": "NOT JUDGED"}
_ENDINGS = {
    "endless_retries": "retried without end",
    "in_retry": "ended before a retry that was due",
    "after_error": "ended on an error and never answered",
    "after_tool": "ended on a failed tool and never answered",
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
    return f"Draft of a rule: {wording.reason}, text '{wording.pattern}'" if wording and wording.pattern else ""


def course(finding: Finding) -> str:
    """Say since when a finding is new or goes on, or when it was open and last seen."""
    if finding.state == "resolved":
        why = RESOLUTIONS.get(finding.resolution or "", finding.resolution)
        days = f"{finding.onset} to {finding.last_seen}" if finding.onset < finding.last_seen else f"{finding.onset}"
        return f"{f'{finding.span}, over' if finding.span else days}, resolved on {finding.resolved_on}: {why}"
    if finding.state == "open":
        return f"open since {finding.onset}, last seen {finding.last_seen}"
    return f"{'new' if finding.state == 'new' else 'goes on'} since {finding.onset}"


def head_of(finding: Finding) -> str:
    """Say what is wrong and when: its title, whom it is about, and its hours or days."""
    return f"{title_of(finding)}, {finding.when}."


def what_happened(finding: Finding) -> str:
    """Say if a finding goes on or is over, then its sentence."""
    after = {"open": "Not seen since. ", "ongoing": "It goes on. ", "resolved": "It is over. "}.get(finding.state, "")
    after = "It got worse. " if finding.worse else after
    return after + statement_of(finding)


def statement_of(finding: Finding) -> str:
    """Return its sentence, with a capital, without the name and the time that are in its head."""
    words = finding.statement or finding.kind.title
    return f"{words[:1].upper()}{words[1:]}" if words.split(maxsplit=1)[0].isalpha() else words


def quiet_words(overview: Overview) -> str:
    """Say in one sentence that nothing is wrong, or why nobody can tell."""
    verdict, totals = overview.verdict, overview.totals
    if verdict.level != "quiet" or overview.cases:
        return verdict.headline
    return f"Nothing unusual in {counted(totals.sessions, 'session')} and {counted(totals.errors, 'error')}."


def open_words(finding: Finding) -> str:
    """Describe a finding without new evidence: when it was last seen, its caller, its kind."""
    title = finding.kind.title
    seen = f"{finding.last_seen.day} {finding.last_seen:%B}"
    if finding.state == "resolved":
        return f"Resolved on {finding.resolved_on}: {finding.scope.who}: {title[:1].lower()}{title[1:]}"
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
    decided = [f"Decided: {handled(finding.handling)}"] if finding.handling else []
    notes = [*(f"Part of it: {_part_words(part, finding)}" for part in finding.parts), *decided]
    return FindingBlock(
        finding.severity if finding.is_open else "resolved",
        finding.severity,
        state_of(finding),
        head_of(finding).removesuffix("."),
        statement_of(finding),
        tuple(notes),
        draft_words(finding),
        course(finding),
        finding.id,
        finding.advice,
        asking.command(*finding.words) if asking else finding.command,
        finding.command_in_chats,
    )


def _part_words(part: Finding, whole: Finding) -> str:
    """Return the sentence of a part, without a message that the whole quotes, too."""
    words, quotes, message = part.statement.partition(" Most often ")
    return words if message in whole.explanation else f"{words}{quotes}{message}"


def state_of(finding: Finding) -> str:
    """Return the state of a finding, with `worse` if it is more severe than on the night before."""
    return f"{finding.state}, worse" if finding.worse else finding.state


def alarms(overview: Overview) -> str:
    """Say how many warnings a week the checks of this history give."""
    rate = overview.warnings_a_week
    if rate is None:
        return "Warnings a week are unknown: fewer than four weeks were checked."
    return f"{rate:.1f} warnings a week opened in the weeks before the last check."


def completeness(overview: Overview) -> str:
    """Say how much of the logs the report rests on, without the formats that are not read yet."""
    coverage = overview.completeness
    others = f"{counted(coverage.other_files, 'file')} in an unrecognised format" if coverage.other_files else ""
    if not coverage.lines:
        return f"No line has been read{f'; {others}' if others else ''}."
    read = count(coverage.lines - coverage.quarantined)
    words = f"Read {read} of {counted(coverage.lines, 'line')} in {counted(coverage.sources, 'file')}"
    if coverage.quarantined:
        words += f"; {coverage.quarantined:,} could not be read"
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
    words = f"{count(recovered)} of {counted(ended, 'retried call')} succeeded" if ended else "No retried call ended"
    if waited:
        words += f"; {duration(waited)} of waiting" + (f", {duration(wasted)} of it wasted" if wasted else "")
    return f"{words}."


def relays_words(overview: Overview) -> str:
    """Say how many hand-offs and compactions there are, in how many steps, at most in a session.

    Empty without any.
    """
    totals = overview.totals
    if not totals.relays:
        return ""
    frame = overview.tables["relays-by-step"].frame
    steps = len({step for step in frame["step_id"] if step != _NO_STEP})
    most, halted = frame["most_in_one_session"].max(), int(frame["halted"].sum() or 0)
    compactions = int(frame["compactions"].sum() or 0)
    parts = []
    if hand_offs := totals.relays - compactions:
        parts.append(counted(hand_offs, "hand-off") + (f" in {counted(steps, 'step')}" if steps else ""))
    if compactions:
        parts.append(counted(compactions, "context compaction"))
    words = " and ".join(parts)
    words += f", at most {brief(most)} in a session" if isinstance(most, int) else ""
    return f"{words}{f'; {brief(halted)} failed' if halted else ''}."


def exhaustions_words(overview: Overview) -> str:
    """Say how often a usage limit was reached, and when last; empty if none was."""
    frame = overview.tables["exhaustions-list"].frame
    if frame.is_empty():
        return ""
    last = frame.row(frame.height - 1, named=True)
    back = last["restored_at"] or last["reset_at"]
    until = f", back {minute(back)}" if back else ""
    return f"Usage limit reached {counted(frame.height, 'time')}, last at {minute(last['occurred_at'])} UTC{until}."


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
    parts = [f"{counted(number, 'session')} {_ENDINGS[ending]}" for ending, number in sessions.items()]
    if empty:
        parts.append(f"{counted(empty, 'session')} reported success and did nothing")
    if grown:
        parts.append(f"a compaction made the context of {counted(grown, 'session')} larger")
    words = ", ".join(parts)
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def ended_chains(overview: Overview) -> tuple[int, int]:
    """Count the retry chains that recovered, and all that ended.

    Chains that were aborted or have no end in the logs did not end.
    """
    frame = overview.tables["retries-outcomes"].frame
    ends = [int(frame[name].sum()) for name in ("recovered", "exhausted", "surfaced", "escalated")]
    return ends[0], sum(ends)


NEWS = ("New", "Worse", "Resolved", "Goes on", "Open", "Resolved before")
"""The kinds of news, in the order of interest."""


_FIGURES = {
    "errors": ("errors", "Errors"),
    "error_sessions": ("errors", "Share of sessions with errors"),
    "unknown_errors": ("unknown", "Share of errors that are unknown"),
    "recovered_chains": ("retries", "Share of retried calls that succeeded"),
    "relays": ("relays", "Hand-offs and compactions"),
}
"""The figures of a day, with the section that has more and their names."""
_MOST_FIGURES = 3


def figures(latest: LatestDay) -> Figures:
    """Return the figures that moved most, compared with the days before."""
    moves = [move for move in moves_of(latest) if move.words(move.now) != move.words(move.before)][:_MOST_FIGURES]
    days = f"The {latest.compared} days to {latest.day}" if latest.compared > 1 else f"{latest.day}"
    if any(move.before is not None for move in moves):
        days += f", compared with the {latest.compared} before" if latest.compared == WEEK else ", and a week earlier"
        _, with_events = latest.days_with_events
        days += f" ({with_events} with events)" if with_events < latest.compared else ""
    made = []
    for move in moves:
        anchor, name = _FIGURES[move.part]
        now, was = (move.words(value) for value in (move.now, move.before))
        course = tuple(latest.course_of(move.part, move.whole))
        made.append(Figure(name, now or NOTHING, was or "", course, bool(move.whole), anchor))
    return Figures(made, days)


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


BESIDE = frozenset({"cost", "whose", "blame", "version"})
"""The topics of opening sentences that are shown beside findings, too."""


def beside_findings(leading: Iterable[Leading]) -> tuple[str, ...]:
    """Return the sentences about a window that its findings do not say, each with its advice."""
    own = (sentence for sentence in leading if sentence.topic in BESIDE)
    return tuple(f"{leading_words(sentence)} {sentence.advice}".rstrip() for sentence in own)


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
        words += f", {duration(cost.waited_seconds)} of waiting"
    return words


def cost_beside(finding: Finding) -> str:
    """Return `cost_words` for a place beside the sentence of the finding.

    Empty if that sentence counts the sessions itself.
    """
    cost = finding.cost
    if cost and f"{cost.sessions_failed:,} of {cost.sessions_seen or 0:,} sessions" in finding.explanation:
        return ""
    return cost_words(finding)
