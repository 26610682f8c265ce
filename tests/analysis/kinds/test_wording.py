"""A rule that falls silent where a new text begins: what is a change of wording, and what only looks like one."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.rewordings import reworded
from analyzer.analysis.kinds.statistics.rates import CountedDay, rate_fall
from analyzer.analysis.kinds.statistics.tails import negative_binomial_lower, negative_binomial_tail
from tests import each_row

START = date(2026, 3, 2)
CHANGE = 40
_NAMES = {"day": pl.Date, "caller": pl.String}


class Fleet:
    """Days of callers that each have ten sessions; a rule matches in three of them and another one in two."""

    def __init__(self, callers: int = 1, days: int = 60, change: int = CHANGE, rate: int = 3) -> None:
        self.names = [f"c{number}" for number in range(callers)]
        self.work = [(day(n), name, 10.0) for n in range(days) for name in self.names]
        self.rules: list[tuple[Any, ...]] = []
        self.texts: list[tuple[Any, ...]] = []
        self.provider = {"rate_limited": "anthropic", "unknown": "anthropic"}
        for n in range(days):
            for name in self.names:
                self.rules.append((day(n), name, "other", "validation", 2))
                if n < change:
                    self.rules.append((day(n), name, "limit", "rate_limited", rate))
                else:
                    self.texts.append((day(n), name, "new", rate))

    def found(self) -> list[Detection]:
        """What the test says of these days."""
        volumes = [(day, name, self.provider[reason], reason) for day, name, _ in self.work for reason in self.provider]
        return reworded(
            pl.DataFrame(self.texts, {**_NAMES, "template": pl.String, "sessions": pl.Int64}, orient="row"),
            pl.DataFrame(
                self.rules, {**_NAMES, "rule": pl.String, "reason": pl.String, "sessions": pl.Int64}, orient="row"
            ),
            pl.DataFrame(self.work, {**_NAMES, "exposure": pl.Float64}, orient="row"),
            pl.DataFrame(volumes, {**_NAMES, "provider": pl.String, "reason": pl.String}, orient="row"),
        )


def day(number: int) -> date:
    """So many days after the first."""
    return START + timedelta(days=number)


def test_a_rule_that_falls_silent_as_a_text_begins_is_a_change_of_wording() -> None:
    """Found within days, once a day that shows it, with the rule, its reason, the text and the figures."""
    found = Fleet().found()
    first = found[0]
    assert (first.finding, first.caller, first.template) == ("wording_changed", "c0", "new")
    assert (first.rule, first.scope, first.onset) == ("limit", "rate_limited", day(CHANGE))
    assert first.day <= day(CHANGE + 3)
    assert first.observed == 0
    days = (first.day - day(CHANGE)).days + 1
    assert first.expected == pytest.approx(3 * days, rel=0.2)
    assert first.sessions == 3 * days
    assert "rule limit (rate_limited) matched in 0 sessions since " in str(first.note)
    assert [one.state for one in found] == ["new", *["ongoing"] * (len(found) - 1)]
    assert [one.day for one in found] == [day(n) for n in range(CHANGE + (first.day - day(CHANGE)).days, 60)]


def test_many_small_callers_are_one_witness() -> None:
    """One finding of the fleet, though each caller shows the text in a session a day."""
    found = Fleet(callers=6, rate=1).found()
    assert {(one.caller, one.rule) for one in found} == {(None, "limit")}
    assert "sessions of 6 callers met a new text that no rule knows instead" in str(found[0].note)


def test_it_is_told_for_four_weeks_at_most() -> None:
    """From then on it is how things are."""
    found = Fleet(days=100).found()
    assert found[-1].day == day(CHANGE + 28)


def test_what_comes_later_has_no_say() -> None:
    """The days that a shorter history has are judged alike in a longer one."""
    assert (
        Fleet(callers=3, days=46).found()
        == [one for one in Fleet(callers=3, days=60).found() if one.day < day(46)]
        != []
    )


def _goes_on(fleet: Fleet) -> None:
    fleet.rules += [(day(n), "c0", "limit", "rate_limited", 3) for n in range(CHANGE, 60)]


def _fell_silent_before(fleet: Fleet) -> None:
    fleet.rules = [row for row in fleet.rules if row[2] != "limit" or row[0] < day(CHANGE - 4)]


def _faded(fleet: Fleet) -> None:
    fading = [row for row in fleet.rules if row[2] == "limit" and row[0] >= day(CHANGE - 7)]
    fleet.rules = [row for row in fleet.rules if row not in fading] + [(*row[:4], 1) for row in fading]


def _is_rare(fleet: Fleet) -> None:
    fleet.rules = [row for row in fleet.rules if row[2] != "limit" or (row[0] - START).days in (5, 15, 25, 33, 39)]


def _comes_much_more_often(fleet: Fleet) -> None:
    fleet.texts = [(*row[:3], 10) for row in fleet.texts]
    fleet.rules = [(*row[:4], 1) if row[2] == "limit" else row for row in fleet.rules]


def _comes_hardly_ever(fleet: Fleet) -> None:
    fleet.texts = [(*row[:3], 1) for row in fleet.texts if row[0].weekday() in (0, 3)]


def _is_at_another_caller(fleet: Fleet) -> None:
    fleet.work += [(each, "c1", 10.0) for each, *_ in fleet.work]
    fleet.texts = [(each, "c1", *rest) for each, _, *rest in fleet.texts]


def _is_of_another_provider(fleet: Fleet) -> None:
    fleet.provider["unknown"] = "openai"


def _was_there_before(fleet: Fleet) -> None:
    fleet.texts.append((day(20), "c0", "new", 1))


def _one_off(fleet: Fleet) -> None:
    fleet.texts = [(*row[:2], f"new-{row[0]}", 2) for row in fleet.texts]


@each_row(
    "otherwise",
    [
        _goes_on,
        _fell_silent_before,
        _faded,
        _is_rare,
        _comes_much_more_often,
        _comes_hardly_ever,
        _is_at_another_caller,
        _is_of_another_provider,
        _was_there_before,
        _one_off,
    ],
)
def test_what_only_looks_like_it_is_none(otherwise: Any) -> None:
    """Either half alone, or two halves that do not belong together."""
    fleet = Fleet()
    assert fleet.found()
    otherwise(fleet)
    assert fleet.found() == []


def test_a_provider_that_no_log_names_objects_to_nothing() -> None:
    """It is asked for where it is known."""
    fleet = Fleet()
    fleet.provider["unknown"] = ""
    assert fleet.found()


def test_two_texts_in_the_place_of_one_rule_are_one_change() -> None:
    """That with more sessions is told."""
    fleet = Fleet(rate=6)
    fleet.texts = [(*row[:2], name, count) for row in fleet.texts for name, count in (("new", 2), ("newer", 4))]
    assert {one.template for one in fleet.found()} == {"newer"}


def test_an_empty_history_says_nothing() -> None:
    """Neither do texts without any history before them."""
    fleet = Fleet(days=10, change=5)
    assert fleet.found() == []
    fleet.texts = []
    assert fleet.found() == []


def test_the_lower_tail_is_the_rest_of_the_upper_one() -> None:
    """P(X <= k) = 1 - P(X >= k + 1), and keeps its digits far out."""
    for k in (0, 1, 7, 30):
        assert negative_binomial_lower(k, 2.5, 0.2) == pytest.approx(1 - negative_binomial_tail(k + 1, 2.5, 0.2))
    assert negative_binomial_lower(0, 40.0, 0.3) == pytest.approx(0.3**40)


def test_a_fall_needs_days_before_it() -> None:
    """A week at least."""
    days = [CountedDay(700_000 + n, 3, 10.0) for n in range(30)]
    silent = [CountedDay(700_030, 0, 10.0)]
    p_value, expected = rate_fall(days, silent) or (None, None)
    assert expected == pytest.approx(3, rel=0.1)
    assert p_value == pytest.approx(0.05, abs=0.03)
    assert rate_fall(days[-6:], silent) is None
