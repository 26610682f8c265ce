"""What is counted together: the errors of a caller, or of a provider or model, with one reason or with any.

Most of them never have a day with many errors. Those are told by sums over all of them at once, and not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from analyzer.analysis.detection.settings import ACCEPT_DAYS, BASELINE_DAYS, DRIFT_GAP
from analyzer.analysis.detection.statistics.rates import CountedDay, RateTail, rate_tail

SPANS = {1: 1.0, 3: 1 / 3, 7: 1 / 3, 14: 2 / 3}
"""Lengths in days of the spans that are judged, each with its part of the budget; the longer ones see a slow rise."""
DAY_RATIO, SPAN_RATIO = 2.0, 1.5
"""Least count of a day, and of a longer span, in expected ones."""
LEAST_MORE = 6
"""Errors above the expected ones, and sessions that meet them: fewer are no change of the world."""
ANY = ""
"""In place of a reason: all of them together."""
_QUIET_DAYS = 3
"""Days without evidence after which a rise is over."""
_NEAR = 0.4
"""Part of the least count from which on a span is looked at closely: of a weekend less than half may be expected."""
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
    excluded: set[int] = field(default_factory=set)
    """Days of rises, which are no part of any baseline."""
    since: int = 0
    """Days before it are no part of the baseline: another level was accepted."""
    begins: int = 0
    """Day from which on exposure is sessions; days before it are held against time, and against each other alone."""
    onset: int | None = None
    """First day of the rise that goes on."""
    last: int = 0
    """Last day with evidence of it."""

    def look(self, day: int, alpha: float, *, alone: bool = False) -> Rise | None:
        """The clearest evidence of a rise on this day, or (not `alone`) on a span that ends with it."""
        if day not in self.days or not (day in self.near or self.onset is not None):
            return None
        best: Rise | None = None
        before = range(max(day - _DAYS_BACK, self._since(day)), day)
        history = [self.days[each] for each in before if each in self.days and each not in self.excluded]
        for length, part in {1: 1.0}.items() if alone else SPANS.items():
            rise = self._span(day, length, history)
            if rise is not None and rise.tail.p_value <= alpha * part:
                best = rise if best is None or rise.tail.p_value < best.tail.p_value else best
        return best

    def _span(self, day: int, length: int, history: list[CountedDay]) -> Rise | None:
        days = range(max(day - length + 1, self._since(day)), day + 1)
        going_on = self.onset is not None
        span = [self.days[each] for each in days if each in self.days and (going_on or each not in self.excluded)]
        count, sessions = sum(each.number for each in span), sum(self.sessions.get(each.day, 0) for each in span)
        if sessions < LEAST_MORE or (length > 1 and len(span) < 2):
            return None
        tail = rate_tail(history, span, 1 if length == 1 else max(length, DRIFT_GAP), _PRIOR, _ratio(length))
        if tail is None or count - tail.expected < LEAST_MORE:
            return None
        exposure = sum(each.exposure for each in span)
        above = sum(each.number * exposure > tail.expected * each.exposure for each in span)
        if length > 1 and (above < 2 or 2 * above < len(span)):
            return None  # what one day alone shows is no slow rise
        return Rise(tail, span[0].day, count, sessions, exposure)

    def _since(self, day: int) -> int:
        return max(self.since, self.begins) if day >= self.begins else self.since

    def settle(self, day: int, rise: Rise | None) -> str:
        """Take the day into the baseline or out of it, and give the state of the rise."""
        if rise is None:
            if self.onset is not None and day - self.last >= _QUIET_DAYS:
                self.onset = None
            return "new"
        state = "new" if self.onset is None else "ongoing"
        onset = self.onset = rise.first if self.onset is None else self.onset
        self.last = day
        if day - onset < ACCEPT_DAYS:
            self.excluded.update(range(rise.first, day + 1))
            return state
        self.since, self.onset = onset, None
        self.excluded.difference_update(range(onset, day + 1))
        return "accepted"


def units(counts: pl.DataFrame, work: pl.DataFrame) -> dict[str, dict[str, Unit]]:
    """The units that may have a rise, by name and reason.

    `counts`: columns `day`, `name`, `reason` (or `ANY`), `sessions`, `groups`, one row each. `work`: columns `day`,
    `name`, `exposure`, `seen` (whether that is sessions), one row for each day at work.
    """
    rows = counts.select("day", "name", "reason", "sessions", "groups").sort("name", "reason", "day")
    near = _near(rows, work.sort("name", "day"))
    chosen = near.select("name", "reason").unique()
    found: dict[str, dict[str, Unit]] = {}
    for name, reason, day in near.select("name", "reason", "day").iter_rows():
        found.setdefault(name, {}).setdefault(reason, Unit()).near.add(day.toordinal())
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
    """The rows on which any span has nearly as many as a rise takes."""
    near = pl.lit(False)
    for length in SPANS:
        gap = 1 if length == 1 else max(length, DRIFT_GAP)
        for part, days, back in (("span", length, length), ("base", BASELINE_DAYS, BASELINE_DAYS + gap - 1)):
            sums = _sums(rows, ["name", "reason"], ("groups", "sessions"), days, back)
            exposure = _sums(work, ["name"], ("exposure",), days, back)
            rows = rows.join(sums, on=["name", "reason", "day"], how="left").join(
                exposure, on=["name", "day"], how="left"
            )
            rows = rows.rename(
                {f"{each}_sum": f"{part}_{each}_{length}" for each in ("exposure", "groups", "sessions")}
            )
        groups, base = pl.col(f"span_groups_{length}"), pl.col(f"base_groups_{length}")
        least = _NEAR * _ratio(length) * pl.col(f"span_exposure_{length}") / pl.col(f"base_exposure_{length}")
        near |= (
            (groups >= LEAST_MORE)
            & (pl.col(f"span_sessions_{length}") >= LEAST_MORE)
            & (pl.col(f"base_exposure_{length}") > 0)
            & (groups >= least * base)
        )
    return rows.filter(near)


def _ratio(length: int) -> float:
    return DAY_RATIO if length == 1 else SPAN_RATIO


def _sums(rows: pl.DataFrame, by: list[str], columns: tuple[str, ...], days: int, back: int) -> pl.DataFrame:
    """The sums over so many days, the first of them `back` - 1 days before that of the row."""
    within = rows.rolling("day", period=f"{days}d", offset=f"-{back}d", closed="right", group_by=by)
    return within.agg(pl.sum(*columns).name.suffix("_sum"))
