"""`detect`: the tests of unknown shares and new messages over all callers, night after night.

Each day is judged from that day and the days before it alone, so a night judged again says the same, and a
`DetectorState` of the days so far goes on where it stopped.

Callers with errors on one day alone are counted instead of watched where there are very many; days that nothing could
be held against are told apart from quiet ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection.detection import (
    BASELINE_DAYS,
    TEMPLATE_DAYS,
    TEMPLATE_MEMORY_DAYS,
    Detection,
    Settings,
    frame,
)
from analyzer.analysis.detection.new_messages import NewTemplates
from analyzer.analysis.detection.share import LEAST_SESSIONS, Evidence, Watch
from analyzer.analysis.detection.statistics.baseline import (
    DAY_NOISES,
    NOISE_GAP,
    Counts,
    Prior,
    day_noise,
    fleet_prior,
    fresh_evidence,
)
from analyzer.analysis.detection.statistics.tails import false_discovery
from analyzer.errors import AnalyzerError

LEAST_SINGLE_DAYS = 20_000
"""Fewer callers are watched one by one: a watch costs a kilobyte, and a look at it every day."""


def split_single_days(totals: pl.DataFrame, min_sessions: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of callers to watch, and of those that are only counted, from the columns of `detect`'s counts."""
    # One row stands for a day of a caller.
    alone = ~totals["caller"].is_duplicated() & (totals["unknown_sessions_replayed"] < min_sessions)
    if alone.sum() < LEAST_SINGLE_DAYS:
        return totals, totals.clear()
    return totals.filter(~alone), totals.filter(alone)


@dataclass(slots=True)
class SingleDayCallers:
    """The number of callers with errors on one day alone, by day and counts."""

    days: dict[int, Counter[Counts]] = field(default_factory=dict)
    """How many callers had such counts, by proleptic ordinal."""
    callers: int = 0
    """Of the days so far."""
    noise_total: list[float] = field(default_factory=lambda: [0.0] * len(DAY_NOISES))
    """As in `History`, summed over these callers."""
    _uncounted: dict[int, list[float]] = field(default_factory=dict)

    def between(self, first: int, last: int) -> Counter[Counts]:
        """The number of callers by their counts, over the days from first to last."""
        found: Counter[Counts] = Counter()
        for day, counts in self.days.items():
            if first <= day <= last:
                found.update(counts)
        return found

    def today(self, day: int) -> int:
        """The number of callers on this day."""
        return sum(self.days.get(day, {}).values())

    def count_noise(self, day: int) -> None:
        """Counts the evidence of days that are old enough today, as `History.count_noise` does."""
        for each in [each for each in self._uncounted if each <= day - NOISE_GAP]:
            evidence = self._uncounted.pop(each)
            self.noise_total = [total + part for total, part in zip(self.noise_total, evidence, strict=True)]

    def settle(self, day: int, prior: Prior, *, fleet: bool) -> None:
        """Adds the callers of a day; their evidence of noise is measured against the fleet, as they have no history."""
        of_day: Mapping[Counts, int] = self.days.get(day, {})
        self.callers += sum(of_day.values())
        if not (fleet and of_day):
            return
        evidence = [0.0] * len(DAY_NOISES)
        for counts, times in of_day.items():
            own = fresh_evidence(day, counts, prior)
            evidence = [total + times * part for total, part in zip(evidence, own, strict=True)]
        self._uncounted[day] = evidence


COUNT_COLUMNS = ("groups", "unknown_groups_replayed", "sessions", "unknown_sessions_replayed")
MOST_GROUPS = 3
"""Unknown groups of a session that count: one that repeats itself in ever other words is no more than that."""
FLEET = 3
"""Callers with a history that make a fleet to measure a caller without one against."""
_LEAVE_ONE_OUT = 8
"""With fewer callers each is left out of the fleet that it is measured against; with more it makes no difference."""
_NO_FLEET = Prior((0.5, 0.5), (0.5, 0.5))
_REACH = TEMPLATE_MEMORY_DAYS + TEMPLATE_DAYS
"""Days back that any test looks at, at most."""

DEFAULT = Settings()


class DetectionError(AnalyzerError):
    """Counts that cannot be judged."""


def detect(counts: pl.DataFrame, templates: pl.DataFrame, settings: Settings = DEFAULT) -> pl.DataFrame:
    """Findings `spike`, `drift` and `template`, at most one of each a day and caller, in the columns of `SCHEMA`.

    `counts` has one row a day and caller: `day` (Date), `caller`, `sessions`, `groups` (distinct pairs of session and
    template), and of both those with an unknown error under today's rules, `unknown_sessions_replayed` and
    `unknown_groups_replayed`. `templates` has one row a day, caller and unknown template: `sessions` that showed it.
    Raises `DetectionError` for columns that are missing and counts that cannot be.
    """
    state = DetectorState()
    state.go_on(counts, templates, settings)
    return frame(state.found)


@dataclass(slots=True)
class DetectorState:
    """The days of a history so far: what was found, and what the tests know of each caller."""

    day: int = 0
    """The last of them, as a proleptic ordinal."""
    found: list[Detection] = field(default_factory=list)
    watches: dict[str, Watch] = field(default_factory=dict)
    """By caller, in their order."""
    messages: dict[str, NewTemplates] = field(default_factory=dict)
    """By caller."""
    has_single_days: bool = False
    """Whether some callers of the history were only counted. No later day can be judged from such a state."""

    def go_on(self, counts: pl.DataFrame, templates: pl.DataFrame, settings: Settings = DEFAULT) -> None:
        """Judge the days behind the last one. `counts` and `templates` have the whole history, as for `detect`.

        Which callers are only counted is known of a whole history alone: with any, all days are judged again.

        Raises:
            DetectionError: as for `detect`.
        """
        watched, passing = _callers(counts, settings)
        self.has_single_days = not passing.is_empty()
        if self.has_single_days:
            self.day, self.found, self.watches, self.messages = 0, [], {}, {}
        if self.day:
            watched = watched.filter(pl.col("day") > date.fromordinal(self.day))
        days, single_days = _days(watched, passing)
        self.found += [
            *_shares(days, single_days, self.watches, settings),
            *_new_templates(days, single_days, templates, self.messages, settings),
        ]
        self.day = max(days, default=self.day)

    def forget(self) -> None:
        """Let go of what no test looks at any more: nothing that is found later depends on it."""
        for watch in self.watches.values():
            watch.history.forget(self.day - _REACH)
        for messages in self.messages.values():
            messages.forget(self.day - _REACH)


def _callers(counts: pl.DataFrame, settings: Settings) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The counts of callers that are watched, and of those that are only counted, by day and caller, in that order."""
    wanted = ("day", "caller", *COUNT_COLUMNS)
    if missing := [name for name in wanted if name not in counts.columns]:
        raise DetectionError(f"counts without column {', '.join(missing)}", f"needed: {', '.join(wanted)}")
    totals = counts.select(wanted)
    if not totals.select(_one_a_caller_in_order()).item():
        totals = totals.group_by("day", "caller").agg(pl.col(COUNT_COLUMNS).sum()).sort("day", "caller")
    possible = pl.lit(True)
    for every in ("groups", "sessions"):
        possible &= pl.col(f"unknown_{every}_replayed").is_between(0, pl.col(every))
    for day, caller, *values in totals.filter(~possible).head(1).iter_rows():
        message = f"impossible counts of {caller} on {day}: {Counts(*values)}"
        raise DetectionError(message, "unknown ones are part of all")
    return split_single_days(totals.filter((pl.col("sessions") > 0) & (pl.col("groups") > 0)), settings.min_sessions)


def _one_a_caller_in_order() -> pl.Expr:
    """Whether each row is behind the one before it by day and caller, as daily sums are: a million are not grouped."""
    day, caller = pl.col("day"), pl.col("caller")
    behind = (day > day.shift()) | ((day == day.shift()) & (caller > caller.shift()))
    return behind.fill_null(value=True).all()


def _days(watched: pl.DataFrame, passing: pl.DataFrame) -> tuple[dict[int, dict[str, Counts]], SingleDayCallers]:
    """Counts by day (proleptic ordinal), then caller, both in order, and the callers that are only counted."""
    there = pl.concat([watched["day"], passing["day"]]).unique().sort()
    days: dict[int, dict[str, Counts]] = {day.toordinal(): {} for day in there}
    for day, caller, *values in watched.iter_rows():
        days[day.toordinal()][caller] = _without_repeats(Counts(*values))
    single_days = SingleDayCallers()
    for day, *values, callers in passing.group_by("day", *COUNT_COLUMNS).len().sort("day", *COUNT_COLUMNS).iter_rows():
        single_days.days.setdefault(day.toordinal(), Counter())[_without_repeats(Counts(*values))] += callers
    return days, single_days


def _without_repeats(day: Counts) -> Counts:
    """The day with so many unknown groups at most as its sessions would have with `MOST_GROUPS` each."""
    more = max(0, day.unknown_groups - MOST_GROUPS * day.unknown_sessions)
    return day._replace(groups=day.groups - more, unknown_groups=day.unknown_groups - more)


def _shares(
    days: dict[int, dict[str, Counts]], single_days: SingleDayCallers, watches: dict[str, Watch], settings: Settings
) -> list[Detection]:
    found: list[Detection] = []
    for day, of_day in days.items():
        for watch in watches.values():
            watch.history.count_noise(day)
        single_days.count_noise(day)
        totals = _totals(watches, day)
        passing = single_days.between(day - BASELINE_DAYS, day - 1)
        known = len(totals) + sum(passing.values())
        everyone = fleet_prior(list(totals.values()), passing) if known else _NO_FLEET
        noise_total = [
            sum(watch.history.noise_total[i] for watch in watches.values()) + single_days.noise_total[i]
            for i in range(len(DAY_NOISES))
        ]
        others = len(watches) - 1 + single_days.callers
        tonight: list[tuple[Watch, list[Evidence]]] = []
        for caller, counts in of_day.items():
            watch = watches.get(caller) or Watch(caller)
            own = watch.history.noise_total
            noise = day_noise(
                own,
                [total - part for total, part in zip(noise_total, own, strict=True)],
                others if caller in watches else others + 1,
            )
            watch.history.add(day, counts)
            prior = everyone if known >= _LEAVE_ONE_OUT else _prior(caller, totals, everyone)
            tonight.append((watch, watch.look(day, prior, noise, known >= FLEET, settings)))
        single_days.settle(day, everyone, fleet=known >= FLEET)
        if any(watch.caller not in watches for watch, _ in tonight):
            known_ones = {**watches, **{watch.caller: watch for watch, _ in tonight}}
            watches.clear()
            watches.update(sorted(known_ones.items()))
        best = [min((each.p_value for each in evidence), default=1.0) for _, evidence in tonight]
        q_values = false_discovery([*best, *[1.0] * single_days.today(day)])
        for (watch, evidence), q_value in zip(tonight, q_values, strict=False):
            passed = evidence if q_value <= settings.false_discovery_rate else []
            detection = watch.settle(day, passed, q_value)
            if detection is not None:
                found.append(detection)
    return found


def _totals(watches: dict[str, Watch], day: int) -> dict[str, Counts]:
    """The summed baseline of every caller that has one."""
    sums = {caller: watch.history.between(day - BASELINE_DAYS, day - 1).whole for caller, watch in watches.items()}
    return {caller: total for caller, total in sums.items() if total.sessions}


def _prior(caller: str, totals: dict[str, Counts], everyone: Prior) -> Prior:
    """The prior of a caller by all others; it matters where they are few."""
    if caller not in totals:
        return everyone
    rest = [total for name, total in totals.items() if name != caller]
    return fleet_prior(rest) if rest else _NO_FLEET


def _new_templates(
    days: dict[int, dict[str, Counts]],
    single_days: SingleDayCallers,
    templates: pl.DataFrame,
    callers: dict[str, NewTemplates],
    settings: Settings,
) -> list[Detection]:
    wanted = ("day", "caller", "template", "sessions")
    if missing := [name for name in wanted if name not in templates.columns]:
        raise DetectionError(f"templates without column {', '.join(missing)}", f"needed: {', '.join(wanted)}")
    shown: dict[tuple[int, str], dict[str, int]] = {}
    watched = pl.Series("caller", list({caller for of_day in days.values() for caller in of_day}), pl.String)
    rows = templates.select(wanted).join(watched.to_frame(), on="caller", how="semi")
    if days:
        rows = rows.filter(pl.col("day") >= date.fromordinal(min(days)))
    for day, caller, template, sessions in rows.iter_rows():
        texts = shown.setdefault((day.toordinal(), caller), {})
        texts[template] = texts.get(template, 0) + sessions
    found: list[Detection] = []
    for day, of_day in days.items():
        tonight = [
            _together(
                list(
                    callers.setdefault(caller, NewTemplates(caller)).look(
                        day, counts.sessions, shown.get((day, caller), {}), settings
                    )
                )
            )
            for caller, counts in of_day.items()
        ]
        p_values = [each.p_value if each and each.p_value is not None else 1.0 for each in tonight]
        q_values = false_discovery([*p_values, *[1.0] * single_days.today(day)])
        for each, q_value in zip(tonight, q_values, strict=False):
            if each is not None and q_value <= settings.false_discovery_rate:
                callers[str(each.caller)].report(str(each.template))
                found.append(replace(each, q_value=q_value))
    return found


def _together(news: Sequence[Detection]) -> Detection | None:
    """One finding a night: the clearest template, the others named in its note."""
    if len(news) < 2:
        return news[0] if news else None
    first, *rest = sorted(news, key=lambda each: (each.p_value or 0.0, each.template or ""))
    return replace(first, note=f"{first.note}; with it: {', '.join(str(each.template) for each in rest)}")


def unjudged(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[tuple[date, str]]:
    """Days and callers with enough unknown sessions for a finding and nothing to measure them against, in order.

    `counts` as for `detect`. A baseline is made of 10 sessions of the caller's own in the days of one, or of a fleet of
    three callers that had any.
    """
    busy = counts.filter(pl.col("unknown_sessions_replayed") >= settings.min_sessions).sort("day", "caller")
    if busy.is_empty():
        return []
    sessions: dict[str, dict[date, int]] = {}
    for day, caller, number in counts.select("day", "caller", "sessions").iter_rows():
        sessions.setdefault(caller, {})[day] = number
    return [
        (day, caller)
        for day, caller in busy.select("day", "caller").iter_rows()
        if _before(sessions[caller], day) < LEAST_SESSIONS
        and sum(_before(own, day) > 0 for own in sessions.values()) < FLEET
    ]


def _before(days: dict[date, int], day: date) -> int:
    """Sessions of the days that would be the baseline."""
    first = day - timedelta(days=BASELINE_DAYS)
    return sum(number for each, number in days.items() if first <= each < day)
