"""Detections of single days → incidents that open, go on and end.

Invariant: what an incident is on a night follows from that night and the ones before it alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from analyzer.analysis.detection.detection import ACCEPT_DAYS, QUIET_DAYS, QUIET_RISE_DAYS, Detection
from analyzer.analysis.detection.volumes import OUTAGES
from analyzer.analysis.kinds.finding import SHARE, STATES, Finding, Identity, family_of, finding_id, kind_of
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.kinds.signals import SIGNALS

_WAVES = ("volume", *OUTAGES.values())
_BY_DAY = {*_WAVES, "unknown_rate", "relays", "compactions", "burst", *SIGNALS}
"""The findings whose days are judged one by one once they are open."""
SILENT_DAYS = 14
"""Days after the last detection that end an incident whose caller is no longer heard of."""


def incidents(
    detections: Iterable[Detection], traffic: Mapping[str, Sequence[date]], night: date
) -> tuple[Finding, ...]:
    """The incidents that are open on `night`, and those that end on it; the gravest first.

    `traffic` has the days on which each caller had anything to judge, in order: a caller that was silent has not got
    better. Detections after `night` are not looked at.
    """
    seen = [_incident_of(key, runs[-1], traffic, night) for key, runs in _runs(detections, traffic, night)]
    return _merged([found for found in seen if found.resolved_on in {None, night}])


def incidents_between(
    detections: Iterable[Detection], traffic: Mapping[str, Sequence[date]], first: date, night: date
) -> tuple[Finding, ...]:
    """The incidents as of `night` that had a day on or after `first`: open ones, then ended ones; the gravest first."""
    seen = [_incident_of(key, run, traffic, night) for key, runs in _runs(detections, traffic, night) for run in runs]
    return _merged([found for found in seen if found.resolved_on is None or found.resolved_on >= first])


def _runs(
    detections: Iterable[Detection], traffic: Mapping[str, Sequence[date]], night: date
) -> list[tuple[Identity, list[list[Detection]]]]:
    """The detections up to `night`, grouped by identity, and within one by incident."""
    days: dict[Identity, list[list[Detection]]] = {}
    for found in sorted(detections, key=lambda one: (one.day, one.finding)):
        if found.day > night:
            continue
        key = Identity.of(found)
        runs = days.setdefault(key, [])
        own = traffic.get(key.scope.caller or "", ())
        over, _ = _end_of(key, runs[-1][-1].day, own, found.day - timedelta(days=1)) if runs else (None, None)
        # What rises above what was accepted is another incident.
        if not runs or over or runs[-1][-1].state == "accepted":
            runs.append([])
        runs[-1].append(found)
    return list(days.items())


def _incident_of(
    key: Identity, run: Sequence[Detection], traffic: Mapping[str, Sequence[date]], night: date
) -> Finding:
    opened, last = run[0].day, run[-1].day
    accepted = _accepted(run)
    over, why = _end_of(key, last, traffic.get(key.scope.caller or "", ()), night)
    ended = accepted or over
    state = "resolved" if ended else "new" if opened == night else "ongoing" if last == night else "open"
    # Of a day the figures of its strongest test; of the whole incident the name that its beginning gives it.
    name = _kind_of_run(run)
    own = run if key.family == SHARE else [row for row in run if row.finding == name]
    latest = min((row for row in own if row.day == own[-1].day), key=lambda row: row.p_value if row.p_value else 0.0)
    return Finding(
        id=finding_id(key, opened),
        state=state,
        severity=_severity(run),
        opened_on=opened,
        last_on=last,
        resolved_on=ended,
        resolution=("accepted" if accepted else why) if ended else None,
        # Whether it is new says the finding; the journal keeps no state of its days.
        latest=replace(latest, finding=name, onset=run[0].onset or opened, state="new", begins_at=run[0].begins_at),
    )


def _accepted(run: Sequence[Detection]) -> date | None:
    """The day on which an incident became the new normal, by its test or by the calendar."""
    accepted = (row.day for row in run if row.state == "accepted" or (row.day - run[0].day).days >= ACCEPT_DAYS)
    return next(accepted, None)


def _kind_of_run(run: Sequence[Detection]) -> str:
    """A share that rose on the very day is a spike, one that had been rising a drift, whichever test saw it first.

    A new message is a change of wording as soon as one knows which rule it stands in the place of.
    """
    first = run[0]
    if family_of(first.finding) != SHARE:
        return next((row.finding for row in run if row.rule is not None), first.finding)
    return "spike" if first.onset in {None, first.day} else "drift"


def _end_of(key: Identity, last: date, traffic: Sequence[date], until: date) -> tuple[date | None, str | None]:
    """The day on which an incident that was last seen on `last` ends, if that is not after `until`, and why it does."""
    first = bisect_right(traffic, last)
    days = QUIET_RISE_DAYS if key.family in _BY_DAY else QUIET_DAYS
    quiet = traffic[first : first + days]
    silent = last + timedelta(days=SILENT_DAYS)
    if len(quiet) == days and quiet[-1] <= min(until, silent):
        return quiet[-1], "quiet"
    return (silent, "silent") if silent <= until else (None, None)


def _severity(run: Sequence[Detection]) -> str:
    """The severity of the worst day of an incident."""
    return max((kind_of(row.finding).severity(row) for row in run), key=SEVERITIES.index)


def gravest_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as they are told: those that go on first, then open ones; the graver, then those that cost more."""
    return tuple(sorted(found, key=_gravity))


def _merged(found: list[Finding]) -> tuple[Finding, ...]:
    """Findings with one cause as one: a new message or a change of the mix inside a rise of the same caller's share.

    A message that weak evidence decides is also a part of a rise of the caller's errors, one of the fleet of an outage.
    """
    heads: dict[str | None, list[Finding]] = {}
    for one in found:
        if one.kind.family == SHARE or one.finding in _WAVES:
            heads.setdefault(one.scope.caller, []).append(one)
    parts: dict[str, list[Finding]] = {}
    rest = []
    for one in found:
        head = next((head for head in heads.get(one.scope.caller, ()) if _is_part(one, head)), None)
        if head is None:
            rest.append(one)
        else:
            parts.setdefault(head.id, []).append(one)
    return gravest_first(replace(one, parts=gravest_first(parts.get(one.id, ()))) for one in rest)


def _is_part(finding: Finding, head: Finding) -> bool:
    """Whether a rise speaks for another finding: one that was there at the same time."""
    if not (finding.kind.part_of_rise if head.kind.family == SHARE else finding.kind.part_of_wave):
        return False
    if not head.is_open and finding.is_open:
        return False  # told by itself, with the id that it had as a part
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
