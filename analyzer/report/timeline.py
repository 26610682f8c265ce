"""Single events for a terminal, a line each: a timeline of one thing, and what a watch sees.

Every text of a log went through `terminal_safe` or `one_line`.
"""

from __future__ import annotations

from datetime import datetime

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.timeline import Happening, Timeline
from analyzer.readable import counted
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.monospace import fit, indented, pad, painted
from analyzer.report.night.document import NARROWEST

_WORDS = {
    "error.classified": "error",
    "retry.scheduled": "retry",
    "retry.settled": "retries ended",
    "tool.failed": "tool failed",
    "relay.triggered": "hand-off began",
    "relay.checkpointed": "hand-off checkpoint",
    "relay.resumed": "handed off",
    "relay.halted": "halted",
    "relay.skipped": "hand-off skipped",
    "context.recovered": "context made smaller",
    "context.unrecovered": "context still too long",
    "agent.exhausted": "usage limit",
    "agent.restored": "usage limit over",
    "session.observed": "log read",
}


def render_timeline(shown: Timeline, width: int = 80) -> str:
    """What it is and how it ended, the events in order, then the files that are gone and the command that resumes."""
    size = max(NARROWEST, width)
    lines = [fit(f"{shown.kind} {terminal_safe(shown.id)}", size), *indented(terminal_safe(shown.said), size, 2), ""]
    day, place = None, None
    for one in shown.happenings:
        if day != (day := one.occurred_at.date()):
            lines.append(f"{day} UTC")
        whose = f"  ({one.caller})" if one.caller and one.type == "error.classified" else ""
        lines.append(fit(f"{one.occurred_at:%H:%M:%S}  {terminal_safe(happening_words(one) + whose)}", size))
        if one.message:
            lines += [fit(line, size) for line in indented(terminal_safe(" ".join(one.message.split())), size, 10)[:3]]
        if one.source_path and one.source_line and (here := (one.source_path, one.source_line)) != place:
            place = here
            lines.append(f"          {terminal_safe(one.source_path)}:{one.source_line}")
            if one.excerpt:
                lines.append(fit(f"          | {terminal_safe(one.excerpt)}", size))
    if not shown.happenings:
        lines.append("Nothing of it is in the store.")
    if shown.gone:
        lines += ["", f"{counted(len(shown.gone), 'log')} not there any more, or changed since:"]
        lines += [f"  {terminal_safe(path)}" for path in shown.gone]
    if shown.resume:
        lines += ["", "take it up again:", *(f"  {terminal_safe(command)}" for command in shown.resume)]
    return "\n".join(lines) + "\n"


def happening_words(one: Happening) -> str:
    """The event in a few words."""
    parts = [_WORDS.get(one.type, one.type)]
    if one.type == "retry.scheduled":
        parts.append(f"in {one.delay_seconds or 0:.1f} s, after call {one.attempt or 1}")
    elif one.type == "retry.settled":
        parts.append(f"{one.outcome or 'unresolved'} after {counted(one.attempts or 1, 'call')}")
        parts.append(f"{one.waited_seconds or 0:.1f} s waited")
    elif one.type == "tool.failed":
        parts.append(one.tool or "")
    else:
        parts += [one.reason or "", one.outcome or ""]
    if one.tokens_before is not None:
        after = f" to {one.tokens_after:,}" if one.tokens_after is not None else ""
        parts.append(f"from {one.tokens_before:,}{after} tokens")
    if one.reset_at is not None:
        parts.append(f"until {one.reset_at:%Y-%m-%d %H:%M} UTC")
    return "  ".join(filter(None, parts))


WHO_CELLS = 20
_LEVELS = {
    "error.classified": "critical",
    "relay.halted": "critical",
    "agent.exhausted": "warning",
    "context.unrecovered": "warning",
    "retry.scheduled": "info",
    "agent.restored": "quiet",
}


def watched_line(one: Happening, width: int | None = None, *, colour: bool = False) -> str:
    """An event in a line of at most `width` cells; None: as long as it is."""
    what = f"{happening_words(one)}  {one.message or ''}"
    return _line(one.occurred_at, one.caller or one.session_id or "", what, width, _LEVELS.get(one.type), colour)


def watched_finding(one: Finding, at: datetime, width: int | None = None, *, colour: bool = False) -> str:
    """A finding in such a line, told at a moment (naive UTC)."""
    return _line(at, one.scope.who, f"finding  {one.explanation}", width, one.severity, colour)


def _line(at: datetime, who: str, what: str, width: int | None, level: str | None, colour: bool) -> str:
    # Two spaces go between what is a column.
    said = "  ".join(filter(None, map(one_line, what.split("  "))))
    before = f"{at:%H:%M:%S}  {pad(fit(one_line(who), WHO_CELLS), WHO_CELLS)}  "
    line = before + said
    line = line if width is None else fit(line, width)
    if not (colour and level):
        return line
    return before + painted(line[len(before) :], said.partition("  ")[0], level)
