"""The false-alarm rate of settings on a given history had nothing changed in it, and settings that keep a budget.

History is drawn anew under the null, not merely searched: real incidents would count as false alarms, and removing
what the detector found would count none. Each caller-day keeps its sessions and groups; what is drawn is how many
were unknown, by the caller's own weekly shares, its day noise and its clustering, measured on the days outside of
findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import exp, sqrt
from random import Random

import polars as pl

from analyzer.analysis.detection.detect import DEFAULT, detect
from analyzer.analysis.detection.settings import RUNGS, Settings, widened
from analyzer.analysis.detection.statistics.tails import wilson_interval

WARM_UP_DAYS = 28
"""Days of a history on which alarms are not counted: there is no baseline yet."""
_SEED = 1_953
_MERGE_DAYS = 2
"""Alarms at most so far apart are one episode."""
_MOST_NOISE = 1.5
_PRIOR_NOISE, _PRIOR_DAYS = 0.1, 10.0
"""Variance of the log-odds of a day, and the days it is worth, before any is seen."""


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """The false alarms of settings on a history without changes."""

    per_thousand: float
    """Episodes of `spike` or `drift`, and those of other tests that were asked for, per 1,000 caller-days."""
    low: float
    high: float
    """95 % interval of it (Wilson, episodes as independent)."""
    episodes: int
    caller_days: int
    """Judged over all draws; 0 when the history is shorter than the warm-up."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Settings that keep the budget, or the widest there are."""

    settings: Settings
    rung: int
    """Steps up the ladder: 0 leaves the settings as they were."""
    measured: FalseAlarms
    within_budget: bool
    note: str
    """One sentence for a person."""


@dataclass(frozen=True, slots=True)
class _Null:
    """What the days of one caller are drawn from under the null hypothesis that nothing changed."""

    shares: tuple[float, float]
    """Share of sessions with an unknown error, weekdays and weekends."""
    noise: float
    """Standard deviation of a day's log-odds."""
    groups_each: float
    """Unknown groups of a session that has any."""


Others = Callable[[Settings, int], int]
"""The false alarms, as episodes, of other tests under some settings, on so many histories that are drawn anew."""


def none(_settings: Settings, _draws: int) -> int:
    """No other tests."""
    return 0


def false_alarm_rate(
    counts: pl.DataFrame,
    templates: pl.DataFrame,
    settings: Settings = DEFAULT,
    *,
    draws: int = 5,
    others: Others = none,
) -> FalseAlarms:
    """The false alarms of the detector on histories drawn under the null that a given history suggests (A/A test).

    Findings `template` are not drawn here: their null is the text of a log, which counts do not hold. `others` adds
    theirs, and those of all other tests. Shapes as in `detect`. Takes about `draws` + 1 times as long as `detect`.
    """
    findings = detect(counts, templates, settings)
    nulls = _nulls(_quiet(counts, findings))
    nothing = templates.clear()
    first = counts["day"].min()
    episodes = caller_days = 0
    if counts.is_empty():
        return FalseAlarms(0.0, 0.0, 1000.0, 0, 0)
    start = first + timedelta(days=WARM_UP_DAYS)  # type: ignore[operator]
    judged = counts.filter(pl.col("day") >= start).height
    ordered = counts.sort("day", "caller")
    for draw in range(draws):
        drawn = _draw(ordered, nulls, Random(_SEED + draw))  # noqa: S311 - no secret
        episodes += _episodes(detect(drawn, nothing, settings).filter(pl.col("day") >= start))
        caller_days += judged
    if not caller_days:
        return FalseAlarms(0.0, 0.0, 1000.0, 0, 0)
    episodes += others(settings, draws)
    low, high = wilson_interval(min(1.0, episodes / caller_days), caller_days)
    return FalseAlarms(1000 * episodes / caller_days, 1000 * low, 1000 * high, episodes, caller_days)


def calibrated(
    counts: pl.DataFrame,
    templates: pl.DataFrame,
    *,
    budget: float = 1.0,
    settings: Settings = DEFAULT,
    draws: int = 5,
    others: Others = none,
) -> Calibration:
    """The first rung of the ladder (`widened`) whose A/A rate is within `budget` per 1,000 caller-days.

    A single false alarm is within it, however small the history.
    """
    for rung in range(RUNGS + 1):
        tried = widened(settings, rung)
        measured = false_alarm_rate(counts, templates, tried, draws=draws, others=others)
        within = measured.per_thousand <= budget or measured.episodes == 1
        if within or rung == RUNGS:
            break
    rate = f"{measured.per_thousand:.1f} false alarms per 1,000 caller-days, budget {budget:g}"
    if not measured.caller_days:
        note = "too little history to measure false alarms"
    elif not within:
        note = f"{rate}: over budget even at the widest settings"
    elif rung:
        note = f"{rate}: this history is noisy, so the settings were widened {rung} times"
    else:
        note = rate
    return Calibration(tried, rung, measured, within, note)


def _quiet(counts: pl.DataFrame, findings: pl.DataFrame) -> pl.DataFrame:
    """The days outside of findings, from the onset of each to its last day.

    Of a level that was accepted nothing counts: two levels together would pass for noise.
    """
    end = counts["day"].max()
    columns = findings.filter(pl.col("finding") != "template").select("caller", "onset", "day", "state")
    excluded = [
        (caller, onset + timedelta(days=each))
        for caller, onset, last, state in columns.iter_rows()
        for each in range(((end if state == "accepted" else last) - onset).days + 1)
    ]
    loud = pl.DataFrame(excluded, schema={"caller": pl.String, "day": pl.Date}, orient="row").unique()
    return counts.join(loud, on=["caller", "day"], how="anti")


def _nulls(quiet: pl.DataFrame) -> dict[str, _Null]:
    """Callers' shares, and the noise by the excess of Pearson's X² over its degrees of freedom (Williams 1982)."""
    sums: dict[str, list[list[tuple[int, int, int]]]] = {}
    columns = ("caller", "day", "sessions", "unknown_sessions_replayed", "unknown_groups_replayed")
    for caller, day, sessions, unknown, groups in quiet.select(columns).sort("caller", "day").iter_rows():
        if sessions:
            sums.setdefault(caller, [[], []])[day.weekday() >= 5].append((sessions, unknown, groups))
    nulls = {}
    for caller, strata in sums.items():
        days = [day for stratum in strata for day in stratum]
        share = (sum(day[1] for day in days) + 0.5) / (sum(day[0] for day in days) + 1)
        shares = []
        excess = information = 0.0
        for stratum in strata:
            sessions = sum(day[0] for day in stratum)
            here = (sum(day[1] for day in stratum) + 20 * share) / (sessions + 20)
            shares.append(here)
            spread = here * (1 - here)
            # One degree of freedom went into the share: a typical day's variance is given back.
            excess += sum((k - n * here) ** 2 - n * spread for n, k, _ in stratum) + spread * sessions / max(
                1, len(stratum)
            )
            information += sum(n * (n - 1) for n, _, _ in stratum) * spread * spread
        prior = _PRIOR_DAYS * information / len(days)
        total = information + prior
        noise = sqrt(min(_MOST_NOISE**2, max(0.0, (excess + prior * _PRIOR_NOISE) / total))) if total else 0.0
        unknown = sum(day[1] for day in days)
        nulls[caller] = _Null((shares[0], shares[1]), noise, max(1.0, sum(day[2] for day in days) / max(1, unknown)))
    return nulls


def _draw(counts: pl.DataFrame, nulls: Mapping[str, _Null], random: Random) -> pl.DataFrame:
    unknown_sessions, unknown_groups = [], []
    for caller, day, sessions, groups in counts.select("caller", "day", "sessions", "groups").iter_rows():
        null = nulls.get(caller)
        hit = in_groups = 0
        if null is not None:
            share = null.shares[day.weekday() >= 5]
            odds = share / (1 - share) * exp(random.gauss(0, null.noise) - null.noise**2 / 2)
            today = odds / (1 + odds)
            for _ in range(sessions):
                if random.random() < today:
                    hit += 1
                    in_groups += 1
                    while random.random() < 1 - 1 / null.groups_each:
                        in_groups += 1
        unknown_sessions.append(hit)
        unknown_groups.append(min(in_groups, groups))
    return counts.with_columns(
        pl.Series("unknown_sessions_replayed", unknown_sessions, dtype=pl.Int64),
        pl.Series("unknown_groups_replayed", unknown_groups, dtype=pl.Int64),
    )


def _episodes(findings: pl.DataFrame) -> int:
    episodes = 0
    last: dict[str, int] = {}
    for day, caller in findings.select("day", "caller").unique().sort("day", "caller").iter_rows():
        ordinal = day.toordinal()
        episodes += caller not in last or ordinal - last[caller] > _MERGE_DAYS
        last[caller] = ordinal
    return episodes
