"""The test of hours: what a stretch of one to twelve hours shows of a caller, a model, a provider and the fleet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.hours import hour_rises
from analyzer.analysis.kinds.families.volumes import OUTAGES, Explained

FIRST = date(2026, 9, 1)
DAYS = 35
CALLERS = ("api", "batch", "crawler", "docs")
OPENAI, OTHER, NETWORK, UNKNOWN = "openai", "mistral", "network_transient", "unknown"
Row = tuple[date, int, str, str, str, str, int]


def day(number: int) -> date:
    """The day of that number, counted from the first one."""
    return FIRST + timedelta(number)


def usual(provider: str = OPENAI, callers: Iterable[str] = CALLERS, model: str = "m-1") -> list[Row]:
    """One failed session every sixth hour of each caller, by turns."""
    return [
        (day(number), hour, caller, provider, model, NETWORK, 1)
        for number in range(DAYS)
        for place, caller in enumerate(callers)
        for hour in range(place, 24, 6)
    ]


def outage(
    number: int,
    hours: Iterable[int],
    callers: Iterable[str] = CALLERS,
    provider: str = OPENAI,
    model: str = "m-1",
    reason: str = NETWORK,
    sessions: int = 6,
) -> list[Row]:
    """Failed sessions in some hours of a day; hour -1 is the last one of the day before."""
    return [
        (day(number + hour // 24), hour % 24, caller, provider, model, reason, sessions)
        for hour in hours
        for caller in callers
    ]


def found(
    rows: list[Row],
    *,
    observed: bool = True,
    explained: Explained | None = None,
    end: tuple[date, int] | None = None,
    windows: tuple[int, ...] = (1, 3, 6),
) -> list[Detection]:
    """What hours show of these errors, where each caller has eight sessions an hour."""
    schema = {
        "day": pl.Date,
        "hour": pl.Int64,
        "caller": pl.String,
        "provider": pl.String,
        "model": pl.String,
        "reason": pl.String,
        "sessions": pl.Int64,
    }
    callers = {row[2] for row in rows}
    volume = pl.DataFrame(rows, schema, orient="row").with_columns(project=pl.lit(""), host=pl.lit(""))
    work = pl.DataFrame(
        [(day(number), hour, caller, 8, 1) for number in range(DAYS) for hour in range(24) for caller in callers],
        {"day": pl.Date, "hour": pl.Int64, "caller": pl.String, "sessions": pl.Int64, "observed": pl.Int64},
        orient="row",
    )
    known = set() if explained is None else explained
    return hour_rises(volume, work if observed else work.clear(), known, windows=windows, end=end)


@pytest.mark.parametrize("observed", [True, False])
def test_usual_hours_are_no_finding(observed: bool) -> None:
    """Nor is an empty history."""
    assert found(usual(), observed=observed) == []
    assert found([]) == []


def test_an_outage_of_a_provider_over_midnight_is_one_finding() -> None:
    """It is dated by the day on which its clearest stretch ends, and its callers have none of their own."""
    explained: Explained = set()
    (one,) = [each for each in found([*usual(), *outage(33, (-1, 0))], explained=explained) if each.day == day(33)]
    assert (one.finding, one.scope, one.caller, one.reason) == (OUTAGES["provider"], OPENAI, None, NETWORK)
    assert "in all 4 callers" in str(one.note)
    assert one.ends_at == datetime(2026, 10, 4, 1)
    assert (one.sessions or 0) > 2.5 * (one.expected or 0.0) > 0
    assert {(day(33).toordinal(), caller, NETWORK) for caller in CALLERS} <= explained


@pytest.mark.parametrize("observed", [True, False])
def test_hours_of_one_caller_are_its_own(observed: bool) -> None:
    """Where four share a provider and one of them fails, the provider does not."""
    (one,) = found([*usual(), *outage(33, (9, 10, 11), ["api"])], observed=observed)
    assert (one.finding, one.caller, one.scope, one.day) == ("volume", "api", None, day(33))
    assert one.begins_at is not None and one.ends_at is not None
    assert (one.begins_at.hour, one.ends_at.hour) == (9, 12)
    assert " at " not in str(one.note)


def test_a_model_that_fails_is_named_before_its_provider() -> None:
    """Its provider's other model goes on."""
    rows = [*usual(), *usual(callers=CALLERS, model="m-2"), *outage(33, (14, 15), model="m-2")]
    (one,) = [each for each in found(rows) if each.caller is None]
    assert (one.finding, one.scope) == (OUTAGES["model"], "m-2")


def test_what_fails_at_two_providers_is_the_fleets_where_it_is_neithers() -> None:
    """Two callers of four are too few for an outage of a provider; where all fail at both, that is the fleet's, too."""
    others = ("edit", "fetch", "grade", "help")
    rows = [*usual(), *usual(OTHER, others, "n-1")]
    few = [*outage(33, (4,), CALLERS[:2], sessions=3), *outage(33, (4,), others[:2], OTHER, "n-1", sessions=3)]
    assert [(each.finding, each.scope) for each in found([*rows, *few])] == [(OUTAGES["fleet"], NETWORK)]
    both = [*outage(33, (4,), sessions=3), *outage(33, (4,), others, OTHER, "n-1", sessions=3)]
    assert [(each.finding, each.scope) for each in found([*rows, *both])] == [(OUTAGES["fleet"], NETWORK)]


def test_unknown_errors_are_the_callers_alone() -> None:
    """New messages of many callers are reported by their text."""
    (one,) = found([*usual(), *outage(33, (20,), ["api"], reason=UNKNOWN, sessions=7)])
    assert (one.finding, one.caller, one.reason) == ("unknown_rate", "api", None)
    assert all(each.caller for each in found([*usual(), *outage(33, (20,), reason=UNKNOWN, sessions=7)]))


def test_only_the_stretch_that_was_asked_for_is_judged() -> None:
    """An outage of another hour is none of the hour in hand, and hours without errors are no finding."""
    rows = [*usual(), *outage(34, (10, 11))]
    (one,) = found(rows, end=(day(34), 11), windows=(2,))
    assert (one.finding, one.scope) == (OUTAGES["provider"], OPENAI)
    assert one.begins_at is not None and one.ends_at is not None
    assert (one.begins_at.hour, one.ends_at.hour) == (10, 12)
    assert found(rows, end=(day(34), 20), windows=(1,)) == []


def test_a_day_that_stood_out_is_no_part_of_the_baseline() -> None:
    """The same outage a week later is as clear as the first one."""
    hours = (9, 10, 11)
    twice = found([*usual(), *outage(26, hours, ["api"]), *outage(33, hours, ["api"])])
    assert [each.day for each in twice] == [day(26), day(33)]
    assert 0 < 2.5 * (twice[1].expected or 0.0) < (twice[1].sessions or 0)
