"""A bar on stderr shows how far long work is, after its first second and only at a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress


@contextlib.contextmanager
def counting(thing: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """As `progress`, for work that is a number of things."""
    with progress(quiet=quiet) as shown:
        yield None if shown is None else lambda done, total: shown(thing, done, total)


@contextlib.contextmanager
def progress(*, quiet: bool) -> Iterator[_Progress | None]:
    """A progress line on stderr, when that is a terminal and the work takes longer than a second."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    shown = _Progress()
    try:
        yield shown
    finally:
        shown.clear()


class _Progress:
    """Called with each path, its place and how many there are; a bar with the time that is left stands below it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def __call__(self, path: str, place: int, total: int) -> None:
        from analyzer.report.escape import terminal_safe

        if self._bar is None:
            if time.monotonic() - self._began < 1:
                return
            self._bar = _bar()
            self._bar.add_task("")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=terminal_safe(path), completed=place, total=total)

    def clear(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _bar() -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    # Texts of logs are no markup, and a long path leaves the figures their place.
    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1, overflow="ellipsis")
    )
    columns = (BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), name)
    return Progress(*columns, console=Console(stderr=True), transient=True, expand=True)
