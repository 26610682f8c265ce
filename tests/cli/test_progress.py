"""What long work shows at a terminal."""

from __future__ import annotations

import os
import pty

import pytest

from analyzer.cli import output as bar
from analyzer.cli.output import progress
from tests.cli.terminal import all_of


def test_work_of_more_than_a_second_shows_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the file as it is written, brackets included, and how many there are; the line is cleared at the end."""
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        moments = iter([0.0, 0.5, 1.5])
        monkeypatch.setattr(bar.time, "monotonic", lambda: next(moments, 2.0))
        with progress(quiet=False) as shown:
            assert shown is not None
            shown("first.jsonl", 0, 9)
            shown("logs/[red]x.jsonl", 3, 9)
    said = all_of(ours)
    assert "first" not in said
    assert "3/9" in said
    assert "logs/[red]x.jsonl" in said
    assert said.endswith("\x1b[2K")


def test_nothing_is_shown_where_stderr_is_no_terminal() -> None:
    """A job's log holds no bars."""
    with progress(quiet=False) as shown:
        assert shown is None
