"""Sessions that stay away: of a caller, of several at once, of the fleet; and days on which all have less."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.kinds.families.silence import silences

START = date(2026, 3, 2)  # a Monday
DAYS = 44
CHANGE = 37  # a Wednesday
NAMES = ("a", "b", "c", "d", "e", "f")
Share = Callable[[int, int, str], float]
"""The part of its sessions that a caller has in an hour of a day (0-based)."""


def work(share: Share = lambda *_: 1.0, observed: int = 1) -> pl.DataFrame:
    """Six callers that have 24 sessions a day, one an hour, in weekends half as many."""
    rows = []
    for number in range(DAYS):
        for hour in range(0, 24, 1 if number % 7 < 5 else 2):
            for name in NAMES:
                count = int(share(number, hour, name) * (1 + number % 2))
                rows += [(START + timedelta(days=number), hour, name, count, observed * count)] if count else []
    columns = {"day": pl.Date, "hour": pl.Int32, "caller": pl.String, "sessions": pl.Int64, "observed": pl.Int64}
    return pl.DataFrame(rows, columns, orient="row")


def told(share: Share) -> list[tuple[int, str | None]]:
    """The days, 0-based, and callers of what is found."""
    return [((one.day - START).days, one.caller) for one in silences(work(share))]


def test_a_caller_that_stops_is_found_on_each_of_its_silent_days() -> None:
    """From its first whole day without sessions on, until they come again."""
    away = lambda day, _hour, name: 0.0 if name == "a" and CHANGE <= day < CHANGE + 3 else 1.0  # noqa: E731
    assert told(away) == [(CHANGE, "a"), (CHANGE + 1, "a"), (CHANGE + 2, "a")]
    found = silences(work(away))
    assert {one.onset for one in found} == {START + timedelta(days=CHANGE)}
    assert str(found[0].note).startswith("no session on 2026-04-08 (")


def test_two_days_that_say_little_alone_say_enough_together() -> None:
    """Of some eight sessions a day, none on two days; the first of them alone is nothing."""
    few = lambda day, hour, name: (  # noqa: E731
        0.0 if name == "a" and (CHANGE <= day < CHANGE + 2 or (hour * 7 + day * 5) % 24 > 3 + day % 4) else 1.0
    )
    (only,) = [one for one in silences(work(few)) if one.caller == "a"]
    assert only.day == START + timedelta(days=CHANGE + 1)
    assert only.onset == START + timedelta(days=CHANGE)
    assert str(only.note).startswith("no session from 2026-04-08 to 2026-04-09 (")


def test_who_takes_days_off_may_take_three_together() -> None:
    """Of some ten sessions a day, none on three days is a holiday of somebody who was away on one day in five."""
    absent = {3, 9, 15, 18, 24, 31}
    person = lambda day, hour, name: (  # noqa: E731
        float(hour % 3 == 0 and not CHANGE <= day < CHANGE + 3 and day not in absent) if name == "a" else 1.0
    )
    assert [day for day, name in told(person) if name == "a"] == []
    absent.clear()
    assert [day for day, name in told(person) if name == "a"][-1] == CHANGE + 2


def test_an_office_without_work_on_weekends_is_heard_on_weekdays() -> None:
    """Around the mean of weekdays, three empty ones are no chance; around one mean of all days they would be."""
    office = lambda day, hour, name: (  # noqa: E731
        float(hour % 3 == 0 and day % 7 < 5 and not CHANGE <= day < CHANGE + 3) if name == "a" else 1.0
    )
    assert [(day, name) for day, name in told(office) if name == "a"][-1] == (CHANGE + 2, "a")


def test_days_and_weekends_as_usual_are_no_silence() -> None:
    """Nor is a day that lacks half of its sessions."""
    assert told(lambda *_: 1.0) == []
    assert told(lambda day, hour, name: 0.0 if name == "a" and day == CHANGE and hour % 2 else 1.0) == []


def test_several_callers_that_fall_silent_together_are_one_finding() -> None:
    """It names them."""
    away = lambda day, _hour, name: 0.0 if name in "abc" and day == CHANGE else 1.0  # noqa: E731
    assert told(away) == [(CHANGE, None)]
    assert "3 callers fell silent together (a, b, c)" in str(silences(work(away))[0].note)


def test_the_fleet_is_heard_by_the_hour() -> None:
    """Half a day without any session is found on its own day; its callers are not told beside it."""
    gone = lambda day, hour, _name: 0.0 if day == CHANGE and 6 <= hour < 18 else 1.0  # noqa: E731
    assert told(gone) == [(CHANGE, None)]
    assert "from 06:00 to 18:00" in str(silences(work(gone))[0].note)


def test_a_day_on_which_all_have_less_is_nobodys_silence() -> None:
    """A holiday leaves a fifth of the work, and to some callers none."""
    holiday = lambda day, hour, name: 1.0 if day != CHANGE or (hour in {9, 10, 11, 12, 13} and name != "a") else 0.0  # noqa: E731
    assert told(holiday) == []


def test_who_stays_away_for_good_is_told_for_a_week() -> None:
    """Then it has gone."""
    days = [day for day, _ in told(lambda day, _hour, name: float(name != "a" or day < 30))]
    assert days[:2] == [30, 31]
    assert days[-1] == 36


def test_callers_without_a_log_of_sessions_may_be_silent_because_all_is_well() -> None:
    """Where logs show errors alone."""
    away = lambda day, _hour, name: 0.0 if name == "a" and day == CHANGE else 1.0  # noqa: E731
    assert silences(work(away, observed=0)) == []
