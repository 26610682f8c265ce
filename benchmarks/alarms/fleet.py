"""Simulator `fleet`: a fleet that is invented whole, with weekdays, deploys, growth, holidays, and incidents.

It was written from the event model alone, without a look at how anything is detected, so that no setting can have been
chosen by it. Every number in it is made up.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any

from benchmarks.alarms import fleet_texts

_MODELS = {
    "anthropic": ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"),
    "openai": ("gpt-5", "gpt-5-mini"),
    "google": ("gemini-3-pro", "gemini-3-flash"),
    "mistral": ("devstral-2", "codestral-25"),
}
_AGENTS = ("claude-code", "codex", "runner", "triage")
_TOOLS = ("Bash", "Read", "Edit", "Grep", "WebFetch", "sql", "browser", "deploy")
_JOBS = ("review", "deploy", "triage", "docs", "tests", "search", "billing", "migrate", "support", "index")
_RETRIED = {"network_transient": 4.0, "rate_limited": 20.0}
"""Reasons that are tried again, with the seconds of a first wait."""
_ACTIONS = {"network_transient": "retry", "rate_limited": "wait_then_retry", "context_overflow": "compress_then_retry"}


@dataclass(slots=True)
class Caller:
    """One caller, and what its work is like on a usual day."""

    name: str
    provider: str
    models: tuple[str, ...]
    project: str
    agent: str
    host: str
    tools: tuple[str, ...]
    daily: float
    """Sessions on a usual weekday."""
    weekend: float
    person: bool
    """Whether somebody works with it, on some days and not on others; else it is a service."""
    seen: bool
    """Whether its log shows sessions without errors."""
    hours: tuple[float, ...]
    rates: dict[str, float]
    """Errors of each reason a session."""
    texts: tuple[str, ...]
    """Its own messages that no rule knows."""
    attempts: int
    """Calls that it makes at most; 1 where nothing is tried again."""
    recovers: float
    tool_failures: float
    relays: float
    aborts: float
    repeats: float
    """The share of sessions that repeat one error over and over."""
    born: int = 0
    gone: int = 10_000
    lag: int = 0
    """Days from the release of its agent to its own update."""
    away: frozenset[int] = frozenset()
    steps: list[tuple[int, float]] = field(default_factory=list)
    """Days from which on its error rates are so many times as high: what a release brings."""


@dataclass(slots=True)
class Effect:
    """How one incident changes the sessions of its scope, from its start to its end."""

    where: dict[str, frozenset[str]]
    start: datetime
    end: datetime
    fails: float = 0.0
    """The share of sessions that meet the error `reason`, `form` on top of their own."""
    reason: str = ""
    form: str = ""
    recovers: float = 0.25
    """The share of chains for these errors that recover."""
    more: dict[str, float] = field(default_factory=dict)
    """By reason, or `tools`, `relays`, `aborts`: how many times as much of it."""
    ramp: bool = False
    """Whether `more` grows from 1 over its whole time."""
    weekdays: frozenset[int] = frozenset(range(7))
    chains_recover: float | None = None
    waits: float = 1.0
    attempts: int = 0
    tool: str = ""
    """The tool that fails in the share `tool_fails` of its calls."""
    tool_fails: float = 0.0
    empty: float = 0.0
    silent: bool = False
    copies: float = 0.0
    """The share of sessions that are shipped twice, under names of their own where `renamed`."""
    renamed: bool = False
    skew: timedelta = timedelta()
    texts: tuple[str, ...] = ()
    """Messages that no rule knows, in the place of `reason`'s."""
    rewords: str = ""
    """A message that takes the place of the texts of `reason`."""
    touched: set[str] = field(default_factory=set)
    callers: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)

    def on(self, moment: datetime) -> bool:
        """Whether it is at work at a moment."""
        return self.start <= moment < self.end and moment.weekday() in self.weekdays

    def factor(self, name: str, moment: datetime) -> float:
        """How many times as much of something there is."""
        full = self.more.get(name, 1.0)
        if not self.ramp:
            return full
        return 1.0 + (full - 1.0) * ((moment - self.start) / (self.end - self.start))


class Fleet:
    """Callers and their days; `lived` gives the log lines, and remembers in the effects which sessions they touched."""

    def __init__(self, random: Random, first_day: date, days: int) -> None:
        self.random, self.first_day, self.days = random, first_day, days
        self.growth = random.gauss(0.002, 0.005)
        self.holidays = frozenset(random.sample(range(days), random.choice((0, 1, 2))))
        self.hosts = tuple(f"node-{place}" for place in range(random.choice((1, 1, 2, 3))))
        self.releases = {agent: self._releases(random) for agent in _AGENTS}
        number = round(math.exp(random.uniform(math.log(5), math.log(60))))
        providers = random.sample(list(_MODELS), min(len(_MODELS), random.choice((2, 2, 3)) + (number > 30)))
        projects = [fleet_texts.word(random) for _ in range(max(2, number // 4))]
        self.callers = [self._caller(random, place, providers, projects) for place in range(number)]
        busy = sum(each.daily for each in self.callers)
        for each in self.callers:
            each.daily *= min(1.0, 320 / busy)
        self.effects: list[Effect] = []
        self.sessions = {each.name: [0] * days for each in self.callers}

    def _releases(self, random: Random) -> list[int]:
        days, day = [], -random.randrange(12)
        while day < self.days:
            days.append(day)
            day += random.randint(6, 18)
        return days

    def _caller(self, random: Random, place: int, providers: list[str], projects: list[str]) -> Caller:
        person, provider = random.random() < 0.4, random.choices(providers, (5, 3, 2, 1)[: len(providers)])[0]
        peak = random.uniform(9, 16)
        around = random.random() < 0.4
        hours = [1.0 if around else math.exp(-(((hour - peak) / 3.5) ** 2) / 2) + 0.02 for hour in range(24)]
        level = random.lognormvariate(-0.2, 0.6)
        means = {
            "network_transient": 0.14,
            "rate_limited": 0.10,
            "auth_error": 0.012,
            "context_overflow": 0.03,
            "validation": 0.05,
            "tool_not_found": 0.03,
            "unknown": 0.03,
        }
        born = gone = None
        if random.random() < 0.10:
            born = random.randrange(self.days)
        elif random.random() < 0.08:
            gone = random.randrange(self.days)
        away: set[int] = set()
        if person:
            away = {day for day in range(self.days) if random.random() < 0.2}
            if random.random() < 0.3:
                away |= set(range(start := random.randrange(self.days), start + random.randint(4, 10)))
        return Caller(
            name=f"{random.choice(_JOBS)}-{place:02d}",
            provider=provider,
            models=tuple(random.sample(_MODELS[provider], random.choice((1, 1, 2)))),
            project=random.choice(projects),
            agent=random.choice(_AGENTS[:2] if person else _AGENTS),
            host=random.choice(self.hosts),
            tools=tuple(random.sample(_TOOLS, random.randint(2, 5))),
            daily=min(60.0, max(1.0, random.lognormvariate(1.9, 0.85))) * (0.7 if person else 1.2),
            weekend=random.uniform(0.0, 0.25) if person else random.uniform(0.3, 1.0),
            person=person,
            seen=random.random() > 0.12,
            hours=tuple(hours),
            rates={reason: level * mean * random.gammavariate(1.5, 1 / 1.5) for reason, mean in means.items()},
            texts=tuple(fleet_texts.unknown_template(random) for _ in range(random.randint(3, 7))),
            attempts=random.choice((1, 3, 3, 4, 5)),
            recovers=random.uniform(0.75, 0.97),
            tool_failures=random.uniform(0.01, 0.07),
            relays=random.choice((0.0, 0.02, 0.06)),
            aborts=random.uniform(0.05, 0.15) if person else 0.0,
            repeats=random.choice((0.0, 0.003, 0.008)),
            born=born or 0,
            gone=10_000 if gone is None else gone,
            lag=random.choice((0, 0, 1, 2)),
            away=frozenset(away),
            steps=[(random.randrange(self.days), random.lognormvariate(0, 0.15)) for _ in range(random.randrange(4))],
        )

    def version(self, caller: Caller, day: int) -> str:
        """The version of a caller's agent on a day."""
        passed = sum(release + caller.lag <= day for release in self.releases[caller.agent])
        return f"{_AGENTS.index(caller.agent) + 1}.{passed}.0"

    def expected(self, caller: Caller, day: int) -> float:
        """The sessions that a caller has on a day on average."""
        if not caller.born <= day or day in caller.away or day >= caller.gone + 10:
            return 0.0
        mean = caller.daily * (1 + self.growth) ** day
        if day > caller.gone:
            mean *= 1 - (day - caller.gone) / 10
        if (self.first_day + timedelta(days=day)).weekday() >= 5:
            mean *= caller.weekend
        if day in self.holidays:
            mean *= 0.1 if caller.person else 0.7
        return mean * (1.15 if day - 1 in self.holidays else 1.0)

    def lived(self) -> list[dict[str, list[str]]]:
        """The lines of each day by log file."""
        random, mood = self.random, 0.0
        self.sent: list[tuple[datetime, str, str, dict[str, Any]]] = []
        moods = dict.fromkeys(self.sessions, 0.0)
        for day in range(self.days):
            mood = 0.5 * mood + random.gauss(0, 0.07)
            midnight = datetime.combine(self.first_day, time()) + timedelta(days=day)
            for caller in self.callers:
                moods[caller.name] = 0.5 * moods[caller.name] + random.gauss(0, 0.3 if caller.person else 0.12)
                mean = self.expected(caller, day) * math.exp(mood + moods[caller.name])
                restless = random.lognormvariate(-0.03, 0.25)
                for hour in random.choices(range(24), caller.hours, k=_poisson(random, mean)):
                    at = midnight + timedelta(hours=hour, seconds=random.uniform(0, 3600))
                    self._session(caller, at, day, restless)
        return self._files()

    def _session(self, caller: Caller, at: datetime, day: int, restless: float) -> None:
        random = self.random
        work = {
            "agent": caller.agent,
            "agent_version": self.version(caller, day),
            "project": caller.project,
            "provider": caller.provider,
            "model": caller.models[0] if random.random() < 0.85 else caller.models[-1],
        }
        requests = max(1, round(random.lognormvariate(2.2, 0.8)))
        ends = at + timedelta(seconds=requests * random.expovariate(1 / 25) + 5)
        mine = [one for one in self.effects if self._hit(one, caller, work) and at < one.end and one.start < ends]
        session = f"{random.getrandbits(64):016x}"
        before = len(self.sent)
        if any(one.silent and one.on(at) for one in mine):
            for one in mine:
                self._touch(one, session, caller, work)
            return
        self.sessions[caller.name][day] += 1
        one = _Session(self, caller, session, work, at, ends, mine)
        one.live(requests, restless * random.gammavariate(0.8, 1 / 0.8), day)
        for effect in mine:
            if effect.skew or effect.copies:
                self._ship(effect, session, caller, before)

    def _ship(self, effect: Effect, session: str, caller: Caller, before: int) -> None:
        """Log a session a second time, or by a clock that is wrong."""
        own = self.sent[before:]
        if not own or not effect.on(own[0][0]):
            return
        self._touch(effect, session, caller, {})
        if effect.skew:
            for _, _, _, envelope in own:
                for holder, key in (
                    (envelope, "timestamp"),
                    *((envelope["payload"], k) for k in ("started_at", "ended_at")),
                ):
                    if key in holder:
                        holder[key] = _stamp(datetime.fromisoformat(holder[key].removesuffix("Z")) + effect.skew)
        elif self.random.random() < effect.copies:
            for moment, host, name, envelope in own:
                again = {**envelope, "id": f"{self.random.getrandbits(128):032x}"}
                if effect.renamed:
                    again["sessionId"] = f"{host}/{again['sessionId']}"
                self.sent.append((moment + timedelta(seconds=2), host, f"{name}-again", again))

    @staticmethod
    def _hit(effect: Effect, caller: Caller, work: Mapping[str, str]) -> bool:
        has = {**work, "caller": caller.name, "host": caller.host}
        return all(has[dimension] in names for dimension, names in effect.where.items() if dimension != "tool")

    @staticmethod
    def _touch(effect: Effect, session: str, caller: Caller, work: Mapping[str, str]) -> None:
        effect.touched.add(session)
        effect.callers.add(caller.name)
        effect.models |= {work["model"]} if "model" in work else set()

    def _files(self) -> list[dict[str, list[str]]]:
        """Lines in the order of their writing, each writer with its own numbers."""
        files: list[dict[str, list[str]]] = [defaultdict(list) for _ in range(self.days)]
        numbers: dict[str, int] = defaultdict(int)
        for at, host, name, envelope in sorted(self.sent, key=lambda each: each[0]):
            day = (at.date() - self.first_day).days
            if day >= self.days:
                continue
            writer = f"{host}:{1000 + day}:{name}"
            line = {**envelope, "writer": writer, "seq": numbers[writer]}
            numbers[writer] += 1
            files[day][f"{host}/events-{at:%Y-%m-%d}.jsonl"].append(json.dumps(line, separators=(",", ":")))
        return [dict(each) for each in files]


@dataclass(slots=True)
class _Session:
    """One session while its events are written."""

    fleet: Fleet
    caller: Caller
    name: str
    work: dict[str, str]
    at: datetime
    ends: datetime
    effects: list[Effect]

    def live(self, requests: int, frail: float, day: int) -> None:
        """Write all of its events."""
        caller, random = self.caller, self.fleet.random
        level = math.prod(factor for first, factor in caller.steps if first <= day)
        for reason, rate in caller.rates.items():
            for _ in range(_poisson(random, min(4.0, rate * frail * level * self._more(reason)))):
                self._error(reason, self._moment())
        for effect in self.effects:
            if effect.fails and random.random() < effect.fails:
                at = self._moment(max(self.at, effect.start), min(self.ends, effect.end))
                if effect.on(at):
                    self._touched(effect)
                    for _ in range(random.choice((1, 1, 2, 3))):
                        self._error(effect.reason, at, effect)
                        at += timedelta(seconds=random.uniform(1, 40))
        if random.random() < caller.repeats:
            reason, at = random.choice(("tool_not_found", "validation", "unknown")), self._moment()
            for _ in range(random.randint(8, 40)):
                self._error(reason, at)
                at += timedelta(seconds=random.uniform(1, 20))
        for _ in range(_poisson(random, caller.relays * self._more("relays"))):
            self._relay()
        self._observe(requests)

    def _more(self, name: str) -> float:
        factor = 1.0
        for effect in self.effects:
            if effect.on(self.at) and effect.factor(name, self.at) != 1.0:
                factor *= effect.factor(name, self.at)
                self._touched(effect)
        return factor

    def _touched(self, effect: Effect) -> None:
        self.fleet._touch(effect, self.name, self.caller, self.work)

    def _moment(self, since: datetime | None = None, until: datetime | None = None) -> datetime:
        first, last = since or self.at, until or self.ends
        return first + (last - first) * self.fleet.random.random()

    def _error(self, reason: str, at: datetime, effect: Effect | None = None) -> None:
        caller, random = self.caller, self.fleet.random
        at_work = [one for one in self.effects if one.on(at)]
        form = effect.form if effect else "wire" if reason == "network_transient" and random.random() < 0.4 else ""
        if reason == "unknown":
            status, template = None, random.choice((effect.texts if effect else ()) or caller.texts)
        else:
            status, template = fleet_texts.of(reason, caller.provider, random, form)
        for one in at_work:
            if one.rewords and one.reason == reason:
                reason, status, template = "unknown", None, one.rewords
                self._touched(one)
        attempts = caller.attempts if reason in _RETRIED else 1
        recovers, wait = (effect.recovers if effect else caller.recovers), _RETRIED.get(reason, 0.0)
        for one in at_work if attempts > 1 else ():
            if one.attempts:
                attempts = random.randint(one.attempts // 2, one.attempts)
            recovers = min(recovers, 1.0 if one.chains_recover is None else one.chains_recover)
            wait *= one.waits
            if one.attempts or one.chains_recover is not None or one.waits != 1.0:
                self._touched(one)
        if attempts == 1:
            self._classified(reason, at, status, template, outcome="surfaced")
            if reason == "context_overflow":
                kind = "context.recovered" if random.random() < 0.8 else "context.unrecovered"
                tokens = {"pre_tokens": random.randint(190_000, 260_000), "post_tokens": random.randint(30_000, 90_000)}
                self._event(kind, at + timedelta(seconds=9), {"strategy": "compact", "caller": caller.name, **tokens})
            return
        stormy = any(one.attempts for one in at_work)
        good = random.random() < recovers
        made = attempts if stormy or not good else min(attempts, 2 + (random.random() < 0.25))
        self._chain(reason, at, status, template, made, attempts, wait, good)

    def _chain(
        self,
        reason: str,
        at: datetime,
        status: int | None,
        template: str,
        made: int,
        most: int,
        wait: float,
        good: bool,
    ) -> None:
        random, waited = self.fleet.random, 0.0
        chain = {"operation": f"{random.getrandbits(48):012x}", "caller": self.caller.name, "reason": reason}
        failing = made - 1 if good else made
        for attempt in range(1, failing + 1):
            again = {"operation": chain["operation"], "attempt": attempt, "max_attempts": most}
            self._classified(reason, at, status, template, **again)
            if attempt == made:
                break
            delay = round(min(90.0, wait * 1.6 ** (attempt - 1)) * random.uniform(0.7, 1.3), 3)
            waited += delay
            self._event("retry.scheduled", at, {**chain, "attempt": attempt, "delay_seconds": delay})
            at += timedelta(seconds=delay + random.uniform(0.2, 3))
        ended = "network_permanent" if reason == "network_transient" and not good else reason
        outcome = {
            "outcome": "recovered" if good else "exhausted",
            "attempts": made,
            "waited_seconds": round(waited, 3),
        }
        self._event("retry.settled", at, {**chain, "reason": ended, **outcome})

    def _classified(self, reason: str, at: datetime, status: int | None, template: str, **more: Any) -> None:
        text = fleet_texts.filled(template, self.fleet.random, self.work["model"])
        facts = {"message": text, "provider": self.caller.provider} | ({"status": status} if status else {})
        known = {"retryable": reason in _ACTIONS, "action": _ACTIONS.get(reason, "surface")}
        self._event(
            "error.classified", at, {"reason": reason, "caller": self.caller.name, **known, **more, "facts": facts}
        )

    def _relay(self) -> None:
        at, relay = self._moment(), f"r-{self.fleet.random.getrandbits(32):08x}"
        step = {"relay": relay, "caller": self.caller.name, "step_id": "implement"}
        full = {"token_usage_percent": 84, "threshold_percent": 80, "pre_tokens": 168_000, "trigger": "auto"}
        self._event("relay.triggered", at, {**step, **full})
        self._event("relay.checkpointed", at + timedelta(seconds=15), {**step, "checkpoint_tokens": 1300})
        self._event(
            "relay.resumed", at + timedelta(seconds=22), {**step, "post_tokens": 15_000, "duration_seconds": 22}
        )

    def _observe(self, requests: int) -> None:
        caller, random = self.caller, self.fleet.random
        used = random.sample(caller.tools, random.randint(1, len(caller.tools)))
        tools = {tool: _poisson(random, requests / len(used)) + 1 for tool in used}
        often = caller.tool_failures * self._more("tools")
        for tool, calls in tools.items():
            broken = [one for one in self.effects if one.tool == tool and one.on(self.at)]
            share = max([often, *(one.tool_fails for one in broken)])
            for _ in range(sum(random.random() < share for _ in range(min(calls, 12)))):
                kind, template = random.choice(fleet_texts.TOOL_FAILURES)
                failed = {"caller": caller.name, "tool": tool, "kind": kind}
                message = fleet_texts.filled(template, random)
                self._event("tool.failed", self._moment(), {**failed, "message": message})
                for one in broken:
                    self._touched(one)
        aborts = _poisson(random, caller.aborts * self._more("aborts"))
        for effect in self.effects:
            if effect.empty and effect.on(self.at) and random.random() < effect.empty:
                requests, tools = 0, {}
                self._touched(effect)
        if caller.seen:
            seen = {"requests": requests, "started_at": _stamp(self.at), "ended_at": _stamp(self.ends), "tools": tools}
            stopped = {"aborted": aborts} if aborts else {}
            whole = {"caller": caller.name, **seen, **stopped, "retry_visibility": "full"}
            self._event("session.observed", self.ends, whole)

    def _event(self, kind: str, at: datetime, payload: Mapping[str, Any]) -> None:
        envelope = {
            "v": 1,
            "id": f"{self.fleet.random.getrandbits(128):032x}",
            "type": kind,
            "timestamp": _stamp(at),
            "sessionId": self.name,
            "payload": {**payload, **self.work},
        }
        self.fleet.sent.append((at, self.caller.host, self.caller.name, envelope))


def _stamp(moment: datetime) -> str:
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def _poisson(random: Random, mean: float) -> int:
    count, left = 0, random.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + random.expovariate(1.0)
    return count
