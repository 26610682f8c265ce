"""The one shape of what a detector reports: a `Detection`, and a frame of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date

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


_TYPES = {"date": pl.Date(), "str": pl.String(), "float": pl.Float64(), "int": pl.Int64()}
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


def detections_in(found: pl.DataFrame) -> list[Detection]:
    """The detections of a frame, in its order: the reverse of `frame`."""
    return [Detection(**row) for row in found.iter_rows(named=True)]
