"""Documents about nights of `analyzer check` and their findings, the gravest finding first."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, percent
from analyzer.report.document import Block, Command, Document, Heading, Items, Paragraph, TableBlock
from analyzer.report.escape import one_line
from analyzer.report.overview_words import course, draft_words, entry_of, handled, open_words, title_of

_ID = 8
"""The characters of an id in a list: enough to name a finding with."""


def night_document(night: Night, asking: Asking | None = None) -> list[Block]:
    """Return a night as blocks: heading, table, findings, the cost, remarks, and the ground of the judgement.

    `asking` says how the store is asked where the document is read; None: from anywhere.
    """
    blocks: list[Block] = [Heading(night.headline, 2)]
    quiet = [finding for finding in night.findings if finding.is_quiet]
    loud = [finding for finding in night.findings if not finding.is_quiet]
    if loud:
        names = ("Severity", "State", "Finding", "Caller", "Observed", "Expected", "Sessions")
        blocks.append(TableBlock(names, [*map(_row, loud)], repeats=True))
    blocks += [entry_of(finding, asking) for finding in loud]
    if quiet:
        blocks.append(Items([f"{open_words(finding)}; id {finding.id[:_ID]}" for finding in quiet]))
    remarks = (*night.opening, *(f"Note: {note}" for note in night.remarks), ground(night))
    return [*blocks, *map(Paragraph, remarks)]


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
    figures = (
        percent(value) if finding.kind.percent else "" if value is None else f"{value:,.2f}"
        for value in (latest.observed, latest.expected)
    )
    words = finding.severity, finding.state, finding.kind.title, finding.scope.who
    return *words, *figures, f"{latest.sessions or 0:,}"


def night_title(night: Night) -> str:
    """Say in one line the worst of what is new, worse or resolved; without news the night's headline."""
    news = night.news()
    if not news:
        return night.headline
    first = max(news, key=lambda finding: (finding.is_open, SEVERITIES.index(finding.severity)))
    word = first.severity.upper() if first.is_open else "RESOLVED"
    return one_line(f"{word}: {first.headline or title_of(first)}.")


def night_subject(night: Night) -> str:
    """Write the subject of a mail."""
    return f"analyzer: {night_title(night)}"


def nights_document(nights: Sequence[Night]) -> Document:
    """Return a table of the findings that open or end in many nights, in order."""
    rows = [
        (night.day.isoformat(), finding.state, finding.severity, finding.kind.title, finding.scope.who)
        for night in nights
        for finding in night.findings
        if finding.state not in {"ongoing", "open"}
    ]
    if not rows:
        return [Paragraph(f"No findings in {len(nights):,} nights{_unjudged_words(nights)}.")]
    opened = sum(len(night.of("new")) for night in nights)
    still = sum(finding.is_open for finding in nights[-1].findings)
    summary = f"{counted(opened, 'finding')} in {len(nights):,} nights, {still:,} still open on the last."
    return [Paragraph(summary), TableBlock(("night", "", "severity", "finding", "caller"), rows)]


def nothing_to_report(nights: Sequence[Night]) -> Items:
    """Describe nights without any finding; the remarks of a single night follow."""
    if not nights:
        return Items(("No findings: there is no history in this window.",))
    if len(nights) > 1:
        words = f"No findings for {len(nights)} nights up to {nights[-1].day}{_unjudged_words(nights)}."
        return Items((words,))
    return Items((nights[0].headline, *(f"Note: {note}" for note in nights[0].remarks)))


def _unjudged_words(nights: Sequence[Night]) -> str:
    unjudged = sum(bool(night.unjudged) for night in nights)
    return f"; {unjudged:,} of them could not be judged, too little history" if unjudged else ""


def findings_document(findings: Sequence[Finding]) -> Document:
    """Return a table of findings, each with its sentence and the decision about it."""
    if not findings:
        return [Paragraph("No open findings.")]
    rows, notes = [], []
    for finding in findings:
        rows.append((finding.id[:_ID], finding.severity, finding.state, finding.onset.isoformat(), title_of(finding)))
        dates = course(finding) if finding.is_quiet else ""
        decision = handled(finding.handling) if finding.handling else ""
        notes.append([*filter(None, (finding.explanation, dates, decision))])
    return [TableBlock(("id", "severity", "state", "since", "finding"), rows, notes)]


def finding_document(finding: Finding, asking: Asking = HERE) -> Document:
    """Return all that the last night recorded of a finding."""
    facts = (
        ("id", finding.id),
        ("severity", finding.severity),
        ("state", finding.state),
        ("opened on", finding.opened_on.isoformat()),
        ("began on", finding.onset.isoformat()),
        ("last seen on", finding.last_seen.isoformat()),
        ("counts", f"{counted(finding.errors, 'event')}, {finding.span}" if finding.errors else ""),
        ("resolved", "" if finding.is_open else course(finding).partition(", resolved on ")[2]),
        ("decided", handled(finding.handling) if finding.handling else ""),
        ("draft", draft_words(finding).removeprefix("Draft of a rule: ")),
    )
    blocks: list[Block] = [Heading(title_of(finding)), Paragraph(finding.explanation)]
    blocks.append(TableBlock((), [fact for fact in facts if fact[1]]))
    blocks.append(Command(asking.command(*finding.words), finding.advice))
    lists = (("messages", finding.samples), ("events", finding.evidence))
    blocks += [Items(texts, name) for name, texts in lists if texts]
    if (more := (finding.errors or 0) - len(finding.evidence)) > 0:
        blocks.append(Command(asking.command("show", finding.id), f"and {more:,} more"))
    return blocks
