"""Single things: the events of one, a line each on a terminal, what a watch sees, and what one run came to.

Every text of a log went through `terminal_safe` or `one_line`.
"""

from __future__ import annotations

import html
from datetime import datetime

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.run_verdict import MEANINGS, RunVerdict
from analyzer.analysis.timeline import Happening, Timeline
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
"""The words of the same events where an agent shortened its own context."""


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
    words = _WORDS | _OF_COMPACTIONS if one.compaction else _WORDS
    parts = [words.get(one.type, one.type)]
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


_WARNINGS = frozenset({"retry", "wait"})
"""Answers that nobody has to act on."""
_FAILURES = frozenset({"failed", "hollow"})
"""Answers that are about the work, which JUnit keeps apart from errors."""
_NO_FILES = frozenset({"-", "stdout", "stderr"})
_NOT_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def render_verdict_text(verdict: RunVerdict, width: int = 80) -> str:
    """The sentence, and the line that it rests on."""
    places = [f"  {one_line(one.file)}:{one.line}" for one in verdict.evidence if one.line]
    return "\n".join([*fold(one_line(verdict.sentence), width), *places]) + "\n"


def render_verdict_markdown(verdict: RunVerdict) -> str:
    """The summary of a job: the sentence, and a table of what is known."""
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
        "evidence": "; ".join(f"{one.file}:{one.line}" for one in verdict.evidence if one.line),
    }
    lines = [f"| {name} | {markdown_text(str(said))} |" for name, said in rows.items() if said not in (None, "")]
    return "\n".join([f"**{markdown_text(verdict.sentence)}**", "", "| | |", "| --- | --- |", *lines, ""]) + "\n"


def workflow_outputs(verdict: RunVerdict) -> str:
    """Outputs of a step, a line each, empty where nothing is known."""
    found = verdict.to_dict()
    names = ("verdict", "reason", "rule", "party", "reset_at", "retry_after_seconds", "sentence")
    return "".join(f"{name}={one_line(str(found[name])) if found[name] is not None else ''}\n" for name in names)


def workflow_annotation(verdict: RunVerdict) -> str:
    """The command that marks a job with the answer; empty for a run that passed."""
    if verdict.verdict == "passed":
        return ""
    level = "warning" if verdict.verdict in _WARNINGS else "error"
    place = next((one for one in verdict.evidence if one.line and one.file not in _NO_FILES), None)
    where = f",file={_property(place.file)},line={place.line}" if place else ""
    return f"::{level} title=agent run: {verdict.verdict}{where}::{_escaped(one_line(verdict.sentence))}\n"


def render_junit(verdict: RunVerdict) -> str:
    """One test case: a run that passed, one that failed or did nothing, or an error around the work."""
    failed = verdict.verdict in _FAILURES
    error = not failed and verdict.verdict != "passed"
    inner = ""
    if failed or error:
        kind = "/".join(filter(None, (verdict.verdict, verdict.reason, verdict.detail)))
        lines = (f"{one_line(one.file)}:{one.line or ''} {one_line(one.text)}" for one in verdict.evidence)
        said = {"type": kind, "message": one_line(verdict.sentence)}
        inner = _element("failure" if failed else "error", said, html.escape("\n".join(lines)))
    case = _element("testcase", {"classname": one_line(verdict.agent or "agent"), "name": "run"}, inner)
    counts = {"tests": "1", "failures": str(int(failed)), "errors": str(int(error))}
    document = _element("testsuite", {"name": "analyzer verdict", **counts}, case).translate(_NOT_IN_XML)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def _element(name: str, attributes: dict[str, str], inner: str) -> str:
    """An element of XML; what is inside is XML already."""
    given = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{inner}</{name}>"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")
