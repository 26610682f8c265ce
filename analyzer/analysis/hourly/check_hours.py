"""`check_hours`: the last hours, held against the same hours of the four weeks before; for those who look every hour.

Invariant: nothing is written down. What is found has the id that the night of that day will give it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.detection import Detection, Settings, widened
from analyzer.analysis.detection.detection import detections_in
from analyzer.analysis.detection.volume.exposure import exposures
from analyzer.analysis.detection.volume.volumes import volumes
from analyzer.analysis.kinds.finding import Finding, Identity, finding_id, kind_of
from analyzer.analysis.nightly.detections import corrected
from analyzer.analysis.nightly.evidence import costed, told
from analyzer.analysis.nightly.handling import handlings, with_handling
from analyzer.analysis.nightly.incidents import gravest_first
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.nightly.recording import night_before
from analyzer.analysis.window import Window
from analyzer.classifier import Rules
from analyzer.errors import AnalyzerError
from analyzer.events.times import now
from analyzer.store import Judging

COMPARED_DAYS = 28
"""Days before, whose same hours are the baseline: four of each weekday."""
MAX_HOURS = 23
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class HourCounts:
    """What some hours of a day brought, and the same hours of the days before it."""

    timezone: str
    ruleset: str | None
    volumes: pl.DataFrame
    """As `detection-volume`, of these hours alone."""
    work: pl.DataFrame
    """As `detection-work`."""
    counts: pl.DataFrame
    """Columns `day`, `caller`, `sessions`, `groups` of errors."""


def check_hours(store: Judging, chosen: Window, *, rules: Rules = None) -> Night:
    """The last whole hours of a window of a day at most, judged by numbers of errors; nothing is written down.

    What the hours before them had, or the last night left open, is `ongoing`.

    Raises:
        AnalyzerError: a window without a beginning, or one that is longer, rules that cannot be used.
    """
    since, until = _whole_hours(chosen)
    ruleset = store.judge_history(rules)
    day = (until - _HOUR).replace(tzinfo=UTC).astimezone(ZoneInfo(chosen.timezone)).date()
    before = night_before(store, day, chosen.timezone)
    settings = widened(Settings(), before.rung if before else 0)
    own = _observed(store, since, until, chosen.timezone, ruleset)
    earlier = _observed(store, since - (until - since), since, chosen.timezone, ruleset)
    open_ones = {one.identity: one for one in before.findings if one.is_open} if before else {}
    known = {one.identity for one in found_in_hours(earlier, settings, "before")}
    over = f"from {_clock(since, chosen.timezone)} to {_clock(until, chosen.timezone)}"
    priced = costed(store, found_in_hours(own, settings, over), own, within=(since, until))
    findings = gravest_first(_continued(one, open_ones.get(one.identity), one.identity in known) for one in priced)
    night = Night(
        day=day,
        timezone=chosen.timezone,
        judged_at=now(),
        ruleset=ruleset,
        ruleset_in_force=ruleset,
        since=own.work["day"].min(),  # type: ignore[arg-type]
        caller_days=own.work.height,
        callers=own.counts.filter(pl.col("day") == day)["caller"].n_unique(),
        findings=told(store, findings, chosen.timezone, ruleset, within=(since, until)),
        rung=before.rung if before else 0,
        calibrated_on=before.calibrated_on if before else None,
        hours=(since, until),
    )
    return with_handling(night, handlings(store))


def _whole_hours(chosen: Window) -> tuple[datetime, datetime]:
    """The whole hours that are over at the end of a window, as many as it has."""
    end = min(chosen.until or now(), now())
    if chosen.since is None or chosen.since >= end:
        raise AnalyzerError("hours have a beginning", "name it with --since or --last, such as --last 1h")
    length = -((chosen.since - end) // _HOUR) * _HOUR
    if length > MAX_HOURS * _HOUR:
        said = f"one night has no beginning to choose, and hours are judged up to {MAX_HOURS} together"
        raise AnalyzerError(said, "add --each-day, name a night's end with --until, or write --last 1h")
    until = end.replace(minute=0, second=0, microsecond=0)
    return until - length, until


def _observed(store: Judging, since: datetime, until: datetime, timezone: str, ruleset: str | None) -> HourCounts:
    """The counts of the hours of one day, and of those hours that clocks call the same on the days before."""
    zone = ZoneInfo(timezone)
    # Of its day is what ends on it: hours may lie on both sides of midnight.
    last = until.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    day = (last - _HOUR).date()
    asked = []
    for back in range(COMPARED_DAYS + 1):
        end = (last - timedelta(days=back)).replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
        asked.append({"place": back, "since": (end - (until - since)).isoformat(), "until": end.isoformat()})
    rows = store.query("detection-hours", asked=json.dumps(asked), ruleset=ruleset)
    days = {back: day - timedelta(days=back) for back in range(COMPARED_DAYS + 1)}
    dated = rows.with_columns(pl.col("place").replace_strict(days, return_dtype=pl.Date).alias("day"))
    whole = dated.filter(pl.col("reason").is_null())
    counts = whole.select("day", "caller", pl.col("error_sessions").alias("sessions"), "groups")
    return HourCounts(
        timezone=timezone,
        ruleset=ruleset,
        volumes=dated.filter(pl.col("reason").is_not_null()).sort("day"),
        work=whole.select("day", "caller", "sessions", "observed").sort("day"),
        counts=counts.filter(pl.col("groups") > 0).sort("day"),
    )


def found_in_hours(seen: HourCounts, settings: Settings, over: str) -> tuple[Finding, ...]:
    """What the last day's hours show, by the tests of numbers of errors."""
    if seen.counts.is_empty():
        return ()
    day: date = seen.work["day"].max()  # type: ignore[assignment]
    work = exposures(seen.work, seen.counts)
    found = volumes(seen.volumes, work, replace(settings, volume_alpha=settings.hour_alpha), over=over)
    tested = work.filter(pl.col("day") == day).height
    tonight: Iterable[Detection] = detections_in(found.filter(pl.col("day") == day))
    return tuple(_finding(one) for one in corrected(tonight, {day: tested}))


def _finding(one: Detection) -> Finding:
    name = finding_id(Identity.of(one), one.day)
    severity = kind_of(one.finding).severity(one)
    return Finding(id=name, state="new", severity=severity, opened_on=one.day, last_on=one.day, latest=one)


def _continued(one: Finding, known: Finding | None, was_there: bool) -> Finding:
    """The finding as the same incident that the hours before or the last night had."""
    if known is None:
        return replace(one, state="ongoing" if was_there else "new")
    return replace(one, id=known.id, opened_on=known.opened_on, state="ongoing").after(known)


def _clock(moment: datetime, timezone: str) -> str:
    local = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(timezone))
    return f"{local:%H:%M}"
