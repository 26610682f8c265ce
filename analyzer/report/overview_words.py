"""What every medium says of an overview in the same words: the verdict, the window, findings, how much was read."""

from __future__ import annotations

from analyzer.analysis import Finding, Handling, Overview
from analyzer.analysis.kinds.finding import RESOLUTIONS
from analyzer.phrases import counted
from analyzer.report.cells import count, minute
from analyzer.report.escape import markdown_text

_LEVELS = {"unjudged": "NOT JUDGED"}


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


def next_step(advice: str, command: str) -> list[str]:
    """What to do next as an item of a list in Markdown; `command` is one for chats."""
    said = [part for part in (markdown_text(advice), command and f"`{command}`") if part]
    return [f"- next: {': '.join(said)}"] if said else []


def course(found: Finding) -> str:
    """Since when it is open, or from when to when it was."""
    if found.state == "resolved":
        why = RESOLUTIONS.get(found.resolution or "", found.resolution)
        days = f"{found.onset} to {found.last_on}" if found.onset < found.last_on else f"{found.onset}"
        return f"{days}, over on {found.resolved_on}: {why}"
    return f"open since {found.onset}" + (f", last seen {found.last_on}" if found.last_on > found.onset else "")


def handled(decision: Handling) -> str:
    """What somebody decided of a finding."""
    until = f" until {decision.snoozed_until:%Y-%m-%d %H:%M} UTC" if decision.snoozed_until else ""
    whose = f" by {decision.by}" if decision.by else ""
    note = f": {decision.note}" if decision.note else ""
    return f"{decision.act}{until}{whose} on {decision.at:%Y-%m-%d}{note}"


def alarms(overview: Overview) -> str:
    """How far findings can be trusted on this history."""
    rate = overview.false_alarms_per_thousand
    if rate is None:
        return "How many false alarms these settings give on this history has not been measured."
    return f"On this history without its changes these settings give {rate:.1f} false alarms per 1,000 caller-days."


def completeness(overview: Overview) -> str:
    """How much of the logs the report rests on, without the formats that are not read yet."""
    known = overview.completeness
    others = f"{counted(known.other_files, 'file')} of no known log format" if known.other_files else ""
    if not known.lines:
        return f"No line has been read{f'; {others}' if others else ''}."
    read = counted(known.lines - known.quarantined, "line")
    said = f"{read} read of {known.lines:,} in {counted(known.sources, 'file')}"
    if known.damaged_sources:
        said += f"; {counted(known.damaged_sources, 'file')} with damaged compressed data"
    if known.pending_sources:
        said += f"; {counted(known.pending_sources, 'file')} with an unfinished last line"
    if others:
        said += f"; {others}"
    if known.quarantined:
        said += f"; {counted(known.quarantined, 'line')} in quarantine"
    return said + "."


def ended_chains(overview: Overview) -> tuple[int, int]:
    """Retry chains that recovered, and all that ended on their own: neither aborted nor without an end in the logs."""
    frame = overview.tables["retries-outcomes"].frame
    ends = [int(frame[name].sum()) for name in ("recovered", "exhausted", "surfaced", "escalated")]
    return ends[0], sum(ends)
