"""Judge a day from that day and the ones before it and write the night down, or judge single hours.

Hours are compared with the same hours of the four weeks before.

Invariants: a night that was written down says the same whenever it is asked for again. Nothing is
written down of hours; their findings have the ids that the night of that day will give them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Unpack
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.causes import with_causes
from analyzer.analysis.kinds.families.hours import hour_rises
from analyzer.analysis.kinds.finding import Finding, identity_of, kind_of
from analyzer.analysis.kinds.scope import finding_id
from analyzer.analysis.kinds.statistics.units import since_newest
from analyzer.analysis.nightly.decisions import handlings, warnings_a_week, with_handling, without_closed
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.evidence import costed, explained, of_the_day
from analyzer.analysis.nightly.incidents import gravest_first, incidents
from analyzer.analysis.nightly.night import Night, carried_on, night_before, recorded, split_parts, write_down
from analyzer.analysis.nightly.notes import clocks_ahead, newest_versions, notes, too_little_history
from analyzer.analysis.observations import Observations, end_of, observe, start_of
from analyzer.analysis.tables import Window, WindowWords, as_window, window
from analyzer.classifier import Rules
from analyzer.errors import AnalyzerError
from analyzer.events.times import now
from analyzer.store import Store

__all__ = ["check", "detections", "each_night", "last_whole_day"]

MAX_NIGHTS = 400
"""Nights that one replay goes through."""
MAX_LEFT_OUT = 60
"""Nights without a check that are looked at for the ends of findings."""


def check(
    store: Store,
    *,
    until: str | datetime | None = None,
    timezone: str = "UTC",
    rules: Rules = None,
    again: bool = False,
) -> Night:
    """Judge the last whole day before `until` (now); write it down in a store open for writing.

    A day that was judged before is read back, with the number of events that came late and the ruleset that is in force
    by now; `again` judges it anew.
    History is judged under the ruleset in force: the active one, else `rules` (a file, a ruleset, None: built in).

    Raises:
        AnalyzerError: a time that cannot be read, rules that cannot be used, a store that cannot be written.
    """
    chosen = window(None, until, None, timezone)
    day = last_whole_day(chosen)
    ruleset = store.judge_history(rules)
    decisions = handlings(store)
    if not again and (former := recorded(store, day, timezone)) is not None:
        return _with_notes_on_the_day(
            store, with_handling(replace(former, ruleset_in_force=ruleset), decisions), chosen
        )
    seen = observe(store, day, timezone, ruleset, judged_from=day)
    before = night_before(store, day, timezone)
    daily_detections = detections(seen)
    night = _finished(store, without_closed(_judged(store, seen, daily_detections, before), before, decisions), rules)
    sentences = (*night.notes, *clocks_ahead(store, night.judged_at))
    night = replace(night, warnings_a_week=warnings_a_week(store, day, timezone), notes=sentences)
    if store.writable:
        write_down(store, night)
    return _with_notes_on_the_day(store, with_handling(night, decisions), chosen)


def _with_notes_on_the_day(store: Store, night: Night, chosen: Window) -> Night:
    """Add notes on how the judged day relates to the time that was asked for.

    They are no part of what is written down.
    """
    until, begins, ends = chosen.until, start_of(night.day, night.timezone), end_of(night.day, night.timezone)
    sentences = []
    if until and until > now():
        sentences.append(f"{until:%Y-%m-%d %H:%M} UTC lies ahead; judged is {night.day}, the last day that is over")
    elif until and until > ends:
        sentences.append(f"judged is {night.day}, the last day that is over at {until:%Y-%m-%d %H:%M} UTC")
    if not night.callers:
        first, last, events = store.rows("detection-logged", since=begins, until=ends).rows[0]
        if last is not None and not events:
            sentences.append(
                f"no log says anything of {night.day}; they go from {first:%Y-%m-%d} to {last:%Y-%m-%d %H:%M} UTC"
            )
    return replace(night, notes=(*night.notes, *sentences)) if sentences else night


def each_night(
    store: Store,
    window: str | Window | None = None,
    *,
    rules: Rules = None,
    **words: Unpack[WindowWords],
) -> list[Night]:
    """Judge every night of a window under today's rules; nothing is written down.

    Raises:
        AnalyzerError: as for `check`, or more than 400 nights.
    """
    chosen = as_window(window, **words)
    final = last_whole_day(chosen)
    ruleset = store.judge_history(rules)
    asked = chosen.first_day
    whole = observe(store, final, chosen.timezone, ruleset, judged_from=asked)
    versions = whole.versions
    beginning = min([*whole.days[:1], *versions["first_on"]], default=None)
    if beginning is None:
        return []
    first = max(asked or date.min, beginning)
    days = [first + timedelta(days=step) for step in range((final - first).days + 1)]
    if len(days) > MAX_NIGHTS:
        raise AnalyzerError(f"{len(days):,} nights are too many at once", f"name a window of {MAX_NIGHTS} at most")
    nights: list[Night] = []
    before: Night | None = None
    daily_detections: list[Detection] = []
    cut = None
    # Days between two changes of recorded rules see the same history, each up to its own end.
    spans = {day: newest_versions(versions, day) for day in days}
    for day in days:
        if spans[day] != cut:
            cut = spans[day]
            last_day = max(end for end in days if spans[end] == cut)
            seen = whole
            if last_day != final:
                seen = observe(store, last_day, chosen.timezone, ruleset, judged_from=asked)
            daily_detections = detections(seen)
        as_of = seen.up_to(day)
        if before is None:
            open_ones = incidents(
                daily_detections,
                as_of.traffic(detection.caller for detection in daily_detections),
                day - timedelta(days=1),
            )
            nothing = _judged(store, as_of, [], None)
            before = replace(nothing, day=day - timedelta(days=1), findings=costed(store, open_ones, as_of))
        night = _judged(store, as_of, daily_detections, before, before.findings)
        before = _finished(store, night, rules)
        nights.append(before)
    return nights


def last_whole_day(chosen: Window) -> date:
    """Return the last day of a zone that is over before the window ends, and before now."""
    end = min(chosen.until or now(), now())
    moment = end.replace(tzinfo=UTC).astimezone(ZoneInfo(chosen.timezone))
    return moment.date() - timedelta(days=1)


def _judged(
    store: Store,
    seen: Observations,
    daily_detections: Sequence[Detection],
    before: Night | None,
    costed_before: Sequence[Finding] = (),
) -> Night:
    """Judge a night, without explanations.

    The costs of findings in `costed_before` cannot have changed, and are taken over.
    """
    counts, traffic = seen.counts, seen.traffic(detection.caller for detection in daily_detections)
    last_reported = before.findings if before else ()
    tonight = list(split_parts(incidents(daily_detections, traffic, seen.night), last_reported))
    there = {finding.identity for finding in tonight}
    if before is not None:
        for back in range(1, min(MAX_LEFT_OUT, (seen.night - before.day).days)):
            ended = incidents(daily_detections, traffic, seen.night - timedelta(days=back))
            tonight += [finding for finding in ended if not finding.is_open and finding.identity not in there]
            there.update(finding.identity for finding in ended)
    gone = "rejudged" if before is not None and before.ruleset == seen.ruleset else "explained"
    priced = costed(store, of_the_day(tonight, seen), seen, costed_before)
    findings = gravest_first(carried_on(priced, last_reported, seen.night, gone))
    return Night(
        day=seen.night,
        timezone=seen.timezone,
        judged_at=now(),
        ruleset=seen.ruleset,
        ruleset_in_force=seen.ruleset,
        since=None if counts.is_empty() else seen.days[0],
        caller_days=counts.height,
        callers=counts.filter(pl.col("day") == seen.night)["caller"].n_unique(),
        findings=with_causes(seen, findings),
        unjudged=too_little_history(seen, seen.night),
        notes=tuple(notes(seen)),
    )


def _finished(store: Store, night: Night, rules: Rules) -> Night:
    """Add explanations and evidence to the findings of a night."""
    findings = explained(store, night.findings, night.timezone, night.ruleset, rules=rules, judged=night.day)
    return replace(night, findings=findings)


MAX_HOURS = 23
_HOUR = timedelta(hours=1)


def check_hours(store: Store, chosen: Window, *, rules: Rules = None) -> Night:
    """Judge the last whole hours of a window of a day at most; nothing is written down.

    The only test is that of numbers of errors. What the hours before them had, or the last night
    left open, is `ongoing`.

    Raises:
        AnalyzerError: a window without a beginning, or one that is longer, rules that cannot be used.
    """
    since, until = _whole_hours(chosen)
    ruleset = store.judge_history(rules)
    day = (until - _HOUR).replace(tzinfo=UTC).astimezone(ZoneInfo(chosen.timezone)).date()
    before = night_before(store, day, chosen.timezone)
    seen = observe(store, day, chosen.timezone, ruleset, judged_from=day)
    open_ones = {finding.identity: finding for finding in before.findings if finding.is_open} if before else {}
    hours_before = {finding.identity for finding in _in_hours(seen, since - (until - since), since)}
    priced = costed(store, _in_hours(seen, since, until), seen, within=(since, until))
    findings = gravest_first(
        _continued(finding, open_ones.get(finding.identity), finding.identity in hours_before) for finding in priced
    )
    night = Night(
        day=day,
        timezone=chosen.timezone,
        judged_at=now(),
        ruleset=ruleset,
        ruleset_in_force=ruleset,
        since=seen.work["day"].min(),  # type: ignore[arg-type]
        caller_days=seen.work.height,
        callers=seen.counts.filter(pl.col("day") == day)["caller"].n_unique(),
        findings=explained(store, findings, chosen.timezone, ruleset, within=(since, until)),
        unjudged=too_little_history(seen, day),
        hours=(since, until),
    )
    return with_handling(night, handlings(store))


def _whole_hours(chosen: Window) -> tuple[datetime, datetime]:
    """Return the first moment and the end of the whole hours of a window that are over.

    They are as many as the window has, rounded up.
    """
    end = min(chosen.until or now(), now())
    if chosen.since is None or chosen.since >= end:
        raise AnalyzerError("hours have a beginning", "name it with --since or --last, such as --last 1h")
    length = -((chosen.since - end) // _HOUR) * _HOUR
    if length > MAX_HOURS * _HOUR:
        text = f"one night has no beginning to choose, and hours are judged up to {MAX_HOURS} together"
        raise AnalyzerError(text, "add --each-day, name a night's end with --until, or write --last 1h")
    until = end.replace(minute=0, second=0, microsecond=0)
    return until - length, until


def _in_hours(seen: Observations, since: datetime, until: datetime) -> tuple[Finding, ...]:
    """Return the findings of some hours, by the test of hours that every night makes."""
    last = (until - _HOUR).replace(tzinfo=UTC).astimezone(ZoneInfo(seen.timezone))
    work = since_newest(seen.hourly_work, seen.versions)
    length = (until - since) // _HOUR
    rises = hour_rises(seen.hourly_volumes, work, set(), windows=(length,), end=(last.date(), last.hour))
    return tuple(_finding(rise) for rise in rises)


def _finding(detection: Detection) -> Finding:
    name = finding_id(identity_of(detection), detection.day)
    severity = kind_of(detection.finding).severity(detection)
    return Finding(
        id=name, state="new", severity=severity, opened_on=detection.day, last_on=detection.day, latest=detection
    )


def _continued(finding: Finding, former: Finding | None, was_before: bool) -> Finding:
    """Mark a finding as the incident that the hours before it or the last night had."""
    if former is None:
        return replace(finding, state="ongoing" if was_before else "new")
    return replace(finding, id=former.id, opened_on=former.opened_on, state="ongoing").after(former)
