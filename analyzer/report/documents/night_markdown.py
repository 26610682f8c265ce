"""A night of `analyzer check` becomes Markdown, for job summaries and chats.

Invariant: every text that a log filled went through `markdown_text`.
"""

from __future__ import annotations

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.phrases import percent
from analyzer.report.escape import markdown_text
from analyzer.report.overview_words import draft_words, handled, next_step
from analyzer.report.terminal.night import ground


def render_night_markdown(night: Night) -> str:
    """The verdict, a table of the findings, then a paragraph each."""
    blocks = [f"## {markdown_text(night.headline)}"]
    if night.findings:
        blocks.append(_table(night))
    blocks += [_paragraph(found) for found in night.findings]
    blocks += [f"Note: {markdown_text(note)}" for note in night.remarks]
    blocks.append(markdown_text(ground(night)))
    return "\n\n".join(blocks) + "\n"


def _table(night: Night) -> str:
    lines = [
        "| Severity | State | Finding | Caller | Observed | Expected | Sessions |",
        "|---|---|---|---|--:|--:|--:|",
    ]
    for found in night.findings:
        latest = found.latest
        observed, expected = (
            percent(value) if found.kind.percent else "" if value is None else f"{value:,.2f}"
            for value in (latest.observed, latest.expected)
        )
        cells = [
            found.severity,
            found.state,
            found.kind.title,
            found.scope.who,
            observed,
            expected,
            f"{latest.sessions or 0:,}",
        ]
        lines.append("| " + " | ".join(markdown_text(cell) for cell in cells) + " |")
    return "\n".join(lines)


def _paragraph(found: Finding) -> str:
    said = [markdown_text(found.explanation)]
    said += [f"- part of it: {markdown_text(part.explanation)}" for part in found.parts]
    if found.handling:
        said.append(f"- decided: {markdown_text(handled(found.handling))}")
    if draft := draft_words(found):
        said.append(f"- {markdown_text(draft)}")
    said += next_step(found.advice, found.command_in_chats)
    return "\n".join(said)
