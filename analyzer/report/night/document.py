"""A night and its findings as documents: the verdict first, the gravest finding first; and what is made of them."""

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
"""Characters of an id in a list: enough to name one with."""


def night_document(night: Night, asking: Asking | None = None) -> list[Block]:
    """The night: a heading, a table, an entry for each finding, the remarks, and what the judgement rests on.

    `asking` says how the store is asked where the document is read; None: from anywhere.
    """
    blocks: list[Block] = [Heading(night.headline, 2), *map(Paragraph, night.opening)]
    quiet = [one for one in night.findings if one.is_quiet]
    loud = [one for one in night.findings if not one.is_quiet]
    if loud:
        names = ("Severity", "State", "Finding", "Caller", "Observed", "Expected", "Sessions")
        right = (False, False, False, False, True, True, True)
        blocks.append(TextTable(names, tuple(map(_row, loud)), right, repeats=True))
    blocks += [entry_of(one, asking) for one in loud]
    if quiet:
        blocks.append(Items(tuple(f"{open_words(one)}; id {one.id[:_ID]}" for one in quiet)))
    return [*blocks, *(Paragraph(f"Note: {note}") for note in night.remarks), Paragraph(ground(night))]


def ground(night: Night) -> str:
    """What the judgement rests on, in one sentence."""
    if night.since is None:
        return "There is no history to judge."
    same = "the same hours of " if night.hours else ""
    rests = f"Judged from {same}{night.caller_days:,} caller-days since {night.since}"
    if night.ruleset:
        rests += f" under ruleset {night.ruleset}"
    if night.warnings_a_week is not None:
        rests += f"; in the weeks before, {night.warnings_a_week:.1f} warnings opened a week"
    return f"{rests}."


def _row(one: Finding) -> tuple[str, ...]:
    figures = (one.latest.observed, one.latest.expected)
    observed, expected = (
        percent(value) if one.kind.percent else "" if value is None else f"{value:,.2f}" for value in figures
    )
    return one.severity, one.state, one.kind.title, one.scope.who, observed, expected, f"{one.latest.sessions or 0:,}"


def render_night_text(night: Night, width: int = 80, *, colour: bool = False, asking: Asking | None = None) -> str:
    """The night for a terminal, in lines of at most `width` cells (60 to 100 of them), with a newline at its end."""
    return to_text(night_document(night, asking), night_width(width), colour=colour)


def night_width(width: int) -> int:
    """The cells that a night takes of a terminal: 60 to 100."""
    return max(NARROWEST, min(width, WIDEST))


def render_night_markdown(night: Night) -> str:
    """The night for job summaries and chats."""
    return to_markdown(night_document(night))


def night_subject(night: Night) -> str:
    """The verdict in one line, the gravest severity first."""
    worst = night.worst()
    return f"analyzer: {f'{worst}: ' if worst else ''}{one_line(night.headline)}"


def night_text(night: Night) -> str:
    """The text of a mail: what the terminal shows, in 78 columns."""
    return render_night_text(night, 78)


def night_html(night: Night) -> str:
    """The page of a mail."""
    return to_mail(night_document(night))


def render_nights_text(nights: Sequence[Night], width: int = 80) -> str:
    """What many nights would have reported: a line for each finding that opens or ends, in order."""
    rows = tuple(
        (night.day.isoformat(), one.state, one.severity, one.kind.title, one.scope.who)
        for night in nights
        for one in night.findings
        if one.state not in {"ongoing", "open"}
    )
    if not rows:
        return f"No findings in {len(nights):,} nights{_young(nights)}.\n"
    opened = sum(len(night.of("new")) for night in nights)
    still = sum(one.is_open for one in nights[-1].findings)
    said = f"{counted(opened, 'finding')} in {len(nights):,} nights, {still:,} still open on the last."
    table = TextTable(("night", "", "severity", "finding", "caller"), rows, (False,) * 5)
    return to_text((Paragraph(said), table), width)


def nothing_to_report(nights: Sequence[Night]) -> str:
    """What is said of nights without any finding: one line, and the remarks of a single night below it."""
    if not nights:
        return "No findings: there is no history in this window."
    if len(nights) > 1:
        return f"No findings for {len(nights)} nights up to {nights[-1].day}{_young(nights)}."
    return "\n".join([nights[0].headline, *(f"Note: {note}" for note in nights[0].remarks)])


def _young(nights: Sequence[Night]) -> str:
    young = sum(bool(night.unjudged) for night in nights)
    return f"; {young:,} of them could not be judged, too little history" if young else ""


def render_findings(findings: Sequence[Finding], width: int = 80) -> str:
    """A line a finding, below it its sentence and what was decided of it."""
    if not findings:
        return "No open findings.\n"
    size = max(NARROWEST, width)
    rows = [("id", "severity", "state", "since", "finding")]
    rows += [
        (one.id[:_ID], one.severity, one.state, one.onset.isoformat(), terminal_safe(title_of(one))) for one in findings
    ]
    head, *lines = [fit(line, size) for line in columns(rows, [False] * 5)]
    blocks = [head]
    for one, line in zip(findings, lines, strict=True):
        said = [
            one.explanation,
            *([course(one)] if one.is_quiet else []),
            *([handled(one.handling)] if one.handling else []),
        ]
        blocks += [line, *(each for text in said for each in indented(terminal_safe(text), size, _ID + 2))]
    return "\n".join(blocks) + "\n"


def render_known_finding(one: Finding, width: int = 80, asking: Asking = HERE) -> str:
    """All that the last night said of a finding."""
    facts = [
        ("id", one.id),
        ("severity", one.severity),
        ("state", one.state),
        ("opened on", one.opened_on.isoformat()),
        ("began on", one.onset.isoformat()),
        ("last seen on", one.last_seen.isoformat()),
        ("counts", f"{counted(one.errors, 'event')}, {one.span}" if one.errors else ""),
        ("resolved", "" if one.is_open else course(one).partition(", resolved on ")[2]),
        ("decided", handled(one.handling) if one.handling else ""),
        ("draft", draft_words(one).removeprefix("draft of a rule: ")),
    ]
    blocks: list[Block] = [Heading(title_of(one)), Paragraph(one.explanation)]
    blocks.append(TextTable((), tuple(fact for fact in facts if fact[1]), (False, False)))
    blocks.append(Command(asking.command(*one.words), one.advice))
    events = one.evidence
    if (more := (one.errors or 0) - len(events)) > 0:
        events = (*events, f"and {more:,} more: {asking.command('show', one.id)}")
    blocks += [Items(texts, name) for name, texts in (("messages", one.samples), ("events", events)) if texts]
    return to_text(blocks, max(NARROWEST, width))
