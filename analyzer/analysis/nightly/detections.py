"""All tests over one history: each day is judged only from that day and the days before it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.kinds.detection import Detection, Settings
from analyzer.analysis.kinds.families.bursts import longest_bursts
from analyzer.analysis.kinds.families.hours import hour_rises
from analyzer.analysis.kinds.families.new_messages import shared_templates, weak_templates
from analyzer.analysis.kinds.families.relays import MANY_RELAYS, many_relays, relay_frequency
from analyzer.analysis.kinds.families.retries import retry_changes
from analyzer.analysis.kinds.families.rewordings import reworded
from analyzer.analysis.kinds.families.shares import detect
from analyzer.analysis.kinds.families.signals import signals
from analyzer.analysis.kinds.families.silence import silences
from analyzer.analysis.kinds.families.versions import worse_versions
from analyzer.analysis.kinds.families.volumes import OUTAGES, Explained, volumes
from analyzer.analysis.kinds.finding import KINDS, SHARE
from analyzer.analysis.kinds.scope import SHARED_OF_ERRORS
from analyzer.analysis.kinds.statistics.naming import UNKNOWN
from analyzer.analysis.kinds.statistics.tails import false_discovery
from analyzer.analysis.kinds.statistics.units import LEAST_RATIO, exposures, since_newest
from analyzer.analysis.observations import Observations, exposed, over_midnight
from analyzer.analysis.periods import RECENT_DAYS
from analyzer.frozen import frozen
from analyzer.readable import counted

FALSE_DISCOVERY_RATE = 0.01
"""Over what one test says of all callers on the same day."""
_SHARES = {name for name, kind in KINDS.items() if kind.family == SHARE}
_RISES = _SHARES | {"volume", "unknown_rate"}
"""The rises of single callers."""
_OF_WORDING = _SHARES | {"unknown_rate"}
"""What a change of wording does to the caller of the errors."""
_CONSEQUENCES = {
    "waits_grow": (3, "waited longer for retries"),
    "recovery_fell": (RECENT_DAYS, "recovered less often"),
    "relays": (2, "handed off more often"),
    "compactions": (2, "compacted more often"),
    "retries_exhausted": (2, "ran out of retries"),
    "sessions_aborted": (2, "were stopped more often"),
    "sessions_unanswered": (2, "got no answer"),
}
"""What a rise of errors, or an outage, brings with it: for so many days, and what callers do then."""
_NEARLY_ALL = 0.8
"""Part of the errors of a rise from which on an outage accounts for it."""
_MOST_SESSIONS = 0.5
"""Part of a caller's sessions with unknown errors from which on one text is what its rise is made of."""


def detections(seen: Observations, settings: Settings | None = None) -> list[Detection]:
    """Run all tests over one history; return their detections in the order of the days."""
    chosen = settings or Settings()
    shares = detect(seen.counts, seen.templates, chosen)
    retries = corrected(retry_changes(seen.chains), _tested(seen.chains))
    work = exposures(seen.work, seen.counts, seen.versions)
    explained: Explained = set()
    hours = hour_rises(seen.hourly_volumes, since_newest(seen.hourly_work, seen.versions), explained, chosen)
    rises = volumes(seen.volumes, work, chosen, explained=explained)
    # Hours are reported if the day as a whole does not show the rise.
    by_day = {(detection.finding, detection.caller, detection.scope, detection.day) for detection in rises}
    rises = [
        *(
            detection
            for detection in hours
            if (detection.finding, detection.caller, detection.scope, detection.day) not in by_day
        ),
        *rises,
    ]
    rises = list(_without_narrower(_on_days_with_errors(rises, seen.volumes), seen.volumes))
    outages = [_Outage.of(detection, seen.volumes) for detection in rises if detection.finding in _WIDTHS]
    hit = {caller_day for outage in outages for caller_day in outage.hits()}
    shared = shared_templates(seen.templates, work, chosen)
    weak = weak_templates(seen.known_templates, seen.templates, seen.counts, work, chosen)
    of_fleet = {(detection.template, detection.day) for detection in shared}
    wordings = reworded(seen.templates, seen.rules, work, seen.volumes, chosen)
    kept = [
        *_unless_reported(
            shares,
            lambda detection: detection.finding == "template" and (detection.template, detection.day) in of_fleet,
        ),
        *shared,
        *_unless_reported(weak, lambda detection: (detection.caller, detection.scope, detection.day) in hit),
        *_without_share_rises(rises, shares),
        *longest_bursts(seen),
    ]
    hand_offs = exposed(seen)
    kept = [
        *_without_reworded(kept, wordings, seen),
        *wordings,
        *corrected(relay_frequency(hand_offs), _tested(seen.relays)),
        *many_relays(over_midnight(seen, hand_offs, MANY_RELAYS)),
        *retries,
        *signals(seen.signals, seen.work),
        *worse_versions(seen.signals),
        *silences(since_newest(seen.hourly_work, seen.versions)),
    ]
    kept = _without_consequences(kept, shares, outages)
    kept = list(_without_fallen(_without_doubled(kept, seen.signals), seen.signals))
    return sorted(kept, key=lambda detection: detection.day)


@frozen
class _Outage:
    """One day of an outage, with the callers and providers that it hit."""

    detection: Detection
    callers: frozenset[str]
    providers: frozenset[str]

    @classmethod
    def of(cls, detection: Detection, volumes: pl.DataFrame) -> _Outage:
        """Collect the callers and providers that have its errors on its days."""
        own = volumes.filter(
            pl.col("day").is_between(detection.onset or detection.day, detection.day), *_about(detection)
        )
        return cls(detection, frozenset(own["caller"]), frozenset(own["provider"]))

    def has_hit(self, detection: Detection) -> bool:
        """Return whether it hit the caller of a detection; of one without a caller, its provider."""
        return detection.scope in self.providers if detection.caller is None else detection.caller in self.callers

    def hits(self) -> Iterator[tuple[str, str, date]]:
        """Yield each of its callers with its reason and each day of the week that it begins."""
        for number in range(RECENT_DAYS):
            yield from (
                (caller, _reason(self.detection), self.detection.day + timedelta(days=number))
                for caller in self.callers
            )


_WIDTHS = {finding: width for width, finding in enumerate(reversed(OUTAGES.values()), 1)}
"""The outages, the narrowest first."""


def _reason(detection: Detection) -> str:
    """Return the reason of a rise of errors; empty if it is of all."""
    if detection.finding == "unknown_rate":
        return UNKNOWN
    return (detection.scope if detection.finding == OUTAGES["fleet"] else detection.reason) or ""


def _about(detection: Detection) -> list[pl.Expr]:
    """Select the rows of `detection-volume` that a rise is about, on any day."""
    named = [pl.col("reason") == reason] if (reason := _reason(detection)) else []
    named += [pl.col(what) == detection.scope for what in SHARED_OF_ERRORS if detection.finding == OUTAGES[what]]
    return named if detection.caller is None else [*named, pl.col("caller") == detection.caller]


def _on_days_with_errors(rises: Iterable[Detection], volumes: pl.DataFrame) -> list[Detection]:
    """Drop the rises without an error of theirs on their own day.

    The span of the test went on after the last one.
    """
    of_day = volumes.partition_by("day", as_dict=True)
    return [rise for rise in rises if not of_day.get((rise.day,), volumes.clear()).filter(*_about(rise)).is_empty()]


def _without_narrower(rises: Sequence[Detection], volumes: pl.DataFrame) -> Iterator[Detection]:
    """Drop the rises that a wider one of the same days and reason accounts for."""
    outages = [rise for rise in rises if rise.finding in _WIDTHS]
    for rise in rises:
        wider = [
            other
            for other in outages
            if _WIDTHS[other.finding] > _WIDTHS.get(rise.finding, 0)
            and (other.onset or other.day) <= rise.day <= other.day
            and _reason(other) == _reason(rise)
        ]
        own = volumes.filter(pl.col("day") == rise.day, *_about(rise)) if wider else volumes.clear()
        least = _NEARLY_ALL * int(own["groups"].sum())
        if not any(int(own.filter(_about(other))["groups"].sum()) >= least for other in wider):
            yield rise


def _without_consequences(
    detections: Sequence[Detection], shares: Iterable[Detection], outages: Sequence[_Outage]
) -> list[Detection]:
    """Drop what follows from a rise of the same caller or an outage that hit it.

    The outage's note counts it.
    """
    own = {(detection.caller, detection.day) for detection in (*detections, *shares) if detection.finding in _RISES}
    kept: list[Detection] = []
    consequences: dict[_Outage, dict[str, set[str]]] = {}
    for detection in detections:
        days, _ = _CONSEQUENCES.get(detection.finding, (0, ""))
        causes = [
            outage
            for outage in outages
            if 0 <= (detection.day - outage.detection.day).days < days and outage.has_hit(detection)
        ]
        for outage in causes:
            if detection.caller is not None and outage.detection.day == detection.day:
                consequences.setdefault(outage, {}).setdefault(detection.finding, set()).add(detection.caller)
        if not causes and not any(
            (detection.caller, detection.day - timedelta(days=back)) in own for back in range(days)
        ):
            kept.append(detection)
    notes = {id(outage.detection): _consequences_note(callers) for outage, callers in consequences.items()}
    return [
        replace(detection, note=f"{detection.note}{notes[id(detection)]}") if id(detection) in notes else detection
        for detection in kept
    ]


def _without_doubled(detections: Sequence[Detection], counts: pl.DataFrame) -> list[Detection]:
    """Drop the counts of callers whose logs arrived twice, unless half of them would be too many, too."""
    copies = counts.filter(pl.col("signal") == "copy")
    doubled: set[tuple[date, str | None, str | None]] = set()
    for detection in detections:
        if detection.finding == "shipped_twice":
            doubled.add((detection.day, None, detection.scope))
            of_host = copies.filter(pl.col("day") == detection.day, pl.col("name") == (detection.scope or ""))
            doubled |= {(detection.day, caller, None) for caller in of_host["caller"]}

    def explained(detection: Detection) -> bool:
        whose = detection.day, detection.caller, None if detection.caller is not None else detection.scope
        most = 2 * LEAST_RATIO * (detection.expected or 0.0)
        return detection.finding not in _OF_WORDING and whose in doubled and (detection.observed or 0.0) <= most

    return [detection for detection in detections if detection.finding == "shipped_twice" or not explained(detection)]


def _without_fallen(detections: Sequence[Detection], counts: pl.DataFrame) -> Iterator[Detection]:
    """Drop a caller's lower rate of recovery if retries ran out within the week before.

    The retries are its own, or its provider's.
    """
    ran_out = [detection for detection in detections if detection.finding == "retries_exhausted"]
    chains = counts.filter(pl.col("signal") == "exhausted").select("name", "caller").unique().rows()
    exhausted_on = {
        (detection.day, detection.caller or caller)
        for detection in ran_out
        for name, caller in chains
        if detection.scope in {name, None}
    }
    for detection in detections:
        days = (detection.day - timedelta(days=back) for back in range(RECENT_DAYS))
        if detection.finding != "recovery_fell" or not any((day, detection.caller) in exhausted_on for day in days):
            yield detection


def _consequences_note(callers: Mapping[str, Collection[str]]) -> str:
    """Say how many callers of an outage do what because of it."""
    done = [
        f"{counted(len(callers[kind]), 'caller')} {words}"
        for kind, (_, words) in _CONSEQUENCES.items()
        if kind in callers
    ]
    return f"; {', '.join(done)}"


def _without_share_rises(rises: Iterable[Detection], shares: Iterable[Detection]) -> Iterable[Detection]:
    """Drop the rises of unknown errors of callers whose unknown share rose in the week before."""
    share_days = {(detection.caller, detection.day) for detection in shares if detection.finding in _SHARES}
    week = [timedelta(days=number) for number in range(RECENT_DAYS)]
    return (
        detection
        for detection in rises
        if detection.finding != "unknown_rate"
        or not any((detection.caller, detection.day - back) in share_days for back in week)
    )


def _unless_reported(detections: Iterable[Detection], is_reported: Callable[[Detection], bool]) -> Iterator[Detection]:
    """Drop the new messages that a wider finding reports on that day, unless they came before it."""
    begun: set[tuple[str | None, ...]] = set()
    for detection in detections:
        text = detection.finding, detection.caller, detection.template
        if text in begun or not is_reported(detection):
            begun.add(text)
            yield detection


def _without_reworded(
    detections: Sequence[Detection], wordings: Sequence[Detection], seen: Observations
) -> Iterator[Detection]:
    """Drop the detections that a change of wording accounts for, unless they came before it.

    Its texts are new messages no longer. If it makes most of the unknown errors of a caller, the
    shares of that caller are not reported from its first day up to a week after its last.
    """
    wording_days: dict[tuple[str | None, str | None], list[date]] = {}
    for detection in wordings:
        wording_days.setdefault((detection.template, detection.caller), []).append(detection.day)
    rises: dict[str | None, list[date]] = {}
    for detection in detections:
        if detection.finding in _OF_WORDING:
            rises.setdefault(detection.caller, []).append(detection.day)
    spans: dict[str | None, list[tuple[date, date]]] = {}
    for (template, _), days in wording_days.items():
        onset = min(detection.onset or detection.day for detection in wordings if detection.template == template)
        for caller in _callers_showing(seen, template, onset, max(days)):
            if not any(onset <= day < min(days) for day in rises.get(caller, ())):
                spans.setdefault(caller, []).append((min(days), max(days) + timedelta(days=RECENT_DAYS)))
    of_caller = {template: min(days) for (template, _), days in wording_days.items()}
    for detection in detections:
        if detection.finding in {"template", "shared_template"}:
            if detection.template in of_caller and detection.day >= of_caller[detection.template]:
                continue
        elif detection.finding in _OF_WORDING and any(
            a <= detection.day <= b for a, b in spans.get(detection.caller, ())
        ):
            continue
        yield detection


def _callers_showing(seen: Observations, template: str | None, first: date, last: date) -> list[str]:
    """Return the callers with the template in most of the sessions with unknown errors."""
    between = pl.col("day").is_between(first, last)
    own = seen.templates.filter(between & (pl.col("template") == template)).group_by("caller").agg(pl.sum("sessions"))
    every = seen.counts.filter(between).group_by("caller").agg(pl.sum("unknown_sessions_replayed"))
    most = pl.col("sessions") >= _MOST_SESSIONS * pl.col("unknown_sessions_replayed")
    return own.join(every, on="caller").filter(most)["caller"].to_list()


def _tested(frame: pl.DataFrame) -> dict[date, int]:
    """Count the units, such as callers, with anything to test on each day: each has a row."""
    return dict(frame.group_by("day").len().iter_rows())


def corrected(detections: Iterable[Detection], tested: dict[date, int]) -> Iterable[Detection]:
    """Yield the detections that remain after a correction for all units tested on their day.

    Those without a p-value stay.
    """
    nights: dict[date, list[Detection]] = {}
    for detection in detections:
        if detection.p_value is None:
            yield detection
        else:
            nights.setdefault(detection.day, []).append(detection)
    for day, tested_together in nights.items():
        passed = [detection.p_value or 0.0 for detection in tested_together]
        q_values = false_discovery([*passed, *[1.0] * max(0, tested.get(day, 0) - len(tested_together))])
        for detection, q_value in zip(tested_together, q_values, strict=False):
            if q_value <= FALSE_DISCOVERY_RATE:
                yield replace(detection, q_value=q_value)
