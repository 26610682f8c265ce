"""The false-alarm rate of the tests on a store's own history, and how much stricter the tests become by it.

It is measured once a week, on history up to its Monday, so that the nights of a week agree; on a sample, to be quick.

History is drawn anew under the null hypothesis, not merely searched: real incidents would count as false alarms, and
removing what the detector found would count none. Of shares each caller-day keeps its sessions and groups; how many
were unknown is drawn by the caller's own weekly shares, its day noise and its clustering, measured outside of findings.
For all other tests that can raise a warning the days are drawn: outside of findings, weekdays trade places, and so do
weekends, for the whole fleet at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import exp, sqrt
from random import Random
from typing import Any

import polars as pl

from analyzer.analysis.detection import Detection, Settings, detect, widened
from analyzer.analysis.detection.detection import RUNGS
from analyzer.analysis.detection.fleet import DEFAULT
from analyzer.analysis.detection.statistics.tails import wilson_interval
from analyzer.analysis.kinds.finding import SHARE, Identity, kind_of
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.observations import DATED, Observations, SessionRows, drawn
from analyzer.store import CallerDays

BUDGET = 2.0
"""False alarms per 1,000 caller-days. The sample is small: at half of it, where the settings aim, one history in twenty
is widened by chance."""
MEASURED_DAYS = 84
"""Days of history, before the Monday, that are measured."""
SAMPLE = 500
"""Caller-days that are measured at most."""
DRAWS = 3
"""Histories that are drawn under the null hypothesis, each of all these caller-days."""
WARM_UP_DAYS = 28
"""Days of a history on which alarms are not counted: there is no baseline yet."""
_SHARES_SEED, _DAYS_SEED = 1_953, 1_947
_MERGE_DAYS = 2
"""Alarms of one incident at most so far apart are one episode."""
_MOST_NOISE = 1.5
_PRIOR_NOISE, _PRIOR_DAYS = 0.1, 10.0
"""Variance of the log-odds of a day, and the days it is worth, before any is seen."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The calibration of one week."""

    on: date
    """The Monday of the week; the history before it was measured."""
    rung: int = 0
    """Steps by which the tests are stricter than by default."""
    per_thousand: float | None = None
    """False alarms per 1,000 caller-days at this rung; None where history is too short to tell."""

    @property
    def settings(self) -> Settings:
        """The settings for the nights of that week."""
        return widened(Settings(), self.rung)

    @property
    def note(self) -> str | None:
        """A sentence that says so where tests were made stricter; None where they were not."""
        if not self.rung or self.per_thousand is None:
            return None
        said = f"this history is noisy, so the tests were made stricter by {self.rung} of 4 steps"
        if self.per_thousand > BUDGET:
            said += f"; even so {self.per_thousand:.1f} false alarms per 1,000 caller-days are to be expected"
        return said


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


def monday_of(day: date) -> date:
    """The Monday of the week that a day lies in."""
    return day - timedelta(days=day.weekday())


def calibrate(seen: Observations, monday: date) -> Calibrated:
    """The false-alarm rate on the history before `monday`, and the first rung that keeps the budget.

    A single false alarm is within it, however small the history.
    """
    since = monday - timedelta(days=MEASURED_DAYS)
    counts = _sampled(seen.counts.filter((pl.col("day") < monday) & (pl.col("day") >= since)))
    templates = seen.templates.filter((pl.col("day") < monday) & (pl.col("day") >= since)).join(
        counts.select("caller").unique(), on="caller", how="semi"
    )
    days = counts["day"].unique().sort()
    if not len(days) or (days[-1] - days[0]).days < WARM_UP_DAYS:
        return Calibrated(monday)
    own = _of_callers(seen, counts, since, monday)
    quiet: list[Observations] = []

    def others(settings: Settings, draws: int) -> int:
        if not quiet:
            quiet.append(_without(own, detections(own)))
        return sum(_false_alarms(_shuffled(quiet[0], _DAYS_SEED + draw), settings) for draw in range(draws))

    for rung in range(RUNGS + 1):
        measured = false_alarm_rate(counts, templates, widened(Settings(), rung), draws=DRAWS, others=others)
        if measured.per_thousand <= BUDGET or measured.episodes == 1:
            break
    return Calibrated(monday, rung, measured.per_thousand if measured.caller_days else None)


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
        anew = _draw(ordered, nulls, Random(_SHARES_SEED + draw))  # noqa: S311 - no secret
        episodes += _share_episodes(detect(anew, nothing, settings).filter(pl.col("day") >= start))
        caller_days += judged
    if not caller_days:
        return FalseAlarms(0.0, 0.0, 1000.0, 0, 0)
    episodes += others(settings, draws)
    low, high = wilson_interval(min(1.0, episodes / caller_days), caller_days)
    return FalseAlarms(1000 * episodes / caller_days, 1000 * low, 1000 * high, episodes, caller_days)


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


def _share_episodes(findings: pl.DataFrame) -> int:
    return _episodes(findings.select("caller", "day").unique().sort("day", "caller").iter_rows())


def _episodes(alarms: Iterable[tuple[Any, date]]) -> int:
    """The number of incidents that alarms, given with what they are about and in the order of their days, come to."""
    last: dict[Any, date] = {}
    episodes = 0
    for what, day in alarms:
        episodes += what not in last or (day - last[what]).days > _MERGE_DAYS
        last[what] = day
    return episodes


def _sampled(counts: pl.DataFrame) -> pl.DataFrame:
    """The rows of callers that are drawn by their names, whole ones, up to SAMPLE rows."""
    days_of = dict(counts.group_by("caller").len().iter_rows())
    chosen: list[str] = []
    total = 0
    # Each has a day at least: no more of them can take part.
    for caller in drawn(days_of, SAMPLE):
        if chosen and total + days_of[caller] > SAMPLE:
            break
        chosen.append(caller)
        total += days_of[caller]
    return counts.filter(pl.col("caller").is_in(chosen))


def _of_callers(seen: Observations, counts: pl.DataFrame, since: date, monday: date) -> Observations:
    """The history of the callers that are measured, in its days."""
    callers = counts.select("caller").unique()
    days = (pl.col("day") >= since) & (pl.col("day") < monday)
    dated = {name: getattr(seen, name).filter(days).join(callers, on="caller", how="semi") for name in DATED}
    # Days trade places, so that none is before a change of recorded rules.
    return replace(
        seen, night=monday - timedelta(days=1), **dated, versions=seen.versions.clear(), detector_states=None
    )


def _warns(one: Detection) -> bool:
    kind = kind_of(one.finding)
    return kind.family == SHARE or kind.severity(one) != "info"


def _without(seen: Observations, found: Iterable[Detection]) -> Observations:
    """The history outside of findings, from the onset of each to its last day; of a new message without its text.

    Of a level that was accepted nothing is left: two levels together would pass for noise.
    """
    loud: set[tuple[str, date]] = set()
    days: set[date] = set()
    texts: set[tuple[str | None, str]] = set()
    for one in filter(_warns, found):
        end = seen.night if one.state == "accepted" else one.day
        span = [one.day - timedelta(days=back) for back in range((one.day - (one.onset or one.day)).days + 1)]
        span += [one.day + timedelta(days=more + 1) for more in range((end - one.day).days)]
        if one.template is not None:
            texts.add((one.caller, one.template))
        elif one.caller is None:
            days.update(span)
        else:
            loud.update((one.caller, day) for day in span)
    gone = pl.DataFrame(list(loud), {"caller": pl.String, "day": pl.Date}, orient="row")
    dated = {
        name: getattr(seen, name).filter(~pl.col("day").is_in(list(days))).join(gone, on=["caller", "day"], how="anti")
        for name in DATED
    }
    everywhere = [template for caller, template in texts if caller is None]
    new = pl.DataFrame(list(texts), {"caller": pl.String, "template": pl.String}, orient="row")
    for name in ("templates", "known_templates"):
        known = dated[name].filter(~pl.col("template").is_in(everywhere))
        dated[name] = known.join(new, on=["caller", "template"], how="anti")
    return replace(seen, **dated)


def _shuffled(seen: Observations, seed: int) -> Observations:
    """The same history with its weekdays in another order, and its weekends."""
    frames = {name: getattr(seen, name) for name in DATED}
    first = min(frame["day"].min() for frame in frames.values() if frame.height)
    days = [first + timedelta(days=number) for number in range((seen.night - first).days + 1)]
    random = Random(seed)  # noqa: S311 - no secret
    target: dict[date, date] = {}
    for weekend in (False, True):
        alike = [day for day in days if (day.weekday() >= 5) == weekend]
        target.update(zip(alike, random.sample(alike, len(alike)), strict=True))
    moved = {
        name: frame.with_columns(pl.col("day").replace_strict(target, return_dtype=pl.Date)).sort("day", "caller")
        for name, frame in frames.items()
    }
    there = frames["counts"].select("caller", "day")
    return replace(seen, **moved, rows=_MovedRows(seen.rows, target, there))


@dataclass(frozen=True, slots=True)
class _MovedRows:
    """What is behind sums whose days were moved."""

    rows: SessionRows
    target: Mapping[date, date]
    """Where each day went."""
    there: pl.DataFrame
    """The callers and days, before they were moved, that have a part."""

    def groups(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        stretches = list(asked)
        single = {
            CallerDays(one.caller, day, day)
            for one in stretches
            for day, moved in self.target.items()
            if one.first <= moved <= one.last
        }
        rows = self.rows.groups(sorted(single)).join(self.there, on=["caller", "day"], how="semi")
        return rows.with_columns(pl.col("day").replace_strict(self.target, return_dtype=pl.Date))

    def hand_offs(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        return self.rows.hand_offs(asked)


def _false_alarms(seen: Observations, settings: Settings) -> int:
    """The incidents of tests beside those of shares that would be a warning."""
    days = [getattr(seen, name)["day"].min() for name in DATED if getattr(seen, name).height]
    start = min(days) + timedelta(days=WARM_UP_DAYS)
    return _episodes(
        (Identity.of(one), one.day)
        for one in detections(seen, settings)
        if one.day >= start and kind_of(one.finding).family != SHARE and _warns(one)
    )
