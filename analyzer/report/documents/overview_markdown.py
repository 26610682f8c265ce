"""The report becomes Markdown, for pull requests, job summaries and chats.

Invariant: every cell that a log filled went through `markdown_text`.
"""

from __future__ import annotations

from analyzer.analysis import Case, Overview
from analyzer.command_lines import HERE, Asking
from analyzer.report.cells import heading
from analyzer.report.escape import markdown_text
from analyzer.report.overview_words import course, draft_words, handled, next_step, title_of, verdict_word, window_words
from analyzer.report.sections.finding_parts import drift_part, sessions_part, templates_part
from analyzer.report.sections.overview_sections import sections
from analyzer.report.sections.part import Part, Section


def render_markdown(overview: Overview, asking: Asking = HERE) -> str:
    """The verdict, the findings, then every table with its query; tables are cut where the HTML report cuts them.

    `asking` says how the store is asked from where the text is read.
    """
    verdict = overview.verdict
    blocks = [f"# {verdict_word(verdict.level)}: {markdown_text(verdict.headline)}"]
    blocks += [markdown_text(overview.widened)] if overview.asked else []
    blocks += [f"- {markdown_text(detail)}" for detail in verdict.details[len(overview.cases) :]]
    blocks.append(markdown_text(window_words(overview)))
    if overview.cases:
        blocks.append("## Findings")
    for case in overview.cases:
        blocks += _finding(case, asking)
    for section in sections(overview, asking):
        blocks += _section(section, overview)
    return "\n\n".join(blocks) + "\n"


def _finding(case: Case, asking: Asking) -> list[str]:
    one = case.finding
    word = one.severity if case.is_open else "over"
    said = [f"- {course(one)}", *(f"- part of it: {markdown_text(part.explanation)}" for part in one.parts)]
    said += [f"- decided: {markdown_text(handled(one.handling))}"] if one.handling else []
    said += [f"- {markdown_text(draft)}"] if (draft := draft_words(one)) else []
    said += next_step(one.advice, asking.command(*one.words))
    blocks = [f"### {word.upper()}: {markdown_text(title_of(one))}", markdown_text(one.explanation), "\n".join(said)]
    for part in (templates_part(case), sessions_part(case), drift_part(case)):
        if not part.frame.is_empty():
            blocks += [f"**{part.title}**", *_part(part)]
    return blocks


def _section(section: Section, overview: Overview) -> list[str]:
    blocks = [f"## {section.title}", markdown_text(section.lead)]
    if section.name == "completeness" and overview.completeness.unsupported:
        formats = sorted(overview.completeness.unsupported.items())
        blocks.append(
            "Not read yet: " + ", ".join(f"{markdown_text(name)} ({files:,})" for name, files in formats) + "."
        )
    for part in section.parts:
        blocks += [f"### {markdown_text(part.title)}", *_part(part)]
    return blocks


def _part(part: Part) -> list[str]:
    if part.frame.is_empty():
        return ["None." + (f" `{part.command}`" if part.command else "")]
    lines = [
        "| " + " | ".join(markdown_text(heading(name)) for name in part.columns) + " |",
        "| " + " | ".join("---:" if flush else "---" for flush in part.numeric) + " |",
    ]
    lines += ["| " + " | ".join(map(markdown_text, row)) + " |" for row in part.cells]
    said = " ".join(filter(None, (markdown_text(part.cut), f"`{part.command}`" if part.command else "")))
    return ["\n".join(lines), said] if said else ["\n".join(lines)]
