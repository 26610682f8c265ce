"""The tests for new messages, unknown or decided by weak evidence, that a caller or the fleet did not have before.

The first sight is the start of the clock, so the one session that began it is not counted as evidence. What two callers
share by chance is gone the next day: what is new to a fleet has to come back on a second one. Of a message that a rule
knows by weak evidence alone, what was there before under any verdict is not new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.detection.detection import (
    ACCEPT_DAYS,
    QUIET_DAYS,
    TEMPLATE_DAYS,
    TEMPLATE_MEMORY_DAYS,
    Detection,
    Settings,
    frame,
)
from analyzer.analysis.detection.statistics.tails import (
    false_discovery,
    negative_binomial_tail,
    negative_binomial_upper,
)

LEAST_HISTORY = 14
"""A template is new only to a caller, or a fleet, whose days before its first sight are so many at least."""
LEAST_CALLERS, LEAST_DAYS = 2, 2
"""Callers, and days, that a text is seen at."""


@dataclass(frozen=True, slots=True)
class Novelty:
    """How surprising it is that a text is seen, after it was not."""

    day: int
    """Proleptic ordinal, as is `first`."""
    first: int
    sessions: int
    """With the text, since its first sight."""
    since: float
    """Sessions that may have shown it since then."""
    expected: float
    high: float
    p_value: float

    def detection(self, finding: str, caller: str | None, template: str, note: str) -> Detection:
        """What a finding says of it."""
        return Detection(
            day=date.fromordinal(self.day),
            caller=caller,
            finding=finding,
            onset=date.fromordinal(self.first),
            observed=float(self.sessions),
            expected=self.expected,
            low=0.0,
            high=self.high,
            p_value=self.p_value,
            statistic=self.sessions / self.expected,
            sessions=self.sessions,
            template=template,
            note=note,
        )


def novelty(day: int, first: int, sessions: int, exposure: Mapping[int, float]) -> Novelty | None:
    """The test of a text that so many sessions showed from its `first` day to this `day`, and none before.

    `exposure` has the sessions of each day (proleptic ordinal); None where they know too few days before.
    """
    before = [exposure[each] for each in range(first - TEMPLATE_MEMORY_DAYS, first) if each in exposure]
    if len(before) < LEAST_HISTORY:
        return None
    whole, since = sum(before), sum(exposure.get(each, 0) for each in range(first, day + 1))
    # Jeffreys' prior Gamma(1/2) and no sight in those before leave a negative binomial for those since.
    success = whole / (whole + since)
    p_value = negative_binomial_tail(sessions - 1, 0.5, success)
    high = float(negative_binomial_upper(0.5, success))
    return Novelty(day, first, sessions, since, 0.5 * since / whole, high, p_value)


def goes_on(last: int, day: int, at_work: Collection[int]) -> bool:
    """Whether a message that was shown on a day goes on: no stretch of quiet days at work lies before it.

    After such a stretch its finding is over, and a rare message would be another one each time that it comes.
    """
    return sum(each in at_work for each in range(last + 1, day)) < QUIET_DAYS


@dataclass(slots=True)
class NewTemplates:
    """The unknown templates of one caller, day by day."""

    caller: str
    _sessions: dict[int, int] = field(default_factory=dict)
    """Sessions of the caller by proleptic ordinal."""
    _first: dict[str, int] = field(default_factory=dict)
    """First sight of the current appearance."""
    _last: dict[str, int] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)
    """Sessions since the first sight."""
    _known: dict[str, int] = field(default_factory=dict)
    """The last day on which a reported one was shown without a quiet stretch before it."""

    def look(self, day: int, sessions: int, shown: dict[str, int], settings: Settings) -> Iterator[Detection]:
        """Adds a day (`shown`: sessions by template), yields a detection of each template that is new or goes on."""
        self._sessions[day] = sessions
        for template in sorted(shown):
            last = self._last.get(template)
            if last is None or last < day - TEMPLATE_MEMORY_DAYS:
                # Forgotten is as good as never seen.
                self._first[template], self._seen[template] = day, 0
                self._known.pop(template, None)
            self._last[template] = day
            self._seen[template] += shown[template]
            found = self._judge(day, template, settings)
            if found is not None:
                yield found

    def report(self, template: str, day: int) -> None:
        """Marks a template as reported on a day."""
        self._known[template] = day

    def _judge(self, day: int, template: str, settings: Settings) -> Detection | None:
        first, seen, reported = self._first[template], self._seen[template], self._known.get(template)
        if reported is not None:
            if not goes_on(reported, day, self._sessions):
                return None
            self._known[template] = day
        if day - first >= TEMPLATE_DAYS + (0 if reported is None else ACCEPT_DAYS) or seen < settings.min_sessions:
            return None
        found = novelty(day, first, seen, self._sessions)
        if found is None or (reported is None and found.p_value > settings.template_alpha):
            return None
        note = f"first seen {date.fromordinal(first)}, in {seen} of {found.since:.0f} sessions since"
        one = found.detection("template", self.caller, template, note)
        return one if reported is None else replace(one, state="ongoing")


def new_templates(templates: pl.DataFrame, counts: pl.DataFrame, settings: Settings) -> Iterator[Detection]:
    """Findings `template`: unknown messages that are new to a caller, on days that show them.

    Of several new ones of a night the clearest is reported. A message that goes on is reported for four weeks at most.

    `templates`: columns `day`, `caller`, `template`, `sessions`. `counts`: a row for each `day` of a `caller` with its
    `sessions`, in order.
    """
    often = templates.group_by("caller", "template").agg(pl.sum("sessions"))
    often = often.filter(pl.col("sessions") >= settings.min_sessions).select("caller").unique()
    shown: dict[tuple[date, str], dict[str, int]] = {}
    for day, caller, template, sessions in templates.join(often, on="caller", how="semi").iter_rows():
        texts = shown.setdefault((day, caller), {})
        texts[template] = texts.get(template, 0) + sessions
    judged: dict[date, int] = dict(counts.group_by("day").len().iter_rows())
    callers: dict[str, NewTemplates] = {}
    at_work = counts.select("day", "caller", "sessions").join(often, on="caller", how="semi", maintain_order="left")
    for (day,), rows in at_work.group_by("day", maintain_order=True):
        ones: list[Detection] = []
        for caller, sessions in rows.select("caller", "sessions").iter_rows():
            own = callers.setdefault(caller, NewTemplates(caller))
            found = list(own.look(day.toordinal(), sessions, shown.get((day, caller), {}), settings))
            yield from (each for each in found if each.state != "new")
            if news := [each for each in found if each.state == "new"]:
                first, *rest = sorted(news, key=lambda each: (each.p_value or 0.0, each.template or ""))
                others = f"; with it: {', '.join(str(each.template) for each in rest)}" if rest else ""
                ones.append(replace(first, note=f"{first.note}{others}"))
        p_values = [one.p_value or 0.0 for one in ones]
        for one, q_value in zip(ones, false_discovery([*p_values, *[1.0] * (judged[day] - len(ones))]), strict=False):
            if q_value <= settings.false_discovery_rate:
                callers[str(one.caller)].report(str(one.template), day.toordinal())
                yield replace(one, q_value=q_value)


@dataclass(slots=True)
class _Appearance:
    """One text since its first sight, or since it came back after it had been forgotten."""

    first: int
    last: int
    sessions: int = 0
    callers: set[str] = field(default_factory=set)
    days: int = 0
    reported: bool = False
    over: bool = False
    """Whether it was reported and then quiet, or for four weeks: it is reported again once it has been forgotten."""


def shared_templates(templates: pl.DataFrame, work: pl.DataFrame, settings: Settings | None = None) -> pl.DataFrame:
    """Findings `shared_template`: unknown messages that are new to the fleet and come back, on days that show them.

    A message that goes on is reported for four weeks at most, until it is quiet.

    `templates`: columns `day`, `caller`, `template`, `sessions`. `work`: columns `day`, `caller`, `exposure`, the
    sessions in which a text may have been seen. `observed` and `expected` are sessions since the first sight (`onset`).
    """
    chosen = settings or Settings()
    exposure = {
        day.toordinal(): float(amount)
        for day, amount in work.group_by("day").agg(pl.col("exposure").sum()).sort("day").iter_rows()
    }
    known: dict[str, _Appearance] = {}
    found: list[Detection] = []
    days = templates.group_by("day", "template").agg(pl.col("sessions").sum(), pl.col("caller").drop_nulls().unique())
    for day, template, sessions, callers in days.sort("day", "template").iter_rows():
        at = day.toordinal()
        seen = known.get(template)
        if seen is None or seen.last < at - TEMPLATE_MEMORY_DAYS:
            seen = known[template] = _Appearance(at, at)
        last, seen.last = seen.last, at
        seen.days += 1
        seen.sessions += sessions
        seen.callers.update(callers)
        seen.over |= seen.reported and not goes_on(last, at, exposure)
        found += _judged(at, template, seen, exposure, chosen)
    return frame(found)


def _judged(
    day: int, template: str, seen: _Appearance, exposure: dict[int, float], settings: Settings
) -> Iterator[Detection]:
    age = day - seen.first
    if seen.over or age >= TEMPLATE_DAYS + (ACCEPT_DAYS if seen.reported else 0):
        return
    if seen.sessions < settings.min_sessions or len(seen.callers) < LEAST_CALLERS or seen.days < LEAST_DAYS:
        return
    found = novelty(day, seen.first, seen.sessions, exposure)
    if found is None or (not seen.reported and found.p_value > settings.template_alpha):
        return
    callers = len(seen.callers)
    note = f"first seen {date.fromordinal(seen.first)}, in {seen.sessions} sessions of {callers} callers since"
    one = found.detection("shared_template", None, template, note)
    yield replace(one, state="ongoing" if seen.reported else "new")
    seen.reported = True


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
    reported: int = 0
    """The last day on which it was reported; 0 before."""
    over: bool = False

    def show(self, reason: str, sessions: int, callers: list[str]) -> None:
        """Adds a day that shows it."""
        self.reason = self.reason or reason
        self.sessions += sessions
        self.days += 1
        self.callers.update(callers)

    def judged(self, day: int, exposure: Mapping[int, float], settings: Settings) -> Detection | None:
        """The finding of a day that shows it: that it is surely new, or that it goes on."""
        if self.reported:
            self.over |= not goes_on(self.reported, day, exposure)
        elif not self._counts(day, settings):
            return None
        found = None if self.over else novelty(day, self.first, self.sessions, exposure)
        if found is None or (not self.reported and found.p_value > settings.template_alpha):
            return None
        of = f" of {len(self.callers)} callers" if self.caller is None else ""
        note = f"first seen {date.fromordinal(self.first)}, in {self.sessions} sessions{of} since"
        one = found.detection(_FINDING, self.caller, self.template, note)
        return replace(one, scope=self.reason, state="ongoing" if self.reported else "new")

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
    is reported. A message that goes on is reported for four weeks at most.
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
    fleet = list(_reported(_sightings(seen, beginning, by_caller=False), {"": _exposure(work, "exposure")}, {}, chosen))
    since: dict[str | None, date] = {}
    for one in fleet:
        since.setdefault(one.template, one.day)
    # What is reported of the fleet is not reported of each of its callers, unless that was before.
    callers: list[Detection] = []
    begun: set[tuple[str | None, str | None]] = set()
    for one in _reported(own, by_caller, at_work, chosen):
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


def _reported(
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
            if text.reported:
                text.reported = at
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
                other.reported, other.over = at, other is not text
            more = f", and {len(others) - 1} more with it" if len(others) > 1 else ""
            yield replace(one, q_value=q_value, note=f"{one.note}{more}")


def _exposure(rows: pl.DataFrame, column: str) -> dict[int, float]:
    daily = rows.group_by("day").agg(pl.col(column).sum())
    return {day.toordinal(): float(amount) for day, amount in daily.sort("day").iter_rows()}
