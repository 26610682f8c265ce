"""Write a night and its findings as text, Markdown and mail, the gravest finding first."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, percent
from analyzer.report.document import Block, Command, Heading, Items, Paragraph, TextTable, to_mail, to_markdown, to_text
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.monospace import columns, fit, indented
from analyzer.report.overview_words import course, draft_words, entry_of, handled, open_words, title_of

NARROWEST, WIDEST = 60, 100
_ID = 8
"""The characters of an id in a list: enough to name a finding with."""


def night_document(night: Night, asking: Asking | None = None) -> list[Block]:
    """Return a night as blocks: heading, table, findings, remarks, and the ground of the judgement.

    `asking` says how the store is asked where the document is read; None: from anywhere.
    """
    blocks: list[Block] = [Heading(night.headline, 2), *map(Paragraph, night.opening)]
    quiet = [finding for finding in night.findings if finding.is_quiet]
    loud = [finding for finding in night.findings if not finding.is_quiet]
    if loud:
        names = ("Severity", "State", "Finding", "Caller", "Observed", "Expected", "Sessions")
        right = (False, False, False, False, True, True, True)
        blocks.append(TextTable(names, tuple(map(_row, loud)), right, repeats=True))
    blocks += [entry_of(finding, asking) for finding in loud]
    if quiet:
        blocks.append(Items(tuple(f"{open_words(finding)}; id {finding.id[:_ID]}" for finding in quiet)))
    return [*blocks, *(Paragraph(f"Note: {note}") for note in night.remarks), Paragraph(ground(night))]


def ground(night: Night) -> str:
    """Say in one sentence what the judgement rests on."""
    if night.since is None:
        return "There is no history to judge."
    same = "the same hours of " if night.hours else ""
    words = f"Judged from {same}{night.caller_days:,} caller-days since {night.since}"
    if night.ruleset:
        words += f" under ruleset {night.ruleset}"
    if night.warnings_a_week is not None:
        words += f"; in the weeks before, {night.warnings_a_week:.1f} warnings opened a week"
    return f"{words}."


def _row(finding: Finding) -> tuple[str, ...]:
    latest = finding.latest
    observed, expected = (_figure(finding, value) for value in (latest.observed, latest.expected))
    words = finding.severity, finding.state, finding.kind.title, finding.scope.who
    return *words, observed, expected, f"{latest.sessions or 0:,}"


def _figure(finding: Finding, value: float | None) -> str:
    if finding.kind.percent:
        return percent(value)
    return "" if value is None else f"{value:,.2f}"


def render_night_text(night: Night, width: int = 80, *, colour: bool = False, asking: Asking | None = None) -> str:
    """Write a night for a terminal in lines of at most `width` cells, which are 60 to 100.

    The text ends with a newline.
    """
    return to_text(night_document(night, asking), night_width(width), colour=colour)


def night_width(width: int) -> int:
    """Return the cells that a night takes of a terminal, which are 60 to 100."""
    return max(NARROWEST, min(width, WIDEST))


def render_night_markdown(night: Night) -> str:
    """Write a night as Markdown for job summaries and chats."""
    return to_markdown(night_document(night))


def night_subject(night: Night) -> str:
    """Write the verdict of a night in one line, the gravest severity first."""
    worst = night.worst()
    return f"analyzer: {f'{worst}: ' if worst else ''}{one_line(night.headline)}"


def night_text(night: Night) -> str:
    """Write the text of a mail: the text of the terminal, in 78 columns."""
    return render_night_text(night, 78)


def night_html(night: Night) -> str:
    """Write the HTML of a mail."""
    return to_mail(night_document(night))


def render_nights_text(nights: Sequence[Night], width: int = 80) -> str:
    """Write a line for each finding that opens or ends in many nights, in order."""
    rows = tuple(
        (night.day.isoformat(), finding.state, finding.severity, finding.kind.title, finding.scope.who)
        for night in nights
        for finding in night.findings
        if finding.state not in {"ongoing", "open"}
    )
    if not rows:
        return f"No findings in {len(nights):,} nights{_unjudged_words(nights)}.\n"
    opened = sum(len(night.of("new")) for night in nights)
    still = sum(finding.is_open for finding in nights[-1].findings)
    summary = f"{counted(opened, 'finding')} in {len(nights):,} nights, {still:,} still open on the last."
    table = TextTable(("night", "", "severity", "finding", "caller"), rows, (False,) * 5)
    return to_text((Paragraph(summary), table), width)


def nothing_to_report(nights: Sequence[Night]) -> str:
    """Describe nights without any finding in one line; for a single night its remarks follow."""
    if not nights:
        return "No findings: there is no history in this window."
    if len(nights) > 1:
        return f"No findings for {len(nights)} nights up to {nights[-1].day}{_unjudged_words(nights)}."
    return "\n".join([nights[0].headline, *(f"Note: {note}" for note in nights[0].remarks)])


def _unjudged_words(nights: Sequence[Night]) -> str:
    unjudged = sum(bool(night.unjudged) for night in nights)
    return f"; {unjudged:,} of them could not be judged, too little history" if unjudged else ""


def render_findings(findings: Sequence[Finding], width: int = 80) -> str:
    """Write a line a finding, below it its sentence and the decision about it."""
    if not findings:
        return "No open findings.\n"
    size = max(NARROWEST, width)
    rows = [("id", "severity", "state", "since", "finding")]
    rows += [
        (finding.id[:_ID], finding.severity, finding.state, finding.onset.isoformat(), terminal_safe(title_of(finding)))
        for finding in findings
    ]
    head, *lines = [fit(line, size) for line in columns(rows, [False] * 5)]
    blocks = [head]
    for finding, line in zip(findings, lines, strict=True):
        texts = [
            finding.explanation,
            *([course(finding)] if finding.is_quiet else []),
            *([handled(finding.handling)] if finding.handling else []),
        ]
        blocks += [line, *(folded for text in texts for folded in indented(terminal_safe(text), size, _ID + 2))]
    return "\n".join(blocks) + "\n"


def render_known_finding(finding: Finding, width: int = 80, asking: Asking = HERE) -> str:
    """Write all that the last night recorded of a finding."""
    facts = [
        ("id", finding.id),
        ("severity", finding.severity),
        ("state", finding.state),
        ("opened on", finding.opened_on.isoformat()),
        ("began on", finding.onset.isoformat()),
        ("last seen on", finding.last_seen.isoformat()),
        ("counts", f"{counted(finding.errors, 'event')}, {finding.span}" if finding.errors else ""),
        ("resolved", "" if finding.is_open else course(finding).partition(", resolved on ")[2]),
        ("decided", handled(finding.handling) if finding.handling else ""),
        ("draft", draft_words(finding).removeprefix("draft of a rule: ")),
    ]
    blocks: list[Block] = [Heading(title_of(finding)), Paragraph(finding.explanation)]
    blocks.append(TextTable((), tuple(fact for fact in facts if fact[1]), (False, False)))
    blocks.append(Command(asking.command(*finding.words), finding.advice))
    lists = (("messages", finding.samples), ("events", finding.evidence))
    blocks += [Items(texts, name) for name, texts in lists if texts]
    if (more := (finding.errors or 0) - len(finding.evidence)) > 0:
        blocks.append(Command(asking.command("show", finding.id), f"and {more:,} more"))
    return to_text(blocks, max(NARROWEST, width))
