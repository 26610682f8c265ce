"""Findings for a terminal: a line each, or one whole."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.kinds.finding import RESOLUTIONS, Finding
from analyzer.command_lines import HERE, Asking
from analyzer.report.escape import terminal_safe
from analyzer.report.overview_words import draft_words, handled
from analyzer.report.terminal.monospace import columns, fit, fold, indented, step
from analyzer.report.terminal.night import NARROWEST

_ID = 8
"""Characters of an id in a list: enough to name one with."""


def render_findings(findings: Sequence[Finding], width: int = 80) -> str:
    """A line a finding, below it its sentence and what was decided of it."""
    if not findings:
        return "No open findings.\n"
    size = max(NARROWEST, width)
    rows = [("id", "severity", "state", "since", "finding")]
    rows += [
        (
            one.id[:_ID],
            one.severity,
            one.state,
            one.onset.isoformat(),
            f"{one.kind.title}: {terminal_safe(one.scope.who)}",
        )
        for one in findings
    ]
    head, *lines = [fit(line, size) for line in columns(rows, [False] * 5)]
    blocks = [head]
    for one, line in zip(findings, lines, strict=True):
        said = [one.explanation, *([handled(one.handling)] if one.handling else [])]
        blocks += [line, *(each for text in said for each in indented(terminal_safe(text), size, _ID + 2))]
    return "\n".join(blocks) + "\n"


def render_known_finding(one: Finding, width: int = 80, asking: Asking = HERE) -> str:
    """All that the last night said of a finding."""
    size = max(NARROWEST, width)
    facts = [
        ("id", one.id),
        ("severity", one.severity),
        ("state", one.state),
        ("opened on", one.opened_on.isoformat()),
        ("began on", one.onset.isoformat()),
        ("last seen on", one.last_on.isoformat()),
    ]
    if one.resolution:
        facts.append(("over", f"{one.resolved_on}: {RESOLUTIONS.get(one.resolution, one.resolution)}"))
    if one.handling:
        facts.append(("decided", handled(one.handling)))
    if draft := draft_words(one):
        facts.append(("draft", draft.removeprefix("draft of a rule: ")))
    title = f"{one.kind.title}: {terminal_safe(one.scope.who)}"
    lines = [*fold(title, size), "", *fold(terminal_safe(one.explanation), size), ""]
    lines += [fit(terminal_safe(line), size) for line in columns(facts, [False, False])]
    lines += step(asking.command(*one.words), one.advice, size, 0)
    for name, texts in (("messages", one.samples), ("events", one.evidence)):
        if texts:
            lines += ["", name, *(line for text in texts for line in indented(terminal_safe(text), size))]
    return "\n".join(lines) + "\n"
