"""Find versions and models whose sessions fail more than the sessions before they came.

A session counts once, by whether it met an error that a version can cause. The sessions of each
caller are weighted by how often they failed before, so that a version which comes first to a caller
with many errors is not blamed for them. A single caller is not enough evidence against a version
that several use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from analyzer.analysis.kinds.detection import Detection, above
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, Kind, note_of
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.shared import noted_part
from analyzer.analysis.kinds.statistics.rates import (
    CountedDay,
    RateTail,
    rate_tail,
)
from analyzer.analysis.periods import (
    ACCEPT_DAYS,
    BASELINE_DAYS,
    RECENT_DAYS,
)
from analyzer.frozen import frozen
from analyzer.readable import percent

ALPHA = 2e-3
"""P-value that the first day of a version needs; n days together need an nth of it."""
ALONE_ALPHA = 0.05
"""P-value that they need without the caller that fails most, if three or more callers use the
version."""
LEAST_RATIO = 1.3
"""Least failed sessions, as a multiple of the expected ones."""
LEAST_FAILED = 6
"""Least failed sessions of a finding."""
FINDINGS = {"version": "version_worse", "model": "model_worse"}
"""The kinds of findings by signal."""
_FIRST_DAYS = 2
"""First days of a version on which it must be worse already."""
_PRIOR_FAILED = 5.0
"""Failed sessions as expected that are added to those of other versions on the same days: a few of
them do not tell whether the days are worse for all."""
_PRIOR_SESSIONS = 10.0
"""Sessions at the agent's rate that are added to those of a caller."""
_TAKEN_OVER = 0.5
"""Least part of an agent's sessions that use a new model: a model for other tasks fails
differently."""


class _Sessions(NamedTuple):
    """Counts of sessions."""

    failed: int
    all: int


@dataclass(slots=True)
class _Release:
    """The sessions of a version or model by day and caller."""

    name: str
    days: dict[int, dict[str, _Sessions]] = field(default_factory=dict)

    def within(self, first: int, last: int) -> Iterator[tuple[int, str, _Sessions]]:
        """Yield day, caller and sessions of the days from `first` to `last`."""
        for day, callers in self.days.items():
            if first <= day <= last:
                yield from ((day, caller, sessions) for caller, sessions in callers.items())

    def sum(self, first: int, last: int) -> _Sessions:
        """Sum the sessions of the days from `first` to `last`."""
        parts = [part for _, _, part in self.within(first, last)]
        return _Sessions(sum(part.failed for part in parts), sum(part.all for part in parts))


def worse_versions(counts: pl.DataFrame) -> list[Detection]:
    """Return the findings `version_worse` and `model_worse`, one per day and version.

    `counts`: the rows of `detection-signals`.
    """
    findings: list[Detection] = []
    for signal, finding in FINDINGS.items():
        agents: dict[str, dict[str, _Release]] = {}
        rows = counts.filter(pl.col("signal") == signal).sort("day", "caller", "name")
        for day, caller, name, failed, sessions in rows.select(
            "day", "caller", "name", "sessions", "exposure"
        ).iter_rows():
            agent, _, release = name.partition("\t")
            of_release = agents.setdefault(agent, {}).setdefault(release, _Release(release))
            of_release.days.setdefault(day.toordinal(), {})[caller] = _Sessions(failed, sessions)
        detections = [
            detection
            for agent, by_name in agents.items()
            for detection in _findings_of(finding, agent, list(by_name.values()))
        ]
        # Agents may share a model: the clearest detection stands for it.
        best: dict[tuple[date, str | None], Detection] = {}
        for detection in sorted(detections, key=lambda detection: detection.p_value or 0.0):
            best.setdefault((detection.day, detection.scope), detection)
        findings += best.values()
    return sorted(findings, key=lambda detection: (detection.day, detection.finding, detection.scope))


def _findings_of(finding: str, agent: str, releases: list[_Release]) -> Iterator[Detection]:
    """Yield the detections of an agent's versions."""
    beginning = min(min(release.days) for release in releases)
    for release in releases:
        first = min(release.days)
        others = [other for other in releases if other is not release and min(other.days) < first]
        if not others or first == beginning:
            continue
        # A day on which none of its sessions failed says nothing against it.
        days = (at for at in release.days if at < first + ACCEPT_DAYS and release.sum(at, at).failed)
        for day in sorted(days):
            rise = _Rise.of(release, others, first, day, taking_over=finding == "model_worse")
            if rise is not None:
                yield rise.detection(finding, agent)


@frozen
class _Rise:
    """The evidence of the days of a version up to `day`."""

    release: _Release
    before: str
    first: int
    day: int
    tail: RateTail
    seen: _Sessions
    then: _Sessions
    """Sessions of the other versions in the week before."""

    @classmethod
    def of(cls, release: _Release, others: list[_Release], first: int, day: int, *, taking_over: bool) -> _Rise | None:
        """Build the rise; None if there is none."""
        seen = release.sum(first, day)
        then, beside = (
            _sum(other.sum(begin, end) for other in others)
            for begin, end in ((first - RECENT_DAYS, first - 1), (first, day))
        )
        # A rise that began before the version or days after it is no fault of the version.
        begun = release.sum(first, first + _FIRST_DAYS - 1)
        if seen.failed < LEAST_FAILED or not all(_fails_more(part, then) for part in (seen, begun)):
            return None
        if taking_over and seen.all < _TAKEN_OVER * (seen.all + beside.all):
            return None
        history = [row for other in others for row in other.within(first - BASELINE_DAYS, first - 1)]
        weights = _weights(history)
        current = [row for row in release.within(first, day) if row[1] in weights]
        # What other versions have on these days too is no fault of the version.
        usual = beside.all * then.failed / then.all
        worse_for_all = max(1.0, (beside.failed + _PRIOR_FAILED) / (usual + _PRIOR_FAILED))
        tail = _tail(history, current, weights, worse_for_all)
        if tail is None or tail.p_value > ALPHA / (day - first + 1):
            return None
        failed: dict[str, int] = {}
        for _, caller, sessions in current:
            failed[caller] = failed.get(caller, 0) + sessions.failed
        if len(failed) > 2:
            most = max(failed, key=lambda caller: (failed[caller], caller))
            rest = [[row for row in rows if row[1] != most] for rows in (history, current)]
            alone = _tail(rest[0], rest[1], weights, worse_for_all)
            if alone is None or alone.p_value > ALONE_ALPHA:
                return None
        before = max(others, key=lambda other: (max(at for at in other.days if at < first), min(other.days)))
        return cls(release, before.name, first, day, tail, seen, then)

    def detection(self, finding: str, agent: str) -> Detection:
        """Build the detection of its last day."""
        since, (failed, sessions), (failed_then, then) = date.fromordinal(self.first), self.seen, self.then
        note = (
            f"{percent(failed / sessions)} of {sessions:,} sessions under {agent} {self.release.name} since {since}"
            f" met errors that are not the provider's ({percent(failed_then / then)} of {then:,} in the week before,"
            f" under {self.before})"
        )
        return above(
            failed,
            self.tail,
            day=date.fromordinal(self.day),
            caller=None,
            finding=finding,
            onset=since,
            sessions=failed,
            groups=failed,
            scope=self.release.name if finding == "model_worse" else f"{agent} {self.release.name}",
            note=note,
        )


def _sum(parts: Iterable[_Sessions]) -> _Sessions:
    failed, every = zip(*parts, strict=True)
    return _Sessions(sum(failed), sum(every))


def _fails_more(now: _Sessions, then: _Sessions) -> bool:
    return then.all > 0 and now.failed * then.all >= LEAST_RATIO * then.failed * now.all


def _weights(history: Iterable[tuple[int, str, _Sessions]]) -> Mapping[str, float]:
    """Return by caller how often its sessions fail, as a multiple of the rate of all sessions."""
    sums: dict[str, list[int]] = {}
    for _, caller, sessions in history:
        own = sums.setdefault(caller, [0, 0])
        own[0] += sessions.failed
        own[1] += sessions.all
    failed, every = (sum(own[place] for own in sums.values()) for place in (0, 1))
    rate = (failed + 0.5) / max(1, every)
    return {
        caller: (own[0] + _PRIOR_SESSIONS * rate) / (own[1] + _PRIOR_SESSIONS) / rate for caller, own in sums.items()
    }


def _tail(
    history: Iterable[tuple[int, str, _Sessions]],
    current: Iterable[tuple[int, str, _Sessions]],
    weights: Mapping[str, float],
    worse_for_all: float,
) -> RateTail | None:
    """Return the upper tail of the failed sessions; None with too little history.

    `worse_for_all` is the factor by which all versions fail more often on the days of `current`.
    """
    before = _daily(history, weights)
    span = [day._replace(exposure=worse_for_all * day.exposure) for day in _daily(current, weights)]
    if not span:
        return None
    return rate_tail(before, span, span[-1].day - span[0].day + 1, ratio=LEAST_RATIO)


def _daily(rows: Iterable[tuple[int, str, _Sessions]], weights: Mapping[str, float]) -> list[CountedDay]:
    days: dict[int, tuple[int, float]] = {}
    for day, caller, sessions in rows:
        failed, exposure = days.get(day, (0, 0.0))
        days[day] = failed + sessions.failed, exposure + weights.get(caller, 1.0) * sessions.all
    return [CountedDay(day, *totals) for day, totals in sorted(days.items())]


def version_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of the chart, a day each."""
    about = finding.scope.version or finding.scope.model or ""
    rows = basis.seen.signals.filter(pl.col("signal") == ("version" if finding.scope.version else "model"))
    parts = pl.col("name").str.split("\t").list
    own = (parts.join(" ") if finding.scope.version else parts.last()) == about
    agents = rows.filter(own).select(parts.first()).to_series().unique().to_list()
    rows = rows.filter(parts.first().is_in(agents), around(finding, basis.last))
    sums = [
        pl.col(column).filter(own if is_own else ~own).sum().cast(pl.Int64).alias(name)
        for name, column, is_own in (
            ("failed_sessions", "sessions", True),
            ("sessions", "exposure", True),
            ("other_failed_sessions", "sessions", False),
            ("other_sessions", "exposure", False),
        )
    ]
    return rows.group_by("day").agg(*sums).sort("day")


def version_chart(case: Charted) -> Chart:
    """Draw the sessions of each day that met such errors, and below them all of the agent's."""
    both = {name: pl.col(name) + pl.col(f"other_{name}") for name in ("failed_sessions", "sessions")}
    what = "sessions with such errors"
    return counts_chart(
        case,
        "Sessions by day with errors that are not the provider's",
        ("failed_sessions", what, what),
        ("sessions", "sessions", "sessions"),
        rows=case.numbers.with_columns(**both),
    )


_CHART = ChartForm(
    "Days of the version, and of the others",
    SINCE_BASELINE,
    {
        **DAY,
        "failed_sessions": "sessions under the version or model with an error that is not the provider's",
        "sessions": "all sessions under it",
        "other_failed_sessions": "such sessions under the agent's other versions or models",
        "other_sessions": "all sessions under these",
    },
    version_rows,
    version_chart,
)


_UNDER = re.compile("sessions under (.+?) since ")


_WORSE = Kind(
    title="Worse under a new version",
    metric="its sessions with an error that is not the provider's",
    severity=warning,
    sentence=note_of,
    by_day=True,
    advice="go back to the version before, and compare the two",
    asks=("query", "versions-by-agent"),
    asks_all=True,
    scope="version",
    evidence=Evidence({"version": 0}),
    chart=_CHART,
)
VERSIONS = {
    "version_worse": _WORSE,
    "model_worse": replace(
        _WORSE,
        title="Worse under a new model",
        asks=("query", "errors-messages"),
        asks_all=False,
        scope="model",
        # Its scope is only the model, which several agents may use.
        evidence=Evidence({"model": 0}, name=lambda finding: noted_part(finding, _UNDER)),
    ),
}
