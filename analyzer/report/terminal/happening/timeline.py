"""A timeline for a terminal: a line an event, below it what was said and the line of the log.

Invariant: every text of a log went through `terminal_safe`.
"""

from __future__ import annotations

from analyzer.analysis.timeline import Happening, Timeline
from analyzer.phrases import counted
from analyzer.report.escape import terminal_safe
from analyzer.report.terminal.monospace import fit, indented
from analyzer.report.terminal.night import NARROWEST

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
