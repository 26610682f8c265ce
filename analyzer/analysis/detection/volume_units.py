"""What is counted together: the errors of a caller, or of a provider or model, with one reason or with any.

Most of them never have a day with many errors. Sums over all of them at once find those, and they are not looked at.

Sessions at work are what numbers of errors are held against.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import polars as pl

from analyzer.analysis.detection.detection import ACCEPT_DAYS, BASELINE_DAYS, DRIFT_GAP, QUIET_RISE_DAYS
from analyzer.analysis.detection.statistics.rates import (
    STRATUM_DAYS,
    CountedDay,
    RateTail,
    every_day,
    rate_tail,
    running,
    stretch,
)

SPANS = {1: 1.0, 2: 1 / 5, 3: 1 / 10, 7: 1 / 20}
"""Lengths in days of the spans that are judged, each with its part of the budget; the longer ones see a slow rise."""
DAY_RATIO, SPAN_RATIO = 2.0, 1.5
"""Least count of a day, and of a longer span, in expected ones."""
_WITNESS = 0.01
"""P-value that the sessions of a rise need beside its errors: those of a few sessions that repeat themselves do not."""
_GOES_ON = 0.001
"""P-value of a day at which a rise goes on though the day has much less than the first ones."""
UNSEEN_RATIO = 2.0
"""Times that where no log shows sessions without errors."""
LEAST_MORE = 4.5
"""Errors above the expected ones, and sessions that meet them: fewer are no change of the world."""
_TIMES = {1: 1, 2: 1, 3: 1.5, 7: 2.5}
"""How many times as many a span needs by its length: in a week some sessions meet anything by chance."""
ANY = ""
"""In place of a reason: all of them together."""
_NEAR = 0.4
"""Part of the least count from which on a span is looked at closely: of a weekend less than half may be expected."""
_NEARLY = 0.999
"""Part of it from which on that is so where the baseline leaves out no day: sums of fractions end
differently with the order of their terms."""
_PRIOR = 1.0
"""Errors that a baseline without any is worth: half a one makes a handful of the first ones look impossible."""
_DAYS_BACK = BASELINE_DAYS + max(SPANS)


@dataclass(frozen=True, slots=True)
class Rise:
    """The evidence of one span."""

    tail: RateTail
    first: int
    """First day of the span."""
    count: int
    sessions: int
    exposure: float


@dataclass(slots=True)
class Unit:
    """The counts of one unit day by day, and the rise that goes on."""

    days: dict[int, CountedDay] = field(default_factory=dict)
    """The days at work, by proleptic ordinal."""
    sessions: dict[int, int] = field(default_factory=dict)
    """Sessions with one of the errors, of days that have any."""
    near: set[int] = field(default_factory=set)
    """Days that may show a rise."""
    clear: set[int] = field(default_factory=set)
    """Those of them that may show one if the baseline leaves out no day."""
    excluded: set[int] = field(default_factory=set)
    """Days of rises, which are no part of any baseline."""
    since: int = 0
    """Days before it are no part of the baseline: another level was accepted."""
    begins: int = 0
    """Day from which on exposure is sessions; days before it are held against time, and against each other alone."""
    trials: dict[int, int] = field(default_factory=dict)
    """Sessions that might have met the errors, where these are counted as a part of the exposure; else it is these."""
    onset: int | None = None
    """First day of the rise that goes on."""
    level: float = 0.0
    """Its errors by exposure, when it was found."""
    quiet: int = 0
    """Days at work since the last one with evidence of it."""
    quiet_days: int = QUIET_RISE_DAYS
    """So many of them end it."""

    def look(self, day: int, alpha: float) -> Rise | None:
        """The clearest evidence of a rise on this day, or on a span that ends with it.

        Spans open a rise and never prolong it, and none opens on a normal day: while one goes on, the day decides.
        """
        if day not in self.days or not (self.onset is not None or self._may_rise(day)):
            return None
        before = range(max(day - _DAYS_BACK, self._since(day)), day)
        history = [self.days[each] for each in before if each in self.days and each not in self.excluded]
        if self.onset is not None:
            return self._goes_on(self.days[day], history)
        best: Rise | None = None
        for length, part in SPANS.items():
            rise = self._span(day, length, history)
            if rise is None or rise.tail.p_value > alpha * part:
                continue
            usual, level = rise.tail.expected / rise.exposure, rise.count / rise.exposure
            if length == 1 or self.days[day].number >= (usual + level) / 2 * self.days[day].exposure:
                best = rise if best is None or rise.tail.p_value < best.tail.p_value else best
        return best

    def _goes_on(self, today: CountedDay, history: list[CountedDay]) -> Rise | None:
        """The evidence of a day on which a rise goes on: the day is nearer to its level than to the usual one."""
        tail = rate_tail(history, [today], 1, _PRIOR, bounded=bool(self.trials))
        if tail is None or today.number <= tail.expected:
            return None
        more = today.number - tail.expected
        near = more >= 1 and 2 * today.number >= tail.expected + self.level * today.exposure
        clear = more >= LEAST_MORE and today.number >= DAY_RATIO * tail.expected and tail.p_value <= _GOES_ON
        if not (near or clear):
            return None
        return Rise(tail, today.day, today.number, self.sessions.get(today.day, 0), today.exposure)

    def _span(self, day: int, length: int, history: list[CountedDay]) -> Rise | None:
        days = range(max(day - length + 1, self._since(day)), day + 1)
        span = [self.days[each] for each in days if each in self.days and each not in self.excluded]
        count, sessions = sum(each.number for each in span), sum(self.sessions.get(each.day, 0) for each in span)
        least = LEAST_MORE * _TIMES[length]
        if sessions < least or (length > 1 and len(span) < 2):
            return None
        ratio = _ratio(length)
        if not 0 < self.begins <= day:  # more work looks like more errors
            ratio *= UNSEEN_RATIO
        tail = rate_tail(history, span, _gap(length), _PRIOR, ratio, bounded=bool(self.trials))
        if tail is None or count - tail.expected < least:
            return None
        exposure = sum(each.exposure for each in span)
        above = sum(each.number * exposure > tail.expected * each.exposure for each in span)
        if length > 1 and (above < 2 or 2 * above < len(span)):
            return None  # what one day alone shows is no slow rise
        if self._by_sessions(history, span, length) > _WITNESS:
            return None
        return Rise(tail, span[0].day, count, sessions, exposure)

    def _by_sessions(self, history: list[CountedDay], span: list[CountedDay], length: int) -> float:
        """The p-value of the sessions that meet the errors of a span."""
        before, now = (
            [
                CountedDay(each.day, self.sessions.get(each.day, 0), float(self.trials.get(each.day, each.exposure)))
                for each in days
            ]
            for days in (history, span)
        )
        tail = rate_tail(before, now, _gap(length), _PRIOR, bounded=bool(self.trials))
        return 1.0 if tail is None else tail.p_value

    def _may_rise(self, day: int) -> bool:
        first = day - _DAYS_BACK
        if self.since > first or max(self.excluded, default=0) >= first:
            return day in self.near
        return day in self.clear

    def _since(self, day: int) -> int:
        return max(self.since, self.begins) if day >= self.begins else self.since

    def settle(self, day: int, rise: Rise | None) -> str:
        """Take the day into the baseline or out of it, and give the state of the rise."""
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
    """The units that may have a rise, by name and reason: those of names of which any may, or that are `touched`.

    `counts`: columns `day`, `name`, `reason` (or `ANY`), `sessions`, `groups`, one row each. `work`: columns `day`,
    `name`, `exposure`, `seen` (whether that is sessions), one row for each day at work. Touched are names of which
    others take days out of the baseline.
    """
    rows = counts.select("day", "name", "reason", "sessions", "groups")
    near = _near(rows, work)
    names = near.filter(pl.col("clear") | pl.col("name").is_in(list(touched))).select("name").unique()
    if names.is_empty():
        return {}
    near = near.join(names, on="name", how="semi")
    chosen = near.select("name", "reason").unique()
    found: dict[str, dict[str, Unit]] = {}
    for name, reason, day, clear in near.select("name", "reason", "day", "clear").iter_rows():
        unit = found.setdefault(name, {}).setdefault(reason, Unit())
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
        for reason, unit in found[name].items():
            at = day.toordinal()
            sessions, groups = shown[name, reason].get(at, (0, 0))
            unit.begins = begins.get(name, 0)
            unit.days[at] = CountedDay(at, groups, exposure)
            unit.sessions[at] = sessions
    return found


def _near(rows: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """The rows on which any span has nearly as many as a rise takes, whatever days the baseline leaves out.

    `clear` are those of them that may have as many if it leaves out none.
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
    found = days.join(begins, on="name", how="left", maintain_order="left")
    found = found.with_columns(near=pl.lit(False), clear=clear)
    for length in SPANS:
        gap = _gap(length)
        # As columns: an expression that holds sums many times over takes longer to plan than to work out.
        found = found.with_columns(
            *(stretch(name, length - 1, 0).alias(f"span_{name}") for name in _SUMMED),
            *(stretch(name, gap + BASELINE_DAYS - 1, gap).alias(f"base_{name}") for name in _SUMMED),
        )
        found = found.with_columns(_expected())
        span, base = (pl.col(f"{side}_groups") for side in ("span", "base"))
        possible = (span >= LEAST_MORE) & (pl.col("span_sessions") >= LEAST_MORE) & (pl.col("base_exposure") > 0)
        least = _NEAR * _ratio(length) * pl.col("span_exposure") / pl.col("base_exposure")
        more = span >= _NEARLY * _ratio(length) * pl.col("expected")
        found = found.with_columns(
            near=pl.col("near") | (possible & (span >= least * base)),
            clear=pl.col("clear") | (possible & more & (span - pl.col("expected") >= _NEARLY * LEAST_MORE)),
        )
    return found.filter(pl.col("there") & pl.col("near")).select("name", "reason", "day", "clear")


_SUMMED = ("groups", "weekend_groups", "sessions", "exposure", "weekend_exposure", "days")


def _expected() -> pl.Expr:
    """The count that `rate_tail` expects of the `span_` columns with the baseline of the `base_` ones."""
    whole = pl.col("base_exposure")
    weight = STRATUM_DAYS * whole / pl.col("base_days")
    rate = (pl.col("base_groups") + _PRIOR) / whole
    weekend = pl.col("span_weekend_exposure"), pl.col("base_weekend_exposure"), pl.col("base_weekend_groups")
    every = pl.col("span_exposure"), whole, pl.col("base_groups")
    weekdays = (one - part for one, part in zip(every, weekend, strict=True))
    expected = pl.lit(0.0)
    for of_span, of_base, number in (weekend, weekdays):
        expected += of_span * (number + weight * rate) / (of_base + weight)
    return expected.alias("expected")


def _gap(length: int) -> int:
    """Days between the last one of a span and the baseline: the first days of a rise must not hide the next."""
    return 1 if length == 1 else max(length, DRIFT_GAP)


def _ratio(length: int) -> float:
    return DAY_RATIO if length == 1 else SPAN_RATIO


def since_newest(work: pl.DataFrame, versions: pl.DataFrame) -> pl.DataFrame:
    """The rows from the day on from which a caller's errors without facts are recorded under its newest ruleset."""
    cut = versions.group_by("caller").agg(pl.col("first_on").max().alias("cut"), pl.len().alias("rulesets"))
    own = work.join(cut.filter(pl.col("rulesets") > 1), on="caller", how="left")
    return own.filter(pl.col("cut").is_null() | (pl.col("day") >= pl.col("cut"))).drop("cut", "rulesets")


def exposures(work: pl.DataFrame, counts: pl.DataFrame, versions: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row for each day on which a caller was at work, with what its errors are held against.

    `work`: columns `day`, `caller`, `sessions`, `observed` (sessions that logs report whether they have errors or not).
    `counts`: columns `day`, `caller`, `sessions`, `groups` of errors. The result has `day`, `caller`, `exposure`
    (sessions, else 1), `seen` (whether it is sessions), `error_sessions`, `groups`. `versions`: columns `caller`,
    `ruleset`, `first_on`; where a caller's errors were recorded under several rulesets, those before the newest do not
    count, and neither do its days.
    """
    own = work
    if versions is not None:
        own = since_newest(own, versions)
    begins = own.filter(pl.col("observed") > 0).group_by("caller").agg(pl.col("day").min().alias("begins"))
    dated = own.join(begins, on="caller", how="left")
    sessions = dated.filter((pl.col("day") >= pl.col("begins")) & (pl.col("sessions") > 0)).select(
        "day", "caller", pl.col("sessions").cast(pl.Float64).alias("exposure"), seen=pl.lit(True)
    )
    # Of a caller whose log shows errors alone, a day without any sign of it is no quiet day: it may have been away.
    time = dated.filter(pl.col("begins").is_null() | (pl.col("day") < pl.col("begins")))
    time = time.select("day", "caller", exposure=pl.lit(1.0), seen=pl.lit(False)).unique()
    errors = counts.select("day", "caller", pl.col("sessions").alias("error_sessions"), "groups")
    return (
        pl.concat([sessions, time])
        .join(errors, on=["day", "caller"], how="left")
        .with_columns(pl.col("error_sessions", "groups").fill_null(0))
        .sort("day", "caller")
    )
