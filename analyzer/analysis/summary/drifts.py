"""The drifts of traffic, classifier and wording between two stretches of days: of the fleet, and of one caller."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection import causes
from analyzer.analysis.detection.causes import distinct
from analyzer.analysis.detection.detection import Detection, detections_in
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.analysis.tables import Table, table
from analyzer.analysis.window import Window
from analyzer.store import Judging


@dataclass(frozen=True, slots=True)
class Drift:
    """One drift, with its evidence."""

    drift: str
    """`traffic`, `classifier` or `wording`."""
    about: str | None
    """A reason, a rule, or `old reason → reason`."""
    said: str
    """The evidence in words."""
    message: str | None
    """The new text, redacted; where it is about one."""
    sessions: int
    """Distinct sessions that show it."""
    p_value: float | None
    """None where nothing is left to chance."""

    @classmethod
    def of(cls, found: Detection, message: str | None) -> Drift:
        """The drift that a detection of `causes` is; `message` is the text of its template."""
        name = found.finding.removesuffix("_changed")
        return cls(name, found.scope, found.note or "", message, found.sessions or 0, found.p_value)


@dataclass(frozen=True, slots=True)
class Drifts:
    """What changed under the errors of the fleet in a window."""

    days: pl.DataFrame
    """A row a day of the window: `day`, `errors` that count, and of these the share 0..1 that was recorded as unknown
    (`recorded_share`) and that is unknown to the rules in force (`unknown_share`)."""
    applied: Table
    """Rulesets that became the active one in the window."""
    ruleset: str | None
    """Digest of the ruleset in force."""
    split: date | None
    """The first of the recent days; None where there is nothing before it to compare them with."""
    found: tuple[Drift, ...]
    """The drifts between the recent days and the baseline before them."""


def drifts(store: Judging, seen: Observations, first: date, last: date | None, window: Window) -> Drifts:
    """The drifts of the whole fleet in a window with these first and last days (None: nothing to judge).

    Raises:
        QueryError: the store cannot be asked.
    """
    split = None if last is None else last - timedelta(days=RECENT_DAYS - 1)
    if split and not seen.counts["day"].is_between(_first(split), split, closed="left").any():
        split = None
    return Drifts(
        days=_days(seen.counts.filter(pl.col("day") >= first)),
        applied=table(store, "ruleset-applied", window),
        ruleset=seen.ruleset,
        split=split,
        found=_of_fleet(store, seen, split, last) if split and last else (),
    )


def caller_drifts(seen: Observations, split: date, until: date, caller: str | None) -> list[Detection]:
    """Detections of `causes`: what tells a caller's days from `split` to `until` from the baseline before them."""
    return detections_in(causes(distinct(seen.around(split, until, caller)), day=until, caller=caller))


def _of_fleet(store: Judging, seen: Observations, split: date, until: date) -> tuple[Drift, ...]:
    span = {"since": start_of(_first(split), seen.timezone), "until": end_of(until, seen.timezone)}
    rows = store.query("ruleset-groups", **span, split=start_of(split, seen.timezone), ruleset=seen.ruleset)
    found = detections_in(causes(rows, day=until, caller=None))
    templates = sorted({one.template for one in found if one.template is not None})
    messages: dict[str | None, str | None] = {}
    if templates:
        texts = store.query("detection-messages", **span, templates=json.dumps(templates))
        for template, message, masked in texts.select("template", "message", "masked").iter_rows():
            messages[template] = message if messages.get(template, message) == message else masked
    return tuple(Drift.of(one, messages.get(one.template)) for one in found)


def _first(split: date) -> date:
    """The first day of a baseline."""
    return split - timedelta(days=BASELINE_DAYS)


def _days(counts: pl.DataFrame) -> pl.DataFrame:
    summed = counts.group_by("day").agg(pl.col("events", "unknown_events", "unknown_events_replayed").sum()).sort("day")
    return summed.select(
        "day",
        pl.col("events").alias("errors"),
        (pl.col("unknown_events") / pl.col("events")).alias("recorded_share"),
        (pl.col("unknown_events_replayed") / pl.col("events")).alias("unknown_share"),
    )
