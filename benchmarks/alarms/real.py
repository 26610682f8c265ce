"""Simulator `real`: fleets whose sessions are those of real histories, drawn again, with made-up names and texts.

`Shape.read` takes out of logs how long a session is, what happens in it when, how many a caller has on a day of work,
how many days lie between such days, and at which hours. `MADE_UP` is a small table of the same form for those
who have no logs to give. Callers have a few of these sessions as their own, and change some of them now and then.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import analyzer

FIRST_DAY = date(2026, 8, 31)  # a Monday
DAYS, JUDGED_FROM = 49, 24
_KEPT = ("reason", "attempt", "max_attempts", "outcome", "attempts", "waited_seconds", "delay_seconds", "tool", "kind")
_NAMED = ("operation", "relay")
_LONGEST, _STEPS = 14_400.0, 60
_HOUSES = {
    "anthropic": ("claude-opus-4-1", "claude-sonnet-4-6"),
    "openai": ("gpt-5-codex", "gpt-4.1"),
    "google": ("gemini-2.5-pro",),
    "openrouter": ("qwen3-coder", "kimi-k2", "glm-4.6"),
}
_TOOLS = ("bash", "read_file", "write_file", "glob", "browser_click", "apply_patch", "mcp__tickets__find")
TEXTS: dict[str, tuple[tuple[int | None, str], ...]] = {
    "network_transient": (
        (529, "overloaded_error: Overloaded"),
        (502, "upstream connect error or disconnect/reset before headers. reset reason: connection termination"),
        (None, "Connection error."),
        (503, "The model is overloaded. Please try again later."),
    ),
    "rate_limited": (
        (429, "rate_limit_error: Number of request tokens has exceeded your per-minute rate limit"),
        (429, "Too many requests, retry in {n}s"),
    ),
    "auth_error": ((401, "authentication_error: invalid bearer token"), (401, "Unauthorized: token {n} is not valid")),
    "context_overflow": ((400, "input length and max_tokens exceed context limit: {n}00000 + 32000 > 200000"),),
    "validation": (
        (400, "invalid_request_error: messages.{n}.content.0.text: text content blocks must be non-empty"),
        (400, "Invalid schema for function 'f{n}': array schema missing items"),
    ),
    "network_permanent": ((404, "not_found_error: model: retired-{n}"),),
    "tool_not_found": ((None, "Error: No such tool available: tool_{n}"),),
}
_NOUNS = ("harbour", "kettle", "lantern", "orchard", "pebble", "saddle", "thimble", "walnut", "meadow", "copper")


@dataclass(slots=True)
class Step:
    """One event of a session, by its seconds after the start."""

    offset: float
    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Course:
    """What one session was like, without its words."""

    seconds: float
    requests: int
    aborted: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is taken out of a history."""

    courses: list[Course]
    hours: list[float]
    """Weights of the hours at which sessions start."""
    a_day: list[int]
    """Sessions of a caller on each day on which it had one."""
    gaps: list[int]
    """Days from one such day of a caller to its next."""

    @classmethod
    def read(cls, paths: Sequence[str]) -> Shape:
        """The shape of logs in any form that can be ingested."""
        with analyzer.open_store(":memory:") as store:
            store.ingest(paths)
            rows = store.sql(
                "select session_id, type, occurred_at, payload from events where session_id is not null "
                "order by session_id, occurred_at, event_id"
            ).rows()
        sessions: dict[str, list[tuple[str, datetime, dict[str, Any]]]] = defaultdict(list)
        for session, kind, at, payload in rows:
            sessions[session].append((kind, at, json.loads(payload or "{}")))
        hours, days, courses = [1.0] * 24, defaultdict(list), []
        for events in sessions.values():
            seen = [payload for kind, _, payload in events if kind == "session.observed"]
            if not seen:
                continue
            start = events[0][1]
            hours[start.hour] += 1
            days[str(seen[-1].get("caller"))].append(start.date())
            courses.append(_course(start, events, seen[-1]))
        a_day = [own.count(day) for own in days.values() for day in sorted(set(own))]
        active = [sorted(set(own)) for own in days.values()]
        gaps = [min(9, (b - a).days) for own in active for a, b in pairwise(own)]
        return cls(courses, hours, a_day, gaps or [1])


def _course(start: datetime, events: Iterable[tuple[str, datetime, dict[str, Any]]], seen: dict[str, Any]) -> Course:
    steps, last = [], 0.0
    for kind, at, payload in events:
        if kind == "session.observed" or len(steps) >= _STEPS:
            continue
        last = max(last, min(_LONGEST, (at - start).total_seconds()))
        kept = {key: payload[key] for key in _KEPT if payload.get(key) is not None}
        kept |= {key: payload[key] for key in _NAMED if payload.get(key) is not None}
        steps.append(Step(last, kind, kept))
    return Course(last + 60, int(seen.get("requests") or 1), int(seen.get("aborted") or 0), tuple(steps))


def _made_up() -> Shape:
    """A shape of the same form: nine of ten sessions go well, and what goes wrong comes in runs."""
    rows: tuple[tuple[int, int, int, tuple[tuple[str, int, str], ...]], ...] = (
        (60, 240, 4, ()),
        (30, 1500, 22, (("tool", 2, ""),)),
        (12, 5400, 70, (("tool", 7, ""), ("relay", 1, ""))),
        (3, 2400, 30, (("tool", 17, ""),)),
        (5, 400, 6, (("network_transient", 2, "recovered"),)),
        (2, 900, 9, (("network_transient", 9, "exhausted"),)),
        (4, 700, 12, (("rate_limited", 2, "recovered"),)),
        (1, 300, 3, (("rate_limited", 9, "exhausted"),)),
        (2, 60, 1, (("auth_error", 1, ""),)),
        (3, 500, 9, (("validation", 1, ""),)),
        (1, 3600, 40, (("validation", 14, ""), ("unknown", 9, ""))),
        (2, 700, 15, (("unknown", 1, ""),)),
        (1, 2000, 33, (("tool_not_found", 3, ""),)),
        (2, 4800, 60, (("context_overflow", 1, ""), ("relay", 2, ""))),
    )
    courses = []
    for weight, seconds, requests, parts in rows:
        steps: list[Step] = []
        for name, number, outcome in parts:
            steps += _part(name, number, outcome, seconds * 0.1 * (1 + len(steps) % 7))
        course = Course(float(seconds), requests, 0, tuple(steps))
        courses += [replace(course, aborted=int(place % 9 == 8)) for place in range(weight)]
    hours = [1, 1, 1, 2, 2, 3, 4, 4, 7, 9, 10, 9, 7, 9, 11, 10, 8, 6, 4, 3, 3, 3, 2, 1]
    return Shape(
        courses, [float(each) for each in hours], [1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 11, 19], [1, 1, 1, 1, 2, 3, 6]
    )


def _part(name: str, number: int, outcome: str, at: float) -> list[Step]:
    if name == "tool":
        return [
            Step(at + 30 * each, "tool.failed", {"tool": _TOOLS[each % len(_TOOLS)], "kind": "exit_code"})
            for each in range(number)
        ]
    if name == "relay":
        return [Step(at + 600 * each, "relay.triggered", {"relay": f"{at}-{each}"}) for each in range(number)]
    if not outcome:
        return [
            Step(at + 20 * each, "error.classified", {"reason": name, "outcome": "surfaced"}) for each in range(number)
        ]
    return chain(name, number, outcome, at, 3.0)


def chain(reason: str, calls: int, outcome: str, at: float, delay: float) -> list[Step]:
    """The events of a chain of so many calls, of which the last one may go well."""
    steps, waited, operation = [], 0.0, f"{at:.3f}"
    failed = calls - 1 if outcome == "recovered" else calls
    for attempt in range(1, failed + 1):
        named = {"reason": reason, "operation": operation, "attempt": attempt}
        steps.append(Step(at, "error.classified", dict(named)))
        if attempt < calls:
            wait = min(60.0, delay * 1.5 ** (attempt - 1))
            steps.append(Step(at, "retry.scheduled", {**named, "delay_seconds": wait}))
            at, waited = at + wait + 1, waited + wait
    ended = "network_permanent" if (reason, outcome) == ("network_transient", "exhausted") else reason
    settled = {"reason": ended, "operation": operation, "outcome": outcome, "attempts": calls, "waited_seconds": waited}
    return [*steps, Step(at, "retry.settled", settled)]


MADE_UP = _made_up()


@dataclass(slots=True)
class Worker:
    """A caller: a job that runs by the clock, or somebody who works by fits and starts."""

    name: str
    provider: str
    models: tuple[str, ...]
    project: str
    agent: str
    host: str
    every: float
    """Hours between the starts of a job; 0 of somebody."""
    scale: float
    shift: int
    """Hours by which its day is later."""
    own: list[Course]
    unknown: tuple[str, ...]
    updates: tuple[int, ...]
    """Days on which its agent is updated."""


@dataclass(slots=True)
class Session:
    """One session before it is written."""

    worker: Worker
    name: str
    at: datetime
    model: str
    version: str
    course: Course
    steps: list[Step]
    aborted: int
    requests: int
    late: timedelta = timedelta()
    """By how much its clock is wrong."""
    copy: bool = False
    """Whether it is shipped twice."""

    @property
    def ends(self) -> datetime:
        """When it was over."""
        return self.at + timedelta(seconds=self.course.seconds)


@dataclass(slots=True)
class Crew:
    """The workers of one history, and the sessions that they have."""

    workers: list[Worker]
    sessions: list[Session] = field(default_factory=list)


def crew(shape: Shape, random: Random) -> Crew:
    """Workers and their sessions, before anything goes wrong that was not in the history."""
    number = random.choice((6, 9, 13, 18, 25, 34, 46))
    houses = random.sample(tuple(_HOUSES), random.choice((2, 3)))
    projects = random.sample(_NOUNS, max(2, min(len(_NOUNS), number // 3)))
    hosts = [f"box{place}" for place in range(random.choice((1, 2, 3)))]
    updates = {agent: tuple(sorted(random.sample(range(DAYS), 4))) for agent in ("opencode", "aider", "cline")}
    good = [course for course in shape.courses if not any(step.kind == "error.classified" for step in course.steps)]
    good = good or [Course(60.0, 1, 0, ())]
    workers = []
    for place in range(number):
        provider, agent, project = random.choice(houses), random.choice(tuple(updates)), random.choice(projects)
        own = random.choices(good, k=14) + random.choices(shape.courses, k=10)
        job = random.random() < 0.45
        workers.append(
            Worker(
                name=f"{agent}@{project}-{place}",
                provider=provider,
                models=tuple(random.sample(_HOUSES[provider], min(2, len(_HOUSES[provider])))),
                project=project,
                agent=agent,
                host=random.choice(hosts),
                every=random.choice((1, 1, 2, 3, 4, 6)) if job else 0.0,
                scale=random.choice((0.6, 1.0, 1.0, 1.6)),
                shift=random.randint(-3, 8),
                own=own,
                unknown=tuple(nonsense(random) for _ in range(4)),
                updates=updates[agent],
            )
        )
    made = Crew(workers)
    for worker in workers:
        _work(made, worker, shape, random)
    made.sessions.sort(key=lambda each: each.at)
    return made


def nonsense(random: Random) -> str:
    """A message that no rule knows."""
    return (
        f"the {random.choice(_NOUNS)} of {random.choice(_NOUNS)} {random.randrange(900)} has no {random.choice(_NOUNS)}"
    )


def _work(made: Crew, worker: Worker, shape: Shape, random: Random) -> None:
    rest = random.randrange(3)
    for day in range(DAYS):
        midnight = datetime.combine(FIRST_DAY, time()) + timedelta(days=day)
        if random.random() < 0.06:  # other work: another kind of session takes a place among its own
            worker.own[random.randrange(len(worker.own))] = random.choice(shape.courses)
        if worker.every:
            starts = [worker.every * place for place in range(int(24 / worker.every))]
            for hour in starts:
                if random.random() < 0.97:
                    _start(made, worker, midnight + timedelta(hours=hour, seconds=random.uniform(0, 300)), day, random)
            continue
        if rest > 0 or (midnight.weekday() >= 5 and random.random() < 0.8):
            rest -= 1
            continue
        rest = random.choice(shape.gaps) - 1 if random.random() < 0.3 else 0
        hours = random.choices(range(24), shape.hours, k=max(1, round(random.choice(shape.a_day) * worker.scale)))
        for hour in hours[:40]:
            at = midnight + timedelta(hours=(hour + worker.shift) % 24, seconds=random.uniform(0, 3600))
            _start(made, worker, at, day, random)


def _start(made: Crew, worker: Worker, at: datetime, day: int, random: Random) -> None:
    course = random.choice(worker.own)
    name = f"{random.getrandbits(48):012x}"
    version = f"0.{sum(update <= day for update in worker.updates)}.{len(worker.agent)}"
    steps = [Step(step.offset, step.kind, dict(step.payload)) for step in course.steps]
    model = random.choice(worker.models)
    made.sessions.append(Session(worker, name, at, model, version, course, steps, course.aborted, course.requests))


def written(made: Crew, random: Random) -> list[dict[str, list[str]]]:
    """The lines of each day by log file, in the order of time."""
    days: list[dict[str, list[tuple[datetime, str]]]] = [defaultdict(list) for _ in range(DAYS)]
    for session in made.sessions:
        for name in (session.name, f"{session.name}+") if session.copy else (session.name,):
            for at, line in _lines(session, name, random):
                day = (at.date() - FIRST_DAY).days
                if day < DAYS:
                    days[day][f"{session.worker.host}.jsonl"].append((at, line))
    return [{name: [line for _, line in sorted(lines)] for name, lines in files.items()} for files in days]


def _lines(session: Session, name: str, random: Random) -> Iterable[tuple[datetime, str]]:
    worker = session.worker
    work = {
        "caller": worker.name,
        "agent": worker.agent,
        "agent_version": session.version,
        "project": worker.project,
        "provider": worker.provider,
        "model": session.model,
    }
    tools = {tool: max(1, session.requests // 4) for tool in _TOOLS[: 1 + session.requests % 6]}
    for step in session.steps:
        payload = dict(step.payload)
        for key in _NAMED:
            if key in payload:
                payload[key] = f"{name}/{payload[key]}"
        if step.kind == "error.classified":
            reason = payload["reason"]
            text = payload.pop("text", None)
            status, message = None, text or random.choice(worker.unknown)
            if text is None and reason != "unknown":
                status, message = random.choice(TEXTS[reason])
            facts = {"message": message.replace("{n}", str(random.randint(1, 99))), "provider": worker.provider}
            payload["facts"] = facts | ({"status": status} if status else {})
        if step.kind == "tool.failed":
            payload["tool"] = str(payload.get("tool") or "bash")
            payload["message"] = f"failed with {random.randint(1, 9)}"
            tools[payload["tool"]] = max(2, session.requests // 4)
        yield _line(session, name, step.offset, step.kind, {**payload, **work}, random)
    whole = {
        "requests": session.requests,
        "retry_visibility": "full",
        "tools": tools,
        "started_at": f"{session.at + session.late:%Y-%m-%dT%H:%M:%SZ}",
        **({"aborted": session.aborted} if session.aborted else {}),
    }
    yield _line(session, name, session.course.seconds, "session.observed", {**whole, **work}, random)


def _line(
    session: Session, name: str, offset: float, kind: str, payload: dict[str, Any], random: Random
) -> tuple[datetime, str]:
    at = session.at + timedelta(seconds=offset)
    stamp = f"{(at + session.late).isoformat(timespec='milliseconds')}Z"
    line = {"v": 1, "id": f"{random.getrandbits(120):030x}", "type": kind, "timestamp": stamp, "sessionId": name}
    meta = {"_meta": {"host": session.worker.host}}
    return at, json.dumps({**line, "payload": payload, **meta}, separators=(",", ":"))
