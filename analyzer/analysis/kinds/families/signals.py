"""Kinds of signals that are no errors: the rows of `SIGNALS`, counted and judged as errors are.

A signal has counts and exposure, and the test of numbers of errors judges them: with the same
spans, the same baseline and the same rule of when a rise is over. Each day is judged only from that
day and the days before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    SINCE_BASELINE,
    around,
    counts_chart,
)
from analyzer.analysis.kinds.detection import FALSE_ALARM, Detection, above
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, Kind, note_of
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.shared import noted_part
from analyzer.analysis.kinds.statistics.rates import MIN_DAYS, CountedDay, rate_tail
from analyzer.analysis.kinds.statistics.units import LEAST_MORE, Rise, Unit
from analyzer.analysis.periods import (
    BASELINE_DAYS,
)

_SHARED = 0.05
"""P-value at which a name's rise is more than that of one caller: the others have more, too."""
_PRIOR_EXPOSURE = 10.0
"""Exposure at the rate of all callers that is added to that of a caller."""
_LONG = 0.1
"""Most part of the waits before that were longer than what counts as a long wait now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One signal: what is counted, its exposure, its names, and its words."""

    counted: str
    """The `signal` of its rows in `detection-signals`, and its sign in `detection-signs`."""
    title: str
    metric: str
    note: str
    """Template of a finding's note; `over` is replaced by the days."""
    drawn: str
    """What is counted, in words of the chart."""
    drawn_of: str
    """What that comes from, likewise."""
    advice: str
    asks: tuple[str, ...] = ()
    name: str | None = None
    """The field of `Scope` that the rows' `name` is; None where they have no names."""
    by: tuple[str, ...] = ("caller",)
    """Who may have a rise, widest first: a `name` over all callers, a `caller` over all names, or
    `both`, a caller's own part of a name. Rows without a name count for callers."""
    against: str = ""
    """Exposure: `sessions` that logs report, or logged `days`; empty if the rows have an exposure
    of their own."""
    by_level: bool = False
    """True if only counts above the usual level count."""

    @property
    def kind(self) -> Kind:
        """Return its kind of finding."""
        return Kind(
            title=self.title,
            metric=self.metric,
            severity=warning,
            sentence=note_of,
            advice=self.advice,
            asks=self.asks,
            scope=self.name,
            by_day=True,
            evidence=Evidence({self.counted: 0}, more=_longer),
            chart=_CHART,
        )


SIGNALS = {
    "tool_failures": Signal(
        counted="tool",
        title="A tool fails more often",
        metric="failed calls, three of a session at most",
        note="the tool {name} failed in {sessions:,} of {exposure:,.0f} sessions that used it {over}, {count:,} times, "
        "three a session at most",
        drawn="failed calls",
        drawn_of="sessions that used it",
        advice="list what it says, and try it",
        asks=("query", "tools-messages"),
        name="tool",
        by=("name", "both"),
    ),
    "waits_grow": Signal(
        counted="wait",
        title="Retries wait longer",
        metric="retry chains that waited longer than nine in ten before",
        note="{count:,} of {exposure:,.0f} retry chains waited for {seconds:,} s or more {over}",
        drawn="seconds waited",
        drawn_of="retry chains",
        advice="check the provider's status page; call it less often",
        asks=("query", "retries-outcomes"),
        name="provider",
        by=("name", "caller"),
        by_level=True,
    ),
    "retries_exhausted": Signal(
        counted="exhausted",
        title="Retries run out",
        metric="retry chains that ran out of tries",
        note="{count:,} of {exposure:,.0f} retry chains ran out of tries {over}",
        drawn="chains that ran out",
        drawn_of="retry chains",
        advice="check the provider's status page; more tries would only wait longer",
        asks=("query", "retries-outcomes"),
        name="provider",
        by=("name", "caller"),
    ),
    "sessions_aborted": Signal(
        counted="aborted",
        title="People stop their sessions",
        metric="stopped turns, three of a session at most",
        note="people stopped {sessions:,} of {exposure:,.0f} sessions {over}, {count:,} times, three a session at most",
        drawn="times stopped",
        drawn_of="sessions",
        advice="ask the people who stopped them why",
        against="sessions",
    ),
    "sessions_empty": Signal(
        counted="empty",
        title="Sessions do nothing",
        metric="sessions that made no request, or claim success and did nothing",
        note="{sessions:,} of {exposure:,.0f} sessions did nothing {over}",
        drawn="sessions that did nothing",
        drawn_of="sessions",
        advice="start one by hand, and see whether it reaches its model",
        against="sessions",
    ),
    "sessions_unanswered": Signal(
        counted="unanswered",
        title="Sessions end without an answer",
        metric="sessions that ended with a failure",
        note="{sessions:,} of {exposure:,.0f} sessions ended with a failure and without an answer {over}",
        drawn="unanswered sessions",
        drawn_of="sessions",
        advice="list what they ended with",
        asks=("query", "endings-sessions"),
        against="sessions",
    ),
    "model_swapped": Signal(
        counted="swap",
        title="Another model answers",
        metric="requests that another model answered",
        note="{count:,} of {exposure:,.0f} requests asked of {swap} {over}",
        drawn="requests that another model answered",
        drawn_of="requests asked of the model",
        advice="see which ones, and ask the provider or change the fallback",
        asks=("query", "models-served"),
        name="swap",
        by=("name", "both"),
    ),
    "shipped_twice": Signal(
        counted="copy",
        title="Logs arrive twice",
        metric="sessions that were logged twice",
        note="the logs have {sessions:,} sessions twice, word for word, under other ids {over}",
        drawn="sessions that are there twice",
        drawn_of="sessions",
        advice="ship each log once; until then the counts of this host are too high",
        name="host",
        by=("name", "caller"),
        against="days",
    ),
}
"""The signals by kind of finding."""


class _Counts(NamedTuple):
    """The counts of a name on a day and level."""

    sessions: int
    groups: int
    exposure: float
    seen: int
    """The exposure as it was counted, before callers were weighed."""


class _DayRise(NamedTuple):
    """A rise of a caller, of a name, or of a caller's part of a name, on a day."""

    caller: str | None
    name: str | None

    day: int
    rise: Rise
    level: int
    """Only waits of more than 2 ** level seconds are counted; -1: all counts."""
    seen: int
    """The exposure of the span, as it was counted."""


@dataclass(slots=True)
class _Series:
    """The counts of a caller, a name or both by day and level, and its rises."""

    caller: str | None
    name: str | None
    days: dict[int, dict[int, _Counts]] = field(default_factory=dict)
    units: dict[int, Unit] = field(default_factory=dict)
    """The units by the level above which counts count."""

    def rises(self, alpha: float, *, by_level: bool) -> Iterator[_DayRise]:
        """Yield the rises by day, of all counts or only of those above the usual level."""
        away: set[int] = set()
        for day in sorted(self.days):
            level = self._usual(day, away) if by_level else -1
            if level is None:
                continue
            if level not in self.units:
                self.units[level] = self._unit(level)
            unit = self.units[level]
            unit.excluded |= away
            rise = unit.look(day, alpha)
            unit.settle(day, rise)
            away |= unit.excluded
            if rise is not None:
                days = (self.days.get(at, {}) for at in range(rise.first, day + 1))
                seen = sum(counts.seen for levels in days for counts in levels.values())
                yield _DayRise(self.caller, self.name, day, rise, level, seen)

    def _usual(self, day: int, away: set[int]) -> int | None:
        """Return the level that most counts of the days before did not exceed; None without any."""
        level_counts: dict[int, int] = {}
        for earlier in range(day - BASELINE_DAYS, day):
            if earlier not in away:
                for level, counts_of_level in self.days.get(earlier, {}).items():
                    level_counts[level] = level_counts.get(level, 0) + counts_of_level.seen
        above, most = sum(level_counts.values()), _LONG * sum(level_counts.values())
        for level in sorted(level_counts):
            above -= level_counts[level]
            if above <= most:
                return level
        return None

    def _unit(self, level: int) -> Unit:
        unit = Unit(begins=min(self.days))
        for day, levels in self.days.items():
            above = [counts for of_level, counts in levels.items() if of_level > level]
            unit.days[day] = CountedDay(
                day,
                sum(counts.groups for counts in above),
                float(sum(counts.exposure for counts in levels.values())),
            )
            unit.sessions[day] = sum(counts.sessions for counts in above)
        unit.near = unit.clear = set(unit.days)
        return unit


def signals(counts: pl.DataFrame, work: pl.DataFrame) -> list[Detection]:
    """Return the findings of `SIGNALS`, one per day and name, not repeated for its callers.

    `counts`: the rows of `detection-signals`. `work`: columns `day`, `caller`, `observed`: the
    sessions that logs report.
    """
    detections: list[Detection] = []
    exposures = {
        "": work.clear().select("day", "caller", exposure="observed"),
        "sessions": work.filter(pl.col("observed") > 0).select("day", "caller", exposure="observed"),
        "days": work.select("day").unique().with_columns(exposure=pl.lit(1, pl.Int64)),
    }
    for finding, signal in SIGNALS.items():
        rows = counts.filter(pl.col("signal") == signal.counted)
        rises = [
            day_rise
            for by in (signal.by if not rows.is_empty() else ())
            for series in _series(rows, by, exposures[signal.against])
            for day_rise in series.rises(FALSE_ALARM, by_level=signal.by_level)
        ]
        narrow = {(day_rise.day, day_rise.caller, day_rise.name) for day_rise in rises}
        covered: set[tuple[int, str, str | None]] = set()
        for day_rise in rises:
            if day_rise.caller is not None:
                if (day_rise.day, day_rise.caller, day_rise.name) not in covered:
                    detections.append(_detection(finding, signal, day_rise))
                continue
            own = rows.filter(pl.col("name") == day_rise.name)
            only = _only_caller(own, day_rise, exposures[signal.against])
            part = day_rise.name if "both" in signal.by else None
            if (day_rise.day, only, part) not in narrow:
                detections.append(_detection(finding, signal, day_rise))
                inside = pl.col("day").is_between(
                    date.fromordinal(day_rise.rise.first), date.fromordinal(day_rise.day + 3)
                )
                seen = own.filter(inside).select("day", "caller").iter_rows()
                covered |= {(day.toordinal(), caller, part) for day, caller in seen}
    return detections


def _only_caller(rows: pl.DataFrame, day_rise: _DayRise, exposure: pl.DataFrame) -> str:
    """Return the caller with most of a name's rise if the name's other callers have no more than usual; else empty.

    The only caller of a name is as wide as the name, which is told.
    """
    last = date.fromordinal(day_rise.day)
    counted = rows.filter(pl.col("day") <= last, pl.col("level") > day_rise.level)
    inside = counted.filter(pl.col("day") >= date.fromordinal(day_rise.rise.first))
    sums = inside.group_by("caller").agg(pl.sum("groups")).sort("groups", "caller", descending=True)
    if sums.is_empty() or rows["caller"].n_unique() == 1:
        return ""
    most = str(sums["caller"][0])
    others = counted.filter(pl.col("caller") != most).group_by("day").agg(pl.sum("groups"))
    if exposure.is_empty():
        whole = rows.filter(pl.col("caller") != most, pl.col("day") <= last).group_by("day").agg(pl.sum("exposure"))
    else:
        whole = exposure.filter(pl.col("day") <= last).select("day").unique().with_columns(exposure=pl.lit(1))
    days = [
        CountedDay(day.toordinal(), groups, float(size))
        for day, size, groups in whole.join(others, on="day", how="left").fill_null(0).sort("day").iter_rows()
    ]
    span = [day for day in days if day.day >= day_rise.rise.first]
    tail = rate_tail(days, span, day_rise.day - day_rise.rise.first + 1) if span else None
    return "" if tail is not None and tail.p_value <= _SHARED else most


def _series(counts: pl.DataFrame, by: str, exposure: pl.DataFrame) -> Iterator[_Series]:
    """Yield those that ever had enough for a rise with their counts, empty days included."""
    whose = {"name": ["name"], "caller": ["caller"], "both": ["caller", "name"]}[by]
    counts = counts.filter(pl.col(column) != "" for column in whose)
    if by == "name" and exposure.is_empty():
        # Who is new has no history, and so no vote: its usual share of failures would look like a rise.
        known_since = pl.col("day").min().over("name", "caller")
        is_old = pl.col("day") >= known_since + pl.duration(days=MIN_DAYS)
        counts = counts.filter(is_old | (known_since == pl.col("day").min().over("name")))
    counts = counts.with_columns(seen="exposure", exposure=pl.col("exposure").cast(pl.Float64))
    if by == "name" and exposure.is_empty() and counts["level"].n_unique() == 1:
        counts = _weighed(counts)
    enough = counts.group_by(whose).agg(pl.sum("groups")).filter(pl.col("groups") >= LEAST_MORE).select(whose)
    own = (
        counts.join(enough, on=whose, how="semi")
        .group_by(*whose, "day", "level")
        .agg(pl.sum("sessions", "groups", "exposure", "seen"))
    )
    if not exposure.is_empty():
        whole = (
            exposure.join(enough, on="caller") if "caller" in exposure.columns else exposure.join(enough, how="cross")
        )
        own = whole.with_columns(seen="exposure").join(own.drop("exposure", "seen"), on=[*whose, "day"], how="left")
        own = own.fill_null(0).select(*whose, "day", "level", "sessions", "groups", "exposure", "seen")
    series: dict[tuple[str, ...], _Series] = {}
    for *names, day, level, sessions, groups, size, seen in own.sort(*whose, "day", "level").iter_rows():
        if tuple(names) not in series:
            who = dict(zip(whose, names, strict=True))
            series[tuple(names)] = _Series(who.get("caller"), who.get("name"))
        series[tuple(names)].days.setdefault(day.toordinal(), {})[level] = _Counts(sessions, groups, size, seen)
    yield from series.values()


def _weighed(counts: pl.DataFrame) -> pl.DataFrame:
    """Multiply a caller's exposure to a name by how often it counted before, as a multiple of all callers.

    Else the name has a rise on each day on which its callers with the most failures work more.
    """
    of_all = ["name", "day"]
    days = counts.group_by(of_all).agg(pl.sum("groups", "exposure")).sort(of_all)
    before = [(pl.col(name).cum_sum() - pl.col(name)) for name in ("groups", "exposure")]
    days = days.select(*of_all, ((before[0].over("name") + 0.5) / (before[1].over("name") + 1.0)).alias("rate"))
    own = counts.sort("name", "caller", "day").with_columns(
        own_groups=before[0].over("name", "caller"), own_exposure=before[1].over("name", "caller")
    )
    own = own.join(days, on=of_all, maintain_order="left")
    ratio = (pl.col("own_groups") / pl.col("rate") + _PRIOR_EXPOSURE) / (pl.col("own_exposure") + _PRIOR_EXPOSURE)
    return own.with_columns(pl.col("exposure") * ratio).drop("own_groups", "own_exposure", "rate")


def _detection(finding: str, signal: Signal, day_rise: _DayRise) -> Detection:
    rise = day_rise.rise
    note = signal.note.format(
        name=day_rise.name,
        swap=(day_rise.name or "").replace(" → ", " were answered by ", 1),
        sessions=rise.sessions,
        count=rise.count,
        exposure=day_rise.seen,
        seconds=2 ** (day_rise.level + 1),
        over=rise.over(day_rise.day),
    )
    return above(
        rise.count,
        rise.tail,
        day=date.fromordinal(day_rise.day),
        caller=day_rise.caller,
        finding=finding,
        onset=date.fromordinal(rise.first),
        sessions=rise.sessions,
        groups=rise.count,
        scope=day_rise.name,
        note=f"{note} (normally {rise.tail.expected:,.1f})",
    )


def signal_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of the chart, a day each."""
    scope, signal, seen = finding.scope, SIGNALS[finding.finding], basis.seen
    about = {"name": scope.tool or scope.provider or scope.host or scope.swap, "caller": scope.caller}
    named = [pl.col(column) == name for column, name in about.items() if name is not None]
    own = seen.signals.filter(pl.col("signal") == signal.counted, *named)
    weight = pl.col("groups") * (2 ** pl.col("level") if signal.by_level else 1)
    daily = own.group_by("day").agg(weight.sum().cast(pl.Int64).alias("amount"), pl.sum("exposure").alias("number"))
    if signal.against:
        whose = own if scope.caller is None else pl.DataFrame({"caller": [scope.caller]})
        at_work = seen.work.join(whose.select("caller").unique(), on="caller", how="semi")
        number = at_work.group_by("day").agg(pl.sum("sessions").alias("number"))
        daily = number.join(daily.drop("number"), on="day", how="left").fill_null(0).select(daily.columns)
    return daily.filter(around(finding, basis.last)).sort("day")


def signal_chart(case: Charted) -> Chart:
    """Draw what was counted on each day, and what it came from."""
    signal = SIGNALS[case.finding.finding]
    what, of = signal.drawn, signal.drawn_of
    title = f"{what.capitalize()} by day, and the {of}"
    return counts_chart(case, title, ("amount", what, what), ("number", of, of))


_CHART = ChartForm(
    "Days of what is counted",
    SINCE_BASELINE,
    {
        **DAY,
        "amount": "how often, three times a session at most; chains by their number; or seconds waited for retries, "
        "each chain's rounded down to a power of two",
        "number": "distinct sessions that used the tool, or that the logs show; or retry chains",
    },
    signal_rows,
    signal_chart,
)


_WAITED = re.compile(r"waited for ([\d,]+) s or more")


def _longer(finding: Finding) -> dict[str, float]:
    """Ask for the chains that waited for as long as the sentence says."""
    seconds = noted_part(finding, _WAITED)
    return {"least": float(seconds.replace(",", ""))} if seconds else {}


KINDS_OF_SIGNALS = {name: signal.kind for name, signal in SIGNALS.items()}
