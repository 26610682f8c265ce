"""What is put into the sessions of real histories: each kind edits those of a part of the fleet in a span of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from random import Random

from benchmarks.alarms.real import (
    DAYS,
    FIRST_DAY,
    JUDGED_FROM,
    MADE_UP,
    Crew,
    Session,
    Shape,
    Step,
    chain,
    crew,
    nonsense,
    written,
)
from benchmarks.alarms.truth import AFTERMATH_DAYS, DIMENSIONS, STRENGTHS, History, Incident

_LEAST = 6
_TRIES = 60
_CREWS = 8
_NET = "outage|network_transient|overload|unavailable|connection"


@dataclass(frozen=True, slots=True)
class Span:
    """When, how much, and the words that an incident brings along."""

    start: datetime
    end: datetime
    share: float
    text: str
    random: Random

    def offset(self, session: Session) -> float:
        """Seconds after a session's start at which it is met."""
        first = max(0.0, (self.start - session.at).total_seconds())
        last = min(session.course.seconds, (self.end - session.at).total_seconds())
        return self.random.uniform(first, max(first, last - 1))


Edit = Callable[[Session, Span], bool]
"""Changes a session, and says whether it did."""


def _fails(reason: str, calls: int = 1, helped: float = 0.2, ramp: bool = False) -> Edit:
    def edit(session: Session, span: Span) -> bool:
        share = span.share
        if ramp:
            share *= max(0.0, (session.at - span.start) / (span.end - span.start))
        if span.random.random() >= share:
            return False
        at = span.offset(session)
        if calls > 1:
            outcome = "recovered" if span.random.random() < helped else "exhausted"
            session.steps += chain(reason, calls, outcome, at, 5.0)
        else:
            more = {"text": f"{span.text} {span.random.randrange(90)}"} if reason == "unknown" else {}
            for place in range(span.random.choice((1, 1, 2))):
                error = {"reason": reason, "outcome": "surfaced", **more}
                session.steps.append(Step(at + 15 * place, "error.classified", error))
        return True

    return edit


def _tool(session: Session, span: Span) -> bool:
    if span.random.random() >= span.share:
        return False
    failed = {"tool": "mcp__tickets__find", "kind": "timeout"}
    session.steps += [Step(span.offset(session), "tool.failed", dict(failed)) for _ in range(span.random.randint(1, 4))]
    return True


def _waits(session: Session, span: Span) -> bool:
    own = [step for step in session.steps if "delay_seconds" in step.payload or "waited_seconds" in step.payload]
    for step in own:
        for key in ("delay_seconds", "waited_seconds"):
            if key in step.payload:
                step.payload[key] = step.payload[key] * span.share
    return bool(own)


def _useless(session: Session, span: Span) -> bool:
    own = [
        step for step in session.steps if step.kind == "retry.settled" and step.payload.get("outcome") == "recovered"
    ]
    turned = [step for step in own if span.random.random() < span.share]
    for step in turned:
        step.payload["outcome"] = "exhausted"
    return bool(turned)


def _loop(session: Session, span: Span) -> bool:
    if span.random.random() >= 0.6:
        return False
    session.steps += chain("rate_limited", round(span.share), "exhausted", span.offset(session), 1.0)
    return True


def _relays(session: Session, span: Span) -> bool:
    if span.random.random() >= span.share:
        return False
    for place in range(span.random.randint(2, 6)):
        at, name = span.offset(session), f"more-{place}"
        session.steps += [Step(at, "relay.triggered", {"relay": name}), Step(at + 9, "relay.resumed", {"relay": name})]
    return True


def _aborts(session: Session, span: Span) -> bool:
    hit = span.random.random() < span.share
    session.aborted += span.random.randint(1, 3) if hit else 0
    return hit


def _nothing(session: Session, span: Span) -> bool:
    hit = span.random.random() < span.share
    if hit:
        session.requests, session.steps = 0, []
    return hit


def _twice(session: Session, span: Span) -> bool:
    session.copy = session.copy or span.random.random() < span.share
    return session.copy


def _clock(session: Session, span: Span) -> bool:
    session.late = timedelta(hours=span.share)
    return True


def _worded(session: Session, span: Span) -> bool:
    own = [step for step in session.steps if step.payload.get("reason") == "rate_limited"]
    for step in own:
        step.payload["reason"] = "unknown"
        if step.kind == "error.classified":
            step.payload["text"] = span.text
    return bool(own)


def _gone(session: Session, span: Span) -> bool:
    return span.start <= session.at and span.share > 0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of incident."""

    scope: str
    hours: tuple[float, float, float]
    shares: tuple[float, float, float]
    edit: Edit
    words: str
    from_hour: float | None = None
    weekday: int | None = None


KINDS = {
    "provider down 2 h": Kind("provider", (2, 2, 2), (0.35, 0.5, 0.95), _fails("network_transient", 5), _NET),
    "provider down 5 h": Kind("provider", (5, 5, 5), (0.25, 0.5, 0.95), _fails("network_transient", 5), _NET),
    "provider down at night": Kind(
        "provider", (4, 4, 4), (0.3, 0.5, 0.95), _fails("network_transient", 5), _NET, from_hour=22
    ),
    "brownout": Kind("provider", (24, 30, 36), (0.15, 0.3, 0.6), _fails("network_transient", 3, 0.8), _NET),
    "model gone": Kind(
        "model", (40, 60, 80), (0.3, 0.6, 1.0), _fails("network_permanent"), "network_permanent|not.found|model_outage"
    ),
    "login of one lost": Kind("caller", (10, 20, 30), (0.7, 0.9, 1.0), _fails("auth_error"), "auth"),
    "login of all lost": Kind("provider", (3, 7, 14), (0.6, 0.9, 1.0), _fails("auth_error"), "auth"),
    "throttled": Kind("provider", (48, 60, 72), (0.15, 0.3, 0.7), _fails("rate_limited", 4, 0.6), "rate.?limit"),
    "throttled one": Kind("caller", (48, 60, 72), (0.25, 0.5, 0.9), _fails("rate_limited", 4, 0.6), "rate.?limit"),
    "host offline": Kind("host", (8, 12, 24), (0.25, 0.5, 0.8), _fails("network_transient", 3, 0.1), _NET + "|network"),
    "prompts too long": Kind("caller", (72, 72, 96), (0.2, 0.4, 0.8), _fails("context_overflow"), "context"),
    "tool broken": Kind("project", (48, 60, 72), (0.3, 0.5, 0.9), _tool, "tool"),
    "waits longer": Kind("provider", (72, 84, 96), (4, 8, 16), _waits, "wait|slow"),
    "retries useless": Kind("provider", (72, 96, 96), (0.5, 0.8, 1.0), _useless, "recover|retr|exhaust"),
    "endless retries": Kind("caller", (24, 40, 48), (10, 18, 30), _loop, "retr|attempt|wait|rate.?limit"),
    "job stopped": Kind("job", (26, 48, 96), (1, 1, 1), _gone, "silen|no session|fewer|heard|stopped"),
    "host off": Kind("host", (14, 24, 48), (1, 1, 1), _gone, "silen|no session|fewer|heard|stopped"),
    "logs twice": Kind("host", (24, 48, 72), (0.4, 0.7, 1.0), _twice, "twice|doubl|duplic|more sessions"),
    "update breaks": Kind("agent", (48, 60, 72), (0.1, 0.2, 0.5), _fails("unknown"), "unknown|spike|message|template"),
    "worded anew": Kind("provider", (700, 700, 700), (1, 1, 1), _worded, "word|message|template|unknown"),
    "saturday": Kind(
        "provider", (40, 40, 40), (0.25, 0.45, 0.8), _fails("network_transient", 4), _NET, from_hour=2, weekday=5
    ),
    "rot": Kind("caller", (330, 330, 330), (0.3, 0.5, 0.9), _fails("tool_not_found", ramp=True), "tool_not_found"),
    "repository broken": Kind("project", (30, 48, 60), (0.15, 0.3, 0.6), _fails("validation"), "validation"),
    "compaction storm": Kind("caller", (48, 60, 72), (0.3, 0.5, 0.9), _relays, "hand.?off|relay"),
    "people give up": Kind("project", (40, 60, 72), (0.3, 0.5, 0.9), _aborts, "abort|stopped"),
    "unknown in one": Kind("caller", (24, 36, 48), (0.2, 0.35, 0.7), _fails("unknown"), "unknown|spike|message"),
    "clock off": Kind("host", (24, 36, 48), (4, 9, 30), _clock, "clock|skew|future|timestamp"),
    "nothing done": Kind("caller", (24, 48, 60), (0.35, 0.6, 0.9), _nothing, "empty|no request"),
}


def _value(session: Session, scope: str) -> str:
    if scope == "model":
        return session.model
    return str(getattr(session.worker, "name" if scope in {"caller", "job"} else scope))


def _matching(made: Crew, kind: Kind, value: str, start: datetime, end: datetime) -> list[Session]:
    return [
        each
        for each in made.sessions
        if _value(each, kind.scope) == value
        and (each.at < end and each.ends > start if (end - start) < timedelta(hours=12) else start <= each.at < end)
    ]


def _draw(made: Crew, kind: Kind, strength: int, first: int, random: Random) -> tuple[str, datetime, datetime] | None:
    """A part of the fleet and a span in which enough of its sessions would be changed."""
    length = timedelta(hours=kind.hours[strength])
    free = DAYS - 3 - min(16, int(kind.hours[strength] // 24)) - first
    for _ in range(_TRIES if free >= 0 else 0):
        day = first + random.randint(0, min(free, 9))
        if kind.weekday is not None:
            day += (kind.weekday - day) % 7
        hour = random.uniform(0, 23) if kind.from_hour is None else kind.from_hour
        start = datetime.combine(FIRST_DAY, time()) + timedelta(days=day, hours=hour)
        jobs = [each for each in made.sessions if each.worker.every] if kind.scope == "job" else made.sessions
        value = _value(random.choice(jobs or made.sessions), kind.scope)
        number = len(_matching(made, kind, value, start, start + length))
        if number * min(1.0, kind.shares[strength]) * (0.5 if kind.edit in {_waits, _useless} else 1) >= _LEAST:
            return value, start, start + length
    return None


def _put(made: Crew, name: str, strength: int, first: int, random: Random) -> Incident | None:
    kind = KINDS[name]
    drawn = _draw(made, kind, strength, first, random)
    if drawn is None:
        return None
    value, start, end = drawn
    span = Span(start, end, kind.shares[strength], nonsense(random) + " at all", random)
    own = _matching(made, kind, value, start, end)
    names = {value}
    if name == "update breaks":
        version = f"1.{random.randrange(9)}.0"
        names = {version, value}
        for each in own:
            each.version = version
    hit = [each for each in own if kind.edit(each, span)]
    if kind.edit is _gone:
        gone = {id(each) for each in hit}
        made.sessions = [each for each in made.sessions if id(each) not in gone]
    if kind.edit is _tool:
        names |= {"mcp__tickets__find"}
    callers = {each.worker.name for each in hit}
    if len(callers) <= 2:
        names |= callers
    if kind.scope == "host" and len({each.host for each in made.workers}) == 1:
        names.add("")
    touched = {dimension: {str(getattr(each.worker, dimension, "")) for each in hit} for dimension in DIMENSIONS}
    touched |= {"caller": callers, "model": {each.model for each in hit}}
    touched |= {"agent_version": {each.version for each in hit}, "tool": names & {"mcp__tickets__find"}}
    return Incident(
        kind=name,
        strength=STRENGTHS[strength],
        onset=start,
        end=min(end, datetime.combine(FIRST_DAY, time()) + timedelta(days=DAYS)),
        touched={dimension: frozenset(values) for dimension, values in touched.items()},
        names=frozenset(names),
        words=kind.words,
        sessions=len(hit),
    )


def placed(random: Random, wanted: list[tuple[str, int]], shape: Shape) -> tuple[Crew, list[Incident]]:
    """A crew with incidents of these kinds and strengths; the one of a few that has a place for most of them."""
    wanted = sorted(wanted, key=lambda each: KINDS[each[0]].hours[each[1]])
    tried: list[tuple[Crew, list[Incident]]] = []
    while len(tried) < _CREWS and not (tried and len(tried[-1][1]) == len(wanted)):
        made, happened, first = crew(shape, random), [], JUDGED_FROM + 1
        for name, strength in wanted:
            incident = _put(made, name, strength, first, random)
            if incident is not None:
                happened.append(incident)
                first = (incident.end.date() - FIRST_DAY).days + AFTERMATH_DAYS + 2
        tried.append((made, happened))
    return max(reversed(tried), key=lambda each: len(each[1]))


def history(seed: str, wanted: list[tuple[str, int]], shape: Shape = MADE_UP) -> History:
    """The history of a seed."""
    random = Random(seed)  # noqa: S311 - no secret
    made, happened = placed(random, wanted, shape)
    sessions = {each.name: [0] * DAYS for each in made.workers}
    for each in made.sessions:
        sessions[each.worker.name][(each.at.date() - FIRST_DAY).days] += 1
    return History(seed, FIRST_DAY, JUDGED_FROM, written(made, random), happened, sessions)
