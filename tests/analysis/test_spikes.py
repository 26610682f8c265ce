"""The spike test: what it flags, and above all what it does not."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.analysis import Window, find_spikes, overview, spikes, window
from analyzer.analysis.spikes import binomial_tail
from analyzer.errors import AnalyzerError
from analyzer.store import Store

FIRST = date(2026, 10, 1)


def counts(*rows: tuple[int, str, int, int, int]) -> pl.DataFrame:
    """Daily counts from (day number, caller, errors, unknown errors, sessions with unknown errors)."""
    names = ["day", "caller", "errors", "unknown_errors", "unknown_sessions"]
    data = [(FIRST + timedelta(days=day), *rest) for day, *rest in rows]
    return pl.DataFrame(data, schema=names, orient="row")


def quiet_days(
    caller: str = "a", days: int = 10, errors: int = 20, unknown: int = 1
) -> list[tuple[int, str, int, int, int]]:
    """Days like any other."""
    return [(day, caller, errors, unknown, unknown) for day in range(days)]


def test_a_day_far_above_its_baseline_is_a_spike() -> None:
    """Ten quiet days, then most errors unknown in several sessions."""
    (found,), unjudged = find_spikes(counts(*quiet_days(), (10, "a", 20, 14, 5)))
    assert (found.caller, found.day, found.unknown_errors) == ("a", FIRST + timedelta(days=10), 14)
    assert found.baseline_share == pytest.approx(10.5 / 201)
    assert found.p_value < 1e-9
    assert unjudged == []


@pytest.mark.parametrize(
    "last",
    [
        pytest.param((10, "a", 20, 4, 4), id="too few unknown errors"),
        pytest.param((10, "a", 20, 14, 1), id="one bad session"),
        pytest.param((10, "a", 200, 20, 9), id="less than ten points above"),
        pytest.param((10, "a", 40, 5, 5), id="a share that chance explains"),
    ],
)
def test_less_than_all_conditions_is_no_spike(last: tuple[int, str, int, int, int]) -> None:
    """Each condition alone keeps the peace."""
    assert find_spikes(counts(*quiet_days(), last)) == ([], [])


def test_a_spike_does_not_become_the_next_days_baseline() -> None:
    """An incident of three days is found on all three."""
    found, _ = find_spikes(counts(*quiet_days(), *[(day, "a", 20, 14, 5) for day in (10, 11, 12)]))
    assert [spike.day.day for spike in found] == [11, 12, 13]


def test_a_new_caller_is_measured_against_all_callers() -> None:
    """Without a history of its own, the fleet's stands in."""
    found, _ = find_spikes(counts(*quiet_days("a"), (10, "new", 20, 14, 5)))
    assert [spike.caller for spike in found] == ["new"]


def test_without_any_history_nothing_is_claimed() -> None:
    """The day is told to be unjudged, not quiet and not a spike."""
    found, unjudged = find_spikes(counts((0, "a", 20, 14, 5)))
    assert (found, unjudged) == ([], [("a", FIRST)])


def test_days_before_the_baselines_reach_do_not_count() -> None:
    """A history of a month ago is none."""
    old = [(day, "a", 20, 1, 1) for day in range(5)]
    found, unjudged = find_spikes(counts(*old, (30, "a", 20, 14, 5)))
    assert (found, len(unjudged)) == ([], 1)


@given(st.integers(1, 200), st.floats(0, 1), st.integers(2, 40))
def test_a_constant_series_never_spikes(errors: int, share: float, days: int) -> None:
    """The same counts every day are never news, whatever they are."""
    unknown = round(errors * share)
    rows = [(day, "a", errors, unknown, min(unknown, 3)) for day in range(days)]
    assert find_spikes(counts(*rows))[0] == []


@given(st.permutations(["a", "b", "c"]))
def test_the_order_of_callers_changes_nothing(order: list[str]) -> None:
    """Rows of a day are judged from the days before, not from each other."""
    rows = [(day, caller, 20, 1, 1) for day in range(10) for caller in order]
    rows += [(10, caller, 20, 14 if caller == "b" else 1, 5) for caller in order]
    assert [spike.caller for spike in find_spikes(counts(*rows))[0]] == ["b"]


def test_the_tail_of_the_binomial_is_the_sum_of_its_terms() -> None:
    """Against a direct sum with exact binomial coefficients."""
    from math import comb

    for successes, trials, probability in ((1, 10, 0.1), (5, 20, 0.05), (14, 18, 0.3), (200, 1_000, 0.19)):
        exact = sum(
            comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(successes, trials + 1)
        )
        assert binomial_tail(successes, trials, probability) == pytest.approx(exact)
    assert (binomial_tail(0, 5, 0.1), binomial_tail(3, 5, 0.0), binomial_tail(3, 5, 1.0)) == (1.0, 0.0, 1.0)


def test_the_samples_have_the_one_spike_that_their_readme_tells(memory: Store, samples: object) -> None:
    """figma-probe, on one day, and nobody else."""
    memory.ingest([str(samples)])
    found = spikes(memory)
    assert found.callers == ("figma-probe",)
    assert [(spike.day, spike.unknown_errors, spike.errors) for spike in found.found] == [(date(2026, 11, 9), 14, 18)]
    assert found.to_polars().height == 1
    assert found.to_dict()["spikes"][0]["day"] == "2026-11-09"
    assert "figma-probe" in str(found.plot().to_json())


def test_the_baseline_of_a_window_may_lie_before_it(memory: Store, samples: object) -> None:
    """A report on one day knows the week before; a report on the week before knows no spike."""
    memory.ingest([str(samples)])
    assert spikes(memory, since="2026-11-09").callers == ("figma-probe",)
    assert spikes(memory, until="2026-11-09").callers == ()


def test_the_overview_of_the_samples_opens_with_the_spike(memory: Store, samples: object) -> None:
    """Verdict, totals and completeness hang together."""
    memory.ingest([str(samples)])
    content = overview(memory, Window())
    assert content.verdict.level == "spike"
    assert content.verdict.headline == "Unknown errors spiked for figma-probe."
    by_reason = content.tables["errors-by-reason"].frame
    assert content.totals.errors == by_reason["errors"].sum()
    assert content.totals.unknown_errors <= content.totals.counted_errors <= content.totals.errors
    assert content.completeness.quarantined == content.tables["quarantine-lines"].frame.height
    assert content.to_dict()["schema"] == "analyzer.report/1"


@pytest.mark.parametrize(
    ("since", "until", "level"),
    [
        ("2026-11-02", "2026-11-09", "quiet"),
        ("2026-11-09", None, "spike"),
        ("2027-01-01", None, "empty"),
    ],
)
def test_the_verdict_follows_from_the_window(
    memory: Store, samples: object, since: str, until: str | None, level: str
) -> None:
    """A quiet week, a day with a spike, a future without anything."""
    memory.ingest([str(samples)])
    assert overview(memory, window(since, until)).verdict.level == level


def test_a_log_without_history_is_unjudged(memory: Store, samples: object) -> None:
    """The spike's own day alone is called neither quiet nor a spike."""
    memory.ingest([f"{samples}/unknown-spike.jsonl"])
    assert overview(memory, Window()).verdict.level == "unjudged"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"since": "7d", "last": "7d"}, "both"),
        ({"since": "2026-11-02", "until": "2026-11-01"}, "nothing lies between"),
        ({"timezone": "Mars/Base"}, "unknown time zone"),
        ({"timezone": "/etc/passwd"}, "unknown time zone"),
        ({"last": "soon"}, "not a length of time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_window_that_cannot_be_is_refused(arguments: dict[str, str], message: str) -> None:
    """Contradictions and unknown words, each with a hint."""
    with pytest.raises(AnalyzerError, match=message) as caught:
        window(**arguments)  # type: ignore[arg-type]
    assert caught.value.hint
