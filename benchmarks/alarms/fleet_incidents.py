"""What goes wrong in the invented fleets: one row a kind, at three strengths, and where and when it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any

from benchmarks.alarms import fleet_texts
from benchmarks.alarms.fleet import Caller, Effect, Fleet
from benchmarks.alarms.truth import AFTERMATH_DAYS, DIMENSIONS, STRENGTHS, History, Incident

FIRST_DAY = date(2026, 3, 2)
LEAST = 6.0
"""Sessions or events that an incident changes at least, on average: what is less than that nobody has to hear of."""
_TRIES = 60
_FLEETS = 15
"""Fleets that are drawn until one has a place for all that is to happen."""
_OUTAGE = "outage|network_transient|overload|unavailable|server error"
_DAY = 24.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of incident."""

    scope: str
    """Whom it hits: a dimension, or a special choice of `_Place`."""
    hours: tuple[float, float, float]
    """How long it lasts, by strength."""
    doses: tuple[float, float, float]
    make: Callable[[float], dict[str, Any]]
    """The fields of the effect of a dose."""
    words: str
    grows: str = ""
    """What there is more of: the key of `Effect.more`."""
    starts: str = "any"
    """`work` is a working hour of a weekday, `midnight` the evening before one, `saturday` the start of a weekend."""


def _fails(reason: str, form: str = "", **more: Any) -> Callable[[float], dict[str, Any]]:
    return lambda dose: {"fails": dose, "reason": reason, "form": form, **more}


def _grows(name: str, **more: Any) -> Callable[[float], dict[str, Any]]:
    return lambda dose: {"more": {name: dose}, **more}


KINDS = {
    "outage of 2 h": Kind("provider", (2, 2, 2), (0.3, 0.5, 0.9), _fails("network_transient"), _OUTAGE, starts="work"),
    "outage of 4 h": Kind("provider", (4, 4, 4), (0.3, 0.5, 0.9), _fails("network_transient"), _OUTAGE),
    "outage over midnight": Kind(
        "provider", (3, 3, 3), (0.3, 0.5, 0.9), _fails("network_transient"), _OUTAGE, starts="midnight"
    ),
    "partial outage": Kind("half", (3, 5, 6), (0.25, 0.4, 0.7), _fails("network_transient"), _OUTAGE),
    "model retired": Kind(
        "model", (30, 48, 72), (0.4, 0.7, 1.0), _fails("network_permanent"), "network_permanent|not.found|model_outage"
    ),
    "key of all expired": Kind("provider", (3, 8, 20), (0.6, 0.9, 1.0), _fails("auth_error"), "auth"),
    "key of one expired": Kind("caller", (8, 20, 30), (0.6, 0.9, 1.0), _fails("auth_error"), "auth"),
    "rate limits grow": Kind(
        "provider", (48, 72, 96), (2.5, 4, 8), _grows("rate_limited"), "rate.?limit", "rate_limited"
    ),
    "quota used up": Kind(
        "project", (12, 24, 40), (0.4, 0.7, 1.0), _fails("auth_error", "quota"), "quota|auth|billing"
    ),
    "network flaky": Kind(
        "host", (24, 36, 48), (3, 5, 10), _grows("network_transient"), _OUTAGE + "|network", "network_transient"
    ),
    "contexts overflow": Kind(
        "caller", (72, 96, 120), (4, 8, 14), _grows("context_overflow"), "context", "context_overflow"
    ),
    "tool breaks": Kind("tool", (48, 72, 72), (0.25, 0.5, 0.9), lambda dose: {"tool_fails": dose}, "tool"),
    "waits grow": Kind("provider", (72, 72, 72), (3, 6, 12), lambda dose: {"waits": dose}, "wait|slow"),
    "retries stop helping": Kind(
        "provider", (72, 96, 96), (0.5, 0.3, 0.05), lambda dose: {"chains_recover": dose}, "recover|retr|exhaust"
    ),
    "retry storm": Kind(
        "caller", (24, 48, 48), (10, 16, 30), lambda dose: {"attempts": round(dose)}, "retr|attempt|wait"
    ),
    "caller silent": Kind(
        "service", (26, 48, 96), (1, 1, 1), lambda _: {"silent": True}, "silen|no session|fewer|heard|stopped"
    ),
    "host silent": Kind(
        "host", (14, 24, 48), (1, 1, 1), lambda _: {"silent": True}, "silen|no session|fewer|heard|stopped"
    ),
    "shipped twice": Kind(
        "host", (24, 48, 72), (0.4, 0.7, 1.0), lambda dose: {"copies": dose}, "twice|doubl|duplic|more sessions"
    ),
    "deploy breaks": Kind("caller", (48, 72, 96), (0.12, 0.25, 0.6), _fails("validation", "new"), "validation"),
    "error reworded": Kind(
        "provider", (500, 500, 500), (1, 1, 1), lambda _: {"reason": "rate_limited"}, "word|message|template|unknown"
    ),
    "weekend": Kind("provider", (48, 48, 48), (0.2, 0.4, 0.8), _fails("network_transient"), _OUTAGE, starts="saturday"),
    "slow creep": Kind(
        "caller", (330, 330, 330), (3, 5, 8), _grows("validation", ramp=True), "validation", "validation"
    ),
    "version worse": Kind(
        "agent_version", (72, 96, 120), (4, 7, 12), _grows("tool_not_found"), "tool_not_found", "tool_not_found"
    ),
    "hand-offs multiply": Kind("caller", (48, 72, 96), (5, 9, 18), _grows("relays"), "hand.?off|relay", "relays"),
    "sessions aborted": Kind("caller", (48, 72, 96), (5, 9, 18), _grows("aborts"), "abort|stopped", "aborts"),
    "clock wrong": Kind(
        "host", (24, 30, 48), (5, 9, 40), lambda dose: {"skew": timedelta(hours=dose)}, "clock|skew|future|timestamp"
    ),
    "one project": Kind("project", (30, 48, 72), (4, 7, 12), _grows("validation"), "validation", "validation"),
    "unknown errors": Kind("caller", (24, 30, 48), (0.15, 0.3, 0.6), _fails("unknown"), "unknown|spike|message"),
    "empty sessions": Kind(
        "caller", (24, 48, 72), (0.3, 0.6, 0.9), lambda dose: {"empty": dose}, "empty|no request|do nothing|did nothing"
    ),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an incident happens: a part of the fleet, and whose trouble that is."""

    where: dict[str, frozenset[str]]
    names: frozenset[str]
    callers: list[Caller]
    tool: str = ""


def _place(fleet: Fleet, random: Random, scope: str, kind: str, day: int) -> _Place:
    """A part of the fleet of this scope; one that is busy is as likely as its share of the work."""
    alive = [each for each in fleet.callers if fleet.expected(each, day) > 0 and each.seen]
    if not alive:
        alive = fleet.callers
    usable = [each for each in alive if not each.person] or alive if scope == "service" else alive
    caller = random.choices(usable, [each.daily for each in usable])[0]
    if kind == "hand-offs multiply":
        caller.relays = max(caller.relays, 0.03)
    if kind == "sessions aborted":
        caller.aborts = max(caller.aborts, 0.05)
    if scope in {"caller", "service"}:
        return _Place({"caller": frozenset({caller.name})}, frozenset({caller.name}), [caller])
    if scope == "tool":
        tool = random.choice(caller.tools)
        users = [each for each in fleet.callers if tool in each.tools]
        return _Place({"caller": frozenset(each.name for each in users)}, frozenset({tool}), users, tool)
    if scope == "agent_version":
        version = fleet.version(caller, day)
        users = [each for each in fleet.callers if each.agent == caller.agent]
        return _Place({"agent_version": frozenset({version})}, frozenset({version}), users)
    if scope == "model":
        name = caller.models[0]
        users = [each for each in fleet.callers if each.models[0] == name]
        return _Place({"model": frozenset({name})}, frozenset({name}), users)
    dimension = "provider" if scope == "half" else scope
    name = getattr(caller, dimension)
    users = [each for each in fleet.callers if getattr(each, dimension) == name]
    where = {dimension: frozenset({name})}
    if scope == "half":
        users = random.sample(users, max(1, round(len(users) / 2)))
        where["caller"] = frozenset(each.name for each in users)
    names = {name}
    if scope == "host" and len(fleet.hosts) == 1:
        names.add("")
    return _Place(where, frozenset(names), users)


def _volume(fleet: Fleet, callers: Iterable[Caller], start: datetime, end: datetime) -> float:
    """The sessions of some callers that begin in a span of time, on average."""
    total = 0.0
    for caller in callers:
        whole, moment = sum(caller.hours), start.replace(minute=0, second=0, microsecond=0)
        while moment < end:
            day = (moment.date() - fleet.first_day).days
            if day < fleet.days:
                total += fleet.expected(caller, day) * caller.hours[moment.hour] / whole
            moment += timedelta(hours=1)
    return total


def _extra(fleet: Fleet, kind: Kind, place: _Place, dose: float, start: datetime, end: datetime) -> float:
    """How many sessions or events an incident changes on average."""
    if kind.grows:
        fields = {"relays": "relays", "aborts": "aborts"}
        per = {
            each.name: getattr(each, fields[kind.grows]) if kind.grows in fields else each.rates[kind.grows]
            for each in place.callers
        }
        return sum(
            _volume(fleet, [each], start, end) * per[each.name] * (dose - 1) * (0.5 if kind.hours[0] > 200 else 1)
            for each in place.callers
        )
    volume = _volume(fleet, place.callers, start, end)
    effect = kind.make(dose)
    if "fails" in effect or "copies" in effect or "empty" in effect:
        return volume * dose
    if "tool_fails" in effect:
        return volume * dose / 2
    if "silent" in effect or "skew" in effect:
        return volume
    retried = sum(
        _volume(fleet, [each], start, end) * (each.rates["network_transient"] + each.rates["rate_limited"])
        for each in place.callers
        if each.attempts > 1
    )
    if "reason" in effect:
        return sum(
            _volume(fleet, [each], start, min(end, start + timedelta(days=6))) * each.rates["rate_limited"]
            for each in place.callers
        )
    return retried * (1 - dose if "chains_recover" in effect else 1)


def _start(random: Random, kind: Kind, first: int, last: int) -> datetime | None:
    """A moment of the days from `first` to `last` at which such an incident may begin."""
    days = [day for day in range(first, last + 1) if kind.starts != "saturday" or day % 7 == 5]
    if kind.starts == "work":
        days = [day for day in days if day % 7 < 5]
    if not days:
        return None
    day = random.choice(days)
    hour = {"work": random.uniform(8, 16), "midnight": 22.5, "saturday": 0.0}.get(kind.starts, random.uniform(0, 23))
    return datetime.combine(FIRST_DAY, time()) + timedelta(days=day, minutes=round(hour * 60))


@dataclass(frozen=True, slots=True)
class Plan:
    """A fleet before it has lived, and what will happen in it: kind, strength, effect and place."""

    fleet: Fleet
    judged_from: int
    happens: list[tuple[str, int, Effect, _Place]]


def planned(seed: str, wanted: list[tuple[str, int]]) -> Plan:
    """A fleet with incidents of these kinds and strengths; the one of a few that has a place for most of them."""
    plans = []
    for draw in range(_FLEETS):
        plans.append(_planned(Random(f"{seed}/{draw}"), wanted))  # noqa: S311 - no secret
        if len(plans[-1].happens) == len(wanted):
            return plans[-1]
    return max(plans, key=lambda plan: len(plan.happens))


def _planned(random: Random, wanted: list[tuple[str, int]]) -> Plan:
    young = random.random() < 0.12
    days, judged_from = (32, 8) if young else (52, random.randint(22, 27))
    fleet = Fleet(random, FIRST_DAY, days)
    made: list[tuple[str, int, Effect, _Place]] = []
    first = judged_from + 1
    wanted = sorted(wanted, key=lambda each: KINDS[each[0]].hours[each[1]])
    for name, strength in wanted:
        longest = min(int(KINDS[name].hours[strength] / _DAY) + 1, 15)
        room = days - 3 - longest - first
        if len(wanted) > 1 and not made:
            room = min(room, 6)
        found = _found(fleet, random, name, strength, first, first + room) if room >= 0 else None
        if found is None:
            break
        made.append((name, strength, *found))
        fleet.effects.append(found[0])
        first = (found[0].end.date() - FIRST_DAY).days + AFTERMATH_DAYS + 2
    return Plan(fleet, judged_from, made)


def history(seed: str, wanted: list[tuple[str, int]]) -> History:
    """The history of a seed."""
    plan = planned(seed, wanted)
    fleet, made = plan.fleet, plan.happens
    files = fleet.lived()
    incidents = [_incident(fleet, name, strength, effect, place) for name, strength, effect, place in made]
    return History(seed, FIRST_DAY, plan.judged_from, files, incidents, fleet.sessions)


def _found(
    fleet: Fleet, random: Random, name: str, strength: int, first: int, last: int
) -> tuple[Effect, _Place] | None:
    kind, dose = KINDS[name], KINDS[name].doses[strength]
    for _ in range(_TRIES):
        start = _start(random, kind, first, last)
        if start is None:
            return None
        place = _place(fleet, random, kind.scope, name, (start.date() - FIRST_DAY).days)
        end = start + timedelta(
            hours=kind.hours[strength] * (random.uniform(0.9, 1.1) if kind.hours[strength] > 4 else 1)
        )
        if _extra(fleet, kind, place, dose, start, end) < LEAST:
            continue
        fields = kind.make(dose)
        if name == "error reworded":
            fields["rewords"] = f"{fleet_texts.unknown_template(random)} {fleet_texts.word(random)}"
        if name == "unknown errors":
            fields["texts"] = tuple(fleet_texts.unknown_template(random) for _ in range(3))
        if name == "shipped twice":
            fields["renamed"] = random.random() < 0.5
        effect = Effect(place.where, start, end, tool=place.tool, **fields)
        if kind.scope == "agent_version":
            _release(fleet, place, effect, start, end)
        return effect, place
    return None


def _release(fleet: Fleet, place: _Place, effect: Effect, start: datetime, end: datetime) -> None:
    """A version that comes at the start of an incident, and is replaced at its end."""
    for each in place.callers:
        each.lag = 0
    days = [(moment.date() - FIRST_DAY).days for moment in (start, end)]
    releases = fleet.releases[place.callers[0].agent]
    releases[:] = sorted([day for day in releases if not days[0] <= day <= days[1]] + days)
    effect.start, effect.end = (datetime.combine(moment.date(), time()) for moment in (start, end))
    effect.where["agent_version"] = frozenset({fleet.version(place.callers[0], days[0])})


def _incident(fleet: Fleet, name: str, strength: int, effect: Effect, place: _Place) -> Incident:
    hit = [each for each in fleet.callers if each.name in effect.callers]
    days = range((effect.start.date() - FIRST_DAY).days, min(fleet.days, (effect.end.date() - FIRST_DAY).days + 1))
    touched: dict[str, set[str]] = {dimension: set() for dimension in DIMENSIONS}
    for each in hit:
        for dimension in ("provider", "project", "agent", "host"):
            touched[dimension].add(getattr(each, dimension))
        touched["caller"].add(each.name)
        touched["agent_version"] |= {fleet.version(each, day) for day in days}
    touched["model"] |= effect.models or {model for each in hit for model in each.models}
    touched["tool"] |= {place.tool} if place.tool else set()
    names = set(place.names)
    if KINDS[name].scope == "agent_version":
        names = set(effect.where["agent_version"])
    if len(hit) <= 2 and not place.tool:
        names |= {each.name for each in hit}
    return Incident(
        kind=name,
        strength=STRENGTHS[strength],
        onset=effect.start,
        end=min(effect.end, datetime.combine(FIRST_DAY, time()) + timedelta(days=fleet.days)),
        touched={dimension: frozenset(values) for dimension, values in touched.items()},
        names=frozenset(names),
        words=KINDS[name].words,
        sessions=len(effect.touched),
    )
