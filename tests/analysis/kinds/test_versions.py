"""Versions and models that do worse than those before them: found soon, and not blamed for what is not theirs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families import versions
from analyzer.analysis.kinds.families.versions import ALPHA, worse_versions

START = date(2026, 3, 2)
DAYS = 58
CHANGE = 42
"""A Monday."""
Row = tuple[int, str, str, int, int]
"""Day, caller, version, failed sessions, all sessions."""


def found(rows: Iterator[Row], signal: str = "version") -> list[Detection]:
    """What the rows of the agent `tool` show."""
    every = [
        (START + timedelta(days=day), caller, signal, f"tool\t{version}", 0, failed, failed, sessions)
        for day, caller, version, failed, sessions in rows
    ]
    columns = ["day", "caller", "signal", "name", "level", "sessions", "groups", "exposure"]
    return worse_versions(pl.DataFrame(every, columns, orient="row"))


def fleet(seed: int, factor: float, every: int = 4, last: int = DAYS) -> Iterator[Row]:
    """Eight callers, a new version every few days; from the first day of version 20 on its sessions fail more often."""
    rng = random.Random(seed)
    callers = [(f"caller-{number}", rng.uniform(8, 30), 0.12 * rng.uniform(0.3, 1.7)) for number in range(8)]
    for day in range(last):
        slow = 0.3 if (START + timedelta(days=day)).weekday() >= 5 else 1.0
        version = max(0, (day - CHANGE) // every + 20)
        for caller, many, share in callers:
            sessions = sum(rng.random() < slow * many / 40 for _ in range(40))
            fails = min(0.95, share * (factor if version >= 20 else 1.0))
            failed = sum(rng.random() < fails for _ in range(sessions))
            if sessions:
                yield day, caller, f"2.{version}", failed, sessions


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
def test_a_version_that_doubles_errors_is_found_within_two_nights() -> None:
    """In nine of ten made-up fleets; it is named with the day on which it came, and the version before it."""
    delays = []
    for seed in range(20):
        own = [one for one in found(fleet(seed, 2.0, every=30)) if one.scope == "tool 2.20"]
        delays.append((own[0].day - START).days - CHANGE if own else DAYS)
        assert own and own[0].onset == START + timedelta(days=CHANGE)
        assert "under tool 2.20 since 2026-04-13" in str(own[0].note) and "in the week before, under 2.19" in str(
            own[0].note
        )
    assert sum(delay <= 1 for delay in delays) >= 18


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
def test_versions_that_change_nothing_are_told_in_one_of_forty_histories_at_most() -> None:
    """Of 58 days and eight callers each, whether a version lasts a day or four: 0.05 of 1,000 days of a caller."""
    histories = [fleet(seed, 1.0, every=every) for seed in range(20) for every in (1, 4)]
    assert sum(bool(found(rows)) for rows in histories) <= 1


def steady(failed: int, since: int = CHANGE, callers: int = 3) -> Iterator[Row]:
    """Some callers with thirty sessions a day each, three of which fail; version 2 comes on the day of the change."""
    for day in range(DAYS):
        for caller in range(callers):
            bad = failed if day >= since else 3
            yield day, f"caller-{caller}", "2" if day >= CHANGE else "1", bad, 30


def beside(others_failed: int, others: int) -> Iterator[Row]:
    """Three callers whose version 2 fails in 39 of 314 sessions within two days, and some sessions under version 1."""
    for day in range(CHANGE):
        for caller in range(3):
            yield day, f"caller-{caller}", "1", 2 + (day + caller) % 2, 52
    for day in (CHANGE, CHANGE + 1):
        for caller, (failed, sessions) in enumerate(((7, 52), (6, 53), (6 + day - CHANGE, 52))):
            yield day, f"caller-{caller}", "2", failed, sessions
    yield CHANGE, "caller-0", "1", others_failed, others


def test_one_failure_elsewhere_acquits_no_version() -> None:
    """Of ten sessions under another version one failed: that is chance. Where half of forty did, the day is bad."""
    assert {one.scope for one in found(beside(1, 10))} == {"tool 2"}
    assert found(beside(20, 40)) == []


def test_what_began_days_before_or_after_a_version_is_not_its_fault() -> None:
    """The same rise on its first day is."""
    assert {(one.finding, one.scope) for one in found(steady(8))} == {("version_worse", "tool 2")}
    assert found(steady(8, since=CHANGE - 7)) == []
    assert found(steady(8, since=CHANGE + 3)) == []


def test_a_rise_of_the_versions_beside_it_is_nobodys_fault() -> None:
    """Where the version before it is at work elsewhere and fails as often on the same days."""
    beside = ((day, f"old-{each}", "1", 8 if day >= CHANGE else 3, 30) for day in range(DAYS) for each in range(6))
    assert found(iter([*steady(8), *beside])) == []


def test_one_caller_of_several_speaks_for_no_version() -> None:
    """Its errors may have any cause; where it is the only one that uses the version it is heard."""
    alone = [(day, who, to, 24 if who == "caller-0" and to == "2" else bad, of) for day, who, to, bad, of in steady(3)]
    assert found(iter(alone)) == []
    assert found(iter([row for row in alone if row[1] == "caller-0"]))


def test_a_version_that_comes_first_to_those_with_many_errors_is_not_blamed() -> None:
    """Each caller is held against what it had before."""

    def rows() -> Iterator[Row]:
        for day in range(DAYS):
            yield from ((day, f"calm-{each}", "1", 1, 30) for each in range(6))
            yield from ((day, f"busy-{each}", "2" if day >= CHANGE else "1", 9, 30) for each in range(3))

    assert found(rows()) == []


@pytest.mark.parametrize(("share", "told"), [(30, True), (8, False)])
def test_a_model_is_judged_where_it_took_the_place_of_another(share: int, told: bool) -> None:
    """One for other tasks beside the usual one fares differently."""

    def rows() -> Iterator[Row]:
        for day in range(DAYS):
            new = share if day >= CHANGE else 0
            for caller in range(3):
                yield day, f"caller-{caller}", "usual", (40 - new) // 10, 40 - new
                if new:
                    yield day, f"caller-{caller}", "new", new // 2, new

    ones = found(rows(), "model")
    assert [(one.finding, one.scope) for one in ones[:1]] == ([("model_worse", "new")] if told else [])


def test_each_further_day_of_a_version_is_another_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is improbable enough for a first day is not for a fifth: who looks daily sees more by chance."""

    def p_values() -> dict[tuple[int, date], float]:
        return {
            (seed, one.day): one.p_value or 0.0
            for seed in range(8)
            for one in found(fleet(seed, 1.35, every=30))
            if one.scope == "tool 2.20"
        }

    told = p_values()
    monkeypatch.setattr(versions, "ALPHA", 1.0)
    every = p_values()
    looks = {key: (key[1] - START).days - CHANGE + 1 for key in every}
    assert {key for key, p_value in every.items() if p_value <= ALPHA / looks[key]} == set(told)
    assert any(ALPHA / looks[key] < p_value <= ALPHA for key, p_value in every.items())
