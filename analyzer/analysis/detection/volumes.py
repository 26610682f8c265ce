"""The tests of counts: does a caller have more errors than its days before and its exposure let one expect, or do many?

A caller's errors are counted together and by reason; those of a provider, a model or the fleet over all of its callers,
before any caller is looked at alone. One session that repeats itself counts a few times at most. Each day is judged
from that day and the days before it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, ORDINAL, Detection, Settings, clearest, frame
from analyzer.analysis.detection.naming import ASKED, UNKNOWN, Names, Suspect
from analyzer.analysis.detection.volume_units import ANY, DAY_RATIO, Rise, Unit, units

LEAST_CALLERS = 3
"""Callers of a provider or model that have more errors than usual where it has an outage; a third of all at least."""
OUTAGES = {
    "fleet": "fleet_outage",
    "provider": "outage",
    "model": "model_outage",
    "host": "host_outage",
    "project": "project_outage",
}
"""The findings of what callers share, the widest name first: what rises in one part of it alone is that part's."""
SHARED = tuple(what for what in OUTAGES if what != "fleet")
"""What callers share, by the names of columns."""
PLACES = ("host", "project")
"""Where callers work. A rise is theirs where callers elsewhere would have had errors, and had none; as that is rarer
than an outage of what they ask, it takes a smaller p-value."""
RARER = 10
"""How many times smaller."""
UNSEEN_RARER = 100
"""The same where no log shows sessions without errors: more work looks like more errors there."""
_REASONS = 9
"""Tests of single reasons that share a budget, beside that of all errors together."""
_MOST = 0.5
"""Part of the errors above the expected ones from which on a rise of all errors is one of a reason."""
_VOLUME = ("day", "caller", *SHARED, "reason", "sessions", "groups")
_WORK = ("day", "caller", "exposure", "seen", "error_sessions", "groups")

CODED: Mapping[Any, Any] = {pl.String: pl.Categorical}
"""Texts as numbers, which are grouped and joined much sooner; they are sorted by what they say all the same."""
Explained = set[tuple[int, str, str]]
"""Days, callers and reasons whose errors an outage explains."""
_Budget = Callable[[int], float]
"""The p-value that a rise of a day needs."""


class _Found(NamedTuple):
    """The rise of one reason, or of all."""

    p_value: float
    """Corrected for the reasons that are tested."""
    reason: str
    rise: Rise
    state: str

    @property
    def more(self) -> float:
        """Errors above the expected ones."""
        return self.rise.count - self.rise.tail.expected


def volumes(
    volume: pl.DataFrame,
    work: pl.DataFrame,
    settings: Settings | None = None,
    *,
    explained: Iterable[tuple[int, str, str]] = (),
) -> pl.DataFrame:
    """Findings `volume` and `unknown_rate` of callers, and `OUTAGES` of what they share: one a day and scope.

    `volume`: columns `day`, `caller`, those of `SHARED` (empty where unknown), `reason`, `sessions`, `groups`
    (distinct pairs of session and message). `work`: a row for each `day` on which a `caller` was at work, with its
    `exposure` (above 0: sessions, or 1 where logs show none without errors), whether it is sessions that were `seen`,
    and of all its errors together `error_sessions` and `groups`. `observed` and `expected` are groups of the span that
    ends with `day`; `scope` is the provider or model, `reason` the one that grew.
    `explained` are days, callers and reasons whose errors are no rises of callers: outages of hours explain them.
    """
    chosen = settings or Settings()
    counts = volume.select(_VOLUME).cast(CODED)
    at_work = work.select(_WORK).cast(CODED).filter(pl.col("exposure") > 0)
    # Half of the budget is for callers, the rest for what they share and for all other tests.
    callers: dict[date, int] = dict(at_work.group_by("day").len().iter_rows())
    daily = chosen.false_alarms_a_week / 7 / 2

    def budget(day: int) -> float:
        return min(chosen.volume_alpha, daily / max(1, callers.get(date.fromordinal(day), 1)))

    known: Explained = set()
    slot = ORDINAL.alias("slot")
    names = Names(counts.with_columns(slot), at_work.filter("seen").with_columns(slot), 1)
    found = [one for what in OUTAGES for one in _outages(counts, at_work, what, budget, known, names)]
    known.update(explained)
    found += _callers(counts, at_work, budget, known, names)
    return frame(clearest(found))


def without(errors: pl.DataFrame, day: pl.Expr, explained: Explained) -> pl.DataFrame:
    """The errors that are not explained, of a frame with their `caller` and `reason` and the ordinal of their day."""
    if not explained:
        return errors
    days = {day for day, _, _ in explained}
    pairs = [(one, caller, reason) for one, caller, reason in sorted(explained)]
    kind = errors.schema["caller"]
    gone = pl.DataFrame(pairs, {"at": pl.Int64, "caller": kind, "reason": kind}, orient="row")
    dated = errors.with_columns(at=day)
    touched = pl.col("at").is_in(sorted(days))
    left = dated.filter(touched).join(gone, on=["at", "caller", "reason"], how="anti")
    return pl.concat([dated.filter(~touched), left])


def _callers(
    counts: pl.DataFrame, work: pl.DataFrame, budget: _Budget, explained: Explained, names: Names
) -> Iterator[Detection]:
    """The rises of callers. Of a day that an outage explains, its errors are nobody's own."""
    counts = counts.join(work.select("caller").unique(), on="caller", how="semi")
    by_one = counts.group_by("day", "reason", pl.col("caller").alias("name")).agg(pl.sum("sessions", "groups"))
    every = by_one.group_by("day", "name").agg(pl.sum("groups"))
    by_any = (
        work.filter(pl.col("groups") > 0)
        .select("day", reason=pl.lit(ANY, pl.Categorical), name="caller", sessions="error_sessions")
        .join(every, on=["day", "name"])
    )
    own = pl.concat([by_one, by_any.select(by_one.columns)])
    at_work = work.rename({"caller": "name"})
    away = {*explained, *((day, caller, ANY) for day, caller, _ in explained)}
    counted: dict[str, dict[str, dict[int, int]]] = {}
    for day, reason, caller, groups in by_one.select("day", "reason", "name", "groups").iter_rows():
        counted.setdefault(caller, {}).setdefault(reason, {})[day.toordinal()] = groups
    for caller, by_reason in sorted(units(own, at_work, {caller for _, caller, _ in explained}).items()):
        for day in sorted({day for unit in by_reason.values() for day in unit.days}):
            rises: list[_Found] = []
            for reason, unit in by_reason.items():
                if (day, caller, reason) in away:
                    unit.excluded.add(day)
                    continue
                tests = 1 if reason == ANY else _REASONS
                rise = unit.look(day, budget(day) / tests / (1 if 0 < unit.begins <= day else UNSEEN_RARER))
                state = unit.settle(day, rise)
                if rise is not None:
                    rises.append(_Found(min(1.0, rise.tail.p_value * tests), reason, rise, state))
            grew = next(
                (_grew(each, day, by_reason[ANY], counted[caller]) for each in rises if each.reason == ANY), ANY
            )
            for kind, of_kind in _by_kind(rises, grew):
                told, named = _most_of(of_kind, grew)
                seen = any(unit.begins > 0 and day >= unit.begins for unit in by_reason.values())
                note = _note(told.rise, day, told.reason, seen=seen)
                if told.reason != named:
                    note += f", most of those more are {named}"
                blamed = names.of("caller", caller, named, told.rise.first, day + 1, BASELINE_DAYS)
                yield _detection(kind, day, told, caller=caller, note=note, reason=named, blamed=blamed)


def _grew(every: _Found, day: int, unit: Unit, counted: dict[str, dict[int, int]]) -> str:
    """The reason that makes most of a rise of all errors: that of most errors above the expected ones; else `ANY`."""
    first, work = every.rise.first, unit.days
    before = [each for each in range(first - BASELINE_DAYS, first) if each in work]
    part = every.rise.exposure / max(1.0, sum(work[each].exposure for each in before))
    more = {
        reason: sum(days.get(each, 0) for each in range(first, day + 1))
        - part * sum(days.get(each, 0) for each in before)
        for reason, days in counted.items()
    }
    most = max(more, key=lambda reason: (more[reason], reason), default=ANY)
    return most if most != ANY and more[most] >= _MOST * every.more else ANY


def _by_kind(rises: list[_Found], grew: str) -> Iterator[tuple[str, list[_Found]]]:
    """The rises of a caller's day by the kind of finding, which is named by what grew: unknown errors are a kind of
    their own, also where the test of all errors alone shows them.
    """
    every = [each for each in rises if each.reason == ANY]
    unknown = [each for each in rises if each.reason == UNKNOWN]
    known = [each for each in rises if each.reason not in {UNKNOWN, ANY}]
    if grew == UNKNOWN:
        unknown, every = unknown or every, []
    if unknown:
        yield "unknown_rate", unknown
    if known or (every and not unknown):
        yield "volume", known + every


def _most_of(rises: list[_Found], grew: str) -> tuple[_Found, str]:
    """The rise that a day is told by, and the reason that makes most of it; of several reasons that of all errors."""
    named = max((each for each in rises if each.reason != ANY), key=lambda each: (each.more, each.reason), default=None)
    every = next((each for each in rises if each.reason == ANY), None)
    if named is None or (every is not None and named.more < _MOST * every.more):
        return (every or rises[0]), grew if every is not None else ANY
    return named, named.reason


def _outages(
    counts: pl.DataFrame, work: pl.DataFrame, what: str, budget: _Budget, explained: Explained, names: Names
) -> Iterator[Detection]:
    """The rises of what callers share that many of them show; what they explain is added to `explained`."""
    if what == "fleet" and counts["provider"].n_unique() < 2:
        return  # it is the provider's
    counts = counts.with_columns(fleet=pl.lit("fleet", pl.Categorical))
    named = counts.filter((pl.col(what) != "") & (pl.col("reason") != UNKNOWN))
    by_caller = named.group_by("day", "reason", "caller", pl.col(what).alias("name")).agg(pl.sum("sessions", "groups"))
    # An outage of the fleet is none of its providers', and one of these none of their models'.
    by_caller = without(by_caller, ORDINAL, explained)
    begins = by_caller.group_by("name", "caller").agg(pl.col("day").min().alias("first"))
    there = work.join(begins, on="caller").filter(pl.col("day") >= pl.col("first"))
    by_caller = by_caller.join(there, on=["day", "name", "caller"], how="semi")
    own = by_caller.group_by("day", "name", "reason").agg(pl.sum("sessions", "groups"))
    # Sessions and days do not add up: where sessions are seen, they stand for the work of callers without them, too.
    at_work = there.filter(pl.col("seen") | ~pl.col("seen").any().over("name"))
    at_work = at_work.group_by("day", "name").agg(pl.sum("exposure"), pl.col("seen").any(), pl.len().alias("callers"))
    for name, by_reason in sorted(units(own, at_work).items()):
        of_name = by_caller.filter(pl.col("name") == name)
        workers = there.filter(pl.col("name") == name)
        seen = bool(workers["seen"].any())
        for day in sorted({day for unit in by_reason.values() for day in unit.days}):
            rises, hits = [], {}
            for reason, unit in by_reason.items():
                goes_on = unit.onset is not None
                rise = unit.look(day, budget(day) / _REASONS / rarer(what, reason))
                hit, active = ([], 0) if rise is None else _hit(of_name, workers, reason, rise.first, day)
                if not goes_on and (len(hit) < least_callers(what, active) or 3 * len(hit) < active):
                    rise = None
                state = unit.settle(day, rise)
                if rise is not None:
                    rises.append(_Found(min(1.0, rise.tail.p_value * _REASONS), reason, rise, state))
                    explained.update(
                        (day, caller, reason)
                        for caller in workers.filter(pl.col("day") == date.fromordinal(day))["caller"]
                    )
                    hits[reason] = f"{len(hit)} of its {active} callers"
            for told in _told(rises, every=what == "fleet"):
                note = f"{_note(told.rise, day, told.reason, seen=seen)}, at {hits[told.reason]}"
                scope = told.reason if what == "fleet" else name
                blamed = names.of(what, name, told.reason, told.rise.first, day + 1, BASELINE_DAYS)
                if blamed is not None and blamed.unseen and told.p_value > budget(day) / UNSEEN_RARER:
                    continue
                yield _detection(OUTAGES[what], day, told, scope=scope, note=note, reason=told.reason, blamed=blamed)


def _told(rises: list[_Found], *, every: bool) -> list[_Found]:
    """The rises that are findings of their own: of one name the one with the most errors more, else all of them."""
    return rises if every else sorted(rises, key=lambda each: (-each.more, each.reason))[:1]


def _hit(counts: pl.DataFrame, work: pl.DataFrame, reason: str, first: int, last: int) -> tuple[list[str], int]:
    """The callers with at least twice as many errors of a reason as in their days before, and how many were at work."""
    span = pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last))
    before = pl.col("day").is_between(date.fromordinal(first - BASELINE_DAYS), date.fromordinal(first - 1))
    worked, had = (
        rows.group_by("caller").agg(pl.col(column).filter(span).sum(), pl.col(column).filter(before).sum().alias(base))
        for rows, column, base in (
            (work, "exposure", "base"),
            (counts.filter(pl.col("reason") == reason), "groups", "base_groups"),
        )
    )
    rows = worked.filter(pl.col("exposure") > 0).join(had, on="caller", how="left").fill_null(0)
    expected = (pl.col("base_groups") + 0.5) / pl.col("base").clip(1.0) * pl.col("exposure")
    hit = rows.filter((pl.col("groups") > 0) & (pl.col("groups") >= DAY_RATIO * expected))
    return sorted(hit["caller"]), rows.height


def rarer(what: str, reason: str) -> int:
    """How many times smaller a p-value a rise of such a name takes."""
    return RARER if what == "host" or (reason in ASKED and what not in {"project", "caller"}) else 1


def least_callers(what: str, known: int) -> int:
    """Callers that an outage has to hit: of a project or host all, where it has only two."""
    return max(2, min(LEAST_CALLERS, known)) if what in PLACES else LEAST_CALLERS


def _note(rise: Rise, day: int, reason: str, *, seen: bool) -> str:
    """The figures of a rise in words."""
    days = day - rise.first + 1
    over = "on one day" if days == 1 else f"within {days} days"
    sessions = f"{min(rise.sessions, rise.exposure):,.0f} of {rise.exposure:,.0f}" if seen else f"{rise.sessions:,}"
    usual = f"{rise.tail.expected:,.1f} expected" + ("" if seen else " of so many days")
    errors = f"{rise.count:,} distinct {'' if reason == ANY else f'{reason} '}errors"
    return f"{errors} in {sessions} sessions {over}, {usual}"


def _detection(
    kind: str,
    day: int,
    told: _Found,
    *,
    caller: str | None = None,
    scope: str | None = None,
    note: str,
    reason: str,
    blamed: Suspect | None,
) -> Detection:
    rise = told.rise
    if blamed is not None:
        tail = rise.tail._replace(expected=blamed.expected * blamed.groups / max(1, blamed.sessions))
        rise = replace(
            rise, tail=tail, count=blamed.groups, sessions=blamed.sessions, exposure=max(1.0, blamed.exposure)
        )
        caller, scope = (blamed.name, None) if blamed.what == "caller" else (None, blamed.name)
        kind = OUTAGES.get(blamed.what, "volume")
        scope = reason if blamed.what == "fleet" else scope
        note = _note(rise, day, reason, seen=blamed.exposure >= blamed.sessions)
        if caller is None:
            note += f", at {blamed.callers} of its {blamed.known} callers"
    return Detection(
        day=date.fromordinal(day),
        caller=caller,
        finding=kind,
        state=told.state,
        onset=date.fromordinal(rise.first),
        observed=float(rise.count),
        expected=rise.tail.expected,
        low=0.0,
        high=rise.tail.high,
        p_value=told.p_value,
        statistic=rise.count / rise.tail.expected,
        sessions=rise.sessions,
        groups=rise.count,
        scope=scope,
        note=note,
        reason=None if reason in {ANY, UNKNOWN} or kind == "fleet_outage" else reason,
    )
