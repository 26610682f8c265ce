"""Counts against exposure: rises of callers, outages, new messages of the fleet, and what is none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from random import Random

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.new_messages import shared_templates
from analyzer.analysis.kinds.families.volumes import volumes
from analyzer.analysis.kinds.statistics.units import exposures

START = date(2026, 3, 2)
DAYS = 44
CHANGE = 40
Errors = Callable[[int, str], dict[str, int]]
"""Errors by reason, of a day (0-based) and caller."""
SHARES = {"network_transient": 0.2, "rate_limited": 0.15, "validation": 0.05, "unknown": 0.02}


def poisson(random: Random, mean: float) -> int:
    """A draw."""
    count, left = 0, random.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + random.expovariate(1.0)
    return count


def nowhere(volume: pl.DataFrame) -> pl.DataFrame:
    """Errors of which no log names a project or a host."""
    return volume.with_columns(project=pl.lit(""), host=pl.lit(""))


def fleet(
    callers: dict[str, float],
    more: Errors = lambda _day, _caller: {},
    *,
    seen: bool = True,
    seed: int = 1,
    days: int = DAYS,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Volumes and exposures of callers with so many sessions a day, whose errors a day changes by `more`."""
    random = Random(seed)
    errors, work, counts = [], [], []
    for number in range(days):
        day = START + timedelta(days=number)
        for caller, usual in callers.items():
            sessions = max(1, poisson(random, usual * (0.4 if day.weekday() >= 5 else 1.0)))
            found = {reason: poisson(random, share * sessions) for reason, share in SHARES.items()}
            for reason, count in more(number, caller).items():
                found[reason] = found.get(reason, 0) + count
            found = {reason: count for reason, count in found.items() if count}
            for reason, count in found.items():
                provider = "openai" if caller.endswith("o") else "anthropic"
                errors.append((day, caller, provider, "", reason, min(count, sessions), count))
            total = sum(found.values())
            counts.append((day, caller, min(total, sessions), total))
            work.append((day, caller, sessions, sessions if seen else 0))
    columns = ["day", "caller", "provider", "model", "reason", "sessions", "groups"]
    return (
        nowhere(pl.DataFrame(errors, columns, orient="row")),
        exposures(
            pl.DataFrame(work, ["day", "caller", "sessions", "observed"], orient="row"),
            pl.DataFrame(counts, ["day", "caller", "sessions", "groups"], orient="row"),
        ),
    )


def found(frames: tuple[pl.DataFrame, pl.DataFrame]) -> list[Detection]:
    """What the tests find in it."""
    return volumes(*frames)


def about(detections: Iterable[Detection]) -> set[tuple[str, str | None, str | None]]:
    """Kind, caller and scope."""
    return {(one.finding, one.caller, one.scope) for one in detections}


def test_days_as_usual_find_nothing() -> None:
    """Over many seeds, with weekends, with and without sessions seen."""
    callers = {"a": 20.0, "b": 8.0, "c": 3.0, "d": 30.0}
    for seed in range(6):
        assert found(fleet(callers, seed=seed)) == []
        assert found(fleet(callers, seed=seed, seen=False)) == []


def test_six_times_as_many_known_errors_are_a_rise() -> None:
    """Of that caller, on that day, with what was expected; the mix of reasons need not change for it."""
    usual = {reason: round(5 * share * 20) for reason, share in SHARES.items() if reason != "unknown"}
    rises = found(fleet({"a": 20.0, "b": 20.0}, lambda day, who: usual if day >= CHANGE and who == "a" else {}))
    assert about(rises) == {("volume", "a", None)}
    first = rises[0]
    assert first.day == START + timedelta(days=CHANGE)
    assert (first.observed or 0) > 4 * (first.expected or 0) > 0
    assert "sessions" in str(first.note)


def test_twice_the_sessions_with_twice_the_errors_is_no_rise() -> None:
    """Where logs show sessions without errors, more work is expected to meet more of them."""
    callers = {"a": 20.0, "b": 20.0}
    volume, work = fleet(callers)
    busier, more = fleet({"a": 40.0, "b": 20.0}, seed=2)
    late = pl.col("day") >= START + timedelta(days=CHANGE)
    both = pl.concat([volume.filter(~late), busier.filter(late)]), pl.concat([work.filter(~late), more.filter(late)])
    assert found(both) == []


@pytest.mark.parametrize(
    ("usual", "more", "seen", "finding", "noted"),
    [
        pytest.param(20, {"auth_error": 20}, True, "volume", ("auth_error",), id="never there"),
        pytest.param(30, {"unknown": 9}, True, "unknown_rate", (), id="unknown"),
        pytest.param(30, {"unknown": 9, "validation": 3}, True, "unknown_rate", (), id="named by what made it"),
        pytest.param(
            20,
            {"network_transient": 60},
            False,
            "volume",
            ("sessions met ", " network_transient errors (normally "),
            id="against days where no log shows sessions",
        ),
    ],
)
def test_more_errors_of_a_reason_are_a_rise_of_their_caller(
    usual: float, more: dict[str, int], seen: bool, finding: str, noted: tuple[str, ...]
) -> None:
    """Of the kind that fits, named by the reason; a wave of other errors beside them hides nothing."""
    rises = found(fleet({"a": usual}, lambda day, _: more if day == CHANGE else {}, seen=seen))
    assert about(rises) == {(finding, "a", None)}
    assert all(words in str(rises[0].note) for words in noted)
    assert rises[0].reason == (None if finding == "unknown_rate" else next(iter(more)))


def test_a_rise_is_named_by_what_grew() -> None:
    """Where unknown errors make most of a rise of all errors, these are told, and what grew beside them by its name."""
    more = {"unknown": 24, "rate_limited": 12}
    rises = found(fleet({"a": 30.0}, lambda day, _: more if day == CHANGE else {}))
    assert {(one.finding, one.reason) for one in rises} == {("unknown_rate", None), ("volume", "rate_limited")}


def test_a_slow_rise_adds_up_over_days() -> None:
    """No single day is far out, yet a week of half as many more is."""
    rises = found(fleet({"a": 60.0}, lambda day, _: {"rate_limited": 8} if day >= 30 else {}))
    assert rises
    assert about(rises) == {("volume", "a", None)}
    assert (rises[0].onset or START) < rises[0].day


def test_many_callers_of_a_provider_are_one_outage() -> None:
    """It is told once, for the provider, and not for each of its callers beside it; the others are not part of it."""
    callers = dict.fromkeys(("a", "b", "c", "d", "x-o", "y-o", "z-o"), 15.0)
    found_ones = found(
        fleet(
            callers,
            lambda day, who: {"network_transient": 14} if day == CHANGE and not who.endswith("o") else {},
            seed=2,
        )
    )
    assert about(found_ones) == {("outage", None, "anthropic")}
    assert "in all 4 callers" in str(found_ones[0].note)


def test_one_of_many_callers_is_no_outage() -> None:
    """It has a rise of its own."""
    callers = dict.fromkeys(("a", "b", "c", "d"), 15.0)
    rises = found(fleet(callers, lambda day, who: {"network_transient": 14} if day == CHANGE and who == "a" else {}))
    assert ("volume", "a", None) in about(rises)
    assert "outage" not in {one.finding for one in rises}


def test_the_refusals_of_one_caller_are_its_own_though_others_have_one_by_chance() -> None:
    """Where a reason is rare, a single error is many times what is expected of a caller."""
    extra = {"a": {"auth_error": 23}, "b": {"auth_error": 1}, "c": {"auth_error": 1}}
    rises = found(fleet(dict.fromkeys("abcd", 15.0), lambda day, who: extra.get(who, {}) if day == CHANGE else {}))
    on_it = [one for one in rises if one.day == START + timedelta(days=CHANGE)]
    assert about(on_it) == {("volume", "a", None)}
    assert "auth_error" in str(on_it[0].note)


def test_a_model_may_fail_alone() -> None:
    """Where the other models of its provider go on as before, the provider as a whole does not show it."""
    callers = dict.fromkeys(("a", "b", "c", "d", "e", "f", "g", "h"), 15.0)
    volume, work = fleet(
        callers, lambda day, who: {"network_transient": 14} if day == CHANGE and who in {"a", "b", "c"} else {}
    )
    named = pl.when(pl.col("caller").is_in(["a", "b", "c"])).then(pl.lit("large")).otherwise(pl.lit("small"))
    told = about(found((volume.with_columns(model=named), work)))
    assert ("model_outage", None, "large") in told
    assert not {"outage", "volume"} & {kind for kind, *_ in told}


def test_a_day_is_judged_from_itself_and_the_days_before_it() -> None:
    """Days after it change nothing that was found."""
    frames = fleet(
        {"a": 20.0, "b": 9.0}, lambda day, who: {"rate_limited": 40} if day in {30, 41} and who == "a" else {}
    )
    whole = found(frames)
    end = START + timedelta(days=35)
    early = found(tuple(frame.filter(pl.col("day") <= end) for frame in frames))  # type: ignore[arg-type]
    assert early == [one for one in whole if one.day <= end]
    assert early


def test_a_rise_that_lasts_is_the_new_normal_after_four_weeks() -> None:
    """It goes on until then, against the level before it, and ends as accepted."""
    rises = found(fleet({"a": 30.0}, lambda day, _: {"rate_limited": 40} if day >= 30 else {}, days=80))
    states = [one.state for one in rises]
    assert states[0] == "new"
    assert states[-1] == "accepted"
    assert (rises[-1].day - rises[0].day).days == 28


def sightings(*rows: tuple[int, str, str, int]) -> pl.DataFrame:
    """Day, caller, template and sessions."""
    dated = [(START + timedelta(days=day), *rest) for day, *rest in rows]
    return pl.DataFrame(dated, ["day", "caller", "template", "sessions"], orient="row")


@pytest.fixture
def work() -> pl.DataFrame:
    """Thirty callers with a session a day each."""
    days = [START + timedelta(days=number) for number in range(DAYS)]
    return pl.DataFrame(
        [(day, f"c{caller}", 1.0) for day in days for caller in range(30)], ["day", "caller", "exposure"], orient="row"
    )


def test_a_message_that_is_new_to_many_callers_is_found_on_its_second_day(work: pl.DataFrame) -> None:
    """Although no caller shows it twice; on later days that show it, it goes on."""
    seen = sightings(*((CHANGE + number // 3, f"c{number}", "t", 1) for number in range(9)))
    one, after = shared_templates(seen, work)
    assert (after.day, after.onset) == (START + timedelta(days=CHANGE + 2), one.onset)
    assert (one.day, one.caller, one.template) == (START + timedelta(days=CHANGE + 1), None, "t")
    assert one.onset == START + timedelta(days=CHANGE)


def test_what_callers_share_by_chance_is_no_new_message(work: pl.DataFrame) -> None:
    """A text of one day, of one caller, one that was always there, or one without a history to be new in."""
    assert shared_templates(sightings(*((CHANGE, f"c{number}", "t", 1) for number in range(6))), work) == []
    assert shared_templates(sightings(*((CHANGE + number, "c1", "t", 2) for number in range(3))), work) == []
    always = sightings(*((day, f"c{day % 7}", "t", 1) for day in range(DAYS)))
    assert shared_templates(always, work) == []
    early = sightings(*((2 + number // 3, f"c{number}", "t", 1) for number in range(9)))
    assert shared_templates(early, work) == []
