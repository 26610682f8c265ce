"""Counts against exposure: what one day or a few days show, and what they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from analyzer.analysis.kinds.detection import FALSE_ALARM
from analyzer.analysis.kinds.families.silence import ALPHA
from analyzer.analysis.kinds.statistics.rates import CountedDay, is_weekend, rate_fall
from analyzer.analysis.kinds.statistics.units import Rise, Unit

BEFORE = 42
MONDAY = BEFORE + 1


def rise_on_monday(
    usual: Callable[[int], int], exposure: float, last: int, sessions: Mapping[int, int] | None = None
) -> Rise | None:
    """The rise of a Monday with `last` errors after six weeks; each error has a session if `sessions` has no number."""
    unit = Unit(begins=1)
    for day in range(1, MONDAY + 1):
        count = last if day == MONDAY else usual(day)
        unit.days[day] = CountedDay(day, count, exposure)
        unit.sessions[day] = (sessions or {}).get(day, count)
    unit.near = unit.clear = {MONDAY}
    return unit.look(MONDAY, FALSE_ALARM)


@pytest.mark.parametrize(
    ("usual", "last", "is_rise"),
    [
        pytest.param(625, 700, False, id="an eighth more is no trouble"),
        pytest.param(8, 10, False, id="a quarter more of a few is chance"),
        pytest.param(8, 28, True, id="three times as many of a few is sure"),
    ],
)
def test_a_small_rise_needs_many_errors(usual: int, last: int, is_rise: bool) -> None:
    """How many times as many are told depends on how sure the number is."""
    assert (rise_on_monday(lambda day: usual + day % 3, 2_000.0, last) is not None) == is_rise


def test_a_third_more_over_a_week_is_a_rise() -> None:
    """There are 859 sessions with an error where 625 are expected: a little worse, surely."""
    unit = Unit(begins=1)
    for day in range(1, MONDAY + 7):
        count = 89 + day % 2 if day < MONDAY else (123, 122, 123, 122, 123, 123, 123)[day - MONDAY]
        unit.days[day], unit.sessions[day] = CountedDay(day, count, 400.0), count
    unit.near = unit.clear = {MONDAY + 6}
    rise = unit.look(MONDAY + 6, FALSE_ALARM)
    assert rise is not None and rise.count == 859
    assert 620 < rise.tail.expected < 630


def test_a_few_sessions_that_repeat_themselves_are_no_rise() -> None:
    """Thirty errors of ten sessions are none where six sessions a day meet six errors; of thirty sessions they are."""
    few = rise_on_monday(lambda day: 5 + day % 3, 100.0, 30, {MONDAY: 10})
    assert few is None
    assert rise_on_monday(lambda day: 5 + day % 3, 100.0, 30) is not None


def test_the_weekly_cycle_is_no_spread() -> None:
    """An office's 31 sessions of three weekdays that stay away are silence on the first day, its weekends are none."""
    history = [CountedDay(day, 0 if is_weekend(day) else 9 + day % 4, 1.0) for day in range(1, MONDAY)]
    monday = rate_fall(history, [CountedDay(MONDAY, 0, 1.0)])
    saturday = rate_fall(history, [CountedDay(MONDAY + 5, 0, 1.0)])
    assert monday is not None and monday[0] <= ALPHA
    assert saturday is not None and saturday[1] < 1


def test_two_empty_days_say_more_than_each_of_them() -> None:
    """Of 8.8 and 8.4 sessions none came: each day is hardly unusual, and both together are."""
    history = [CountedDay(day, (4, 8, 12, 9, 10)[day % 5], 1.0) for day in range(1, MONDAY)]
    alone = [rate_fall(history, [CountedDay(day, 0, 1.0)]) for day in (MONDAY, MONDAY + 1)]
    both = rate_fall(history, [CountedDay(day, 0, 1.0) for day in (MONDAY, MONDAY + 1)])
    assert all(tail is not None and tail[0] > ALPHA for tail in alone)
    assert both is not None and both[0] <= ALPHA / 2
