"""What was told, held against what happened: a tally a history, and tables of many with intervals.

An alarm is a finding from the night on which it is a warning first, until it is one no more; if it comes back, that is
another. It belongs to an incident if it opens between the onset and a week after the end, and names nothing that the
incident does not touch. The incident is found if one of its alarms opens by the night after the end at the latest; it
has the right name if the gravest of the first such night does. One that was open before the onset, and gets graver
within that time, is false and an alarm of the incident, too: it is told anew. An alarm that belongs to no incident is
false. It is counted by 1,000 quiet caller-days: days of callers with sessions in which no incident has a part, nor the
week after.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from benchmarks.alarms.nights import Told
from benchmarks.alarms.truth import AFTERMATH_DAYS, DIMENSIONS, History, Incident

LEAST_SESSIONS = 5
"""An incident that changed fewer sessions is neither a hit nor a miss, and its alarms are not false."""
_DRAWS = 1000


@dataclass(slots=True)
class Alarm:
    """One finding while it is a warning."""

    first: Told
    place: int
    """Among the findings of its first night, the gravest first."""
    last: int
    worse: list[Told] = field(default_factory=list)
    """The later nights on which it got graver."""


@dataclass(slots=True)
class Case:
    """What became of one incident."""

    kind: str
    strength: str
    found: bool
    delay: int = 0
    """Nights from the onset to the first alarm."""
    alarms: int = 0
    named: bool = False
    closed: bool | None = None
    """Whether all its alarms were over two nights after its end; None where that cannot be said."""
    first: str = ""
    """The sentence of its first alarm."""


@dataclass(slots=True)
class Tally:
    """What one detector made of one history."""

    history: str
    detector: str
    cases: list[Case] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    quiet_days: int = 0
    """Caller-days."""
    seconds: float = 0.0
    """Processor time of the nights."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Tally:
        """As it was before `to_dict`."""
        return cls(**{**kept, "cases": [Case(**each) for each in kept["cases"]]})


def tally(history: History, detector: str, told: Sequence[Told]) -> Tally:
    """Holds what was told of a history against what happened in it."""
    alarms = _alarms(told)
    own: dict[int, list[Alarm]] = defaultdict(list)
    made = Tally(history.name, detector)
    for alarm in alarms:
        places = [place for place, one in enumerate(history.incidents) if _belongs(history, one, alarm)]
        for place in places:
            own[place].append(alarm)
        if not places:
            made.false.append(f"day {alarm.first.day}, {alarm.first.kind}: {alarm.first.sentence}")
            for graver in (Alarm(told, 0, alarm.last) for told in alarm.worse):
                for place, one in enumerate(history.incidents):
                    own[place] += [graver] if _belongs(history, one, graver) else []
    for place, one in enumerate(history.incidents):
        if one.sessions >= LEAST_SESSIONS:
            made.cases.append(_case(history, one, own[place]))
    for caller, sessions in history.sessions.items():
        for day in range(history.judged_from, len(sessions)):
            made.quiet_days += sessions[day] > 0 and not any(
                caller in one.touched["caller"] and history.day(one.onset) <= day <= _over(history, one)
                for one in history.incidents
            )
    return made


def _over(history: History, incident: Incident) -> int:
    return history.last_day(incident) + AFTERMATH_DAYS


def _alarms(told: Iterable[Told]) -> list[Alarm]:
    alarms: list[Alarm] = []
    running: dict[str, Alarm] = {}
    places: dict[int, int] = defaultdict(int)
    for one in told:
        place = places[one.day]
        places[one.day] += 1
        known = running.get(one.id)
        if not one.loud:
            continue
        if known and one.day - known.last <= 1:
            known.last = one.day
            known.worse += [one] if one.worse else []
        else:
            running[one.id] = Alarm(one, place, one.day)
            alarms.append(running[one.id])
    return alarms


def _belongs(history: History, incident: Incident, alarm: Alarm) -> bool:
    if not history.day(incident.onset) <= alarm.first.day <= _over(history, incident):
        return False
    scope = alarm.first.scope
    return all(scope[each] in incident.touched[each] for each in DIMENSIONS if each in scope)


def _case(history: History, incident: Incident, own: list[Alarm]) -> Case:
    first, last = history.day(incident.onset), history.last_day(incident)
    hits = [alarm for alarm in own if alarm.first.day <= last + 1]
    case = Case(incident.kind, incident.strength, bool(hits), alarms=len(own))
    if not hits:
        return case
    gravest = min(hits, key=lambda alarm: (alarm.first.day, alarm.place))
    case.delay, case.first = gravest.first.day - first, gravest.first.sentence
    case.named = named(incident, gravest.first)
    if last + 2 < len(history.files):
        # Nights on which nobody of the incident had a session say nothing of whether it is over.
        heard = [
            day
            for day in range(last + 1, len(history.files))
            if any(history.sessions[caller][day] for caller in incident.touched["caller"])
        ]
        if len(heard) > 1:
            case.closed = all(alarm.last < heard[1] for alarm in own)
    return case


def named(incident: Incident, told: Told) -> bool:
    """Whether a finding says whose trouble it is, and what."""
    whose = set(told.scope.values()) if any(each in told.scope for each in DIMENSIONS) else {""}
    said = any(name and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told.sentence) for name in incident.names)
    what = f"{told.kind} {told.scope.get('reason', '')} {told.sentence}"
    return (said or bool(whose & incident.names)) and bool(re.search(incident.words, what, re.IGNORECASE))


Figure = Callable[[Sequence[Tally]], float | None]


def _share(cases: Iterable[bool]) -> float | None:
    values = list(cases)
    return sum(values) / len(values) if values else None


def recall(tallies: Sequence[Tally]) -> float | None:
    """The share of incidents that were found."""
    return _share(case.found for each in tallies for case in each.cases)


def false_rate(tallies: Sequence[Tally]) -> float | None:
    """False alarms per 1,000 quiet caller-days."""
    days = sum(each.quiet_days for each in tallies)
    return 1000 * sum(len(each.false) for each in tallies) / days if days else None


def alarms_an_incident(tallies: Sequence[Tally]) -> float | None:
    """Alarms of an incident that was found."""
    found = [case.alarms for each in tallies for case in each.cases if case.found]
    return sum(found) / len(found) if found else None


def right_name(tallies: Sequence[Tally]) -> float | None:
    """The share of found incidents that had the right name."""
    return _share(case.named for each in tallies for case in each.cases if case.found)


def closed_in_time(tallies: Sequence[Tally]) -> float | None:
    """The share of found incidents that were over two nights after their end."""
    return _share(case.closed for each in tallies for case in each.cases if case.found and case.closed is not None)


def interval(tallies: Sequence[Tally], figure: Figure) -> tuple[float, float] | None:
    """The middle 95 % of a figure over histories drawn with replacement."""
    random = Random("interval")  # noqa: S311 - no secret
    drawn = (figure(random.choices(tallies, k=len(tallies))) for _ in range(_DRAWS))
    values = sorted(value for value in drawn if value is not None)
    return (values[int(0.025 * len(values))], values[int(0.975 * len(values))]) if values else None


def cell(tallies: Sequence[Tally], figure: Figure) -> str:
    """A figure with its interval."""
    value = figure(tallies)
    if value is None:
        return "-"
    low, high = interval(tallies, figure) or (value, value)
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


_FIGURES: dict[str, Figure] = {
    "recall": recall,
    "false / 1,000": false_rate,
    "an incident": alarms_an_incident,
    "right name": right_name,
    "closed in time": closed_in_time,
}
OURS = "the product"


def narrowed(tallies: Sequence[Tally], holds: Callable[[Case], bool]) -> list[Tally]:
    """The tallies with some of their incidents."""
    return [
        Tally(each.history, each.detector, [case for case in each.cases if holds(case)], each.false, each.quiet_days)
        for each in tallies
    ]


def table(tallies: Sequence[Tally]) -> Iterable[str]:
    """Lines: one a detector, then, of the product, the cases with a target, strengths and kinds."""
    by_detector: dict[str, list[Tally]] = defaultdict(list)
    for each in tallies:
        by_detector[each.detector].append(each)
    yield _line("", _FIGURES)
    for name, own in by_detector.items():
        # A rival has no words for what went wrong.
        shown = [figure for figure in _FIGURES.values() if name == OURS or figure is not right_name]
        cells = [cell(own, figure) for figure in shown]
        yield _line(name, cells if name == OURS else (*cells[:3], "-", *cells[3:]))
    own = by_detector[OURS]
    cases = [case for each in own for case in each.cases]
    nights = sum(each.seconds for each in own)
    yield ""
    yield f"{len(own)} histories, {len(cases)} incidents, {sum(each.quiet_days for each in own):,} quiet caller-days"
    yield f"{nights / max(1, len(own)):.1f} CPU s a history"
    yield ""
    yield _line("of the product", ("incidents", "recall", "an incident", "right name", "closed in time"))
    rows: list[tuple[str, Callable[[Case], bool]]] = [
        ("outages of 2 h at 50 % or more", lambda case: case.kind == "outage of 2 h" and case.strength != "weak"),
        ("silence", lambda case: "silent" in case.kind),
    ]
    rows += [(strength, lambda case, s=strength: case.strength == s) for strength in ("weak", "medium", "strong")]
    rows += [(kind, lambda case, k=kind: case.kind == k) for kind in dict.fromkeys(case.kind for case in cases)]
    for name, holds in rows:
        some = narrowed(own, holds)
        number = sum(len(each.cases) for each in some)
        shown = (recall, alarms_an_incident, right_name, closed_in_time)
        yield _line(name, (str(number), *(cell(some, figure) for figure in shown)))


def _line(name: str, cells: Iterable[str]) -> str:
    return f"{name:36}" + "".join(f"{each:>24}" for each in cells)
