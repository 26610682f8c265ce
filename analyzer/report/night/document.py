"""A night and its findings for a terminal, as Markdown and as a mail: the verdict first, the gravest finding first.

No line of text is wider than asked; severity and state stand there as words, colour only repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from analyzer.analysis.kinds.finding import RESOLUTIONS, Finding
from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import HERE, Asking
from analyzer.plurals import counted, percent
from analyzer.report.escape import markdown_text, one_line, terminal_safe, unlinked
from analyzer.report.monospace import columns, fit, fold, indented, painted, step
from analyzer.report.overview_words import course, draft_words, handled, next_step

NARROWEST, WIDEST = 60, 100


def render_night_text(night: Night, width: int = 80, *, colour: bool = False, asking: Asking | None = None) -> str:
    """The night in lines of at most `width` cells (60 to 100 of them), with a newline at its end.

    `asking` says how the store is asked where the text is read; None: from anywhere.
    """
    size = max(NARROWEST, min(width, WIDEST))
    headline = terminal_safe(night.headline)
    lines = fold(headline, size)
    if colour:
        lines = [painted(line, line) for line in lines]
    for found in night.findings:
        lines += ["", *_finding(found, size, colour, asking)]
    for note in night.remarks:
        lines += ["", *fold(f"Note: {terminal_safe(note)}", size)]
    lines += ["", *fold(ground(night), size)]
    return "\n".join(lines) + "\n"


def render_nights_text(nights: Sequence[Night], width: int = 80) -> str:
    """What many nights would have reported: a line for each finding that opens or ends, in order."""
    rows = [("night", "", "severity", "finding", "caller")]
    rows += [
        (
            night.day.isoformat(),
            found.state,
            found.severity,
            found.kind.title,
            terminal_safe(found.scope.who),
        )
        for night in nights
        for found in night.findings
        if found.state != "ongoing"
    ]
    if len(rows) == 1:
        return f"Nothing to report in {len(nights):,} nights.\n"
    opened = sum(len(night.of("new")) for night in nights)
    still = sum(found.state != "resolved" for found in nights[-1].findings)
    said = f"{counted(opened, 'finding')} in {len(nights):,} nights, {still:,} still open on the last."
    table = [fit(line, width) for line in columns(rows, [False] * 5)]
    return "\n".join([said, "", *table]) + "\n"


def nothing_to_report(nights: Sequence[Night]) -> str:
    """What is said of nights without any finding: one line, and the remarks of a single night below it."""
    if not nights:
        return "Nothing to report: there is no history in this window."
    if len(nights) > 1:
        return f"Nothing to report for {len(nights)} nights up to {nights[-1].day}."
    return "\n".join([nights[0].headline, *(f"Note: {note}" for note in nights[0].remarks)])


def ground(night: Night) -> str:
    """What the judgement rests on, in one sentence."""
    if night.since is None:
        return "There is no history to judge."
    same = "the same hours of " if night.hours else ""
    rests = f"Judged from {same}{night.caller_days:,} caller-days since {night.since}"
    if night.ruleset:
        rests += f" under ruleset {night.ruleset}"
    if night.false_alarms_per_thousand is not None:
        rests += f"; false alarms of these settings on this history: {night.false_alarms_per_thousand:.1f} per 1,000"
    return f"{rests}."


def _finding(found: Finding, size: int, colour: bool, asking: Asking | None) -> list[str]:
    word = found.severity.upper() if found.state != "resolved" else "RESOLVED"
    title = f"{found.kind.title}: {terminal_safe(found.scope.who)}"
    state = f"{found.state}, worse" if found.worse else found.state
    first, *more = fold(f"{word}  {state}  {title}" if found.state != "resolved" else f"{word}  {title}", size)
    if colour:
        first = painted(first, word, found.state if found.state == "resolved" else found.severity)
    said = [found.explanation]
    if found.resolution:
        said.append(f"Over on {found.resolved_on}: {RESOLUTIONS.get(found.resolution, found.resolution)}.")
    said += [f"part of it: {part.explanation}" for part in found.parts]
    if draft := draft_words(found):
        said.append(draft)
    if found.handling:
        said.append(handled(found.handling))
    lines = [first, *more, *(line for each in said for line in indented(terminal_safe(each), size))]
    lines += step(asking.command(*found.words) if asking else found.command, found.advice, size)
    return [*lines, f"  id {found.id}"]


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


def render_night_markdown(night: Night) -> str:
    """The verdict, a table of the findings, then a paragraph each."""
    blocks = [f"## {markdown_text(night.headline)}"]
    if night.findings:
        blocks.append(_markdown_table(night))
    blocks += [_markdown_finding(found) for found in night.findings]
    blocks += [f"Note: {markdown_text(note)}" for note in night.remarks]
    blocks.append(markdown_text(ground(night)))
    return "\n\n".join(blocks) + "\n"


def _markdown_table(night: Night) -> str:
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


def _markdown_finding(found: Finding) -> str:
    said = [markdown_text(found.explanation)]
    said += [f"- part of it: {markdown_text(part.explanation)}" for part in found.parts]
    if found.handling:
        said.append(f"- decided: {markdown_text(handled(found.handling))}")
    if draft := draft_words(found):
        said.append(f"- {markdown_text(draft)}")
    said += next_step(found.advice, found.command_in_chats)
    return "\n".join(said)


_EDGES = {"critical": "#b42318", "warning": "#b54708", "info": "#175cd3"}
_CODE = "font:13px ui-monospace,monospace;background:#f2f4f7;padding:6px 8px;margin:6px 0 0"


def night_subject(night: Night) -> str:
    """The verdict in one line, the gravest severity first."""
    worst = night.worst()
    return f"analyzer: {f'{worst}: ' if worst else ''}{one_line(night.headline)}"


def night_text(night: Night) -> str:
    """What the terminal shows, in 78 columns."""
    return render_night_text(night, 78)


def night_html(night: Night) -> str:
    """A table of one column with a cell for each finding: no style sheet, script or picture, which mail leaves out."""
    cells = [_cell(one) for one in night.findings]
    remarks = "".join(f'<p style="color:#475467">{escape(unlinked(one_line(said)))}</p>' for said in night.remarks)
    return (
        '<!doctype html><html lang="en"><body style="font:15px/1.45 system-ui,sans-serif;color:#101828;margin:0">'
        f'<table role="presentation" width="100%" style="max-width:720px;margin:0 auto;padding:16px"><tr><td>'
        f'<h1 style="font-size:20px">{escape(one_line(night.headline))}</h1></td></tr>'
        f"{''.join(cells)}<tr><td>{remarks}</td></tr></table></body></html>"
    )


def _cell(found: Finding) -> str:
    edge = _EDGES[found.severity] if found.is_open else "#067647"
    state = f"{found.state}, worse" if found.worse else found.state
    said = [f"<strong>{escape(f'{found.severity}, {state}')}</strong>: {escape(_said(found))}"]
    said.append(f'<div style="color:#475467">{escape(course(found))}; id {escape(found.id[:8])}</div>')
    if draft := draft_words(found):
        said.append(f"<div>{escape(unlinked(one_line(draft)))}</div>")
    if found.advice:
        said.append(f"<div>{escape(one_line(found.advice))}</div>")
    if command := found.command:
        said.append(f'<pre style="{_CODE};white-space:pre-wrap">{escape(command)}</pre>')
    return f'<tr><td style="border-left:4px solid {edge};padding:8px 12px">{"".join(said)}</td></tr>'


def _said(found: Finding) -> str:
    return unlinked(one_line(found.explanation or found.kind.title))
