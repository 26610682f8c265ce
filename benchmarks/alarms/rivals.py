"""Six detectors that one would write or buy instead, over the same logs: errors by day of each caller and provider.

An error counts once a session and reason, as a text that varies must not make more of it. Each detector looks at a day
and at the days before it that had sessions. A day of an alarm is raised for a series; the scores join alarms of a
series that are at most two days apart. Thresholds are those by which the methods are known, and none is fitted.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import fmean, median, pstdev

from benchmarks.alarms.nights import Told
from benchmarks.alarms.truth import History

LEAST = 3
"""Errors of a day that an alarm needs."""


@dataclass(slots=True)
class Series:
    """Counts of one thing by day, and the sessions that they are of."""

    counts: list[float]
    sessions: list[float]
    words: str = "errors"


@dataclass(slots=True)
class _Read:
    """What the lines of a history come to."""

    days: int
    counts: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    def add(self, what: str, dimension: str, name: str, day: int, value: float = 1.0) -> None:
        if name:
            self.counts.setdefault((what, dimension, name), [0.0] * self.days)[day] += value


def series(history: History) -> dict[tuple[str, str, str], Series]:
    """The series of a history by what they count, and the dimension and name that they count it of."""
    read = _Read(len(history.files))
    providers: dict[str, str] = {}
    for day, files in enumerate(history.files):
        seen: set[tuple[str, ...]] = set()
        for line in (line for lines in files.values() for line in lines):
            event = json.loads(line)
            kind, payload, session = event["type"], event["payload"], str(event.get("sessionId"))
            caller, provider = payload.get("caller") or "", payload.get("provider") or ""
            if provider and caller:
                providers[caller] = provider
            if ("session", session, caller) not in seen:
                seen.add(("session", session, caller))
                read.add("sessions", "caller", caller, day)
                read.add("sessions", "provider", provider or providers.get(caller, ""), day)
            if kind == "error.classified":
                if (key := (payload["reason"], session, caller)) not in seen:
                    seen.add(key)
                    read.add("errors", "caller", caller, day)
                    read.add("errors", "provider", provider, day)
            elif kind == "tool.failed" and (key := ("tool", session, payload.get("tool") or "")) not in seen:
                seen.add(key)
                read.add("failed tools", "tool", key[2], day)
                read.add("failed tools", "caller", caller, day)
            elif kind == "retry.settled":
                read.add("minutes waited", "caller", caller, day, float(payload.get("waited_seconds") or 0) / 60)
                read.add("minutes waited", "provider", provider, day, float(payload.get("waited_seconds") or 0) / 60)
    whole = [
        sum(days)
        for days in zip(
            *(
                each
                for (what, dimension, _), each in read.counts.items()
                if (what, dimension) == ("sessions", "caller")
            ),
            strict=True,
        )
    ]
    return {
        key: Series(counts, read.counts.get(("sessions", *key[1:]), whole), key[0])
        for key, counts in sorted(read.counts.items())
    }


Rule = Callable[[Series, int, int], bool]
"""A series, the day, and the first day before it that counts → whether the day is an alarm."""


def _before(one: Series, day: int, first: int) -> list[float]:
    return [one.counts[each] for each in range(first, day) if one.sessions[each]]


def z_score(one: Series, day: int, first: int) -> bool:
    """More than three standard deviations above the mean of the 28 days before."""
    before = _before(one, day, max(first, day - 28))
    return len(before) > 6 and one.counts[day] > fmean(before) + 3 * max(pstdev(before), 0.5)


def same_weekday(one: Series, day: int, first: int) -> bool:
    """Three times the mean of the same weekday of the four weeks before."""
    before = [one.counts[each] for each in range(day - 7, max(first, day - 28) - 1, -7)]
    return len(before) > 1 and one.counts[day] >= 3 * max(1.0, fmean(before))


def robust_band(one: Series, day: int, first: int) -> bool:
    """Above the median of the same kind of day by three scaled median deviations, as monitors draw a robust band."""
    usual = [each for each in range(max(first, day - 42), day) if (each % 7 < 5) == (day % 7 < 5)]
    before = [one.counts[each] for each in usual]
    if len(before) < 5:
        return False
    middle = median(before)
    spread = 1.4826 * median(abs(value - middle) for value in before)
    return one.counts[day] > middle + 3 * max(spread, math.sqrt(middle), 1.0)


def ewma(one: Series, day: int, first: int) -> bool:
    """An exponentially weighted mean of the share of errors (λ = 0.3) above its limit of three deviations."""
    days = [each for each in range(first, day + 1) if one.sessions[each]]
    shares = [one.counts[each] / one.sessions[each] for each in days]
    if len(shares) < 8 or days[-1] != day:
        return False
    usual, spread = fmean(shares[:-1]), pstdev(shares[:-1])
    level = usual
    for share in shares[-14:]:
        level = 0.3 * share + 0.7 * level
    return level > usual + 3 * max(spread, 0.01) * math.sqrt(0.3 / 1.7)


def negative_binomial(one: Series, day: int, first: int) -> bool:
    """A count that is too large for a negative binomial around the rate of 28 days: p below 0.001."""
    days = [each for each in range(max(first, day - 28), day) if one.sessions[each]]
    work = sum(one.sessions[each] for each in days)
    if len(days) < 7 or not one.sessions[day]:
        return False
    rate = (sum(one.counts[each] for each in days) + 0.5) / work
    expected = [rate * one.sessions[each] for each in days]
    surplus = sum((one.counts[each] - mean) ** 2 - mean for each, mean in zip(days, expected, strict=True))
    over = max(0.02, surplus / sum(mean**2 for mean in expected))
    return _tail(one.counts[day], rate * one.sessions[day], over) < 1e-3


def _tail(count: float, mean: float, over: float) -> float:
    """The probability of so many or more under a negative binomial of this mean and over-dispersion."""
    size = 1 / over
    chance = size / (size + mean)
    term, below = chance**size, 0.0
    for value in range(math.ceil(count)):
        below += term
        term *= (size + value) / (value + 1) * (1 - chance)
    return max(0.0, 1 - below)


def with_more(one: Series, day: int, first: int) -> bool:
    """The same for failed tools and minutes waited, and of sessions, a day that has hardly any where some are usual."""
    if one.words != "sessions":
        return negative_binomial(one, day, first)
    usual = [one.counts[each] for each in range(day - 7, max(first, day - 28) - 1, -7)]
    return len(usual) > 1 and min(usual) >= 4 and one.counts[day] <= 0.1 * fmean(usual)


RIVALS: dict[str, Rule] = {
    "z > 3 over 28 days": z_score,
    "same weekday x 3": same_weekday,
    "robust band": robust_band,
    "EWMA": ewma,
    "negative binomial": negative_binomial,
    "the same with tools, waits, silence": with_more,
}


def told(history: History) -> Iterator[tuple[str, list[Told]]]:
    """Each rival with what its nights tell."""
    every = series(history)
    for name, rule in RIVALS.items():
        found: dict[int, list[Told]] = defaultdict(list)
        for (what, dimension, who), one in every.items():
            if what != "errors" and rule is not with_more:
                continue
            first = next((day for day, sessions in enumerate(one.sessions) if sessions), len(one.sessions))
            last = -9
            run = 0
            for day in range(history.judged_from, len(one.counts)):
                if (what == "sessions" or one.counts[day] >= LEAST) and rule(one, day, first):
                    run += day - last > 2
                    last = day
                    sentence = f"{what} of {dimension} {who}"
                    found[day].append(Told(day, f"{what}/{who}/{run}", True, what, {dimension: who}, sentence))
        yield name, [each for day in sorted(found) for each in found[day]]
