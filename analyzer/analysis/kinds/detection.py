"""Define the result of all detectors: a `Detection`, and a frame of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

import polars as pl

from analyzer.analysis.kinds.statistics.rates import RateTail
from analyzer.frozen import frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One finding about a caller, on one day or on a span that ends with that day."""

    day: date
    """The last day that was judged: later days have no influence."""
    caller: str | None
    """None if it concerns the fleet."""
    finding: str
    """The kind of the finding; each detector names its kinds."""
    state: str = "new"
    """`new`, `ongoing`, or `accepted`: it has lasted so long that it is the new normal."""
    onset: date | None = None
    """The day on which it most likely began."""
    observed: float | None = None
    """In the unit of the detector: a share (0..1), or a count."""
    expected: float | None = None
    """The value that the days before predict, in the same unit."""
    low: float | None = None
    """Interval of `expected`, 95 %."""
    high: float | None = None
    p_value: float | None = None
    """Probability of a value at least as extreme if nothing had changed."""
    q_value: float | None = None
    """The p-value corrected for everything tested along with it (Benjamini-Hochberg)."""
    statistic: float | None = None
    """Strength of the evidence; each detector says in which unit."""
    sessions: int | None = None
    """Distinct sessions that show it."""
    groups: int | None = None
    """Distinct (session, template) pairs that show it."""
    template: str | None = None
    scope: str | None = None
    """A reason, a step or a session that narrows it down."""
    note: str | None = None
    """One sentence for a person."""
    rule: str | None = None
    """The rule that fell silent, for a change of wording."""
    reason: str | None = None
    """The reason whose errors grew, for a rise of errors; None if several reasons grew."""
    begins_at: datetime | None = None
    """First hour, in local time of the zone; only for findings of hours, not of whole days."""
    ends_at: datetime | None = None
    """End of the last hour, likewise."""


def above(count: int, tail: RateTail, **fields: Any) -> Detection:
    """Build the detection of a count above the one that the days before predict; `fields` are its other fields."""
    figures = {
        "observed": float(count),
        "expected": tail.expected,
        "low": 0.0,
        "high": tail.high,
        "p_value": tail.p_value,
        "statistic": count / tail.expected,
    }
    return Detection(**{**figures, **fields})


def schema() -> dict[str, pl.DataType]:
    """Return the columns of a frame of detections, in order."""
    types = {
        "date": pl.Date(),
        "datetime": pl.Datetime("us"),
        "str": pl.String(),
        "float": pl.Float64(),
        "int": pl.Int64(),
    }
    return {field.name: types[str(field.type).removesuffix(" | None")] for field in fields(Detection)}


def ordered(detections: Iterable[Detection]) -> list[Detection]:
    """Sort detections by day, caller, finding, scope and template; None comes last."""
    names = ("day", "caller", "finding", "scope", "template")
    return sorted(
        detections,
        key=lambda detection: [(value is None, value) for name in names for value in [getattr(detection, name)]],
    )


def frame(detections: Iterable[Detection]) -> pl.DataFrame:
    """Build a frame of detections, in the order of `ordered`."""
    columns = schema()
    rows = [tuple(getattr(detection, name) for name in columns) for detection in ordered(detections)]
    return pl.DataFrame(rows, schema=columns, orient="row")


def clearest(detections: Iterable[Detection]) -> list[Detection]:
    """Keep the detection with the least p-value of each day, finding, caller and scope."""
    best: dict[tuple[object, ...], Detection] = {}
    for detection in detections:
        key = (detection.day, detection.finding, detection.caller, detection.scope)
        if key not in best or (detection.p_value or 0.0) < (best[key].p_value or 0.0):
            best[key] = detection
    return list(best.values())


def ordinal() -> pl.Expr:
    """Return the number of a row's day, as `date.toordinal` counts."""
    return (pl.col("day") - date.min).dt.total_days() + 1


FALSE_ALARM = 0.00005
"""P-value that a day of a name needs in any test of counts. Some twenty tests of a caller and of what it
shares have a day each, so that they are false once in a thousand caller-days if the model holds."""


@frozen
class Settings:
    """The thresholds of findings. The alphas are parts of one budget: a false alarm in a thousand caller-days."""

    share_alpha: float = FALSE_ALARM
    """For a single day's share of unknown errors; longer spans get a part
    (`volume_units.SPANS`)."""
    template_alpha: float = 0.0005
    volume_alpha: float = FALSE_ALARM
    """For a single day's count of errors; longer spans get a part of it. A large fleet
    gets less, so that all callers together stay within `false_alarms_a_week`."""
    false_alarms_a_week: float = 0.5
    """Rises of errors that may be false in a week, over the whole fleet."""
    hour_alpha: float = 0.000002
    """For the count of errors of some hours, where `false_alarms_a_week` allows as much."""
    wording_alpha: float = 0.01
    """For the silence of a rule, over all rules that matched at the callers of a new text."""
    false_discovery_rate: float = 0.003
    """For new messages, over the callers judged on the same night."""
    min_sessions: int = 3
    """Sessions that must show a new message: fewer may be a coincidence."""
