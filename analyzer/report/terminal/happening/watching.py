"""What a watch sees, a line each for a terminal: when (UTC), whose, what, and what was said.

Invariant: every text of a log went through `one_line`, and no line is wider than asked.
"""

from __future__ import annotations

from datetime import datetime

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.timeline import Happening
from analyzer.report.escape import one_line
from analyzer.report.terminal.colour import painted
from analyzer.report.terminal.happening.timeline import happening_words
from analyzer.report.terminal.monospace import fit, pad

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
