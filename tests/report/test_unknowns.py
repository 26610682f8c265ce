"""Unknown errors and churn for a terminal: nothing wider than asked, nothing that steers it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

import pytest

from analyzer.analysis.rules.drafts import Recoveries
from analyzer.analysis.rules.ruleset_changes import Alarm, AlarmChanges, ChangedShare, Churn, Rejudged
from analyzer.analysis.rules.unknowns import Neighbour, UnknownGroup, Unknowns
from analyzer.analysis.tables import Window
from analyzer.report.changes import alarms_document, churn_document
from analyzer.report.document import Document
from analyzer.report.unknowns import trend, unknowns_document
from analyzer.report.writers.monospace import width_of
from analyzer.report.writers.text import to_text
from tests import each_row

LONG = "Canvas \x1b[2J shard <*> is parked \u202e " + "far away " * 40
GROUP = UnknownGroup(
    fingerprint="1-0123456789ab",
    template=LONG,
    count=1_234_567,
    sessions=12_345,
    callers=9,
    first_seen_at=datetime(2026, 11, 2, 8),
    last_seen_at=datetime(2026, 11, 9, 8),
    samples=(LONG.replace("<*>", "5"), "速い" * 60),
    suggestion=None,
    caller_names=("planner\x1b[1m", "x" * 90),
    by_day=((date(2026, 11, 2), 1), (date(2026, 11, 9), 8)),
    fingerprints=("1-0123456789ab",),
    nearest=Neighbour(
        "weak_wait", "network_transient", LONG, 0.5, "rule weak_wait knows words that are not here: " + LONG
    ),
    recoveries=Recoveries(41, 9, 38, 8, 0),
    suggested_reason="network_transient",
)
CHANGE = Rejudged("1-0123456789ab", LONG, "unknown", "validation", "r" * 70, 12_345, 9, 9, (LONG,))


def _unknowns(*groups: UnknownGroup) -> Unknowns:
    return Unknowns(groups, sum(group.count for group in groups), 5, len(groups) + 2, Window())


def _churn(count: int) -> Churn:
    changes = tuple(replace(CHANGE, template=f"{LONG} {number}") for number in range(count))
    rate = ChangedShare(count, 100)
    import polars as pl

    return Churn("abc", changes, changes, (), rate, rate, ChangedShare(0, 0), 3, 1, 0.625, pl.DataFrame())


@each_row("width", [60, 80, 120, 200])
@each_row("document", [unknowns_document(_unknowns(GROUP, GROUP)), churn_document(_churn(12))])
def test_no_line_is_wider_than_asked_and_none_steers(document: Document, width: int) -> None:
    """Long and wide texts are folded or cut with a mark; what is invisible is shown."""
    text = to_text(document, width)
    assert max(map(width_of, text.splitlines())) <= width
    assert all(line.isprintable() for line in text.splitlines())
    assert text.endswith("\n")


def test_the_verdict_comes_first_and_what_is_hidden_is_told() -> None:
    """How few make most of it, on the first line; groups beyond the limit near the last one."""
    lines = to_text(unknowns_document(_unknowns(GROUP))).splitlines()
    assert lines[0].startswith("1 of 3 templates make 100.0% of 1,234,567 unknown errors.")
    assert "2 more with --limit 3" in lines
    assert any("near network_transient" in line for line in lines)
    assert "  perhaps network_transient: retried 41 times in 9 sessions, 38 recovered" in lines
    assert to_text(unknowns_document(Unknowns((), 0, 0, 0, Window()))) == "No unknown errors.\n"


def test_a_trend_has_a_bar_a_day_until_days_share_them() -> None:
    """Days without errors are points, the highest day is full."""
    assert trend(GROUP, date(2026, 11, 2), date(2026, 11, 9)) == "▁······█"
    year = replace(GROUP, by_day=((date(2026, 1, 1), 4), (date(2026, 12, 31), 8)))
    bars = trend(year, date(2026, 1, 1), date(2026, 12, 31))
    assert (len(bars), bars[0], bars[-1], set(bars[1:-1])) == (28, "▄", "█", {"·"})


def test_churn_lists_say_how_many_they_leave_out() -> None:
    """Counts, the test, then the lists; empty ones are not shown."""
    text = to_text(churn_document(_churn(12)), 120)
    assert text.startswith("12 templates recovered, 12 templates regressed, 0 templates moved under ruleset abc.")
    assert text.count("2 more: --json lists them") == 2
    assert "Moved" not in text
    assert "gone from 3 sessions, a first one came to 1 session" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_alarms_stay_within_the_width_and_are_safe(width: int) -> None:
    """Each side by its word, ten of each at most, and nothing of a log that steers a terminal."""
    alarm = Alarm("spike", LONG, None, "warning", date(2026, 11, 2), date(2026, 11, 4))
    text = to_text(alarms_document(AlarmChanges((alarm,) * 12, (alarm,), ())), width)
    assert text.startswith("Alarms of past nights: 12 vanished, 1 appeared, 0 stayed.")
    assert all(width_of(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    assert "2 more: --json lists them" in text
    assert (
        to_text(alarms_document(AlarmChanges((), (), ())), width)
        == "No alarms in this history, neither before nor after.\n"
    )
