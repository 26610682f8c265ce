"""All tests over one history: each day is judged from that day and the days before it alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection import Detection, Settings, relay_frequency
from analyzer.analysis.detection.detection import RECENT_DAYS, detections_in
from analyzer.analysis.detection.hours import hour_rises
from analyzer.analysis.detection.new_messages import shared_templates, weak_templates
from analyzer.analysis.detection.rewordings import reworded
from analyzer.analysis.detection.signals.relays import many_relays
from analyzer.analysis.detection.signals.retries import retry_changes
from analyzer.analysis.detection.signals.rises import signals
from analyzer.analysis.detection.signals.silence import silences
from analyzer.analysis.detection.statistics.tails import false_discovery
from analyzer.analysis.detection.volume_units import exposures, since_newest
from analyzer.analysis.detection.volumes import OUTAGES, Explained, volumes
from analyzer.analysis.detector_state import resumed_detections
from analyzer.analysis.kinds.bursts import longest_bursts
from analyzer.analysis.kinds.finding import KINDS, SHARE
from analyzer.analysis.kinds.reason_mixes import mix_changes
from analyzer.analysis.observations import Observations, exposed

FALSE_DISCOVERY_RATE = 0.01
"""Over what one test says of all callers on the same day."""
_SHARES = {name for name, kind in KINDS.items() if kind.family == SHARE}
_RISES = _SHARES | {"volume", "unknown_rate"}
"""The rises of single callers."""
_OF_WORDING = _SHARES | {"unknown_rate", "reasons"}
"""What a change of wording does to the caller of the errors."""
_CONSEQUENCES = {"reasons", "recovery_fell"}
"""What a rise of errors, or an outage, brings with it."""
_MOST_SESSIONS = 0.5
"""Part of a caller's sessions with unknown errors from which on one text is what its rise is made of."""


def detections(seen: Observations, settings: Settings | None = None) -> list[Detection]:
    """Run all tests over one history and give their detections, in the order of the days."""
    chosen = settings or Settings()
    shares = resumed_detections(seen, chosen)
    mixes = corrected(mix_changes(seen), _tested(seen.counts))
    retries = corrected(retry_changes(seen.chains), _tested(seen.chains))
    work = exposures(seen.work, seen.counts, seen.versions)
    explained: Explained = set()
    hours = hour_rises(seen.hourly_volumes, since_newest(seen.hourly_work, seen.versions), explained, chosen)
    rises = detections_in(volumes(seen.volumes, work, chosen, explained=explained))
    # Hours are told where the day as a whole does not show it.
    by_day = {(one.finding, one.caller, one.scope, one.day) for one in rises}
    rises = [*(one for one in hours if (one.finding, one.caller, one.scope, one.day) not in by_day), *rises]
    hit = _hit(rises, seen.volumes)
    shared = detections_in(shared_templates(seen.templates, work, chosen))
    weak = detections_in(weak_templates(seen.known_templates, seen.templates, seen.counts, work, chosen))
    wordings = detections_in(reworded(seen.templates, seen.rules, work, seen.volumes, chosen))
    found = [
        *_without_shared(shares, shared),
        *shared,
        *(one for one in weak if (one.caller, one.scope, one.day) not in hit),
        *_without_share_rises(rises, shares),
        *longest_bursts(seen),
        *_without_explained(mixes, [*shares, *rises], hit),
    ]
    hand_offs = exposed(seen)
    found = [
        *_without_reworded(found, wordings, seen),
        *wordings,
        *corrected(detections_in(relay_frequency(hand_offs)), _tested(seen.relays)),
        *detections_in(many_relays(hand_offs)),
        *_without_explained(retries, rises, hit),
        *signals(seen.signals),
        *silences(since_newest(seen.hourly_work, seen.versions)),
    ]
    return sorted(found, key=lambda one: one.day)


def _hit(rises: Iterable[Detection], volumes: pl.DataFrame) -> set[tuple[str, str, date]]:
    """The callers and reasons that an outage speaks for, with the days of the week behind each of its days."""
    hit: set[tuple[str, str, date]] = set()
    names = {finding: name for name, finding in OUTAGES.items()}
    for one in rises:
        if (what := names.get(one.finding)) is None:
            continue
        reason = one.scope if what == "fleet" else one.reason
        days = pl.col("day").is_between((one.onset or one.day), one.day)
        own = volumes.filter(
            days & (pl.col("reason") == reason), *([] if what == "fleet" else [pl.col(what) == one.scope])
        )
        for caller in own["caller"].unique():
            hit.update((caller, str(reason), one.day + timedelta(days=number)) for number in range(RECENT_DAYS))
    return hit


def _without_explained(
    found: Iterable[Detection], rises: Iterable[Detection], hit: Iterable[tuple[str, str, date]]
) -> Iterable[Detection]:
    """Drop what follows from a rise: another mix of reasons, and retries that recover less, of a caller that had one
    in the week before or was hit by an outage then.
    """
    week = [timedelta(days=number) for number in range(RECENT_DAYS)]
    days = {(one.caller, one.day + more) for one in rises if one.finding in _RISES for more in week}
    days |= {(caller, day) for caller, _, day in hit}
    return (one for one in found if one.finding not in _CONSEQUENCES or (one.caller, one.day) not in days)


def _without_share_rises(rises: Iterable[Detection], shares: Iterable[Detection]) -> Iterable[Detection]:
    """Drop the rises of unknown errors where the unknown share of the same caller rose within the week before."""
    known = {(one.caller, one.day) for one in shares if one.finding in _SHARES}
    week = [timedelta(days=number) for number in range(RECENT_DAYS)]
    return (
        one
        for one in rises
        if one.finding != "unknown_rate" or not any((one.caller, one.day - back) in known for back in week)
    )


def _without_shared(shares: Iterable[Detection], shared: Iterable[Detection]) -> Iterable[Detection]:
    """Drop a caller's new-message detection where the fleet's reports the same template on that day."""
    known = {(one.template, one.day) for one in shared}
    return (one for one in shares if one.finding != "template" or (one.template, one.day) not in known)


def _without_reworded(
    found: Sequence[Detection], wordings: Sequence[Detection], seen: Observations
) -> Iterator[Detection]:
    """Drop the detections that a change of wording accounts for, unless they came before it.

    Its texts are new messages no longer; the shares and mixes of callers that it makes most of the unknown errors of
    are not told from its first day up to a week after its last.
    """
    told: dict[tuple[str | None, str | None], list[date]] = {}
    for one in wordings:
        told.setdefault((one.template, one.caller), []).append(one.day)
    rises: dict[str | None, list[date]] = {}
    for one in found:
        if one.finding in _OF_WORDING:
            rises.setdefault(one.caller, []).append(one.day)
    spans: dict[str | None, list[tuple[date, date]]] = {}
    for (template, _), days in told.items():
        onset = min(one.onset or one.day for one in wordings if one.template == template)
        for caller in _callers_showing(seen, template, onset, max(days)):
            if not any(onset <= day < min(days) for day in rises.get(caller, ())):
                spans.setdefault(caller, []).append((min(days), max(days) + timedelta(days=RECENT_DAYS)))
    of_caller = {template: min(days) for (template, _), days in told.items()}
    for one in found:
        if one.finding in {"template", "shared_template"}:
            if one.template in of_caller and one.day >= of_caller[one.template]:
                continue
        elif one.finding in _OF_WORDING and any(a <= one.day <= b for a, b in spans.get(one.caller, ())):
            continue
        yield one


def _callers_showing(seen: Observations, template: str | None, first: date, last: date) -> list[str]:
    """The callers where most of the sessions with unknown errors show the template."""
    between = pl.col("day").is_between(first, last)
    own = seen.templates.filter(between & (pl.col("template") == template)).group_by("caller").agg(pl.sum("sessions"))
    every = seen.counts.filter(between).group_by("caller").agg(pl.sum("unknown_sessions_replayed"))
    most = pl.col("sessions") >= _MOST_SESSIONS * pl.col("unknown_sessions_replayed")
    return own.join(every, on="caller").filter(most)["caller"].to_list()


def _tested(frame: pl.DataFrame) -> dict[date, int]:
    """The number of units, such as callers, that had anything to test on each day: there is a row for each."""
    return dict(frame.group_by("day").len().iter_rows())


def corrected(found: Iterable[Detection], tested: dict[date, int]) -> Iterable[Detection]:
    """The detections that are left by a correction for all units tested on their day; those without a p-value stay."""
    nights: dict[date, list[Detection]] = {}
    for one in found:
        if one.p_value is None:
            yield one
        else:
            nights.setdefault(one.day, []).append(one)
    for day, ones in nights.items():
        passed = [one.p_value or 0.0 for one in ones]
        q_values = false_discovery([*passed, *[1.0] * max(0, tested.get(day, 0) - len(ones))])
        for one, q_value in zip(ones, q_values, strict=False):
            if q_value <= FALSE_DISCOVERY_RATE:
                yield replace(one, q_value=q_value)
