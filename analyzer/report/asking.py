"""The commands that a text names: each works where it is pasted, without a setting from elsewhere.

Invariant: a command stands on a line of its own, which is never folded.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.report.escape import terminal_safe

_PROGRAM = "analyzer "


@dataclass(frozen=True, slots=True)
class Asking:
    """How the store behind a text is asked."""

    store: str | None = None
    """The store that a command has to name; None for the one that it asks by itself."""
    keep: tuple[str, ...] = ()
    """Logs that have to be read into a store first, where the text rests on a throw-away one."""

    def command(self, words: str) -> str:
        """The command that `words` begin, as in `query errors-by-reason`; no name of a store moves the cursor."""
        first = ""
        if self.keep:
            first = f"{_PROGRAM}{shlex.join(['ingest', *self.keep])} && "
        asked = f" --store {shlex.quote(self.store)}" if self.store is not None else ""
        return terminal_safe(f"{first}{_PROGRAM}{words}{asked}")

    def step(self, advice: str) -> tuple[str, str]:
        """The command in an advice, and what it says beside it; either may be empty."""
        if not advice.startswith(_PROGRAM):
            return "", advice
        words, _, beside = advice.partition("; ")
        return self.command(words.removeprefix(_PROGRAM)), beside

    def lines(self, advice: str, size: int, by: int = 2) -> Sequence[str]:
        """An advice for a terminal of `size` cells, after `by` spaces; a command in it is one line, however long."""
        from analyzer.report.terminal.monospace import indented  # and rich, which few commands need

        command, beside = self.step(advice)
        said = indented(terminal_safe(beside if command else f"→ {beside}"), size, by) if beside else []
        return [f"{' ' * by}→ {command}", *said] if command else said


HERE = Asking()
"""Of the store that a command asks by itself."""
