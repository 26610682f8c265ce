"""Nights made up from a seed: a small fleet over three weeks, with outages, new messages, retries, relays and costs.

The lines are those of the event log. What goes wrong is a `Trouble`: whom it hits, from when to when, and how.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

Line = dict[str, Any]

ZONES = ("UTC", "UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata")
MODELS = (
    ("anthropic", "claude-opus-4-5"),
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-5"),
    ("google", "gemini-2.5-pro"),
)
CALLERS = ("planner", "coder", "reviewer", "triage", "indexer", "docs-writer")
DAYS = 21
KNOWN: tuple[tuple[str, Line, bool], ...] = (
    ("rate_limited", {"status": 429, "message": "Too Many Requests, slow down"}, True),
    ("network_transient", {"status": 503, "message": "Service Unavailable"}, True),
    ("validation", {"status": 400, "message": "messages: at least one message is required"}, False),
    ("tool_not_found", {"message": "spawn rg ENOENT"}, False),
)
"""Everyday errors: the reason that rules give them, their facts, and whether they are tried again."""


@dataclass(frozen=True)
class Trouble:
    """Sessions of some callers that meet an error in a stretch of time."""

    kind: str
    callers: frozenset[str]
    begin: datetime
    """Naive UTC, as is `end`."""
    end: datetime
    reason: str
    facts: Line
    share: float = 1.0
    """Of the sessions that begin in the stretch, those that meet it."""
    outcome: str = "surfaced"
    """`surfaced` for an error that nobody tries again, else what the chain of retries ends as."""
    repeats: int = 1

    def hits(self, caller: str, at: datetime, rng: Random) -> bool:
        """Whether a session that begins at a moment meets it."""
        return caller in self.callers and self.begin <= at < self.end and rng.random() < self.share


@dataclass(frozen=True)
class MadeNight:
    """The events up to a night, and what they were made of."""

    seed: int
    timezone: str
    day: date
    """The last day, which is the one to judge."""
    lines: tuple[Line, ...]
    troubles: tuple[Trouble, ...]

    def write(self, folder: Path) -> Path:
        """Write the lines into a log file and return it."""
        path = folder / "events.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path


def make_night(seed: int) -> MadeNight:
    """Make the night of a seed."""
    rng = Random(seed)
    zone = rng.choice(ZONES)
    day = date(2025, 3, 20) + timedelta(days=rng.randrange(60))  # The clocks of Berlin change in these weeks.
    models = {caller: rng.choice(MODELS) for caller in rng.sample(CALLERS, rng.randint(3, 6))}
    troubles = tuple(_troubles(rng, models, _midnight(day, zone), _midnight(day + timedelta(days=1), zone)))
    lines = [
        line
        for back in reversed(range(DAYS))
        for caller in models
        for line in _day(rng, caller, models[caller], day - timedelta(days=back), zone, troubles)
    ]
    lines.sort(key=lambda line: (line["timestamp"], line["id"]))
    return MadeNight(seed, zone, day, tuple(lines), troubles)


def _midnight(day: date, zone: str) -> datetime:
    """Return the moment at which a day begins, naive UTC."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC).replace(tzinfo=None)


def _troubles(rng: Random, models: dict[str, tuple[str, str]], begin: datetime, end: datetime) -> Iterator[Trouble]:
    """Make one to three troubles of the last days."""
    kinds = ("outage", "outage", "message", "spike", "ended", "burst", "limits", "tools", "relays", "auth", "away")
    for kind in rng.sample(kinds, rng.randint(1, 3)):
        caller = frozenset({rng.choice(list(models))})
        if kind == "outage":
            provider = rng.choice([provider for provider, _ in models.values()])
            hit = frozenset(name for name in models if models[name][0] == provider)
            at = begin + timedelta(minutes=rng.randrange(-36 * 60, 23 * 60))
            facts = rng.choice(({"status": 529, "message": "Overloaded"}, {"status": 503, "message": "upstream gone"}))
            until = min(at + timedelta(minutes=rng.randrange(40, 8 * 60)), end)
            yield Trouble(kind, hit, at, until, "network_transient", facts, 0.9, "exhausted")
        elif kind in {"message", "spike", "ended"}:
            at = begin - timedelta(days={"message": rng.randrange(3), "spike": 0, "ended": rng.randrange(1, 4)}[kind])
            until = at + timedelta(days=1) if kind == "ended" else end
            text = rng.choice(("shard {n} has no manifest yet", "the loom of bay {n} is re-threaded", "orrery stalled"))
            yield Trouble(kind, caller, at, until, "unknown", {"message": text}, 0.6)
        elif kind == "burst":
            at = begin + timedelta(hours=rng.randrange(2, 20))
            facts = {"message": "sluice refuses to turn"}
            yield Trouble(kind, caller, at, end, "unknown", facts, 0.2, repeats=rng.randrange(30, 70))
        elif kind == "limits":
            facts = {"status": 429, "message": "Too Many Requests, slow down"}
            yield Trouble(kind, caller, begin, end, "rate_limited", facts, 0.8, rng.choice(("exhausted", "recovered")))
        elif kind == "auth":
            facts = {"status": 401, "message": "this account has no access"}
            yield Trouble(kind, caller, begin + timedelta(hours=rng.randrange(20)), end, "auth_error", facts)
        else:
            yield Trouble(kind, caller, begin, end, "", {}, 0.9)


def _day(
    rng: Random, caller: str, model: tuple[str, str], day: date, zone: str, troubles: tuple[Trouble, ...]
) -> Iterator[Line]:
    """Make the sessions of a caller on a day of the zone."""
    midnight = _midnight(day, zone)
    for number in range(rng.randint(7, 10)):
        begin = midnight + timedelta(minutes=rng.randrange(5, 1_375), seconds=rng.randrange(60))
        if any(one.kind == "away" and one.hits(caller, begin, rng) for one in troubles):
            continue
        yield from _Session(rng, caller, model, f"{caller}-{day:%m%d}-{number}", begin).lines(troubles)


class _Session:
    """One session: its requests, what it met, and its end."""

    def __init__(self, rng: Random, caller: str, model: tuple[str, str], name: str, begin: datetime) -> None:
        self.rng, self.name, self.begin, self.at, self.count = rng, name, begin, begin, 0
        self.work = {"caller": caller, "agent": "loom", "agent_version": "1.4.0", "project": "shop"}
        self.work |= {"provider": model[0], "model": model[1]}

    def lines(self, troubles: tuple[Trouble, ...]) -> Iterator[Line]:
        """Make all lines."""
        rng, requests = self.rng, self.rng.randint(1, 3)
        for _ in range(requests):
            tokens = {"input_tokens": rng.randrange(4_000, 20_000), "output_tokens": rng.randrange(200, 1_500)}
            yield self.line("usage.recorded", request=f"{self.name}-r{self.count}", **tokens)
        met = [one for one in troubles if one.hits(self.work["caller"], self.begin, rng)]
        for one in met:
            if one.kind == "tools":
                for _ in range(2):
                    yield self.line("tool.failed", tool="fetch", kind="not_found", message="no such board")
            elif one.kind == "away":
                pass  # A tenth of its sessions come all the same.
            elif one.kind == "relays":
                yield from self.relay()
            else:
                yield from self.errors(one.reason, one.facts, one.outcome, one.repeats)
        if not met and rng.random() < 0.2:
            reason, facts, again = rng.choice(KNOWN)
            yield from self.errors(reason, facts, "recovered" if again else "surfaced")
        if not met and rng.random() < 0.05:
            yield from self.relay()
        observed = {"requests": requests, "retry_visibility": "full", "tools": {"fetch": 3}}
        yield self.line("session.observed", **observed, started_at=_stamp(self.begin), ended_at=_stamp(self.at))

    def errors(self, reason: str, facts: Line, outcome: str, repeats: int = 1) -> Iterator[Line]:
        """Make an error and its repeats, or the chain of its retries."""
        text = facts["message"].format(n=self.rng.randrange(2, 99))
        known = {"reason": reason, "facts": {**facts, "message": text}}
        if outcome == "surfaced":
            for _ in range(repeats):
                yield self.line("error.classified", **known, outcome="surfaced")
            return
        chain = {"operation": f"{self.name}-op{self.count}", "reason": reason}
        attempts = 3 if outcome == "exhausted" else 2
        wait = self.rng.choice((5.0, 8.0, 40.0))
        for attempt in range(1, attempts + (outcome == "exhausted")):
            yield self.line("error.classified", **chain, attempt=attempt, max_attempts=3, facts=known["facts"])
            if attempt < attempts:
                yield self.line("retry.scheduled", **chain, attempt=attempt, delay_seconds=wait)
                self.at += timedelta(seconds=wait)
        waited = wait * (attempts - 1)
        # An agent writes at once that it gave up, and some seconds later that another call got its answer.
        self.at += timedelta(seconds=self.rng.randrange(2, 9) if outcome == "recovered" else 0)
        yield self.line("retry.settled", **chain, outcome=outcome, attempts=attempts, waited_seconds=waited)

    def relay(self) -> Iterator[Line]:
        """Make a hand-off."""
        relay = {"relay": f"{self.name}-relay{self.count}", "step_id": "implement", "trigger": "auto"}
        yield self.line("relay.triggered", **relay, token_usage_percent=82.0, pre_tokens=150_000)
        yield self.line(self.rng.choice(("relay.resumed", "relay.resumed", "relay.halted")), **relay)

    def line(self, kind: str, /, **payload: Any) -> Line:
        """Make the next line, some seconds after the one before."""
        self.count += 1
        if kind not in {"retry.settled", "session.observed"}:
            self.at += timedelta(seconds=self.rng.randrange(2, 9))
        name = f"{self.name}-{self.count}"
        own = {"type": kind, "timestamp": _stamp(self.at), "sessionId": self.name, "payload": {**self.work, **payload}}
        return {"v": 1, "id": name, **own}


def _stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.000Z"
