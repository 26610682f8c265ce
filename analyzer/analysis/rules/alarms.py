"""The alarms of past nights that another ruleset would have spared, kept or raised.

Invariant: both sides are judged by the same tests with the same settings; only the verdicts differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.detection import detect
from analyzer.analysis.detection.detection import detections_in
from analyzer.analysis.kinds.finding import Finding, family_of
from analyzer.analysis.nightly.incidents import incidents
from analyzer.analysis.rules.churn import takes_part
from analyzer.analysis.tables import json_ready
from analyzer.store import counts_of, templates_of


@dataclass(frozen=True, slots=True)
class Alarm:
    """An incident of the unknown share or of a new unknown message, over the nights that told it."""

    finding: str
    caller: str | None
    template: str | None
    """The message, for a finding of one."""
    severity: str
    """The worst that it came to."""
    opened_on: date
    last_on: date


@dataclass(frozen=True, slots=True)
class AlarmChanges:
    """The alarms of history under the verdicts of before and after."""

    vanished: tuple[Alarm, ...]
    """Of before, and not of after; as all three in the order of days."""
    appeared: tuple[Alarm, ...]
    """Of after, and not of before."""
    stayed: tuple[Alarm, ...]
    """Of both, as they are after."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; days as ISO dates."""
        sides: dict[str, Any] = json_ready(self)
        return sides


def alarm_changes(verdicts: pl.DataFrame) -> AlarmChanges:
    """The alarms under each of two verdicts on every error, compared.

    `verdicts` has a row an error: `day`, `caller`, `session_id`, `template`, `reason`, `detail`, `new_reason` and
    `new_detail`, as `Churn.verdicts`. An alarm stays where both sides have one of its kind, caller and message at the
    same time.
    """
    before = _alarms(verdicts, "reason", "detail")
    after = _alarms(verdicts, "new_reason", "new_detail")
    return AlarmChanges(
        vanished=tuple(one for one in before if not any(_alike(one, other) for other in after)),
        appeared=tuple(one for one in after if not any(_alike(one, other) for other in before)),
        stayed=tuple(one for one in after if any(_alike(one, other) for other in before)),
    )


def _alarms(verdicts: pl.DataFrame, reason: str, detail: str) -> list[Alarm]:
    groups = (
        verdicts.filter((pl.col(reason) != "unknown") | takes_part(detail))
        .group_by("day", "caller", pl.col("session_id").alias("session"), "template", pl.col(reason).alias("reason"))
        .agg(pl.len().cast(pl.Int64).alias("events"))
        .with_columns(was_unknown=pl.lit(False), judged=pl.lit(True), rule=pl.lit(None, dtype=pl.String))
        .sort("day", "caller", "session", "template")
    )
    if groups.is_empty():
        return []
    counts = counts_of(groups)
    found = detections_in(detect(counts, templates_of(groups)))
    traffic: dict[str, list[date]] = {}
    for day, caller in counts.select("day", "caller").iter_rows():
        traffic.setdefault(caller, []).append(day)
    told: dict[str, Finding] = {}
    for day in sorted({one.day for one in found}):
        told.update({one.id: one for one in incidents(found, traffic, day) if one.opened_on <= day == one.last_on})
    alarms = [
        Alarm(one.finding, one.scope.caller, one.scope.template, one.severity, one.opened_on, one.last_on)
        for one in told.values()
    ]
    return sorted(alarms, key=lambda one: (one.opened_on, one.caller or "", one.finding, one.template or ""))


def _alike(one: Alarm, other: Alarm) -> bool:
    alike = family_of(one.finding) == family_of(other.finding)
    overlap = one.opened_on <= other.last_on and other.opened_on <= one.last_on
    return alike and overlap and (one.caller, one.template) == (other.caller, other.template)
