"""A window of time as callers name it."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module

import pytest

from analyzer.analysis import Window, as_window, window
from analyzer.errors import AnalyzerError
from tests import each_row

NOW = datetime(2026, 11, 10, 12)


@pytest.fixture(autouse=True)
def _at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    # By its full name the package has the function.
    monkeypatch.setattr(import_module("analyzer.analysis.tables"), "now", lambda: NOW)


@each_row(
    "text, same",
    [
        ("7d", window("2026-11-03T12:00")),
        (" 36h ", window("2026-11-09")),
        ("2w", window("2026-10-27T12:00")),
        ("6mo", window("2026-05-14T12:00")),
        ("1y", window("2025-11-10T12:00")),
        ("2026-11-01..2026-11-08", window("2026-11-01", "2026-11-08")),
        ("2026-11-01T06:00:00.5 .. 2026-11-08T07:00", window("2026-11-01T06:00:00.5", "2026-11-08T07:00")),
        ("yesterday..", window("2026-11-09")),
        ("7d..today", window("2026-11-03T12:00", "2026-11-10")),
        ("..2026-11-08", window(until="2026-11-08")),
        ("..", Window()),
    ],
)
def test_a_text_names_a_window(text: str, same: Window) -> None:
    """A span back from now, or two ends of which either may be left out."""
    assert as_window(text) == same


def test_a_made_window_stays_as_it_is_and_none_is_all_time() -> None:
    """So that every analysis takes what the command line makes, and what people type."""
    made = window("2026-11-01", "2026-11-08", timezone="Asia/Kathmandu")
    assert as_window(made) is made
    assert as_window(None) == Window(None, None, "UTC")


@pytest.mark.parametrize("text", ["", "2026-11-01", "yesterday", "week", "7", "99999999w"])
def test_a_text_that_names_no_window_is_refused_with_what_to_write(text: str) -> None:
    """A day alone could mean that day or all since; nobody guesses."""
    with pytest.raises(AnalyzerError, match="not a window of time") as caught:
        as_window(text)
    assert "2026-11-01..2026-11-08" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["2026-11-08..2026-11-01", "soon..", "..never", "a..b"])
def test_ends_that_are_no_times_or_in_no_order_are_refused(text: str) -> None:
    """As on the command line."""
    with pytest.raises(AnalyzerError, match=r"nothing lies between|not a time"):
        as_window(text)
