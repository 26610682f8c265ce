"""The false-alarm rate of the tests on a store's own history, and how much stricter the tests become by it.

It is measured once a week, on history up to its Monday, so that the nights of a week agree; on a sample, to be quick.
Shares are drawn by what they are known to be. For all other tests that can raise a warning the days are drawn: outside
of findings, weekdays trade places, and so do weekends, for the whole fleet at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random

import polars as pl

from analyzer.analysis.detection import Detection, Settings, calibrated, widened
from analyzer.analysis.detection.statistics.calibration import WARM_UP_DAYS
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
_SEED = 1_947
_MERGE_DAYS = 2
"""Alarms of one incident at most so far apart are one."""


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


def monday_of(day: date) -> date:
    """The Monday of the week that a day lies in."""
    return day - timedelta(days=day.weekday())


def calibrate(seen: Observations, monday: date) -> Calibrated:
    """The false-alarm rate on the history before `monday`, and the first rung that keeps the budget."""
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
        return sum(_false_alarms(_shuffled(quiet[0], _SEED + draw), settings) for draw in range(draws))

    found = calibrated(counts, templates, budget=BUDGET, draws=DRAWS, others=others)
    return Calibrated(monday, found.rung, found.measured.per_thousand if found.measured.caller_days else None)


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
    return replace(seen, night=monday - timedelta(days=1), **dated, versions=seen.versions.clear(), walks=None)


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
    episodes = 0
    last: dict[Identity, date] = {}
    for one in detections(seen, settings):
        if one.day < start or kind_of(one.finding).family == SHARE or not _warns(one):
            continue
        what = Identity.of(one)
        episodes += what not in last or (one.day - last[what]).days > _MERGE_DAYS
        last[what] = one.day
    return episodes
