"""Detections of single days → incidents that open, go on and end.

Invariant: what an incident is on a night follows only from that night and the ones before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.volumes import OUTAGES
from analyzer.analysis.kinds.finding import SHARE, STATES, Finding, family_of, identity_of, kind_of
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.kinds.scope import Identity, finding_id
from analyzer.analysis.periods import ACCEPT_DAYS, QUIET_DAYS, QUIET_RISE_DAYS

_WAVES = ("volume", *OUTAGES.values())
SILENT_DAYS = 14
"""Days after the last detection that end an incident whose caller is no longer heard of."""


def incidents(
    detections: Iterable[Detection], traffic: Mapping[str, Sequence[date]], night: date
) -> tuple[Finding, ...]:
    """Return the incidents that are open on `night`, and those that end on it; the gravest first.

    `traffic` has the days on which each caller had anything to judge, in order: a caller that was silent has not got
    better. Detections after `night` are not looked at.
    """
    seen = [_incident_of(key, runs[-1], traffic, night) for key, runs in _runs(detections, traffic, night)]
    return _merged([finding for finding in seen if finding.resolved_on in {None, night}])


def incidents_between(
    detections: Iterable[Detection], traffic: Mapping[str, Sequence[date]], first: date, night: date
) -> tuple[Finding, ...]:
    """Return the incidents as of `night` with a day on or after `first`.

    Open ones come first, then ended ones; the gravest first.
    """
    seen = [_incident_of(key, run, traffic, night) for key, runs in _runs(detections, traffic, night) for run in runs]
    return _merged([finding for finding in seen if finding.resolved_on is None or finding.resolved_on >= first])


def _runs(
    detections: Iterable[Detection], traffic: Mapping[str, Sequence[date]], night: date
) -> list[tuple[Identity, list[list[Detection]]]]:
    """Group the detections up to `night` by identity, and within it by incident."""
    days: dict[Identity, list[list[Detection]]] = {}
    for detection in sorted(detections, key=lambda row: (row.day, row.finding)):
        if detection.day > night:
            continue
        key = identity_of(detection)
        runs = days.setdefault(key, [])
        own = traffic.get(key.scope.caller or "", ())
        over, _ = _end_of(key, runs[-1][-1].day, own, detection.day - timedelta(days=1)) if runs else (None, None)
        # What rises above what was accepted is another incident.
        if not runs or over or runs[-1][-1].state == "accepted":
            runs.append([])
        runs[-1].append(detection)
    return list(days.items())


def _incident_of(
    key: Identity, run: Sequence[Detection], traffic: Mapping[str, Sequence[date]], night: date
) -> Finding:
    opened, last = run[0].day, run[-1].day
    # It becomes the new normal by its test or by the calendar.
    is_normal = (row.day for row in run if row.state == "accepted" or (row.day - opened).days >= ACCEPT_DAYS)
    accepted = next(is_normal, None)
    over, why = _end_of(key, last, traffic.get(key.scope.caller or "", ()), night)
    ended = accepted or over
    state = "open"
    if ended:
        state = "resolved"
    elif opened == night:
        state = "new"
    elif last == night:
        state = "ongoing"
    # The figures are those of the day's strongest test, the name is the one that the beginning gives.
    name = _kind_of_run(run)
    own = run if key.family == SHARE else [row for row in run if row.finding == name]
    latest = min((row for row in own if row.day == own[-1].day), key=lambda row: row.p_value if row.p_value else 0.0)
    return Finding(
        id=finding_id(key, opened),
        state=state,
        severity=max((kind_of(row.finding).severity(row) for row in run), key=SEVERITIES.index),
        opened_on=opened,
        last_on=last,
        resolved_on=ended,
        resolution="accepted" if accepted else why,
        # Only the finding says whether it is new; the journal keeps no state of its days.
        latest=replace(latest, finding=name, onset=run[0].onset or opened, state="new", begins_at=run[0].begins_at),
    )


def _kind_of_run(run: Sequence[Detection]) -> str:
    """Return the kind of an incident.

    A share that rose on the very day is a spike, one that had been rising a drift, whichever test
    saw it first. A new message is a change of wording as soon as a day names the rule
    whose texts it replaces.
    """
    first = run[0]
    if family_of(first.finding) != SHARE:
        return next((row.finding for row in run if row.rule is not None), first.finding)
    return "spike" if first.onset in {None, first.day} else "drift"


def _end_of(key: Identity, last: date, traffic: Sequence[date], until: date) -> tuple[date | None, str | None]:
    """Return the day on which an incident ends, and why; None if that is after `until`.

    It was last seen on `last`.
    """
    first = bisect_right(traffic, last)
    days = QUIET_RISE_DAYS if kind_of(key.family).by_day else QUIET_DAYS
    quiet = traffic[first : first + days]
    silent = last + timedelta(days=SILENT_DAYS)
    if len(quiet) == days and quiet[-1] <= min(until, silent):
        return quiet[-1], "quiet"
    return (silent, "silent") if silent <= until else (None, None)


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings as they are reported: open before ended ones, graver and costlier ones first."""
    return tuple(sorted(findings, key=_gravity))


def _merged(findings: list[Finding]) -> tuple[Finding, ...]:
    """Merge findings with one cause: a rise of a caller's share takes in what it explains.

    That is a new message or a change of the mix. A message that weak evidence decides is also a
    part of a rise of the caller's errors; one of the fleet is a part of an outage.
    """
    heads: dict[str | None, list[Finding]] = {}
    for finding in findings:
        if finding.kind.family == SHARE or finding.finding in _WAVES:
            heads.setdefault(finding.scope.caller, []).append(finding)
    parts: dict[str, list[Finding]] = {}
    rest = []
    for finding in findings:
        head = next((head for head in heads.get(finding.scope.caller, ()) if _is_part(finding, head)), None)
        if head is None:
            rest.append(finding)
        else:
            parts.setdefault(head.id, []).append(finding)
    return gravest_first(replace(finding, parts=gravest_first(parts.get(finding.id, ()))) for finding in rest)


def _is_part(finding: Finding, head: Finding) -> bool:
    """Return whether a rise speaks for another finding: both were there at the same time."""
    if not (finding.kind.part_of_rise if head.kind.family == SHARE else finding.kind.part_of_wave):
        return False
    if not head.is_open and finding.is_open:
        return False  # reported by itself, with the id that it had as a part
    overlaps = finding.resolved_on is None or finding.resolved_on >= head.onset
    return overlaps and (head.resolved_on is None or finding.opened_on <= head.resolved_on)


def _gravity(finding: Finding) -> tuple[object, ...]:
    failed, waited = (finding.cost.sessions_failed, finding.cost.waited_seconds) if finding.cost else (0, 0.0)
    return (
        max(STATES.index("ongoing"), STATES.index(finding.state)),
        -SEVERITIES.index(finding.severity),
        -failed,
        -waited,
        STATES.index(finding.state),
        -(finding.latest.sessions or 0),
        finding.scope.caller or "",
        finding.id,
    )
