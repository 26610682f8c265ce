"""Documents about the events of a session, chain or finding, and the lines of a watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.timeline import Happening, Timeline
from analyzer.readable import counted
from analyzer.report.document import Block, Command, Document, Heading, Items, OneLine, Paragraph, TableBlock, quote
from analyzer.report.escape import one_line
from analyzer.report.writers.monospace import fit, pad, painted

_WORDS = {
    "error.classified": "error",
    "retry.scheduled": "retry",
    "retry.settled": "retries ended",
    "tool.failed": "tool failed",
    "usage.recorded": "request",
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
    "change.noted": "somebody changed",
}
_OF_COMPACTIONS = {
    "relay.triggered": "compaction began",
    "relay.checkpointed": "compaction checkpoint",
    "relay.resumed": "compacted",
    "relay.halted": "compaction failed",
    "relay.skipped": "compaction skipped",
}
"""The words of events of a compaction, in which an agent shortened its own context."""


def timeline_document(
    shown: Timeline, names: Sequence[str] = (), cells: Callable[[Happening], Sequence[str]] = lambda _: ()
) -> Document:
    """Return a timeline: its end, its events in order, the missing files, how to resume it.

    `cells` gives further cells of an event, and `names` the names of all columns then.
    """
    blocks: list[Block] = [Items((shown.said,), f"{shown.kind} {shown.id}")]
    last_source = None
    for day, happenings in groupby(shown.happenings, lambda happening: happening.occurred_at.date()):
        rows, notes = [], []
        for happening in happenings:
            caller = f"  ({happening.caller})" if happening.caller and happening.type == "error.classified" else ""
            rows.append((f"{happening.occurred_at:%H:%M:%S}", happening_words(happening) + caller, *cells(happening)))
            below = [quote(happening.message)] if happening.message else []
            source = happening.source_path, happening.source_line
            if all(source) and source != last_source:
                last_source = source
                below.append(f"{happening.source_path}:{happening.source_line}")
                below += [OneLine(f"| {quote(happening.excerpt)}")] if happening.excerpt else []
            notes.append(below)
        blocks += [Heading(f"{day} UTC", 3), TableBlock(names, rows, notes)]
    if not shown.happenings:
        blocks.append(Paragraph("Nothing of it is in the store."))
    if shown.gone:
        blocks.append(Items(shown.gone, f"{counted(len(shown.gone), 'log')} not there any more, or changed since:"))
    if shown.resume:
        blocks.append(Items([*map(Command, shown.resume)], "take it up again:"))
    return blocks


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
