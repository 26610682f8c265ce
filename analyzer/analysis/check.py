"""The nightly check: what a day brought, judged from that day and the ones before it, and written down.

Invariant: a night that was written down says the same whenever it is asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.detection import detect
from analyzer.analysis.detection.finding import Detection
from analyzer.analysis.findings import Finding
from analyzer.analysis.incidents import incidents
from analyzer.analysis.night import Night, carried_on
from analyzer.analysis.observations import Observations, end_of, observe, start_of
from analyzer.analysis.sentences import advice, sentence
from analyzer.analysis.window import Window, window
from analyzer.errors import AnalyzerError
from analyzer.events.times import now
from analyzer.store import Store

MAX_NIGHTS = 400
"""Nights that one replay goes through."""


def check(
    store: Store,
    *,
    until: str | datetime | None = None,
    timezone: str = "UTC",
    rules_path: str | None = None,
    again: bool = False,
) -> Night:
    """The last whole day before `until` (now), judged; in a store that is open for writing also written down.

    A day that was judged before is read back, with the number of events that came late; `again` judges it anew.
    History is judged under the ruleset in force: the active one, else the rules at `rules_path` or the built-in ones.

    Raises:
        AnalyzerError: a time that cannot be read, rules that cannot be used, a store that cannot be written.
    """
    day = last_whole_day(window(None, until, None, timezone))
    if not again and (known := recorded(store, day, timezone)) is not None:
        return known
    ruleset = store.judge_history(rules_path)
    seen = observe(store, day, timezone, ruleset)
    before = _night_before(store, day, timezone)
    night = _finished(store, _judged(seen, detections(seen), before.findings if before else ()))
    if store.writable:
        store.decide(_decisions(store, night))
    return night


def each_night(
    store: Store,
    *,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    last: str | None = None,
    timezone: str = "UTC",
    rules_path: str | None = None,
) -> list[Night]:
    """What every night of a window would have reported under today's rules; nothing is written down.

    Raises:
        AnalyzerError: as for `check`, or more than 400 nights.
    """
    chosen = window(since, until, last, timezone)
    final = last_whole_day(chosen)
    ruleset = store.judge_history(rules_path)
    seen = observe(store, final, timezone, ruleset)
    if seen.counts.is_empty():
        return []
    first = max(chosen.first_day or date.min, _days(seen)[0])
    days = [first + timedelta(days=step) for step in range((final - first).days + 1)]
    if len(days) > MAX_NIGHTS:
        raise AnalyzerError(f"{len(days):,} nights are too many at once", f"name a window of {MAX_NIGHTS} at most")
    found = detections(seen)
    told = incidents(found, seen.traffic, first - timedelta(days=1))
    nights = []
    for day in days:
        night = _judged(_up_to(seen, day), found, told)
        told = night.findings
        nights.append(_finished(store, night))
    return nights


def last_whole_day(chosen: Window) -> date:
    """The last day of a zone that is over before the window ends, or before now."""
    end = min(chosen.until or now(), now())
    moment = end.replace(tzinfo=UTC).astimezone(ZoneInfo(chosen.timezone))
    return moment.date() - timedelta(days=1)


def recorded(store: Store, day: date, timezone: str) -> Night | None:
    """What an earlier check found and wrote down of this day, with the events that came late."""
    frame = store.query("detection-nights", day=day, timezone=timezone)
    if frame.is_empty():
        return None
    night = Night.from_dict(json.loads(frame["night"][-1]))
    late = store.query("detection-late", until=end_of(day, timezone), judged_at=night.judged_at)
    return replace(night, recorded=True, late_events=int(late["events"].sum()))


def detections(seen: Observations) -> list[Detection]:
    """Everything that any test has to say of any day; each day from itself and the days before it."""
    return list(_rows(detect(seen.counts, seen.templates)))


def _of_the_day(one: Finding, seen: Observations) -> Finding:
    """A rise of a share with the figures of its latest day: its test may have added up several."""
    if one.finding not in {"spike", "drift"}:
        return one
    rows = seen.counts.filter((pl.col("day") == one.last_on) & (pl.col("caller") == one.scope.caller))
    row = next(rows.iter_rows(named=True))
    groups = row["unknown_groups_replayed"]
    figures = {"observed": groups / row["groups"], "groups": groups, "sessions": row["unknown_sessions_replayed"]}
    return replace(one, latest=replace(one.latest, **figures))


def _rows(frame: pl.DataFrame) -> Iterable[Detection]:
    return (Detection(**row) for row in frame.iter_rows(named=True))


def _up_to(seen: Observations, day: date) -> Observations:
    return replace(
        seen,
        night=day,
        counts=seen.counts.filter(pl.col("day") <= day),
        templates=seen.templates.filter(pl.col("day") <= day),
    )


def _judged(seen: Observations, found: Sequence[Detection], before: Sequence[Finding]) -> Night:
    counts = seen.counts
    told = [_of_the_day(one, seen) for one in incidents(found, seen.traffic, seen.night)]
    return Night(
        day=seen.night,
        timezone=seen.timezone,
        judged_at=now(),
        ruleset=seen.ruleset,
        since=None if counts.is_empty() else _days(seen)[0],
        caller_days=counts.height,
        callers=counts.filter(pl.col("day") == seen.night)["caller"].n_unique(),
        findings=carried_on(told, before, seen.night),
        notes=tuple(_notes(seen)),
    )


def _days(seen: Observations) -> list[date]:
    """The days of history with anything to judge, in order."""
    return seen.counts["day"].unique().sort().to_list()


def _notes(seen: Observations) -> Iterable[str]:
    counts = seen.counts
    if counts.is_empty():
        yield "no errors in this store up to that day"
        return
    newest = _days(seen)[-1]
    if newest != seen.night:
        yield f"no error came in on {seen.night}; the last day with any is {newest}: are the logs still read?"
    if kept := int(counts["not_replayed"].sum()):
        errors = "1 error" if kept == 1 else f"{kept:,} errors"
        yield f"{errors} could not be judged again, without facts or rules, and count as they were recorded"


def _finished(store: Store, night: Night) -> Night:
    """The night with words and evidence; findings that ended keep those that they had."""
    told = [one if one.resolution == "explained" else _told(store, night, one) for one in night.findings]
    return replace(night, findings=tuple(told))


def _told(store: Store, night: Night, one: Finding) -> Finding:
    rows = store.query(
        "detection-evidence",
        caller=one.scope.caller,
        template=one.scope.template,
        since=start_of(one.last_on, night.timezone),
        until=end_of(one.last_on, night.timezone),
        ruleset=night.ruleset,
    )
    samples = tuple(text for text in rows["message"] if text)
    ids = tuple(event_id for group in rows["event_ids"] for event_id in (group or "").split())
    return replace(
        one,
        explanation=sentence(one, samples),
        advice=advice(one),
        samples=samples,
        evidence=ids,
        parts=tuple(_told(store, night, part) for part in one.parts),
    )


def _night_before(store: Store, day: date, timezone: str) -> Night | None:
    """The last night before this day that was written down."""
    frame = store.query("detection-nights", timezone=timezone).filter(pl.col("day") < day)
    return None if frame.is_empty() else Night.from_dict(json.loads(frame["night"][-1]))


def _decisions(store: Store, night: Night) -> list[tuple[str, dict[str, Any]]]:
    """What a judged night adds to the journal: findings that open or end, and the night itself."""
    frame = store.sql("select finding_id, state from findings")
    state: Callable[[str], str | None] = dict(frame.iter_rows()).get
    decided: list[tuple[str, dict[str, Any]]] = []
    for one in night.findings:
        if one.state != "resolved" and state(one.id) is None:
            decided.append(("finding.opened", _payload(one)))
        elif one.state == "resolved" and state(one.id) == "open":
            decided.append(("finding.resolved", _payload(one)))
    former = recorded(store, night.day, night.timezone)
    still = {one.id for one in night.findings}
    for one in former.of("new") if former else ():
        if one.id not in still and state(one.id) == "open":
            gone = replace(one, state="resolved", resolved_on=night.day, resolution="rejudged")
            decided.append(("finding.resolved", _payload(gone)))
    return [*decided, ("night.judged", night.to_dict())]


def _payload(one: Finding) -> dict[str, Any]:
    known = one.to_dict()
    return {"finding_id": known.pop("id"), **{name: value for name, value in known.items() if name != "parts"}}
