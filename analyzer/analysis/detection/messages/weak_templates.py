"""The test for new messages that a rule knows by weak evidence alone, so that it may well be wrong about them.

What was there before under any verdict is not new: as an unknown message, on better evidence, or where nobody said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame
from analyzer.analysis.detection.messages.templates import LEAST_CALLERS, LEAST_DAYS, LEAST_HISTORY, goes_on, novelty
from analyzer.analysis.detection.settings import ACCEPT_DAYS, TEMPLATE_DAYS, TEMPLATE_MEMORY_DAYS, Settings
from analyzer.analysis.detection.statistics.tails import false_discovery

_FINDING = "weak_template"


@dataclass(slots=True)
class _Text:
    """One message of a caller, or of the fleet, since its first sight."""

    caller: str | None
    template: str
    first: int
    """Proleptic ordinal."""
    reason: str = ""
    """What most sessions of its first days were judged as."""
    sessions: int = 0
    """Those that weak evidence decided."""
    days: int = 0
    callers: set[str] = field(default_factory=set)
    told: int = 0
    """The last day on which it was told; 0 before."""
    over: bool = False

    def show(self, reason: str, sessions: int, callers: list[str]) -> None:
        """Adds a day that shows it."""
        self.reason = self.reason or reason
        self.sessions += sessions
        self.days += 1
        self.callers.update(callers)

    def judged(self, day: int, exposure: Mapping[int, float], settings: Settings) -> Detection | None:
        """What there is to tell of a day that shows it: that it is surely new, or that it goes on."""
        if self.told:
            self.over |= not goes_on(self.told, day, exposure)
        elif not self._counts(day, settings):
            return None
        found = None if self.over else novelty(day, self.first, self.sessions, exposure)
        if found is None or (not self.told and found.p_value > settings.template_alpha):
            return None
        of = f" of {len(self.callers)} callers" if self.caller is None else ""
        note = f"first seen {date.fromordinal(self.first)}, in {self.sessions} sessions{of} since"
        one = found.detection(_FINDING, self.caller, self.template, note)
        return replace(one, scope=self.reason, state="ongoing" if self.told else "new")

    def _counts(self, day: int, settings: Settings) -> bool:
        shared = self.caller is not None or (len(self.callers) >= LEAST_CALLERS and self.days >= LEAST_DAYS)
        return shared and day - self.first < TEMPLATE_DAYS and self.sessions >= settings.min_sessions


def weak_templates(
    known: pl.DataFrame,
    unknown: pl.DataFrame,
    counts: pl.DataFrame,
    work: pl.DataFrame,
    settings: Settings | None = None,
) -> pl.DataFrame:
    """Findings `weak_template`: new messages of a caller or, without one, of the fleet, on days that show them.

    `known`: columns `day`, `caller`, `template`, `reason`, `sessions` and `weak_sessions`, those of them that weak
    evidence decided. `unknown`: columns `day`, `caller`, `template`. `counts`: columns `day`, `caller`, `sessions` with
    an error. `work`: columns `day`, `caller`, `exposure`. `scope` is the reason; of several new messages of a night one
    is told. A message that goes on is told for four weeks at most.
    """
    chosen = settings or Settings()
    if known.is_empty() or counts.is_empty():
        return frame(())
    seen = _enough(known, unknown, chosen.min_sessions)
    beginning = counts["day"].min()
    own = _sightings(seen, beginning, by_caller=True)
    exposures = {caller: rows for (caller,), rows in counts.group_by("caller")}
    asked = own["caller"].unique()
    by_caller = {caller: _exposure(exposures[caller], "sessions") for caller in asked if caller in exposures}
    at_work = dict(counts.group_by("day").len().iter_rows())
    fleet = list(_told(_sightings(seen, beginning, by_caller=False), {"": _exposure(work, "exposure")}, {}, chosen))
    since: dict[str | None, date] = {}
    for one in fleet:
        since.setdefault(one.template, one.day)
    # What the fleet is told of is not told of each of its callers, unless that was before.
    callers: list[Detection] = []
    begun: set[tuple[str | None, str | None]] = set()
    for one in _told(own, by_caller, at_work, chosen):
        text = one.caller, one.template
        if one.day < since.get(one.template, date.max) or text in begun:
            begun.add(text)
            callers.append(one)
    return frame([*fleet, *callers])


def _enough(known: pl.DataFrame, unknown: pl.DataFrame, least: int) -> pl.DataFrame:
    """The days of all messages that weak evidence decided in so many sessions at least, under whatever verdict."""
    often = known.group_by("template").agg(pl.sum("weak_sessions")).filter(pl.col("weak_sessions") >= least)
    columns = ("day", "caller", "template", "reason", "weak_sessions")
    others = unknown.select("day", "caller", "template", reason=pl.lit("unknown"), weak_sessions=pl.lit(0, pl.Int64))
    return pl.concat([known.select(columns), others]).join(often.select("template"), on="template", how="semi")


def _sightings(rows: pl.DataFrame, beginning: Any, *, by_caller: bool) -> pl.DataFrame:
    """The days of messages from their first sight on, of those that were first seen when there was a history.

    `caller` (empty for the fleet), `template`, `first`, `day`, `reason`, `weak_sessions`, `callers`.
    """
    unit = pl.col("caller") if by_caller else pl.lit("").alias("caller")
    days = (
        rows.sort("weak_sessions", "reason", descending=[True, False])
        .group_by("day", "template", unit, maintain_order=True)
        .agg(
            pl.col("reason").first(),
            pl.col("caller").filter(pl.col("weak_sessions") > 0).unique().sort().alias("callers"),
            pl.sum("weak_sessions"),
        )
        .sort("caller", "template", "day")
    )
    gap = (pl.col("day") - pl.col("day").shift().over("caller", "template")).dt.total_days()
    first = pl.when(gap.is_null() | (gap > TEMPLATE_MEMORY_DAYS)).then(pl.col("day"))
    dated = days.with_columns(first.forward_fill().over("caller", "template").alias("first"))
    age = (pl.col("day") - pl.col("first")).dt.total_days()
    old = (pl.col("first") - beginning).dt.total_days() >= LEAST_HISTORY
    return dated.filter(old & (age < TEMPLATE_DAYS + ACCEPT_DAYS) & (pl.col("weak_sessions") > 0)).sort(
        "day", "caller", "template"
    )


def _told(
    rows: pl.DataFrame, exposures: Mapping[str, Mapping[int, float]], at_work: Mapping[date, int], settings: Settings
) -> Iterator[Detection]:
    """The detections of callers, day by day, corrected for all callers at work on it; of the fleet without that."""
    texts: dict[tuple[str, str, date], _Text] = {}
    for (day,), of_day in rows.group_by("day", maintain_order=True):
        at = day.toordinal()
        news: dict[str, list[tuple[_Text, Detection]]] = {}
        for caller, template, first, reason, sessions, callers in of_day.select(
            "caller", "template", "first", "reason", "weak_sessions", "callers"
        ).iter_rows():
            made = _Text(caller or None, template, first.toordinal())
            text = texts.setdefault((caller, template, first), made)
            text.show(reason, sessions, callers)
            found = text.judged(at, exposures.get(caller, {}), settings)
            if found is None:
                continue
            if text.told:
                text.told = at
                yield found
            else:
                news.setdefault(caller, []).append((text, found))
        clearest = [min(ones, key=lambda each: (each[1].p_value or 0.0, each[0].template)) for ones in news.values()]
        q_values = false_discovery(
            [*(one.p_value or 0.0 for _, one in clearest), *[1.0] * (at_work.get(day, 0) - len(clearest))]
        )
        for (text, one), others, q_value in zip(clearest, news.values(), q_values, strict=False):
            if q_value > settings.false_discovery_rate:
                continue
            for other, _ in others:
                other.told, other.over = at, other is not text
            more = f", and {len(others) - 1} more with it" if len(others) > 1 else ""
            yield replace(one, q_value=q_value, note=f"{one.note}{more}")


def _exposure(rows: pl.DataFrame, column: str) -> dict[int, float]:
    daily = rows.group_by("day").agg(pl.col(column).sum())
    return {day.toordinal(): float(amount) for day, amount in daily.sort("day").iter_rows()}
