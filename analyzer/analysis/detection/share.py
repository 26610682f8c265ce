"""The test of one caller's unknown share: is it higher today, or over the last days, than its history allows?

Every night first looks (`Watch.look`, no change of state) and, once all callers have looked, settles (`Watch.settle`).
Days of an incident never enter the baseline that it is measured against.

Here stand also what history lets one expect of a stretch of days, and on which day a change most likely began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from math import log, sqrt
from typing import NamedTuple

from analyzer.analysis.detection.detection import (
    ACCEPT_DAYS,
    BASELINE_DAYS,
    DRIFT_GAP,
    DRIFT_SPANS,
    Detection,
    Settings,
)
from analyzer.analysis.detection.statistics.baseline import (
    Counts,
    History,
    Level,
    Noise,
    Prior,
    add,
    bounded,
    is_weekend,
    level,
)
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail, log_beta_binomial_odds, wilson_interval


class SpanSum(NamedTuple):
    """The sum of the days judged together."""

    counts: Counts
    session_evenness: float
    """Sum of squared sessions a day over the squared sum: 1 for one day, 1/d for d alike ones."""
    group_evenness: float
    days_with_unknown: int


def span(days: Sequence[Counts]) -> SpanSum:
    """Adds up days, of which one at least has a session."""
    total = add(days)
    return SpanSum(
        total,
        sum(day.sessions**2 for day in days) / total.sessions**2,
        sum(day.groups**2 for day in days) / total.groups**2,
        sum(day.unknown_sessions > 0 for day in days),
    )


def session_tail(of: SpanSum, expected: Level, noise: Noise) -> float:
    """P(as many sessions with an unknown error or more), had nothing changed."""
    counts = of.counts
    correlation = _baseline_correlation(expected.session_share, expected.session_error, expected, noise)
    cells = noise.cells(of.session_evenness)
    return _tail(counts.unknown_sessions, counts.sessions, expected.session_share, correlation, cells)


def group_tail(of: SpanSum, expected: Level, noise: Noise) -> float:
    """P(as many unknown groups or more), had nothing changed; their clustering in sessions is included."""
    counts = of.counts
    correlation = _baseline_correlation(expected.group_share, expected.group_error, expected, noise)
    clustering = expected.clustering
    return _tail(
        counts.unknown_groups,
        counts.groups,
        expected.group_share,
        correlation * clustering + (clustering - 1) / max(1, counts.groups - 1),
        noise.cells(of.group_evenness),
    )


def _baseline_correlation(share: float, error: float, expected: Level, noise: Noise) -> float:
    """The correlation that the baseline's error adds to that of a span, with the baseline's own day noise in it."""
    spread = share * (1 - share)
    return error * (1 + max(0.0, expected.day_sessions - 1) * noise.day_correlation(spread)) / spread


def _tail(k: int, n: int, share: float, correlation: float, cells: Sequence[tuple[float, float]]) -> float:
    """The beta-binomial tail, averaged over the factors that day noise may put on the odds of the span."""
    odds = share / (1 - share)
    total = 0.0
    for factor, weight in cells:
        shifted = odds * factor / (1 + odds * factor)
        total += weight * beta_binomial_tail(k, n, shifted, bounded(correlation))
    return min(1.0, total)


class Onset(NamedTuple):
    """The first day of the second segment."""

    position: int
    """Index into the days given."""
    share: float
    """Share from there on, smoothed."""
    gain: float
    """Log-likelihood gained over no change; 0 if there is no rise."""


def onset(counts: Sequence[tuple[int, int]], before: float | None = None) -> Onset:
    """The day from which the share was higher, by the two-segment binomial likelihood (Hinkley 1970).

    `counts` are (unknown, all) by day, at least one day; `before` is the share of the first segment where it is
    known from a baseline, else it is taken from the days themselves.
    """
    total_k, total_n = (sum(column) for column in zip(*counts, strict=True))
    best = Onset(len(counts) - 1, (total_k + 0.5) / (total_n + 1), float("-inf"))
    left_k = left_n = 0
    for index, (k, n) in enumerate(counts):
        right_k, right_n = total_k - left_k, total_n - left_n
        after = (right_k + 0.5) / (right_n + 1)
        # The smoothing keeps every share off 0 and 1, where a log-likelihood has no value.
        first = before if before is not None else (left_k + 0.5) / (left_n + 1)
        if right_n and after > first:
            if before is not None:
                gain = _log_likelihood(right_k, right_n, after) - _log_likelihood(right_k, right_n, first)
            else:
                pooled = (total_k + 0.5) / (total_n + 1)
                gain = (
                    _log_likelihood(left_k, left_n, first)
                    + _log_likelihood(right_k, right_n, after)
                    - _log_likelihood(total_k, total_n, pooled)
                )
            if gain > best.gain:
                best = Onset(index, after, gain)
        left_k, left_n = left_k + k, left_n + n
    return best._replace(gain=max(0.0, best.gain))


def _log_likelihood(k: int, n: int, share: float) -> float:
    return k * log(share) + (n - k) * log(1 - share)


ONSET_DAYS = 28
"""Days back among which the beginning of a drift is looked for."""
_MOST_WORTH = 5
"""Days from which on a longer span spends no more on its test."""
_NEAR_DAYS = 3
"""Days after a spike in which a second one opens an incident."""
_RECOVERED = 3.0
"""Log-likelihood ratio, old level over new, at which an incident is over: 20 to 1."""
_PERSISTENT = 0.1
"""A drift without its worst day must still be so improbable, or it is a spike of that day."""
LEAST_SESSIONS, LEAST_DAYS = 10, 5
"""Sessions and typical days of own history below which only a fleet makes a baseline."""


class Evidence(NamedTuple):
    """The result of one test on one night that met all conditions."""

    p_value: float
    finding: str
    """`spike` or `drift`."""
    first: int
    """First day of the span."""
    span: SpanSum
    expected: Level


@dataclass(slots=True)
class _Incident:
    """A drift that has not ended."""

    onset: int
    before: Level
    share: float
    """Share of sessions since the onset, when it was found."""
    recovery: float = 0.0
    """CUSUM of the log-likelihood ratio, old level over new (Page 1954)."""
    last_bad: int = 0


def _stands_alone(expected: Level) -> bool:
    return expected.sessions >= max(LEAST_SESSIONS, LEAST_DAYS * expected.day_sessions)


@dataclass(slots=True)
class Watch:
    """The state of one caller between nights."""

    caller: str
    history: History = field(default_factory=History)
    noise: Noise = field(default_factory=Noise)
    expected: Level | None = None
    """Of today, set by `look`."""
    _incident: _Incident | None = None
    _last_spike: int | None = None
    _spans_since: int = 0
    """Spans do not reach back behind this day."""

    def look(self, day: int, prior: Prior, noise: Noise, fleet: bool, settings: Settings) -> list[Evidence]:
        """The evidence of today and the days before it that meets all conditions but the correction over the fleet."""
        self.noise = noise
        expected = level(self.history, day - BASELINE_DAYS, day - 1, float(is_weekend(day)), prior)
        self.expected = expected if fleet or _stands_alone(expected) else None
        if self.expected is None:
            return []
        found = []
        today = span([self.history.days[day]])
        p_value = self._p_value(today, expected, settings.spike_alpha, settings)
        if p_value is not None:
            found.append(Evidence(p_value, "spike", day, today, expected))
        drifts = [
            evidence
            for length in DRIFT_SPANS
            if (evidence := self._drift(day, length, prior, fleet, settings)) is not None
        ]
        return found + drifts

    def _drift(self, day: int, length: int, prior: Prior, fleet: bool, settings: Settings) -> Evidence | None:
        history = self.history
        first = max(day - length + 1, self._spans_since)
        days = [
            (each, history.days[each])
            for each in range(first, day + 1)
            if each in history.days and (self._incident is not None or each not in history.excluded)
        ]
        if len(days) < 2:
            return None
        over = span([counts for _, counts in days])
        if over.days_with_unknown < 2 or over.counts.unknown_sessions < settings.min_sessions:
            return None
        weekend = sum(counts.sessions for each, counts in days if is_weekend(each)) / over.counts.sessions
        gap = max(length, DRIFT_GAP)
        expected = level(history, day - BASELINE_DAYS - gap, day - gap, weekend, prior)
        if not (fleet or _stands_alone(expected)):
            return None
        # Spans of neighbouring nights share days: a long one is worth fewer tests and may spend more on each.
        alpha = settings.drift_alpha * min(length, _MOST_WORTH) / _MOST_WORTH
        p_value = self._p_value(over, expected, alpha, settings)
        if p_value is None:
            return None
        today, rate = history.days[day], over.counts.unknown_sessions / over.counts.sessions
        if self._incident is None and today.unknown_sessions < (expected.session_share + rate) / 2 * today.sessions:
            return None  # none opens on a normal day
        worst = max(days, key=lambda each: each[1].unknown_sessions - each[1].sessions * expected.session_share)
        rest = span([counts for each, counts in days if each != worst[0]])
        if session_tail(rest, expected, self.noise) > _PERSISTENT:
            return None
        return Evidence(p_value, "drift", days[0][0], over, expected)

    def _p_value(self, of: SpanSum, expected: Level, alpha: float, settings: Settings) -> float | None:
        """The p-value of sessions and groups together, where the effect is large enough and both agree; else None.

        The two are so dependent that the geometric mean of their p-values is nearly one itself; e times it is one under
        any dependence (Vovk & Wang 2020).
        """
        counts = of.counts
        share = counts.unknown_groups / counts.groups
        least = max(settings.min_ratio * expected.group_share, expected.group_share + settings.min_rise)
        if share < least or counts.unknown_sessions < settings.min_sessions:
            return None
        by_sessions = session_tail(of, expected, self.noise)
        if by_sessions > settings.witness_alpha:
            return None
        by_groups = group_tail(of, expected, self.noise)
        if by_groups > settings.witness_alpha:
            return None
        p_value = sqrt(by_sessions * by_groups)
        return p_value if p_value <= alpha else None

    def settle(self, day: int, found: Sequence[Evidence], q_value: float) -> Detection | None:
        """Adds the day to the history or to an incident, and gives what is to be reported of it.

        `found` is the evidence of `look` that stands the correction over the fleet.
        """
        spike = next((each for each in found if each.finding == "spike"), None)
        drift = min((each for each in found if each.finding == "drift"), key=lambda each: each.p_value, default=None)
        if self._incident is not None:
            return self._go_on(day, self._incident, drift or spike, q_value)
        if spike is not None:
            if self._last_spike is not None and day - self._last_spike <= _NEAR_DAYS:
                # A spike that does not pass is a step.
                drift = drift or spike
            elif drift is not None and spike.p_value <= drift.p_value:
                # Today alone says more than the days before it add.
                drift = None
        if drift is not None:
            return self._open(day, drift, q_value)
        if spike is not None:
            self.history.exclude(day)
            self._last_spike = day
            self._spans_since = day + 1
            return self._detection(day, spike, "spike", "new", day, q_value)
        if self.expected is not None:
            self.history.learn_noise(day, self.expected)
        return None

    def _open(self, day: int, evidence: Evidence, q_value: float) -> Detection:
        history = self.history
        candidates = [
            each
            for each in range(max(day - ONSET_DAYS + 1, history.since), day + 1)
            if each in history.days and (each not in history.excluded or day - each <= _NEAR_DAYS)
        ]
        pairs = [(history.days[each].unknown_sessions, history.days[each].sessions) for each in candidates]
        began = onset(pairs, evidence.expected.session_share)
        self._incident = _Incident(candidates[began.position], evidence.expected, began.share, 0.0, day)
        for each in range(candidates[began.position], day + 1):
            history.exclude(each)
        return self._detection(day, evidence, "drift", "new", candidates[began.position], q_value)

    def _go_on(self, day: int, incident: _Incident, evidence: Evidence | None, q_value: float) -> Detection | None:
        history = self.history
        history.exclude(day)
        counts = history.days[day]
        incident.recovery = max(0.0, incident.recovery + self._recovery(counts, incident))
        if not incident.recovery:
            incident.last_bad = day
        if incident.recovery > _RECOVERED:
            self._close(day, range(incident.last_bad + 1, day + 1), incident.last_bad + 1)
            return None
        if day - incident.onset >= ACCEPT_DAYS:
            history.since = incident.onset
            self._close(day, range(incident.onset, day + 1), day + 1)
            if evidence is not None:
                return self._detection(day, evidence, "drift", "accepted", incident.onset, q_value)
            return None
        if evidence is None:
            return None
        return self._detection(day, evidence, "drift", "ongoing", incident.onset, q_value)

    def _close(self, day: int, normal: range, spans_since: int) -> None:
        self.history.include(normal)
        self._incident = None
        self._spans_since = spans_since

    def _recovery(self, counts: Counts, incident: _Incident) -> float:
        odds = []
        for share in (incident.before.session_share, max(incident.share, incident.before.session_share)):
            size = 1 / max(0.001, self.noise.day_correlation(share * (1 - share))) - 1
            odds.append(
                log_beta_binomial_odds(counts.unknown_sessions, counts.sessions, share * size, (1 - share) * size)
            )
        return odds[0] - odds[1]

    def _detection(
        self, day: int, evidence: Evidence, finding: str, state: str, began: int, q_value: float
    ) -> Detection:
        counts, expected = evidence.span.counts, evidence.expected
        share = expected.group_share
        low, high = wilson_interval(share, share * (1 - share) / (expected.group_error * expected.clustering))
        mean = counts.sessions * expected.session_share
        spread = sqrt(mean * (1 - expected.session_share))
        return Detection(
            day=date.fromordinal(day),
            caller=self.caller,
            finding=finding,
            state=state,
            onset=date.fromordinal(began),
            observed=counts.unknown_groups / counts.groups,
            expected=share,
            low=low,
            high=high,
            p_value=evidence.p_value,
            q_value=q_value,
            statistic=(counts.unknown_sessions - mean) / spread,
            sessions=counts.unknown_sessions,
            groups=counts.unknown_groups,
            note=f"{counts.unknown_sessions} of {counts.sessions} sessions over "
            f"{day - evidence.first + 1} {'day' if day == evidence.first else 'days'}, {mean:.1f} expected",
        )
