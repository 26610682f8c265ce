"""The checks of a store, its journal and its logs for a terminal: a line each, what to do about it below."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.phrases import counted
from analyzer.report.escape import terminal_safe
from analyzer.report.terminal.monospace import fold, step
from analyzer.store import Check

_STATE = 8
"""Cells of the word that says how bad it is."""
_WHOLE = 10_000
"""Cells of a line that nobody folds: there is no terminal."""
_NARROWEST = 40
"""Cells that a sentence has, however long the names of the checks are."""


def render_checks(checks: Sequence[Check], problems: int, width: int | None = None) -> str:
    """Aligned lines of at most `width` cells, None for any number, and how many problems there are in all.

    A command is one line, however long.
    """
    name = max((len(check.name) for check in checks), default=0)
    before = " " * (_STATE + name + 3)
    room = max(_NARROWEST, (width or _WHOLE) - len(before))
    lines = []
    for check in checks:
        first, *more = fold(terminal_safe(check.said), room)
        lines += [f"{check.state:{_STATE}} {check.name:{name}}  {first}", *(before + line for line in more)]
        if check.todo and check.state != "ok":
            said, found, command = check.todo.partition(": analyzer ")
            if found:
                # A command stays in one piece, so that it can be pasted.
                lines += [before + part for part in fold(f"→ {terminal_safe(said)}:", room)]
                lines.append(f"{before}analyzer {terminal_safe(command)}")
            else:
                lines += step("", check.todo, len(before) + room, len(before))
    return "\n".join([*lines, f"\n{counted(problems, 'problem')}."])
