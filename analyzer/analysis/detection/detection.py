"""The one shape of what a detector reports: a `Detection`, and a frame of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime

import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One finding of one day (or of one span that ends with it) and one caller."""

    day: date
    """The last day looked at: nothing after it had a say."""
    caller: str | None
    """None for what concerns the fleet."""
    finding: str
    """What was found; each detector names its words."""
    state: str = "new"
    """`new`, `ongoing`, or `accepted`: lasting for so long that it is the new normal from now on."""
    onset: date | None = None
    """The day on which it most likely began."""
    observed: float | None = None
    """In the unit of the detector: a share (0..1), or a count."""
    expected: float | None = None
    """The same figure by what was known before."""
    low: float | None = None
    """Interval of `expected`, 95 %."""
    high: float | None = None
    p_value: float | None = None
    """Probability of as much or more, had nothing changed."""
    q_value: float | None = None
    """The p-value corrected for everything tested along with it (Benjamini-Hochberg)."""
    statistic: float | None = None
    """How strong: see each detector."""
    sessions: int | None = None
    """Distinct sessions that show it."""
    groups: int | None = None
    """Distinct (session, template) pairs that show it."""
    template: str | None = None
    scope: str | None = None
    """What else narrows it: a reason, a step, a session."""
    note: str | None = None
    """One sentence for a person."""
    rule: str | None = None
    """The rule that fell silent, of a change of wording."""
    reason: str | None = None
    """The reason whose errors grew, of a rise of errors; None where it is no single one."""
    begins_at: datetime | None = None
    """Where hours show it and no whole days, the first of them, as the clocks of the zone have it."""
    ends_at: datetime | None = None
    """The end of the last of these hours, likewise."""


_TYPES = {
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
    "str": pl.String(),
    "float": pl.Float64(),
    "int": pl.Int64(),
}
SCHEMA: dict[str, pl.DataType] = {
    field.name: _TYPES[str(field.type).removesuffix(" | None")] for field in fields(Detection)
}
"""Columns of a frame of detections, in order."""


def frame(detections: Iterable[Detection]) -> pl.DataFrame:
    """A frame with a row a detection, sorted by day, caller, finding, scope and template."""
    rows = [tuple(getattr(each, name) for name in SCHEMA) for each in detections]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort(
        "day", "caller", "finding", "scope", "template", nulls_last=True
    )


def clearest(found: Iterable[Detection]) -> list[Detection]:
    """The detection with the least p-value of each day, finding, caller and scope, in the order given."""
    best: dict[tuple[object, ...], Detection] = {}
    for one in found:
        key = (one.day, one.finding, one.caller, one.scope)
        if key not in best or (one.p_value or 0.0) < (best[key].p_value or 0.0):
            best[key] = one
    return list(best.values())


def detections_in(found: pl.DataFrame) -> list[Detection]:
    """The detections of a frame, in its order: the reverse of `frame`."""
    return [Detection(**row) for row in found.iter_rows(named=True)]


ORDINAL = (pl.col("day") - date.min).dt.total_days() + 1
"""The number of a row's day, as `date.toordinal` counts."""
BASELINE_DAYS = 42
"""Days that make a baseline: six of each weekday."""
RECENT_DAYS = 7
"""Days, the judged one the last of them, that are held against the baseline before them where one day says too little:
mixes of reasons, retries, the fleet."""
DRIFT_GAP = 3
"""Least days between the judged day and the baseline of a span: the first days of a drift must not hide the next."""
ACCEPT_DAYS = 28
"""Days after which a level that lasts is the new baseline."""
QUIET_DAYS = 3
"""Days at work and without evidence that end an incident: one good day is no end."""
QUIET_RISE_DAYS = 1
"""The same of rises of errors, hand-offs and the like, whose days are judged one by one: the first normal one is the
end."""
TEMPLATE_MEMORY_DAYS = 84
"""Days without a template after which it is new again; shorter, and rare ones would be."""
TEMPLATE_DAYS = 14
"""Days from its first sight on in which a template can be found to be new."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What it takes to be a finding. The alphas are budgets: false alarms a caller-day."""

    share_alpha: float = 0.0006
    """Of a single day's share of unknown errors; a span of several has its part of it."""
    template_alpha: float = 0.0005
    volume_alpha: float = 0.0002
    """Of a single day's count of errors; a span of several has its part of it. Of a large fleet it is less, so that
    all callers together stay within `false_alarms_a_week`."""
    false_alarms_a_week: float = 0.5
    """Rises of errors that may be false in a week, over the whole fleet."""
    hour_alpha: float = 0.00002
    """Of the count of errors of some hours, where `false_alarms_a_week` allows as much."""
    wording_alpha: float = 0.01
    """Of the silence of a rule, over all rules that matched at the callers of a new text."""
    false_discovery_rate: float = 0.003
    """Of new messages, over the callers judged on the same night."""
    min_sessions: int = 3
    """Sessions that show a new message: fewer are no change of the world."""
