"""Write the timeline of a session or chain, the lines of a watch, and the verdict on one run.

Every text of a log went through `terminal_safe` or `one_line`.
"""

from __future__ import annotations

import html
from datetime import datetime

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.timeline import Happening, Timeline
from analyzer.analysis.verdict.answer import MEANINGS, RunVerdict
from analyzer.events.times import format_time
from analyzer.readable import counted
from analyzer.report.escape import markdown_text, one_line, terminal_safe
from analyzer.report.monospace import fit, fold, indented, pad, painted
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
_OF_COMPACTIONS = {
    "relay.triggered": "compaction began",
    "relay.checkpointed": "compaction checkpoint",
    "relay.resumed": "compacted",
    "relay.halted": "compaction failed",
    "relay.skipped": "compaction skipped",
}
"""The words of events of a compaction, in which an agent shortened its own context."""


def render_timeline(shown: Timeline, width: int = 80) -> str:
    """Write a timeline: its end, its events in order, the missing files, how to resume it."""
    size = max(NARROWEST, width)
    lines = [fit(f"{shown.kind} {terminal_safe(shown.id)}", size), *indented(terminal_safe(shown.said), size, 2), ""]
    day, last_source = None, None
    for happening in shown.happenings:
        if day != (day := happening.occurred_at.date()):
            lines.append(f"{day} UTC")
        caller = f"  ({happening.caller})" if happening.caller and happening.type == "error.classified" else ""
        what = terminal_safe(happening_words(happening) + caller)
        lines.append(fit(f"{happening.occurred_at:%H:%M:%S}  {what}", size))
        if happening.message:
            message = terminal_safe(" ".join(happening.message.split()))
            lines += [fit(line, size) for line in indented(message, size, 10)[:3]]
        path, number = happening.source_path, happening.source_line
        if path and number and (path, number) != last_source:
            last_source = path, number
            lines.append(f"          {terminal_safe(path)}:{number}")
            if happening.excerpt:
                lines.append(fit(f"          | {terminal_safe(happening.excerpt)}", size))
    if not shown.happenings:
        lines.append("Nothing of it is in the store.")
    if shown.gone:
        lines += ["", f"{counted(len(shown.gone), 'log')} not there any more, or changed since:"]
        lines += [f"  {terminal_safe(path)}" for path in shown.gone]
    if shown.resume:
        lines += ["", "take it up again:", *(f"  {terminal_safe(command)}" for command in shown.resume)]
    return "\n".join(lines) + "\n"


def happening_words(happening: Happening) -> str:
    """Describe an event in a few words, with two spaces between its columns."""
    words = _WORDS | _OF_COMPACTIONS if happening.compaction else _WORDS
    parts = [words.get(happening.type, happening.type)]
    if happening.type == "retry.scheduled":
        parts.append(f"in {happening.delay_seconds or 0:.1f} s, after call {happening.attempt or 1}")
    elif happening.type == "retry.settled":
        parts.append(f"{happening.outcome or 'unresolved'} after {counted(happening.attempts or 1, 'call')}")
        parts.append(f"{happening.waited_seconds or 0:.1f} s waited")
    elif happening.type == "tool.failed":
        parts.append(happening.tool or "")
    else:
        parts += [happening.reason or "", happening.outcome or ""]
    if happening.tokens_before is not None:
        after = f" to {happening.tokens_after:,}" if happening.tokens_after is not None else ""
        parts.append(f"from {happening.tokens_before:,}{after} tokens")
    if happening.reset_at is not None:
        parts.append(f"until {happening.reset_at:%Y-%m-%d %H:%M} UTC")
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


def watched_line(happening: Happening, width: int | None = None, *, colour: bool = False) -> str:
    """Write an event in a line of at most `width` cells (None: any number)."""
    what = f"{happening_words(happening)}  {happening.message or ''}"
    return _line(
        happening.occurred_at,
        happening.caller or happening.session_id or "",
        what,
        width,
        _LEVELS.get(happening.type),
        colour,
    )


def watched_finding(finding: Finding, at: datetime, width: int | None = None, *, colour: bool = False) -> str:
    """Write a finding in a line of at most `width` cells, as reported at a moment (naive UTC)."""
    return _line(at, finding.scope.who, f"finding  {finding.explanation}", width, finding.severity, colour)


def _line(at: datetime, who: str, what: str, width: int | None, level: str | None, colour: bool) -> str:
    # Two spaces separate the columns.
    words = "  ".join(filter(None, map(one_line, what.split("  "))))
    before = f"{at:%H:%M:%S}  {pad(fit(one_line(who), WHO_CELLS), WHO_CELLS)}  "
    line = before + words
    line = line if width is None else fit(line, width)
    if not (colour and level):
        return line
    return before + painted(line[len(before) :], words.partition("  ")[0], level)


_WARNINGS = frozenset({"retry", "wait"})
"""The answers that nobody has to act on."""
_FAILURES = frozenset({"failed", "hollow"})
"""The answers about the work itself, which JUnit keeps apart from errors."""
_NO_FILES = frozenset({"-", "stdout", "stderr"})
_NOT_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def render_verdict_text(verdict: RunVerdict, width: int = 80) -> str:
    """Write the sentence of a verdict, and the lines of the log that it rests on."""
    places = [f"  {one_line(source.file)}:{source.line}" for source in verdict.evidence if source.line]
    return "\n".join([*fold(one_line(verdict.sentence), width), *places]) + "\n"


def render_verdict_markdown(verdict: RunVerdict) -> str:
    """Write the summary of a job: the sentence of the verdict, and a table of its fields."""
    rows = {
        "means": MEANINGS[verdict.verdict],
        "agent": verdict.agent,
        "reason": " / ".join(filter(None, (verdict.reason, verdict.detail))),
        "rule": f"{verdict.rule} ({verdict.confidence})",
        "caused by": verdict.party,
        "resets": format_time(verdict.reset_at) if verdict.reset_at else None,
        "try again in": f"{verdict.retry_after_seconds:.0f} s" if verdict.retry_after_seconds is not None else None,
        "exit code": verdict.exit_code,
        "tokens": ", ".join(
            f"{count:,} {name.removesuffix('_tokens')}" for name, count in (verdict.tokens or {}).items()
        ),
        "cost": f"${verdict.cost_usd:.4f}" if verdict.cost_usd is not None else None,
        "evidence": "; ".join(f"{source.file}:{source.line}" for source in verdict.evidence if source.line),
    }
    lines = [f"| {name} | {markdown_text(str(value))} |" for name, value in rows.items() if value not in (None, "")]
    return "\n".join([f"**{markdown_text(verdict.sentence)}**", "", "| | |", "| --- | --- |", *lines, ""]) + "\n"


def workflow_outputs(verdict: RunVerdict) -> str:
    """Write the outputs of a step, one a line; a field without a value is empty."""
    fields = verdict.to_dict()
    names = ("verdict", "reason", "rule", "party", "reset_at", "retry_after_seconds", "sentence")
    return "".join(f"{name}={one_line(str(fields[name])) if fields[name] is not None else ''}\n" for name in names)


def workflow_annotation(verdict: RunVerdict) -> str:
    """Write the command that marks a job with the verdict; empty for a run that passed."""
    if verdict.verdict == "passed":
        return ""
    level = "warning" if verdict.verdict in _WARNINGS else "error"
    place = next((source for source in verdict.evidence if source.line and source.file not in _NO_FILES), None)
    where = f",file={_property(place.file)},line={place.line}" if place else ""
    return f"::{level} title=agent run: {verdict.verdict}{where}::{_escaped(one_line(verdict.sentence))}\n"


def render_junit(verdict: RunVerdict) -> str:
    """Write a run as a test case of JUnit.

    It passed, failed (also if it did nothing), or met an error around the work.
    """
    failed = verdict.verdict in _FAILURES
    error = not failed and verdict.verdict != "passed"
    inner = ""
    if failed or error:
        kind = "/".join(filter(None, (verdict.verdict, verdict.reason, verdict.detail)))
        lines = (f"{one_line(source.file)}:{source.line or ''} {one_line(source.text)}" for source in verdict.evidence)
        attributes = {"type": kind, "message": one_line(verdict.sentence)}
        inner = _element("failure" if failed else "error", attributes, html.escape("\n".join(lines)))
    case = _element("testcase", {"classname": one_line(verdict.agent or "agent"), "name": "run"}, inner)
    counts = {"tests": "1", "failures": str(int(failed)), "errors": str(int(error))}
    document = _element("testsuite", {"name": "analyzer verdict", **counts}, case).translate(_NOT_IN_XML)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def _element(name: str, attributes: dict[str, str], inner: str) -> str:
    """Write an element of XML; `inner` is XML already."""
    written = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{inner}</{name}>"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")
