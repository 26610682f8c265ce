"""The detectors beside the unknown share: bursts, relays, retries, and which drift it is."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

import polars as pl
import pytest
from hypothesis import strategies as st

from analyzer.analysis.kinds.detection import frame
from analyzer.analysis.kinds.families.bursts import bursts
from analyzer.analysis.kinds.families.causes import causes, flips
from analyzer.analysis.kinds.families.relays import MANY_RELAYS, many_relays, relay_frequency
from analyzer.analysis.kinds.families.retries import retry_days
from analyzer.analysis.kinds.families.shares import unjudged
from tests.analysis.detection_data import FIRST, counts
from tests.analysis.nightly.test_nightly_tests import group, observed


def test_one_session_that_repeats_one_text_thirty_times_is_a_burst() -> None:
    """Counted over the rows of that day; twenty-nine are none, and two sessions are not added up."""
    rows = [
        group(0, 1, "validation", template="t", events=20, caller="a"),
        group(0, 1, "rate_limited", template="t", events=10, caller="a"),
        group(0, 2, "validation", template="t", events=29, caller="a"),
        group(0, 3, "validation", template="u", events=2, caller="a"),
    ]
    seen = observed(rows)
    found = frame(bursts(seen.loud, seen.repeats))
    assert found.select("caller", "scope", "template", "observed", "expected").rows() == [
        ("a", "a-0-1", "t", 30.0, 15.5)
    ]


def _relays(counts: list[int]) -> pl.DataFrame:
    rows = [
        (FIRST + timedelta(days=day), "a", "implement", count, count, min(1, count), 12.0)
        for day, count in enumerate(counts)
    ]
    names = ["day", "caller", "step", "relays", "sessions", "most", "exposure"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_a_day_with_far_more_relays_is_found() -> None:
    """For its caller and step, and it does not raise what is expected of the next day."""
    usual = [1, 2, 0, 1, 3, 1, 1] * 5
    found = frame(relay_frequency(_relays([*usual, 12, 12])))
    assert found.select("caller", "scope", "finding", "observed").rows() == [("a", "implement", "relays", 12.0)] * 2
    assert found["expected"][0] == pytest.approx(found["expected"][1], rel=0.1)
    assert found["high"][0] < 12
    assert relay_frequency(_relays([*usual, 2, 3])) == []


def test_busier_days_are_no_more_frequent_relays() -> None:
    """Thrice the relays at thrice the exposure."""
    daily = _relays([2] * 30)
    last = pl.col("day") == FIRST + timedelta(days=29)
    busier = daily.with_columns(
        pl.when(last).then(pl.col(name) * 3).otherwise(pl.col(name)) for name in ("relays", "exposure")
    )
    assert relay_frequency(busier) == []


def test_relays_without_history_are_not_judged() -> None:
    """Less than a week of days."""
    assert relay_frequency(_relays([0, 0, 12])) == []


def test_many_hand_offs_of_a_session_need_no_history() -> None:
    """Where days are too few to expect anything, five of one session are told; later the other test judges."""
    few = _relays([0, 0, 12])
    told = frame(many_relays(few.with_columns(most=pl.col("relays"))))
    assert told.select("finding", "observed", "expected", "p_value").rows() == [("relays", 12.0, None, None)]
    compacted = frame(many_relays(few.with_columns(most=pl.col("relays"), step=pl.lit(""))))
    assert compacted.select("finding", "scope", "observed").rows() == [("compactions", None, 12.0)]
    assert many_relays(few.with_columns(most=pl.lit(MANY_RELAYS - 1))) == []
    assert len(many_relays(_relays([5] * 30).with_columns(most=pl.lit(5)))) < 15


_CHAINS = ["caller", "reason", "before_chains", "before_recovered", "chains", "recovered", "untried"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("a", "network_transient", 80, 72, 40, 12, 0), ["recovery_fell"]),
        (("a", "network_transient", 80, 72, 40, 33, 0), []),
        (("a", "validation", 60, 0, 60, 0, 0), ["retry_in_vain"]),
        (("a", "validation", 8, 0, 8, 0, 0), []),
        (("a", "rate_limited", 30, 28, 4, 4, 20), ["retry_would_pay"]),
        (("a", "rate_limited", 2, 2, 1, 1, 20), []),
        (("a", "rate_limited", 0, 0, 0, 0, 20), []),
    ],
)
def test_retries_are_judged_by_what_they_bought(row: tuple[object, ...], expected: list[str]) -> None:
    """Fallen recovery, retries in vain, retries not made; silence where the chains are few."""
    found = retry_days(pl.DataFrame([(FIRST, *row)], schema=["day", *_CHAINS], orient="row"))
    assert [(one.finding, one.scope) for one in found] == [(finding, row[1]) for finding in expected]


_COUNTS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    max_size=6,
)


_ERRORS = {
    "period": pl.String,
    "session": pl.String,
    "template": pl.String,
    "reason": pl.String,
    "rule": pl.String,
    "old_reason": pl.String,
}


def _errors(rows: list[tuple[str, str, str, str | None, str | None]], sessions: int = 100) -> list[tuple[object, ...]]:
    """Per row (period, template, reason, rule, old reason), the same in so many sessions."""
    return [(row[0], f"{row[0]}-{i}", *row[1:]) for row in rows for i in range(sessions)]


def _found(rows: list[tuple[object, ...]]) -> list[tuple[str, str | None]]:
    found = causes(pl.DataFrame(rows, schema=_ERRORS, orient="row"), day=date(2026, 5, 1), caller="a")
    return [(one.finding, one.scope) for one in found]


_SAME = [("before", "slow down", "rate_limited", "r1", None), ("after", "slow down", "rate_limited", "r1", None)]


def test_nothing_changed_is_no_cause() -> None:
    """The same texts, rules and verdicts."""
    assert _found(_errors(_SAME)) == []
    assert _found([]) == []


def test_other_verdicts_on_the_same_facts_are_a_change_of_the_classifier() -> None:
    """And of nothing else: traffic is compared under one ruleset."""
    rows = [
        ("before", "slow down", "rate_limited", "r1", "unknown"),
        ("after", "slow down", "rate_limited", "r1", None),
    ]
    assert _found(_errors(rows)) == [("classifier_changed", "unknown → rate_limited")]
    errors = pl.DataFrame(_errors(rows), schema=_ERRORS, orient="row")
    assert [(flip.old_reason, flip.reason, flip.groups, flip.sessions) for flip in flips(errors)] == [
        ("unknown", "rate_limited", 100, 100)
    ]


@pytest.mark.parametrize("period", ["before", "after"])
def test_one_period_alone_has_changed_in_nothing(period: str) -> None:
    """There is nothing to hold it against, whatever its verdicts were once."""
    flipped = ("slow down", "rate_limited", "r1", "unknown")
    assert _found(_errors([(period, *flipped)])) == []
    assert _found(_errors([("before", *flipped), ("after", *flipped)])) == [
        ("classifier_changed", "unknown → rate_limited")
    ]


def test_other_traffic_under_the_same_rules_is_a_change_of_traffic() -> None:
    """Known texts of another reason take over."""
    rows = _errors([("before", "slow down", "rate_limited", "r1", None)])
    rows += _errors([("before", "bad field", "validation", "r2", None)], 20)
    rows += _errors([("after", "bad field", "validation", "r2", None)])
    rows += _errors([("after", "slow down", "rate_limited", "r1", None)], 20)
    assert _found(rows) == [("traffic_changed", None)]


def test_a_new_text_under_an_old_reason_is_a_change_of_wording() -> None:
    """The reason stays; only its words are new."""
    rows = [*_SAME[:1], ("after", "please slow down", "rate_limited", "r1", None)]
    assert _found(_errors(rows)) == [("wording_changed", "rate_limited")]


def test_a_rule_that_fell_silent_while_unknown_texts_came_is_a_change_of_wording() -> None:
    """The rule is named."""
    rows = [*_SAME[:1], ("after", "kindly wait a little", "unknown", None, None)]
    assert ("wording_changed", "r1") in _found(_errors(rows))


_WEEK = [("a", day, 10, 0, 9, 0) for day in range(5)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([("a", 0, 5, 4, 9, 8)], [(0, "a")], id="no history at all"),
        pytest.param([("a", 0, 5, 2, 9, 8)], [], id="too few unknown sessions to matter"),
        pytest.param([*_WEEK, ("a", 7, 5, 4, 9, 8)], [], id="five days of its own"),
        pytest.param([*_WEEK[1:], ("a", 7, 5, 4, 9, 8)], [(7, "a")], id="four days"),
        pytest.param([*_WEEK, ("a", 43, 5, 4, 9, 8)], [(43, "a")], id="too long ago"),
        pytest.param([*_WEEK, ("b", 7, 5, 4, 9, 8)], [(7, "b")], id="somebody else's"),
    ],
)
def test_what_has_no_baseline_is_unjudged(
    rows: list[tuple[str, int, int, int, int, int]], expected: list[tuple[int, str]]
) -> None:
    """Days with several unknown sessions and less than five days before them, and no others."""
    assert unjudged(counts(rows)) == [(FIRST + timedelta(days=number), caller) for number, caller in expected]


def test_nothing_is_unjudged_without_counts() -> None:
    """An empty frame has no days."""
    assert unjudged(counts([])) == []


def test_traffic_that_did_not_change_is_rarely_called_so() -> None:
    """At 5 % in at most a tenth of histories, of few sessions and of many; a reason that trebles is named."""
    random = Random(7)

    def changed(before: int, after: int, unknown: float) -> list[str]:
        shares = [("before", before, 0.1), ("after", after, unknown)]
        rows = [
            (period, f"{period}-{number}", "t", reason, None, reason)
            for period, sessions, share in shares
            for number in range(sessions)
            for reason in ["unknown" if random.random() < share else random.choice(("rate_limited", "validation"))]
        ]
        names = ["period", "session", "template", "reason", "rule", "old_reason"]
        found = causes(pl.DataFrame(rows, names, orient="row"), day=FIRST, alpha=0.05)
        return [str(one.note) for one in found if one.finding == "traffic_changed"]

    for before, after in ((30, 12), (600, 300)):
        assert sum(len(changed(before, after, 0.1)) for _ in range(60)) <= 6
    (note,) = changed(300, 100, 0.3)
    assert "sessions met unknown errors" in note
