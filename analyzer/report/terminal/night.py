"""A night for a terminal: the verdict first, then a block a finding, the gravest first.

Invariants: no line is wider than asked; severity and state stand there as words, colour only repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.kinds.finding import RESOLUTIONS, Finding
from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import Asking
from analyzer.phrases import counted
from analyzer.report.escape import terminal_safe
from analyzer.report.overview_words import draft_words, handled
from analyzer.report.terminal.colour import painted
from analyzer.report.terminal.monospace import columns, fit, fold, indented, step

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
