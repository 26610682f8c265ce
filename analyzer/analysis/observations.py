"""`Observations`: the sums that detection is worked out from, with all of history judged by one ruleset."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from heapq import nsmallest
from typing import Protocol
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.periods import BASELINE_DAYS
from analyzer.frozen import frozen
from analyzer.store import CallerDays, Store


class SessionRows(Protocol):
    """The rows that the sums were made of, session by session: asked for only for a finding."""

    def groups(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """Return the rows of `detection-groups` of some callers' days, or of all callers."""

    def hand_offs(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """Return the rows of `detection-relays` of some callers' days."""


@frozen
class Observations:
    """History up to the end of one day, as sums by day.

    What is counted by session counts each once a day.
    """

    night: date
    """The last day of it."""
    timezone: str
    ruleset: str | None
    """Digest of the ruleset that judged; None for the active one, or for what was recorded where none is."""
    counts: pl.DataFrame
    """One row a day and caller, as `detection-counts` and more of the kind."""
    templates: pl.DataFrame
    """One row a day, caller and unknown template, as `detection-templates`."""
    known_templates: pl.DataFrame
    """One row a day, caller, template and reason, of messages that weak evidence decided at least once: the sessions
    that show it, and those of them where weak evidence decided."""
    rules: pl.DataFrame
    """One row a day, caller, rule and its reason: the sessions in which it matched."""
    repeats: pl.DataFrame
    """One row a day, caller and number of events: how many messages of sessions came so often."""
    loud: pl.DataFrame
    """One row a day, caller, session and template that came thirty times or more."""
    relays: pl.DataFrame
    """One row a day, caller and step with a hand-off: hand-offs, sessions, the most of one of them, and `at_work`, the
    caller's sessions with a hand-off in any step or an error."""
    volumes: pl.DataFrame
    """One row a day, caller, provider, model and reason: `detection-volume` without hours."""
    work: pl.DataFrame
    """One row a day and caller that any event names: `detection-work` without hours."""
    hourly_volumes: pl.DataFrame
    """`detection-volume`."""
    hourly_work: pl.DataFrame
    """`detection-work`."""
    signals: pl.DataFrame
    """`detection-signals`."""
    chains: pl.DataFrame
    """One row a day, caller and reason with a retry chain that was settled."""
    versions: pl.DataFrame
    """One row a caller and ruleset that its errors without facts were recorded under, as `detection-versions`."""
    rows: SessionRows
    """What the sums were made of."""

    @property
    def days(self) -> list[date]:
        """Return the days of history with anything to judge, in order."""
        return self.counts["day"].unique().sort().to_list()

    def days_before(self, day: date) -> list[date]:
        """Return the earlier days with an error or with anybody at work."""
        days = pl.concat([self.counts["day"], self.work["day"]])
        return days.filter(days < day).unique().sort().to_list()

    def traffic(self, callers: Iterable[str | None]) -> dict[str, tuple[date, ...]]:
        """Return the days on which each of some callers had anything to judge, in order.

        That is an error, or a session whose log would have shown an error. None among `callers` asks
        for the days of any caller, under an empty name.
        """
        callers = set(callers)
        asked = pl.DataFrame({"caller": list(callers - {None})}, {"caller": pl.String})
        days: dict[str, list[date]] = {}
        at_work = pl.concat(
            [self.counts.select("day", "caller"), self.work.filter(pl.col("observed") > 0).select("day", "caller")]
        )
        rows = at_work.join(asked, on="caller", how="semi").unique().sort("day")
        for day, caller in rows.iter_rows():
            days.setdefault(caller, []).append(day)
        if None in callers:
            days[""] = self.days
        return {caller: tuple(own) for caller, own in days.items()}

    def errors(self, caller: str | None, first: date, last: date) -> pl.DataFrame:
        """Return the rows of `detection-groups` of a caller (None: of all) from one day to another."""
        return self.rows.groups([CallerDays(caller, first, last)])

    def around(self, split: date, until: date, caller: str | None) -> pl.DataFrame:
        """Return a caller's errors to `until`, with a `period`, `before` or `after` the split.

        `before` is the baseline of `split`.
        """
        own = self.errors(caller, split - timedelta(days=BASELINE_DAYS), until)
        before = pl.when(pl.col("day") < split).then(pl.lit("before"))
        return own.with_columns(period=before.otherwise(pl.lit("after")))

    def holding(self, errors: Iterable[CallerDays], hand_offs: Iterable[CallerDays] = ()) -> Observations:
        """Return the history with only the errors and hand-offs of some days, asked for at once."""
        asked = list(errors)
        parts = ([days for days in asked if (days.caller is None) == of_all] for of_all in (False, True))
        rows = pl.concat([self.rows.groups(some) for some in parts]).unique(maintain_order=True)
        return replace(self, rows=_Held(_by_caller(rows), _by_caller(self.rows.hand_offs(hand_offs))))

    def up_to(self, day: date) -> Observations:
        """Return the history as it was at the end of an earlier day."""
        dated = {name: getattr(self, name).filter(pl.col("day") <= day) for name in DATED}
        return replace(self, night=day, **dated, versions=self.versions.filter(pl.col("first_on") <= day))


DATED = (
    *("counts", "templates", "known_templates", "rules", "repeats", "loud", "relays", "volumes"),
    *("work", "signals", "chains", "hourly_volumes", "hourly_work"),
)
"""The frames with a row a day and more."""


@frozen
class _Held:
    """Rows that were asked for already."""

    groups: Callable[[Iterable[CallerDays]], pl.DataFrame]
    hand_offs: Callable[[Iterable[CallerDays]], pl.DataFrame]


def _by_caller(rows: pl.DataFrame) -> Callable[[Iterable[CallerDays]], pl.DataFrame]:
    """Return a look at some rows by their caller: one at all of them for every finding would take long."""
    none, parts = rows.clear(), rows.partition_by("caller", as_dict=True, maintain_order=True)

    def chosen(asked: Iterable[CallerDays]) -> pl.DataFrame:
        own = (
            (rows if days.caller is None else parts.get((days.caller,), none)).filter(
                pl.col("day").is_between(days.first, days.last)
            )
            for days in asked
        )
        return pl.concat([none, *own])

    return chosen


HISTORY_DAYS = 140
"""Days before the first judged one that any test may look at. Of what is open on a night nothing began more than 42
days before it: four weeks make it the new normal, two without any sign are its end. What opened it looked back 98 days
at most: at the texts of twelve weeks, ahead of which two must be known."""


_AT_ONCE = 28
"""Days whose hours are summed together."""


def observe(
    store: Store, night: date, timezone: str = "UTC", ruleset: str | None = None, *, judged_from: date | None = None
) -> Observations:
    """Return the observations of a store up to the end of `night`.

    They are for nights from `judged_from` on; None is for all nights.

    Raises:
        QueryError: the store cannot be asked.
    """
    first = date.min if judged_from is None else judged_from - timedelta(days=HISTORY_DAYS)
    sums = store.daily_sums(first, night, timezone, ruleset)
    hourly = {name: sums.frames[name] for name in ("volumes", "work")}
    frames = {name: sums.frames[name] for name in DATED if name in sums.frames}
    for name, frame in hourly.items():
        frames[name] = daily_totals(frame)
    frames |= {f"hourly_{name}": frame for name, frame in hourly.items()}
    versions = _versions(sums.frames["versions"])
    return Observations(night, timezone, ruleset, **frames, versions=versions, rows=sums)


def daily_totals(hourly: pl.DataFrame) -> pl.DataFrame:
    """Sum hourly counts to days, sorted by day and name columns."""
    names = [name for name, kind in hourly.schema.items() if not kind.is_numeric()]
    days = hourly["day"].unique().sort().to_list()
    # Four weeks at a time: a group-by needs several times the memory of its input.
    parts = [
        hourly.filter(pl.col("day").is_between(days[start], days[min(start + _AT_ONCE, len(days)) - 1]))
        .group_by(names)
        .agg(pl.exclude("hour").sum())
        .sort(names)
        for start in range(0, len(days), _AT_ONCE)
    ]
    return pl.concat([hourly.clear().drop("hour").select(*names, pl.exclude(names)), *parts])


def _versions(daily: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `detection-versions`."""
    whole = daily.group_by("caller", "ruleset").agg(
        pl.col("day").min().alias("first_on"),
        pl.col("day").max().alias("last_on"),
        pl.col("errors").sum(),
        pl.col("first_at").min(),
    )
    return whole.sort("caller", "first_at", "ruleset").drop("first_at")


def exposed(seen: Observations) -> pl.DataFrame:
    """Return every day of callers with hand-offs, for each of their steps.

    Columns are those of `relays` without `at_work`, and `exposure`: the sessions at work, which are
    those with an error or with any hand-off.
    """
    steps = seen.relays.select("caller", "step").unique()
    handing_off = seen.relays.select("day", "caller", pl.col("at_work").alias("exposure")).unique()
    others = (
        seen.counts.select("day", "caller", pl.col("sessions").alias("exposure"))
        .join(steps, on="caller", how="semi")
        .join(handing_off, on=["day", "caller"], how="anti")
    )
    return (
        pl.concat([handing_off, others])
        .join(steps, on="caller")
        .join(seen.relays.drop("at_work"), on=["day", "caller", "step"], how="left")
        .with_columns(pl.col("exposure").cast(pl.Float64), pl.col("relays", "sessions", "most").fill_null(0))
        .select("day", "caller", "step", "relays", "sessions", "most", "exposure")
    )


def over_midnight(seen: Observations, hand_offs: pl.DataFrame, many: int) -> pl.DataFrame:
    """Return the rows of `exposed`, with sessions that handed off often over midnight.

    The `most` of a day counts a session's hand-offs of the day before along, if that makes `many`
    of them: midnight lies elsewhere in each zone.
    """
    unit = ["caller", "step", "day"]
    before = hand_offs.select("caller", "step", pl.col("day") + timedelta(days=1), pl.col("most").alias("before"))
    both = (pl.col("most") > 0) & (pl.col("before") > 0) & (pl.col("most") + pl.col("before") >= many)
    near = hand_offs.join(before, on=unit).filter(both & (pl.col("most") < many)).select(unit)
    if near.is_empty():
        return hand_offs
    days = near.select("caller", "day").unique().iter_rows()
    rows = seen.rows.hand_offs(CallerDays(caller, day - timedelta(days=1), day) for caller, day in days)
    earlier = rows.unique().with_columns(pl.col("day") + timedelta(days=1))
    of_session = rows.unique().join(earlier, on=[*unit, "session"], suffix="_before")
    sums = of_session.group_by(unit).agg((pl.col("relays") + pl.col("relays_before")).max().alias("together"))
    recounted = near.join(sums, on=unit)
    whole = hand_offs.join(recounted, on=unit, how="left", maintain_order="left")
    return whole.with_columns(most=pl.max_horizontal("most", pl.col("together"))).drop("together")


def drawn(names: Iterable[str], most: int) -> list[str]:
    """Choose at most so many of the names, the same ones in every run.

    They are in the order of their digests.
    """
    return nsmallest(most, names, key=lambda name: sha256(name.encode("utf-8", "replace")).digest())


def end_of(day: date, timezone: str) -> datetime:
    """Return the first instant after a day of a zone, as naive UTC."""
    return start_of(day + timedelta(days=1), timezone)


def start_of(day: date, timezone: str) -> datetime:
    """Return the first instant of a day of a zone, as naive UTC."""
    return datetime.combine(day, time(), ZoneInfo(timezone)).astimezone(UTC).replace(tzinfo=None)
