"""Spikes of `unknown`: a caller's day whose unknown share is far above what its days before were like.

The whole test is `find_spikes`, a pure function over daily counts; each day is judged from the days before it alone.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.analysis.tables import Table, json_value, table
from analyzer.analysis.window import Window, window
from analyzer.store import Store

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BASELINE_DAYS = 14
"""Days before the judged one that make its baseline."""
MIN_BASELINE_ERRORS = 20
"""With fewer in a caller's own baseline, all callers' baseline stands in."""
MIN_UNKNOWN = 5
MIN_SESSIONS = 2
"""One bad session that repeats an error is no change of the classifier's world."""
MIN_RISE = 0.10
"""Least rise of the share over the baseline, in shares."""
MIN_RATIO = 2.0
MAX_P = 0.001

_Day = tuple[date, int, int]
"""Day, unknown errors, errors."""


@dataclass(frozen=True, slots=True)
class Spike:
    """One caller's day on which too much was unknown."""

    caller: str
    day: date
    unknown_errors: int
    errors: int
    """Errors of that day that count: aborts and errors without any detail do not."""
    unknown_share: float
    baseline_share: float
    """Smoothed share of the baseline, 0..1."""
    baseline_errors: int
    unknown_sessions: int
    p_value: float
    """Probability of as many unknown ones or more, had the baseline's share still held."""

    @property
    def sentence(self) -> str:
        """For a person."""
        return (
            f"{self.caller}: {self.unknown_errors} of {self.errors} errors on {self.day} are unknown "
            f"({self.unknown_share:.0%}, before: {self.baseline_share:.0%}), in {self.unknown_sessions} sessions"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Spikes:
    """What `spikes` found, and the daily counts that it looked at."""

    found: tuple[Spike, ...]
    """By caller, then day."""
    unjudged: int
    """Caller-days with enough unknown errors for a spike, and too little history before them to tell."""
    share: Table
    """Unknown share by day and caller."""
    window: Window

    @property
    def callers(self) -> tuple[str, ...]:
        """Callers with a spike, the one with the most unknown errors first."""
        weight: dict[str, int] = {}
        for spike in self.found:
            weight[spike.caller] = weight.get(spike.caller, 0) + spike.unknown_errors
        return tuple(sorted(weight, key=lambda caller: (-weight[caller], caller)))

    def to_polars(self) -> pl.DataFrame:
        """One row a spike."""
        return pl.DataFrame([asdict(spike) for spike in self.found], schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        found = [{name: json_value(value) for name, value in asdict(spike).items()} for spike in self.found]
        return {
            "spikes": found,
            "unjudged": self.unjudged,
            "share": self.share.to_dict(),
            "window": self.window.to_dict(),
        }

    def plot(self) -> Figure:
        """Unknown share by day, spikes marked."""
        from analyzer.analysis.charts import unknown_share_chart

        return unknown_share_chart(self)

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()

    def __repr__(self) -> str:
        return "\n".join(spike.sentence for spike in self.found) or "no spike of unknown errors"


_SCHEMA = {
    "caller": pl.String,
    "day": pl.Date,
    "unknown_errors": pl.Int64,
    "errors": pl.Int64,
    "unknown_share": pl.Float64,
    "baseline_share": pl.Float64,
    "baseline_errors": pl.Int64,
    "unknown_sessions": pl.Int64,
    "p_value": pl.Float64,
}


def spikes(
    store: Store,
    *,
    since: str | None = None,
    until: str | None = None,
    last: str | None = None,
    timezone: str = "UTC",
    within: Window | None = None,
) -> Spikes:
    """Spikes of the unknown share in a window; the baseline of its first days may lie before it.

    Raises:
        AnalyzerError: a window that cannot be read.
    """
    chosen = within or window(since, until, last, timezone)
    reach = timedelta(days=BASELINE_DAYS + 1)
    before = chosen.since - reach if chosen.since else None
    counts = table(store, "unknown-share", Window(before, chosen.until, chosen.timezone))
    found, unjudged = find_spikes(counts.frame)
    if begin := chosen.first_day:
        # Days of the baseline are no days of the window; the day that the window begins in is one.
        found = [spike for spike in found if spike.day >= begin]
        unjudged = [pair for pair in unjudged if pair[1] >= begin]
    return Spikes(tuple(found), len(unjudged), table(store, "unknown-share", chosen), chosen)


def find_spikes(counts: pl.DataFrame) -> tuple[list[Spike], list[tuple[str, date]]]:
    """The spikes in daily counts, and the callers and days that would need more history to be judged.

    `counts` has a row a day and caller: `day`, `caller`, `errors`, `unknown_errors`, `unknown_sessions`. A day is a
    spike when at least 5 unknown errors in at least 2 sessions, a share of at least twice the baseline's and 10 points
    above it come together with a binomial tail probability of at most 0.001. The baseline is the share over the 14
    days before of this caller, days that were spikes themselves left out, smoothed as (unknown + 0.5) / (errors + 1); a
    caller with fewer than 20 errors there is measured against all callers together, and not at all if they have fewer.
    """
    days: dict[date, list[dict[str, Any]]] = {}
    for row in counts.iter_rows(named=True):
        days.setdefault(row["day"], []).append(row)
    history: dict[str, list[_Day]] = {}
    found: list[Spike] = []
    unjudged: list[tuple[str, date]] = []
    for day in sorted(days):
        horizon = day - timedelta(days=BASELINE_DAYS)
        fleet = [entry for entries in history.values() for entry in entries]
        quiet: list[dict[str, Any]] = []
        for row in days[day]:
            enough = row["unknown_errors"] >= MIN_UNKNOWN and row["unknown_sessions"] >= MIN_SESSIONS
            baseline = _baseline(history.get(row["caller"], []), fleet, horizon) if enough else None
            spike = _judge(row, *baseline) if baseline else None
            if spike is not None:
                found.append(spike)
                continue
            quiet.append(row)
            if enough and baseline is None:
                unjudged.append((row["caller"], day))
        for row in quiet:
            history.setdefault(row["caller"], []).append((day, row["unknown_errors"], row["errors"]))
    return sorted(found, key=lambda spike: (spike.caller, spike.day)), unjudged


def _baseline(own: list[_Day], fleet: list[_Day], horizon: date) -> tuple[int, int] | None:
    """Unknown errors and errors of the caller's own days before, else of all callers', else None."""
    for entries in (own, fleet):
        recent = [(unknown, errors) for day, unknown, errors in entries if day >= horizon]
        errors = sum(errors for _, errors in recent)
        if errors >= MIN_BASELINE_ERRORS:
            return sum(unknown for unknown, _ in recent), errors
    return None


def _judge(row: dict[str, Any], base_unknown: int, base_errors: int) -> Spike | None:
    unknown, errors = row["unknown_errors"], row["errors"]
    share, base = unknown / errors, (base_unknown + 0.5) / (base_errors + 1)
    if share < base + MIN_RISE or share < base * MIN_RATIO:
        return None
    p_value = binomial_tail(unknown, errors, base)
    if p_value > MAX_P:
        return None
    return Spike(row["caller"], row["day"], unknown, errors, share, base, base_errors, row["unknown_sessions"], p_value)


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """P(X >= successes) for X ~ Binomial(trials, probability), summed in logarithms."""
    if successes <= 0:
        return 1.0
    if not 0 < probability < 1:
        return float(probability >= 1)
    log_p, log_q, total = math.log(probability), math.log1p(-probability), math.lgamma(trials + 1)
    terms = (
        total - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * log_p + (trials - k) * log_q
        for k in range(successes, trials + 1)
    )
    return min(1.0, math.fsum(math.exp(term) for term in terms))
