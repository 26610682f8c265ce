"""The test of versions and models: do the sessions of one that came fare worse than those before it?

A session counts once, by whether it met an error that a version can be the cause of. Each caller's sessions weigh as
much as its sessions failed before, so that a version which comes first to a caller with many errors is not blamed for
them, and no caller alone speaks for a version that several use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import polars as pl

from analyzer.analysis.detection.detection import ACCEPT_DAYS, BASELINE_DAYS, RECENT_DAYS, Detection
from analyzer.analysis.detection.statistics.rates import CountedDay, RateTail, rate_tail
from analyzer.readable import percent

ALPHA = 2e-3
"""P-value that the first day of a version needs; all its days up to the nth have an nth of it."""
ALONE_ALPHA = 0.05
"""P-value that they still need without the caller that fails most, where three or more use the version."""
LEAST_RATIO = 1.3
"""Least failed sessions, in expected ones."""
LEAST_FAILED = 6
"""Failed sessions below which nothing is said."""
FINDINGS = {"version": "version_worse", "model": "model_worse"}
"""By signal."""
_FIRST_DAYS = 2
"""Days of a version on which it must be worse already."""
_MANY = 10
"""Sessions under other versions on the same days from which on these are heard."""
_PRIOR_SESSIONS = 10.0
"""Sessions at the agent's own rate that are added to those of a caller."""
_TAKEN_OVER = 0.5
"""Part of an agent's sessions that a new model needs: one for other tasks beside the usual one fares differently."""


class _Sessions(NamedTuple):
    failed: int
    all: int


@dataclass(slots=True)
class _Release:
    """The sessions of a version or model by day and caller."""

    name: str
    days: dict[int, dict[str, _Sessions]] = field(default_factory=dict)

    def within(self, first: int, last: int) -> Iterator[tuple[int, str, _Sessions]]:
        """Those from one day to another."""
        for day, callers in self.days.items():
            if first <= day <= last:
                yield from ((day, caller, known) for caller, known in callers.items())

    def sum(self, first: int, last: int) -> _Sessions:
        """All of them together."""
        known = [each for _, _, each in self.within(first, last)]
        return _Sessions(sum(each.failed for each in known), sum(each.all for each in known))


def worse_versions(counts: pl.DataFrame) -> list[Detection]:
    """Findings `version_worse` and `model_worse`, one a day and version.

    `counts`: the rows of `detection-signals`.
    """
    found: list[Detection] = []
    for signal, finding in FINDINGS.items():
        agents: dict[str, dict[str, _Release]] = {}
        rows = counts.filter(pl.col("signal") == signal).sort("day", "caller", "name")
        for day, caller, name, failed, sessions in rows.select(
            "day", "caller", "name", "sessions", "exposure"
        ).iter_rows():
            agent, _, release = name.partition("\t")
            known = agents.setdefault(agent, {}).setdefault(release, _Release(release))
            known.days.setdefault(day.toordinal(), {})[caller] = _Sessions(failed, sessions)
        ones = [one for agent, known in agents.items() for one in _of(finding, agent, list(known.values()))]
        # Agents may share a model: the one that tells most speaks for it.
        best: dict[tuple[date, str | None], Detection] = {}
        for one in sorted(ones, key=lambda one: one.p_value or 0.0):
            best.setdefault((one.day, one.scope), one)
        found += best.values()
    return sorted(found, key=lambda one: (one.day, one.finding, one.scope))


def _of(finding: str, agent: str, releases: list[_Release]) -> Iterator[Detection]:
    """The detections of an agent's versions."""
    beginning = min(min(one.days) for one in releases)
    for one in releases:
        first = min(one.days)
        others = [other for other in releases if other is not one and min(other.days) < first]
        if not others or first == beginning:
            continue
        # A day on which none of its sessions failed says nothing against it.
        for day in sorted(each for each in one.days if each < first + ACCEPT_DAYS and one.sum(each, each).failed):
            rise = _Rise.of(one, others, first, day, taking_over=finding == "model_worse")
            if rise is not None:
                yield rise.detection(finding, agent)


@dataclass(frozen=True, slots=True)
class _Rise:
    """What the days of a version up to one show."""

    release: _Release
    before: str
    first: int
    day: int
    tail: RateTail
    seen: _Sessions
    then: _Sessions
    """Those of the others in the week before."""

    @classmethod
    def of(cls, one: _Release, others: list[_Release], first: int, day: int, *, taking_over: bool) -> _Rise | None:
        """The rise, where there is one."""
        seen = one.sum(first, day)
        then, beside = (
            _together(other.sum(begin, end) for other in others)
            for begin, end in ((first - RECENT_DAYS, first - 1), (first, day))
        )
        # What rose before the version came, rises without it as well, or began days after it is not its fault.
        if (
            seen.failed < LEAST_FAILED
            or not all(_fails_more(part, then) for part in (seen, one.sum(first, first + _FIRST_DAYS - 1)))
            or (beside.all >= _MANY and not _fails_more(seen, beside))
        ):
            return None
        if taking_over and seen.all < _TAKEN_OVER * (seen.all + beside.all):
            return None
        history = [row for other in others for row in other.within(first - BASELINE_DAYS, first - 1)]
        weights = _weights(history)
        current = [row for row in one.within(first, day) if row[1] in weights]
        tail = _tail(history, current, weights)
        if tail is None or tail.p_value > ALPHA / (day - first + 1):
            return None
        failed: dict[str, int] = {}
        for _, caller, known in current:
            failed[caller] = failed.get(caller, 0) + known.failed
        if len(failed) > 2:
            most = max(failed, key=lambda caller: (failed[caller], caller))
            rest = [[row for row in rows if row[1] != most] for rows in (history, current)]
            alone = _tail(rest[0], rest[1], weights)
            if alone is None or alone.p_value > ALONE_ALPHA:
                return None
        before = max(others, key=lambda other: (max(each for each in other.days if each < first), min(other.days)))
        return cls(one, before.name, first, day, tail, seen, then)

    def detection(self, finding: str, agent: str) -> Detection:
        """The detection of its last day."""
        since, (failed, sessions), (failed_then, then) = date.fromordinal(self.first), self.seen, self.then
        note = (
            f"{percent(failed / sessions)} of {sessions:,} sessions under {agent} {self.release.name} since {since} met"
            f" errors of their own side, {percent(failed_then / then)} of {then:,} in the week before, under"
            f" {self.before}"
        )
        return Detection(
            day=date.fromordinal(self.day),
            caller=None,
            finding=finding,
            onset=since,
            observed=float(failed),
            expected=self.tail.expected,
            low=0.0,
            high=self.tail.high,
            p_value=self.tail.p_value,
            statistic=failed / self.tail.expected,
            sessions=failed,
            groups=failed,
            scope=self.release.name if finding == "model_worse" else f"{agent} {self.release.name}",
            note=note,
        )


def _together(ones: Iterable[_Sessions]) -> _Sessions:
    failed, every = zip(*ones, strict=True)
    return _Sessions(sum(failed), sum(every))


def _fails_more(now: _Sessions, then: _Sessions) -> bool:
    return then.all > 0 and now.failed * then.all >= LEAST_RATIO * then.failed * now.all


def _weights(history: Iterable[tuple[int, str, _Sessions]]) -> Mapping[str, float]:
    """By caller how often its sessions fail, in the rate of all."""
    sums: dict[str, list[int]] = {}
    for _, caller, known in history:
        own = sums.setdefault(caller, [0, 0])
        own[0] += known.failed
        own[1] += known.all
    failed, every = (sum(own[place] for own in sums.values()) for place in (0, 1))
    rate = (failed + 0.5) / max(1, every)
    return {
        caller: (own[0] + _PRIOR_SESSIONS * rate) / (own[1] + _PRIOR_SESSIONS) / rate for caller, own in sums.items()
    }


def _tail(
    history: Iterable[tuple[int, str, _Sessions]],
    current: Iterable[tuple[int, str, _Sessions]],
    weights: Mapping[str, float],
) -> RateTail | None:
    """The chance of so many failed sessions, had nothing changed; None with too little history."""
    before, span = _daily(history, weights), _daily(current, weights)
    if not span:
        return None
    return rate_tail(before, span, span[-1].day - span[0].day + 1, ratio=LEAST_RATIO)


def _daily(rows: Iterable[tuple[int, str, _Sessions]], weights: Mapping[str, float]) -> list[CountedDay]:
    days: dict[int, tuple[int, float]] = {}
    for day, caller, known in rows:
        failed, exposure = days.get(day, (0, 0.0))
        days[day] = failed + known.failed, exposure + weights.get(caller, 1.0) * known.all
    return [CountedDay(day, *known) for day, known in sorted(days.items())]
