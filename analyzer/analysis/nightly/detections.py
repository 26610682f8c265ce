"""All tests over one history: each day is judged from that day and the days before it alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection import Detection, Settings, detect, relay_frequency
from analyzer.analysis.detection.detection import RECENT_DAYS, detections_in
from analyzer.analysis.detection.hours import hour_rises
from analyzer.analysis.detection.naming import UNKNOWN
from analyzer.analysis.detection.new_messages import shared_templates, weak_templates
from analyzer.analysis.detection.rewordings import reworded
from analyzer.analysis.detection.signals.relays import MANY_RELAYS, many_relays
from analyzer.analysis.detection.signals.retries import retry_changes
from analyzer.analysis.detection.signals.rises import signals
from analyzer.analysis.detection.signals.silence import silences
from analyzer.analysis.detection.signals.versions import worse_versions
from analyzer.analysis.detection.statistics.tails import false_discovery
from analyzer.analysis.detection.volume_units import exposures, since_newest
from analyzer.analysis.detection.volumes import OUTAGES, SHARED, Explained, volumes
from analyzer.analysis.kinds.finding import KINDS, SHARE
from analyzer.analysis.kinds.messages import longest_bursts
from analyzer.analysis.observations import Observations, exposed, over_midnight

FALSE_DISCOVERY_RATE = 0.01
"""Over what one test says of all callers on the same day."""
_SHARES = {name for name, kind in KINDS.items() if kind.family == SHARE}
_RISES = _SHARES | {"volume", "unknown_rate"}
"""The rises of single callers."""
_OF_WORDING = _SHARES | {"unknown_rate"}
"""What a change of wording does to the caller of the errors."""
_CONSEQUENCES = {
    "waits_grow": (3, "wait longer for retries"),
    "recovery_fell": (RECENT_DAYS, "recover less by retries"),
    "relays": (2, "hand off more often"),
    "compactions": (2, "compact more often"),
    "retries_exhausted": (2, "run out of retries"),
    "sessions_aborted": (2, "are stopped more often"),
    "sessions_unanswered": (2, "end without an answer"),
}
"""What a rise of errors, or an outage, brings with it: for so many days, and what callers do then."""
_NEARLY_ALL = 0.8
"""Part of the errors of a rise from which on an outage accounts for it."""
_MOST_SESSIONS = 0.5
"""Part of a caller's sessions with unknown errors from which on one text is what its rise is made of."""


def detections(seen: Observations, settings: Settings | None = None) -> list[Detection]:
    """Run all tests over one history and give their detections, in the order of the days."""
    chosen = settings or Settings()
    shares = detections_in(detect(seen.counts, seen.templates, chosen))
    retries = corrected(retry_changes(seen.chains), _tested(seen.chains))
    work = exposures(seen.work, seen.counts, seen.versions)
    explained: Explained = set()
    hours = hour_rises(seen.hourly_volumes, since_newest(seen.hourly_work, seen.versions), explained, chosen)
    rises = detections_in(volumes(seen.volumes, work, chosen, explained=explained))
    # Hours are told where the day as a whole does not show it.
    by_day = {(one.finding, one.caller, one.scope, one.day) for one in rises}
    rises = [*(one for one in hours if (one.finding, one.caller, one.scope, one.day) not in by_day), *rises]
    rises = list(_without_narrower(_on_days_with_errors(rises, seen.volumes), seen.volumes))
    outages = [_Outage.of(one, seen.volumes) for one in rises if one.finding in _WIDTHS]
    hit = {each for outage in outages for each in outage.hits()}
    shared = detections_in(shared_templates(seen.templates, work, chosen))
    weak = detections_in(weak_templates(seen.known_templates, seen.templates, seen.counts, work, chosen))
    of_fleet = {(one.template, one.day) for one in shared}
    wordings = detections_in(reworded(seen.templates, seen.rules, work, seen.volumes, chosen))
    found = [
        *_unless_told(shares, lambda one: one.finding == "template" and (one.template, one.day) in of_fleet),
        *shared,
        *_unless_told(weak, lambda one: (one.caller, one.scope, one.day) in hit),
        *_without_share_rises(rises, shares),
        *longest_bursts(seen),
    ]
    hand_offs = exposed(seen)
    found = [
        *_without_reworded(found, wordings, seen),
        *wordings,
        *corrected(detections_in(relay_frequency(hand_offs)), _tested(seen.relays)),
        *detections_in(many_relays(over_midnight(seen, hand_offs, MANY_RELAYS))),
        *retries,
        *signals(seen.signals, seen.work),
        *worse_versions(seen.signals),
        *silences(since_newest(seen.hourly_work, seen.versions)),
    ]
    found = _without_consequences(found, shares, outages)
    found = list(_without_fallen(found, seen.signals))
    return sorted(found, key=lambda one: one.day)


@dataclass(frozen=True, slots=True)
class _Outage:
    """One day of an outage, and whom it hit."""

    one: Detection
    callers: frozenset[str]
    providers: frozenset[str]

    @classmethod
    def of(cls, one: Detection, volumes: pl.DataFrame) -> _Outage:
        """Those with its errors on its days."""
        own = volumes.filter(pl.col("day").is_between(one.onset or one.day, one.day), *_about(one))
        return cls(one, frozenset(own["caller"]), frozenset(own["provider"]))

    def has_hit(self, one: Detection) -> bool:
        """Whether it hit the caller of a detection, or its provider where that is of none."""
        return one.scope in self.providers if one.caller is None else one.caller in self.callers

    def hits(self) -> Iterator[tuple[str, str, date]]:
        """The callers, its reason, and the days of the week behind it."""
        for number in range(RECENT_DAYS):
            yield from ((caller, _reason(self.one), self.one.day + timedelta(days=number)) for caller in self.callers)


_WIDTHS = {finding: width for width, finding in enumerate(reversed(OUTAGES.values()), 1)}
"""The outages, the narrowest first."""


def _reason(one: Detection) -> str:
    """The reason of a rise of errors; empty where it is of all."""
    if one.finding == "unknown_rate":
        return UNKNOWN
    return (one.scope if one.finding == OUTAGES["fleet"] else one.reason) or ""


def _about(one: Detection) -> list[pl.Expr]:
    """Which rows of `detection-volume` a rise is about, whatever their day."""
    named = [pl.col("reason") == reason] if (reason := _reason(one)) else []
    named += [pl.col(what) == one.scope for what in SHARED if one.finding == OUTAGES[what]]
    return named if one.caller is None else [*named, pl.col("caller") == one.caller]


def _on_days_with_errors(rises: Iterable[Detection], volumes: pl.DataFrame) -> list[Detection]:
    """Drop the rises without an error of theirs on their own day: the span of the test went on after the last one."""
    of_day = volumes.partition_by("day", as_dict=True)
    return [one for one in rises if not of_day.get((one.day,), volumes.clear()).filter(*_about(one)).is_empty()]


def _without_narrower(rises: Sequence[Detection], volumes: pl.DataFrame) -> Iterator[Detection]:
    """Drop the rises that a wider one of the same days and reason accounts for."""
    outages = [one for one in rises if one.finding in _WIDTHS]
    for one in rises:
        wider = [
            other
            for other in outages
            if _WIDTHS[other.finding] > _WIDTHS.get(one.finding, 0)
            and (other.onset or other.day) <= one.day <= other.day
            and _reason(other) == _reason(one)
        ]
        own = volumes.filter(pl.col("day") == one.day, *_about(one)) if wider else volumes.clear()
        least = _NEARLY_ALL * int(own["groups"].sum())
        if not any(int(own.filter(_about(other))["groups"].sum()) >= least for other in wider):
            yield one


def _without_consequences(
    found: Sequence[Detection], shares: Iterable[Detection], outages: Sequence[_Outage]
) -> list[Detection]:
    """Drop what follows from a rise of the same caller or an outage that hit it, and count that with the outage."""
    own = {(one.caller, one.day) for one in (*found, *shares) if one.finding in _RISES}
    kept: list[Detection] = []
    behind: dict[_Outage, dict[str, set[str]]] = {}
    for one in found:
        days, _ = _CONSEQUENCES.get(one.finding, (0, ""))
        of = [each for each in outages if 0 <= (one.day - each.one.day).days < days and each.has_hit(one)]
        for each in of:
            if one.caller is not None and each.one.day == one.day:
                behind.setdefault(each, {}).setdefault(one.finding, set()).add(one.caller)
        if not of and not any((one.caller, one.day - timedelta(days=back)) in own for back in range(days)):
            kept.append(one)
    notes = {id(each.one): _told_behind(callers) for each, callers in behind.items()}
    return [replace(one, note=f"{one.note}{notes[id(one)]}") if id(one) in notes else one for one in kept]


def _without_fallen(found: Sequence[Detection], counts: pl.DataFrame) -> Iterator[Detection]:
    """Drop a caller's lower rate of recovery where its retries, or its provider's, ran out within the week before."""
    ran_out = [one for one in found if one.finding == "retries_exhausted"]
    chains = counts.filter(pl.col("signal") == "exhausted").select("name", "caller").unique().rows()
    told = {(one.day, one.caller or caller) for one in ran_out for name, caller in chains if one.scope in {name, None}}
    for one in found:
        days = (one.day - timedelta(days=back) for back in range(RECENT_DAYS))
        if one.finding != "recovery_fell" or not any((day, one.caller) in told for day in days):
            yield one


def _told_behind(callers: Mapping[str, Collection[str]]) -> str:
    """What the callers of an outage do by it."""
    done = [f"{len(callers[kind])} {words}" for kind, (_, words) in _CONSEQUENCES.items() if kind in callers]
    return f", of which {', '.join(done)}"


def _without_share_rises(rises: Iterable[Detection], shares: Iterable[Detection]) -> Iterable[Detection]:
    """Drop the rises of unknown errors where the unknown share of the same caller rose within the week before."""
    known = {(one.caller, one.day) for one in shares if one.finding in _SHARES}
    week = [timedelta(days=number) for number in range(RECENT_DAYS)]
    return (
        one
        for one in rises
        if one.finding != "unknown_rate" or not any((one.caller, one.day - back) in known for back in week)
    )


def _unless_told(found: Iterable[Detection], told: Callable[[Detection], bool]) -> Iterator[Detection]:
    """Drop the new messages that a wider finding tells on that day, unless they were found before it."""
    begun: set[tuple[str | None, ...]] = set()
    for one in found:
        text = one.finding, one.caller, one.template
        if text in begun or not told(one):
            begun.add(text)
            yield one


def _without_reworded(
    found: Sequence[Detection], wordings: Sequence[Detection], seen: Observations
) -> Iterator[Detection]:
    """Drop the detections that a change of wording accounts for, unless they came before it.

    Its texts are new messages no longer; the shares of callers that it makes most of the unknown errors of are not
    told from its first day up to a week after its last.
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
