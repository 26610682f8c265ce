"""Count together: the errors of a caller, provider or model, with one reason or with any reason.

Most units never have a day with many errors. Sums over all units at once find the others, and only
these are judged.

Numbers of errors are compared per session at work.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date

import polars as pl

from analyzer.analysis.kinds.statistics.rates import (
    STRATUM_COUNT,
    CountedDay,
    RateTail,
    every_day,
    rate_tail,
    running,
    stretch,
)
from analyzer.analysis.periods import ACCEPT_DAYS, BASELINE_DAYS, DRIFT_GAP, QUIET_RISE_DAYS
from analyzer.frozen import frozen

SPANS = {1: 1.0, 2: 1 / 2, 3: 1 / 2, 7: 1 / 2}
"""Lengths in days of the judged spans, each with its part of the budget; long spans show a slow
rise."""
LEAST_RATIO = 1.25
"""Least count, as a multiple of the expected one: less is sure in a large fleet, and no trouble."""
CLEAR_RATIO = 2.0
"""Multiple from which a rise may use its whole budget."""
_STEEP = 8
"""Power of the ratio by which a smaller rise needs a smaller p-value: 1.25 times as many need a
fortieth."""
_GOES_ON = 0.001
"""P-value at which a rise goes on though the day has much fewer errors than the first days."""
_WITNESS = 0.01
"""P-value that the sessions of a rise need where it is one of a share, or where no log shows sessions
without errors: the few sessions that may meet such errors can say no more."""
UNSEEN_RATIO = 3.0
"""The same where no log shows sessions without errors."""
LEAST_MORE = 4.5
"""Errors above the expected ones, and sessions that meet them: fewer may be a coincidence."""
_TIMES = {1: 1, 2: 1, 3: 1.5, 7: 2.5}
"""Factor of `LEAST_MORE` by length of the span: in a week some sessions meet anything by chance."""
ANY = ""
"""Stands for all reasons together."""
_NEAR = 0.4
"""Part of the least count from which a span is judged: a weekend may expect less than half."""
_NEARLY = 0.999
"""The same where the baseline leaves out no day; below 1, as sums of fractions depend on the order
of terms."""
_PRIOR = 1.0
"""Errors added to a baseline: with only half an error, a handful of first ones would look
impossible."""
_DEVIATIONS = 2.5
"""Least standard deviations of a Poisson count above the expected one: no test passes with fewer."""
_DAYS_BACK = BASELINE_DAYS + max(SPANS)


@frozen
class Rise:
    """The evidence that one span gives."""

    tail: RateTail
    first: int
    """First day of the span."""
    count: int
    sessions: int
    exposure: float

    def over(self, day: int) -> str:
        """Name the days of the span that ends with a day."""
        last = date.fromordinal(day)
        return f"on {last}" if day == self.first else f"from {date.fromordinal(self.first)} to {last}"


@dataclass(slots=True)
class Unit:
    """The counts of one unit by day, and its ongoing rise."""

    days: dict[int, CountedDay] = field(default_factory=dict)
    """The days at work, by proleptic ordinal."""
    sessions: dict[int, int] = field(default_factory=dict)
    """Sessions with one of the errors, by day that has any."""
    near: set[int] = field(default_factory=set)
    """Days that may show a rise."""
    clear: set[int] = field(default_factory=set)
    """Days of `near` that may show a rise if the baseline leaves out no day."""
    excluded: set[int] = field(default_factory=set)
    """Days of rises, which no baseline contains."""
    since: int = 0
    """First day of the baseline, since a new level was accepted; 0 if none was."""
    begins: int = 0
    """First day whose exposure is sessions; earlier days are compared only with each other."""
    trials: dict[int, int] = field(default_factory=dict)
    """Sessions that might have met the errors, by day, if exposure counts errors; else empty."""
    onset: int | None = None
    """First day of the ongoing rise; None without one."""
    level: float = 0.0
    """Errors per exposure of the ongoing rise, when it was found."""
    quiet: int = 0
    """Days at work since the last day with evidence of the rise."""
    quiet_days: int = QUIET_RISE_DAYS
    """Quiet days that end the rise."""

    def look(self, day: int, alpha: float) -> Rise | None:
        """Return the clearest evidence of a rise in a span that ends with the day, if any.

        Spans can open a rise, but not on a normal day, and never prolong it: while a rise goes on,
        the day decides.
        """
        if day not in self.days or not (self.onset is not None or self._may_rise(day)):
            return None
        before = range(max(day - _DAYS_BACK, self._since(day)), day)
        history = [self.days[at] for at in before if at in self.days and at not in self.excluded]
        if self.onset is not None:
            return self._goes_on(self.days[day], history)
        best: Rise | None = None
        for length, part in SPANS.items():
            rise = self._span(day, length, history)
            if rise is None:
                continue
            clear = min(1.0, rise.count / (CLEAR_RATIO * rise.tail.expected))
            if rise.tail.p_value > alpha * part * clear**_STEEP:
                continue
            usual, level = rise.tail.expected / rise.exposure, rise.count / rise.exposure
            if length == 1 or self.days[day].number >= (usual + level) / 2 * self.days[day].exposure:
                best = rise if best is None or rise.tail.p_value < best.tail.p_value else best
        return best

    def _goes_on(self, today: CountedDay, history: list[CountedDay]) -> Rise | None:
        """Return the evidence of a day that is nearer to the ongoing rise than to usual."""
        tail = rate_tail(history, [today], 1, _PRIOR, bounded=bool(self.trials))
        if tail is None or today.number <= tail.expected:
            return None
        more = today.number - tail.expected
        near = more >= 1 and 2 * today.number >= tail.expected + self.level * today.exposure
        clear = more >= LEAST_MORE and today.number >= LEAST_RATIO * tail.expected and tail.p_value <= _GOES_ON
        if not (near or clear):
            return None
        return Rise(tail, today.day, today.number, self.sessions.get(today.day, 0), today.exposure)

    def _span(self, day: int, length: int, history: list[CountedDay]) -> Rise | None:
        days = range(max(day - length + 1, self._since(day)), day + 1)
        span = [self.days[at] for at in days if at in self.days and at not in self.excluded]
        count, sessions = (
            sum(counted.number for counted in span),
            sum(self.sessions.get(counted.day, 0) for counted in span),
        )
        least = LEAST_MORE * _TIMES[length]
        if sessions < least or (length > 1 and len(span) < 2):
            return None
        # Where no log shows sessions without errors, more work looks like more errors.
        ratio = LEAST_RATIO if self._is_seen(day) else UNSEEN_RATIO
        tail = rate_tail(history, span, _gap_days(length), _PRIOR, ratio, bounded=bool(self.trials))
        if tail is None or count - tail.expected < least:
            return None
        exposure = sum(counted.exposure for counted in span)
        above = sum(counted.number * exposure > tail.expected * counted.exposure for counted in span)
        if length > 1 and (above < 2 or 2 * above < len(span)):
            return None  # a single day is no slow rise
        # A session counts once: a few that repeat themselves are no rise.
        by_sessions = self._by_sessions(history, span, length)
        if self._is_seen(day) and not self.trials:
            tail = tail._replace(p_value=max(tail.p_value, by_sessions))
        elif by_sessions > _WITNESS:
            return None
        return Rise(tail, span[0].day, count, sessions, exposure)

    def _by_sessions(self, history: list[CountedDay], span: list[CountedDay], length: int) -> float:
        """Return the p-value of the number of sessions that meet the errors of a span."""
        before, now = (
            [
                CountedDay(
                    counted.day,
                    self.sessions.get(counted.day, 0),
                    float(self.trials.get(counted.day, counted.exposure)),
                )
                for counted in days
            ]
            for days in (history, span)
        )
        bounded = bool(self.trials) or self._is_seen(now[-1].day)
        tail = rate_tail(before, now, _gap_days(length), _PRIOR, bounded=bounded)
        return 1.0 if tail is None else tail.p_value

    def _is_seen(self, day: int) -> bool:
        """Return whether logs show sessions without errors, too."""
        return 0 < self.begins <= day

    def _may_rise(self, day: int) -> bool:
        first = day - _DAYS_BACK
        if self.since > first or max(self.excluded, default=0) >= first:
            return day in self.near
        return day in self.clear

    def _since(self, day: int) -> int:
        return max(self.since, self.begins) if day >= self.begins else self.since

    def settle(self, day: int, rise: Rise | None) -> str:
        """Take the day into the baseline or out of it, and return the state of the rise."""
        if rise is None:
            self.quiet += day in self.days
            if self.quiet >= self.quiet_days:
                self.onset = None
            return "new"
        state = "ongoing"
        if self.onset is None:
            state, self.onset, self.level = "new", rise.first, rise.count / rise.exposure
        onset, self.quiet = self.onset, 0
        if day - onset < ACCEPT_DAYS:
            self.excluded.update(range(rise.first, day + 1))
            return state
        self.since, self.onset = onset, None
        self.excluded.difference_update(range(onset, day + 1))
        return "accepted"


def units(counts: pl.DataFrame, work: pl.DataFrame, touched: Collection[str] = ()) -> dict[str, dict[str, Unit]]:
    """Return the units by name and reason, of names that may have a rise or are in `touched`.

    `counts`: columns `day`, `name`, `reason` (or `ANY`), `sessions`, `groups`, one row each.
    `work`: columns `day`, `name`, `exposure`, `seen` (true if exposure is in sessions), one row for
    each day at work. `touched` are names whose baselines lose days that outages explain.
    """
    rows = counts.select("day", "name", "reason", "sessions", "groups")
    near = _near(rows, work)
    names = near.filter(pl.col("clear") | pl.col("name").is_in(list(touched))).select("name").unique()
    if names.is_empty():
        return {}
    near = near.join(names, on="name", how="semi")
    chosen = near.select("name", "reason").unique()
    units_by_name: dict[str, dict[str, Unit]] = {}
    for name, reason, day, clear in near.select("name", "reason", "day", "clear").iter_rows():
        unit = units_by_name.setdefault(name, {}).setdefault(reason, Unit())
        unit.near.add(day.toordinal())
        if clear:
            unit.clear.add(day.toordinal())
    shown: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}
    for day, name, reason, sessions, groups in rows.join(chosen, on=["name", "reason"], how="semi").iter_rows():
        shown.setdefault((name, reason), {})[day.toordinal()] = sessions, groups
    seen = work.filter(pl.col("seen")).group_by("name").agg(pl.col("day").min())
    begins = {name: day.toordinal() for name, day in seen.iter_rows()}
    own = work.select("name", "day", "exposure").join(chosen.select("name").unique(), on="name", how="semi")
    for name, day, exposure in own.iter_rows():
        for reason, unit in units_by_name[name].items():
            at = day.toordinal()
            sessions, groups = shown[name, reason].get(at, (0, 0))
            unit.begins = begins.get(name, 0)
            unit.days[at] = CountedDay(at, groups, exposure)
            unit.sessions[at] = sessions
    return units_by_name


def _near(rows: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Select rows whose spans may have a rise, whatever days the baseline leaves out.

    `clear` is true where they may have as many even if the baseline leaves out no day.
    """
    unit = ["name", "reason"]
    enough = rows.group_by(unit).agg(pl.sum("groups", "sessions"))
    enough = enough.filter((pl.col("groups") >= LEAST_MORE) & (pl.col("sessions") >= LEAST_MORE))
    weekend = pl.col("day").dt.weekday() > 5
    own = rows.join(enough.select(unit), on=unit, how="semi", maintain_order="left").with_columns(there=pl.lit(True))
    days = (
        every_day(own, unit, _DAYS_BACK)
        .join(work.select("name", "day", "exposure"), on=["name", "day"], how="left", maintain_order="left")
        .with_columns(
            there=pl.col("there") & pl.col("exposure").is_not_null(),
            days=pl.col("exposure").is_not_null().cast(pl.Int64),
        )
        .with_columns(pl.col("groups", "sessions", "exposure").fill_null(0))
        .with_columns(weekend_groups=pl.col("groups") * weekend, weekend_exposure=pl.col("exposure") * weekend)
    )
    days = days.with_columns(running(*_SUMMED))
    # Where exposure begins to be sessions, the days before are no part of the baseline.
    begins = work.group_by("name").agg(
        pl.col("day").min().alias("first"), pl.col("day").filter("seen").min().alias("begins")
    )
    after = (pl.col("day") - pl.col("begins")).dt.total_days()
    clear = ((pl.col("begins") > pl.col("first")) & after.is_between(0, _DAYS_BACK)).fill_null(False)
    days_near = days.join(begins, on="name", how="left", maintain_order="left")
    days_near = days_near.with_columns(near=pl.lit(False), clear=clear)
    for length in SPANS:
        gap = _gap_days(length)
        # As columns: polars takes longer to plan an expression with repeated sums than to run it.
        days_near = days_near.with_columns(
            *(stretch(name, length - 1, 0).alias(f"span_{name}") for name in _SUMMED),
            *(stretch(name, gap + BASELINE_DAYS - 1, gap).alias(f"base_{name}") for name in _SUMMED),
        )
        days_near = days_near.with_columns(_expected())
        span, base = (pl.col(f"{side}_groups") for side in ("span", "base"))
        possible = (span >= LEAST_MORE) & (pl.col("span_sessions") >= LEAST_MORE) & (pl.col("base_exposure") > 0)
        least = _NEAR * LEAST_RATIO * pl.col("span_exposure") / pl.col("base_exposure")
        more = span - pl.col("expected") >= _DEVIATIONS * pl.col("expected").sqrt()
        more &= span >= _NEARLY * LEAST_RATIO * pl.col("expected")
        days_near = days_near.with_columns(
            near=pl.col("near") | (possible & (span >= least * base)),
            clear=pl.col("clear") | (possible & more & (span - pl.col("expected") >= _NEARLY * LEAST_MORE)),
        )
    return days_near.filter(pl.col("there") & pl.col("near")).select("name", "reason", "day", "clear")


_SUMMED = ("groups", "weekend_groups", "sessions", "exposure", "weekend_exposure", "days")


def _expected() -> pl.Expr:
    """Return the count that `rate_tail` expects of the `span_` columns by the `base_` columns."""
    whole = pl.col("base_exposure")
    weight = STRATUM_COUNT * whole / (pl.col("base_groups") + _PRIOR)
    weekend = pl.col("span_weekend_exposure"), pl.col("base_weekend_exposure"), pl.col("base_weekend_groups")
    every = pl.col("span_exposure"), whole, pl.col("base_groups")
    weekdays = (whole_week - part for whole_week, part in zip(every, weekend, strict=True))
    expected = pl.lit(0.0)
    for of_span, of_base, number in (weekend, weekdays):
        expected += of_span * (number + STRATUM_COUNT) / (of_base + weight)
    return expected.alias("expected")


def _gap_days(length: int) -> int:
    """Return the gap of `rate_tail` for a span: a rise's first days must not hide the next."""
    return 1 if length == 1 else max(length, DRIFT_GAP)


def since_newest(work: pl.DataFrame, versions: pl.DataFrame) -> pl.DataFrame:
    """Keep a caller's rows since its newest ruleset began to record its errors without facts."""
    cut = versions.group_by("caller").agg(pl.col("first_on").max().alias("cut"), pl.len().alias("rulesets"))
    own = work.join(cut.filter(pl.col("rulesets") > 1), on="caller", how="left")
    return own.filter(pl.col("cut").is_null() | (pl.col("day") >= pl.col("cut"))).drop("cut", "rulesets")


def exposures(work: pl.DataFrame, counts: pl.DataFrame, versions: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return a row for each day on which a caller was at work, with its exposure.

    `work`: columns `day`, `caller`, `sessions`, `observed` (sessions that logs report, with or
    without errors).
    `counts`: columns `day`, `caller`, `sessions`, `groups` of errors. The result has `day`,
    `caller`, `exposure` (sessions, else 1), `seen` (true if it is in sessions), `error_sessions`,
    `groups`. `versions`: columns `caller`, `ruleset`, `first_on`; if several rulesets recorded a
    caller's errors, the days before the newest ruleset are left out.
    """
    own = work
    if versions is not None:
        own = since_newest(own, versions)
    begins = own.filter(pl.col("observed") > 0).group_by("caller").agg(pl.col("day").min().alias("begins"))
    dated = own.join(begins, on="caller", how="left")
    sessions = dated.filter((pl.col("day") >= pl.col("begins")) & (pl.col("sessions") > 0)).select(
        "day", "caller", pl.col("sessions").cast(pl.Float64).alias("exposure"), seen=pl.lit(True)
    )
    # If a caller's log shows only errors, a day without them is no quiet day: the caller may have
    # been away.
    time = dated.filter(pl.col("begins").is_null() | (pl.col("day") < pl.col("begins")))
    time = time.select("day", "caller", exposure=pl.lit(1.0), seen=pl.lit(False)).unique()
    errors = counts.select("day", "caller", pl.col("sessions").alias("error_sessions"), "groups")
    return (
        pl.concat([sessions, time])
        .join(errors, on=["day", "caller"], how="left")
        .with_columns(pl.col("error_sessions", "groups").fill_null(0))
        .sort("day", "caller")
    )
