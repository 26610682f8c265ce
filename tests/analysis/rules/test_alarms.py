"""Which alarms of the past another ruleset would have spared, kept or raised."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from analyzer.analysis.rules.ruleset_changes import alarm_changes

START = date(2026, 3, 2)


def verdicts(*spikes: tuple[int, str, str]) -> pl.DataFrame:
    """Fifty days of one caller; (day, reason, new reason) of a message that all its sessions show that day."""
    rows = [
        (START + timedelta(days=n), f"{n}-{s}", "text", "validation", "validation")
        for n in range(50)
        for s in range(20)
    ]
    rows += [
        (START + timedelta(days=n), f"{n}-{s}", f"text {n}", old, new) for n, old, new in spikes for s in range(10)
    ]
    frame = pl.DataFrame(rows, schema=["day", "session_id", "template", "reason", "new_reason"], orient="row")
    none = pl.lit(None, pl.String)
    return frame.with_columns(caller=pl.lit("probe"), detail=none, new_detail=none)


def test_alarms_vanish_appear_and_stay() -> None:
    """By caller and days: one that the rules take, one that they make, one that they leave."""
    found = alarm_changes(
        verdicts((30, "unknown", "rate_limited"), (38, "rate_limited", "unknown"), (46, "unknown", "unknown"))
    )
    assert [one.opened_on for one in found.vanished] == [START + timedelta(days=30)]
    assert [one.opened_on for one in found.appeared] == [START + timedelta(days=38)]
    assert [one.opened_on for one in found.stayed] == [START + timedelta(days=46)]
    assert {one.finding for side in (found.vanished, found.appeared, found.stayed) for one in side} == {"spike"}
    assert found.to_dict()["vanished"][0]["caller"] == "probe"


def test_the_same_verdicts_change_no_alarm() -> None:
    """Everything stays, and an empty history has no alarms."""
    frame = verdicts((30, "unknown", "unknown"))
    found = alarm_changes(frame)
    assert (found.vanished, found.appeared, len(found.stayed)) == ((), (), 1)
    assert alarm_changes(frame.clear()).to_dict() == {"vanished": [], "appeared": [], "stayed": []}


def test_errors_that_do_not_count_raise_no_alarm() -> None:
    """An abort is unknown and no matter."""
    frame = verdicts((30, "unknown", "unknown")).with_columns(
        detail=pl.when(pl.col("reason") == "unknown").then(pl.lit("aborted"))
    )
    assert len(alarm_changes(frame).appeared) == 1
