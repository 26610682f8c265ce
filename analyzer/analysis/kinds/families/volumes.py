"""Judge counts: find callers with more errors than their days before and their exposure predict.

A caller's errors are counted together and by reason. The errors of a provider, a model or the fleet
are counted over all its callers, before single callers are judged. A session that repeats itself
counts a few times at most. Each day is judged only from that day and the days before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    SINCE_BASELINE,
    around,
    counted_beside_expected,
    counts_chart,
    hours_chart,
    sums_by_day,
)
from analyzer.analysis.kinds.detection import Detection, Settings, above, clearest, ordered, ordinal
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Finding, Kind, note_of
from analyzer.analysis.kinds.finding_fields import MANY_SESSIONS
from analyzer.analysis.kinds.scope import SHARED_OF_ERRORS
from analyzer.analysis.kinds.shared import (
    BY_OUTCOME,
    DRAFT_RULES,
    EVERY,
    UNKNOWN_ERRORS,
    UNKNOWN_SHOWN,
    WRITE_A_RULE,
)
from analyzer.analysis.kinds.statistics.naming import ASKED, UNKNOWN, Names, Suspect
from analyzer.analysis.kinds.statistics.units import ANY, Rise, Unit, units
from analyzer.analysis.observations import Observations
from analyzer.analysis.periods import (
    BASELINE_DAYS,
)
from analyzer.readable import counted, part_of

LEAST_CALLERS = 3
"""Least callers with more errors than usual in an outage of a provider or model; also a third of
its callers."""
OUTAGES = {
    "fleet": "fleet_outage",
    "provider": "outage",
    "model": "model_outage",
    "host": "host_outage",
    "project": "project_outage",
}
"""The findings of what callers share, widest name first: a rise in only one part is a finding of
that part."""
PLACES = ("host", "project")
"""Where callers work. A rise is of a place if callers elsewhere would have had errors, and had
none; that is rarer than an outage of a provider, so it needs a smaller p-value."""
_HIT_RATIO = 2.0
"""Least errors of a caller that an outage hit, as a multiple of the expected ones."""
RARER = 10
"""Divisor of the p-value for rises of places."""
UNSEEN_RARER = 100
"""The same where no log shows sessions without errors: there, more work looks like more errors."""
_REASONS = 9
"""Tests of single reasons that share a budget, in addition to the test of all errors."""
_MOST = 0.5
"""Part of the errors above the expected ones that makes a rise of all errors one of a single
reason."""
_VOLUME = ("day", "caller", *SHARED_OF_ERRORS, "reason", "sessions", "groups")
_WORK = ("day", "caller", "exposure", "seen", "error_sessions", "groups")

Explained = set[tuple[int, str, str]]
"""Days, callers and reasons whose errors an outage explains."""
_Budget = Callable[[int], float]
"""The p-value that a rise of a day needs."""


class _TestedRise(NamedTuple):
    """The rise of one reason, or of all reasons together, as a test found it."""

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
) -> list[Detection]:
    """Return the findings `volume`, `unknown_rate` and `OUTAGES`: one per day and scope.

    `volume`: columns `day`, `caller`, those of `SHARED_OF_ERRORS` (empty where unknown), `reason`,
    `sessions`, `groups` (distinct pairs of session and message). `work`: a row for each `day` on
    which a `caller` was at work, with its `exposure` (above 0: sessions, or 1 where logs show no
    sessions without errors), `seen` (true if exposure is in sessions), and of all its errors
    together `error_sessions` and `groups`. In the result `observed` and `expected` are groups of
    the span that ends with `day`, `scope` is the provider or model, and `reason` the reason that
    grown.
    `explained`: days, callers and reasons whose errors outages of hours explain, so that they are
    no rises of callers.
    """
    chosen = settings or Settings()
    counts = volume.select(_VOLUME).cast(coded())
    at_work = work.select(_WORK).cast(coded()).filter(pl.col("exposure") > 0)
    # Half of the budget is for callers, the rest for shared names and for all other tests.
    callers: dict[date, int] = dict(at_work.group_by("day").len().iter_rows())
    daily = chosen.false_alarms_a_week / 7 / 2

    def budget(day: int) -> float:
        return min(chosen.volume_alpha, daily / max(1, callers.get(date.fromordinal(day), 1)))

    explained_now: Explained = set()
    slot = ordinal().alias("slot")
    names = Names(counts.with_columns(slot), at_work.filter("seen").with_columns(slot), 1)
    detections = [
        detection
        for dimension in OUTAGES
        for detection in _outages(counts, at_work, dimension, budget, explained_now, names)
    ]
    explained_now.update(explained)
    detections += _callers(counts, at_work, budget, explained_now, names)
    return ordered(clearest(detections))


def coded() -> Mapping[Any, Any]:
    """Return the cast of texts to codes, which are grouped and joined much faster; they still sort as texts."""
    return {pl.String: pl.Categorical}


def without(errors: pl.DataFrame, day: pl.Expr, explained: Explained) -> pl.DataFrame:
    """Drop the explained errors of a frame; `day` gives the proleptic ordinal of a row's day."""
    if not explained:
        return errors
    days = {day for day, _, _ in explained}
    pairs = [(at, caller, reason) for at, caller, reason in sorted(explained)]
    kind = errors.schema["caller"]
    explained_rows = pl.DataFrame(pairs, {"at": pl.Int64, "caller": kind, "reason": kind}, orient="row")
    dated = errors.with_columns(at=day)
    touched = pl.col("at").is_in(sorted(days))
    unexplained = dated.filter(touched).join(explained_rows, on=["at", "caller", "reason"], how="anti")
    return pl.concat([dated.filter(~touched), unexplained])


def _callers(
    counts: pl.DataFrame, work: pl.DataFrame, budget: _Budget, explained: Explained, names: Names
) -> Iterator[Detection]:
    """Yield the rises of callers, without the errors that an outage explains."""
    counts = counts.join(work.select("caller").unique(), on="caller", how="semi")
    by_caller_reason = counts.group_by("day", "reason", pl.col("caller").alias("name")).agg(
        pl.sum("sessions", "groups")
    )
    totals = by_caller_reason.group_by("day", "name").agg(pl.sum("groups"))
    of_all_reasons = (
        work.filter(pl.col("groups") > 0)
        .select("day", reason=pl.lit(ANY, pl.Categorical), name="caller", sessions="error_sessions")
        .join(totals, on=["day", "name"])
    )
    own = pl.concat([by_caller_reason, of_all_reasons.select(by_caller_reason.columns)])
    at_work = work.rename({"caller": "name"})
    not_own = {*explained, *((day, caller, ANY) for day, caller, _ in explained)}
    counted: dict[str, dict[str, dict[int, int]]] = {}
    for day, reason, caller, groups in by_caller_reason.select("day", "reason", "name", "groups").iter_rows():
        counted.setdefault(caller, {}).setdefault(reason, {})[day.toordinal()] = groups
    for caller, by_reason in sorted(units(own, at_work, {caller for _, caller, _ in explained}).items()):
        for day in sorted({day for unit in by_reason.values() for day in unit.days}):
            rises: list[_TestedRise] = []
            for reason, unit in by_reason.items():
                if (day, caller, reason) in not_own:
                    unit.excluded.add(day)
                    continue
                tests = 1 if reason == ANY else _REASONS
                rise = unit.look(day, budget(day) / tests / (1 if 0 < unit.begins <= day else UNSEEN_RARER))
                state = unit.settle(day, rise)
                if rise is not None:
                    rises.append(_TestedRise(min(1.0, rise.tail.p_value * tests), reason, rise, state))
            of_all = next((tested for tested in rises if tested.reason == ANY), None)
            grown = ANY if of_all is None else _grown_reason(of_all, day, by_reason[ANY], counted[caller])
            for kind, of_kind in _by_kind(rises, grown):
                tested, named = _main_rise(of_kind, grown)
                seen = any(unit.begins > 0 and day >= unit.begins for unit in by_reason.values())
                note = _note(tested.rise, day, tested.reason, seen=seen)
                if tested.reason != named:
                    note += f"; most of the increase is {named}"
                blamed = names.of("caller", caller, named, tested.rise.first, day + 1, BASELINE_DAYS)
                yield _detection(kind, day, tested, caller=caller, note=note, reason=named, blamed=blamed)


def _grown_reason(of_all: _TestedRise, day: int, unit: Unit, counted: dict[str, dict[int, int]]) -> str:
    """Return the reason with the most errors above the expected ones; `ANY` if they are too few."""
    first, work = of_all.rise.first, unit.days
    before = [at for at in range(first - BASELINE_DAYS, first) if at in work]
    part = of_all.rise.exposure / max(1.0, sum(work[at].exposure for at in before))
    more = {
        reason: sum(days.get(at, 0) for at in range(first, day + 1)) - part * sum(days.get(at, 0) for at in before)
        for reason, days in counted.items()
    }
    most = max(more, key=lambda reason: (more[reason], reason), default=ANY)
    return most if most != ANY and more[most] >= _MOST * of_all.more else ANY


def _by_kind(rises: list[_TestedRise], grown: str) -> Iterator[tuple[str, list[_TestedRise]]]:
    """Split the rises of a caller's day by the kind of finding, going by the reason that grown.

    Unknown errors are a kind of their own, even if only the test of all errors shows them.
    """
    of_all = [tested for tested in rises if tested.reason == ANY]
    unknown = [tested for tested in rises if tested.reason == UNKNOWN]
    single = [tested for tested in rises if tested.reason not in {UNKNOWN, ANY}]
    if grown == UNKNOWN:
        unknown, of_all = unknown or of_all, []
    if unknown:
        yield "unknown_rate", unknown
    if single or (of_all and not unknown):
        yield "volume", single + of_all


def _main_rise(rises: list[_TestedRise], grown: str) -> tuple[_TestedRise, str]:
    """Return the rise that stands for a day, and its main reason; `ANY` of several reasons."""
    of_all = next((tested for tested in rises if tested.reason == ANY), None)
    single = [tested for tested in rises if tested.reason != ANY]
    largest = max(single, key=lambda tested: (tested.more, tested.reason), default=None)
    if largest is not None and (of_all is None or largest.more >= _MOST * of_all.more):
        return largest, largest.reason
    return (rises[0], ANY) if of_all is None else (of_all, grown)


def _outages(
    counts: pl.DataFrame, work: pl.DataFrame, dimension: str, budget: _Budget, explained: Explained, names: Names
) -> Iterator[Detection]:
    """Yield the rises of a name that many callers have; add their errors to `explained`."""
    if dimension == "fleet" and counts["provider"].n_unique() < 2:
        return  # it is the provider's
    counts = counts.with_columns(fleet=pl.lit("fleet", pl.Categorical))
    named = counts.filter((pl.col(dimension) != "") & (pl.col("reason") != UNKNOWN))
    by_caller = named.group_by("day", "reason", "caller", pl.col(dimension).alias("name")).agg(
        pl.sum("sessions", "groups")
    )
    # An outage of the fleet is not one of its providers, one of a provider not one of its models.
    by_caller = without(by_caller, ordinal(), explained)
    begins = by_caller.group_by("name", "caller").agg(pl.col("day").min().alias("first"))
    at_work_rows = work.join(begins, on="caller").filter(pl.col("day") >= pl.col("first"))
    by_caller = by_caller.join(at_work_rows, on=["day", "name", "caller"], how="semi")
    own = by_caller.group_by("day", "name", "reason").agg(pl.sum("sessions", "groups"))
    # Sessions and days do not add up: if any sessions are seen, the work of callers without
    # them is left out.
    at_work = at_work_rows.filter(pl.col("seen") | ~pl.col("seen").any().over("name"))
    at_work = at_work.group_by("day", "name").agg(pl.sum("exposure"), pl.col("seen").any(), pl.len().alias("callers"))
    for name, by_reason in sorted(units(own, at_work).items()):
        of_name = by_caller.filter(pl.col("name") == name)
        workers = at_work_rows.filter(pl.col("name") == name)
        seen = bool(workers["seen"].any())
        for day in sorted({day for unit in by_reason.values() for day in unit.days}):
            rises, hits = [], {}
            for reason, unit in by_reason.items():
                goes_on = unit.onset is not None
                rise = unit.look(day, budget(day) / _REASONS / rarer(dimension, reason))
                hit, active = ([], 0) if rise is None else _callers_hit(of_name, workers, reason, rise.first, day)
                if not goes_on and (len(hit) < least_callers(dimension, active) or 3 * len(hit) < active):
                    rise = None
                state = unit.settle(day, rise)
                if rise is not None:
                    rises.append(_TestedRise(min(1.0, rise.tail.p_value * _REASONS), reason, rise, state))
                    explained.update(
                        (day, caller, reason)
                        for caller in workers.filter(pl.col("day") == date.fromordinal(day))["caller"]
                    )
                    hits[reason] = part_of(len(hit), active, "caller")
            if dimension != "fleet":
                rises = sorted(rises, key=lambda tested: (-tested.more, tested.reason))[:1]
            for tested in rises:
                note = f"{_note(tested.rise, day, tested.reason, seen=seen)}, in {hits[tested.reason]}"
                scope = tested.reason if dimension == "fleet" else name
                blamed = names.of(dimension, name, tested.reason, tested.rise.first, day + 1, BASELINE_DAYS)
                if blamed is not None and blamed.unseen and tested.p_value > budget(day) / UNSEEN_RARER:
                    continue
                yield _detection(
                    OUTAGES[dimension], day, tested, scope=scope, note=note, reason=tested.reason, blamed=blamed
                )


def _callers_hit(
    errors: pl.DataFrame, work: pl.DataFrame, reason: str, first_day: int, last_day: int
) -> tuple[list[str], int]:
    """Return the callers whose errors of a reason at least doubled, and the number at work.

    The span from `first_day` to `last_day` is compared with the `BASELINE_DAYS` before it. Half an
    error is added to the baseline, so that callers without earlier errors can be compared too.
    """

    def span(first: int, last: int) -> pl.Expr:
        return pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last))

    now, before = span(first_day, last_day), span(first_day - BASELINE_DAYS, first_day - 1)
    exposure = work.group_by("caller").agg(
        pl.col("exposure").filter(now).sum(),
        pl.col("exposure").filter(before).sum().alias("baseline_exposure"),
    )
    groups = (
        errors.filter(pl.col("reason") == reason)
        .group_by("caller")
        .agg(
            pl.col("groups").filter(now).sum(),
            pl.col("groups").filter(before).sum().alias("baseline_groups"),
        )
    )
    at_work = exposure.filter(pl.col("exposure") > 0).join(groups, on="caller", how="left").fill_null(0)
    baseline_rate = (pl.col("baseline_groups") + 0.5) / pl.col("baseline_exposure").clip(1.0)
    expected = baseline_rate * pl.col("exposure")
    hit = at_work.filter((pl.col("groups") > 0) & (pl.col("groups") >= _HIT_RATIO * expected))
    return sorted(hit["caller"]), at_work.height


def rarer(dimension: str, reason: str) -> int:
    """Return how many times smaller the p-value of a rise of such a name must be."""
    return RARER if dimension == "host" or (reason in ASKED and dimension not in {"project", "caller"}) else 1


def least_callers(dimension: str, known_callers: int) -> int:
    """Return how many callers an outage must hit: both, of a place with only two callers."""
    return max(2, min(LEAST_CALLERS, known_callers)) if dimension in PLACES else LEAST_CALLERS


def _note(rise: Rise, day: int, reason: str, *, seen: bool) -> str:
    """Describe the figures of a rise in words."""
    sessions = f"{min(rise.sessions, rise.exposure):,.0f} of {rise.exposure:,.0f}" if seen else f"{rise.sessions:,}"
    distinct = "" if rise.count == rise.sessions else f"{rise.count:,} distinct "
    errors = f"{distinct}{'' if reason == ANY else f'{reason} '}errors"
    within = f" within {days} days" if (days := day - rise.first + 1) > 1 else ""
    return f"{sessions} sessions met {errors}{within} (normally {rise.tail.expected:,.1f})"


def _detection(
    kind: str,
    day: int,
    tested: _TestedRise,
    *,
    caller: str | None = None,
    scope: str | None = None,
    note: str,
    reason: str,
    blamed: Suspect | None,
) -> Detection:
    rise = tested.rise
    if blamed is not None:
        tail = rise.tail._replace(expected=blamed.expected * blamed.groups / max(1, blamed.sessions))
        rise = replace(
            rise, tail=tail, count=blamed.groups, sessions=blamed.sessions, exposure=max(1.0, blamed.exposure)
        )
        caller, scope = (blamed.name, None) if blamed.dimension == "caller" else (None, blamed.name)
        kind = OUTAGES.get(blamed.dimension, "volume")
        scope = reason if blamed.dimension == "fleet" else scope
        note = _note(rise, day, reason, seen=blamed.exposure >= blamed.sessions)
        if caller is None:
            note += f", in {part_of(blamed.callers, blamed.all_callers, 'caller')}"
    return above(
        rise.count,
        rise.tail,
        day=date.fromordinal(day),
        caller=caller,
        finding=kind,
        state=tested.state,
        onset=date.fromordinal(rise.first),
        p_value=tested.p_value,
        sessions=rise.sessions,
        groups=rise.count,
        scope=scope,
        note=note,
        reason=None if reason in {ANY, UNKNOWN} or kind == "fleet_outage" else reason,
    )


def severity_of_volume(day: Detection) -> str:
    """Return the severity of a rise of errors.

    It is critical if they are four times as many as expected and hit ten sessions.
    """
    far = (day.observed or 0.0) >= 4 * (day.expected or 0.0)
    return "critical" if far and (day.sessions or 0) >= MANY_SESSIONS else "warning"


def more_errors(finding: Finding) -> str:
    """Say that there were more errors than expected, and how many."""
    return note_of(finding) + (f"; {counted(finding.errors, 'error')} in all" if finding.errors else "")


def volume_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of the chart, a day each."""
    errors, work = _own(finding, basis.seen.volumes, basis.seen.work)
    days = around(finding, basis.last)
    return sums_by_day([errors.filter(days), work.filter(days)], errors=(errors, "groups"), sessions=(work, "sessions"))


def _own(finding: Finding, errors: pl.DataFrame, work: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Select the errors of a finding's names and reason, and the work of its callers."""
    scope = finding.scope
    if scope.caller is None:
        named = [pl.col(name) == own for name in SHARED_OF_ERRORS if (own := getattr(scope, name)) is not None]
        errors = errors.filter(*named)
        own = pl.col("caller").is_in(errors["caller"].unique().to_list())
    else:
        own = pl.col("caller") == scope.caller
        errors = errors.filter(own)
    if (reason := "unknown" if finding.finding == "unknown_rate" else scope.reason) is not None:
        errors = errors.filter(pl.col("reason") == reason)
    return errors, work.filter(own)


_WEEKS_BEFORE = 28
"""Days before an incident whose hours are called normal."""
LONGEST_HOURS = 12
"""Hours from the first error to the last one up to which an incident is drawn by the hour."""
_BESIDE = timedelta(hours=12)
"""The time before and after an incident that is drawn with it."""


def volume_hours(finding: Finding, seen: Observations) -> pl.DataFrame:
    """Return distinct errors and sessions by hour, for an incident of hours.

    `normal` is the mean of such an hour in the four weeks before. Empty for a longer incident.
    """
    ends = [finding.first_error_at, finding.last_error_at]
    zone = ZoneInfo(finding.timezone)
    local = [at.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) for at in ends if at is not None]
    if len(local) < 2 or local[1] - local[0] > timedelta(hours=LONGEST_HOURS):
        return pl.DataFrame()
    at = pl.col("day").cast(pl.Datetime("us")) + pl.duration(hours="hour")
    first, last = local[0].replace(minute=0, second=0, microsecond=0), local[1]
    errors, work = (rows.with_columns(at=at) for rows in _own(finding, seen.hourly_volumes, seen.hourly_work))
    before = errors.filter(pl.col("at").is_between(first - timedelta(days=_WEEKS_BEFORE), first, closed="left"))
    shown = pl.col("at").is_between(first - _BESIDE, last + _BESIDE)
    counts = errors.filter(shown).group_by("at").agg(pl.sum("groups").alias("errors"))
    sessions = work.filter(shown).group_by("at").agg(pl.sum("sessions"))
    normal = before["groups"].sum() / (24 * _WEEKS_BEFORE)
    return (
        counts.join(sessions, on="at", how="full", coalesce=True)
        .select("at", pl.col("errors", "sessions").fill_null(0), pl.col("at").is_between(first, last).alias("inside"))
        .with_columns(normal=pl.lit(float(normal)))
        .sort("at")
    )


def volume_chart(case: Charted) -> Chart:
    """Draw distinct errors by day, or by hour for an incident of hours, and the sessions at work."""
    if not case.hours.is_empty():
        return hours_chart(case.hours, "distinct errors", "sessions in the logs")
    return counts_chart(
        case,
        "Distinct errors by day, and the sessions with them",
        ("errors", "distinct errors", "errors"),
        ("sessions", "sessions in the logs", "sessions"),
        note=counted_beside_expected(case.finding.latest, "errors", ",.1f"),
    )


_CHART = ChartForm(
    "Days of the errors",
    f"{SINCE_BASELINE} Repeats of one message in one session count once.",
    {
        **DAY,
        "errors": "distinct errors: pairs of session and message",
        "sessions": "distinct sessions that the logs show, with errors or without",
    },
    volume_rows,
    volume_chart,
    by_hour=volume_hours,
)


_RISE = Kind(
    title="More errors than usual",
    metric="distinct errors (pairs of session and message), or of some hours the sessions with them",
    severity=severity_of_volume,
    by_day=True,
    sentence=more_errors,
    quotes=True,
    advice="list them",
    asks=BY_OUTCOME,
    asks_errors=True,
    priced=True,
    behind=EVERY,
    chart=_CHART,
)


VOLUMES = {
    "volume": _RISE,
    "unknown_rate": replace(
        _RISE,
        title="More sessions meet unknown errors",
        advice=WRITE_A_RULE,
        asks=DRAFT_RULES,
        asks_errors=False,
        part_of_rise=True,
        evidence=UNKNOWN_ERRORS,
        behind=UNKNOWN_SHOWN,
    ),
    "outage": replace(
        _RISE,
        title="A provider fails for many callers",
        scope="provider",
        advice="check the provider's status page; lengthen retry delays",
    ),
    "model_outage": replace(
        _RISE,
        title="A model fails for many callers",
        scope="model",
        advice="check the provider's status page, or use another model",
    ),
    "host_outage": replace(
        _RISE,
        title="Callers of one machine fail",
        scope="host",
        advice="look at its network and its disk, and at what was changed on it",
    ),
    "project_outage": replace(
        _RISE,
        title="Callers of one project fail",
        scope="project",
        advice="look at what they share: a key, a quota, a release of the project",
    ),
    "fleet_outage": replace(
        _RISE,
        title="Many callers fail the same way",
        scope="reason",
        advice="look at what they share: a key, a network, a release",
    ),
}
