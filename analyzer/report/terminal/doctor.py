"""The checks of a store, its journal and its logs for a terminal: a line each, what to do about it below."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.phrases import counted
from analyzer.report.escape import terminal_safe
from analyzer.store import Check


def render_checks(checks: Sequence[Check], problems: int) -> str:
    """Aligned lines, and how many problems there are in all."""
    width = max((len(check.name) for check in checks), default=0)
    lines = []
    for check in checks:
        lines.append(f"{check.state:8} {check.name:{width}}  {terminal_safe(check.said)}")
        if check.todo and check.state != "ok":
            lines.append(f"{'':8} {'':{width}}  → {terminal_safe(check.todo)}")
    return "\n".join([*lines, f"\n{counted(problems, 'problem')}."])
