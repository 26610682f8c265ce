"""Fifty made-up days of a small fleet that yield one finding of each kind.

A caller a kind, named after it, or a provider or model; the sessions of each finding are named after its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from analyzer.events import Event, encode

START = date(2026, 9, 7)
DAYS = 50
CHANGE = 47
"""The day on which everything changes."""
RATE_LIMITED = {"status": 429, "message": "Too Many Requests, slow down"}
OVERLOADED = {"status": 529, "message": "Overloaded"}
INVALID = {"status": 400, "message": "messages: at least one message is required"}
REFUSED = {"status": 401, "message": "invalid x-api-key"}
GONE = {"status": 404, "message": "model: heron-1 is retired"}
TOO_LONG = {"status": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}
_REASONS = {
    429: "rate_limited",
    529: "network_transient",
    503: "network_transient",
    400: "validation",
    401: "auth_error",
}


def every_finding() -> list[bytes]:
    """Lines of the event log."""
    return [each for number in range(DAYS) for story in _STORIES for each in story(number)]


def line(event_id: str, kind: str = "error.classified", at: str = "", session: str = "", **payload: object) -> bytes:
    """A line of the event log."""
    return encode(Event(kind, datetime.fromisoformat(at), session, payload, event_id))


def at(number: int, minute: int = 0, second: int = 0) -> str:
    """A moment of the working day so many days after the first."""
    day = START + timedelta(days=number)
    return (datetime(day.year, day.month, day.day, 8) + timedelta(minutes=minute, seconds=second)).isoformat()


def _error(caller: str, number: int, session: int, facts: dict[str, Any], mark: str = "k", second: int = 0) -> bytes:
    name = f"{caller}-{number}-{session}"
    reason = _REASONS.get(facts.get("status"), "unknown")
    when = at(number, session, second)
    return line(f"{name}-{mark}-{second}", at=when, session=name, caller=caller, reason=reason, facts=facts)


def _known(caller: str, number: int, sessions: int = 12) -> Iterator[bytes]:
    """A caller's usual day: errors that the rules know, and every fifth day one that they do not."""
    for session in range(sessions):
        facts = (RATE_LIMITED, OVERLOADED, INVALID)[(number + session) % 3]
        yield _error(caller, number, session, facts)
    if number % 5 == 0:
        yield _error(caller, number, 0, {"message": f"ledger page {number} was folded twice"}, "u")


def _spike(number: int) -> Iterator[bytes]:
    yield from _known("spike", number)
    if number == DAYS - 1:
        for session in range(8):
            facts = {"message": f"lattice gate {number} closed by curator {session}"}
            yield _error("spike", number, session, facts, "n")


def _drift(number: int) -> Iterator[bytes]:
    yield from _known("drift", number, 20)
    for session in range(max(0, number - CHANGE + 8) // 2):
        facts = {"message": f"tide table {number} lags by {session} pages"}
        yield _error("drift", number, session + 4, facts, "n")


def _template(number: int) -> Iterator[bytes]:
    yield from _known("template", number, 40)
    for session in range(2 if number >= CHANGE else 0):
        yield _error("template", number, session + 9, {"message": "orrery arm is being re-strung"}, "n")


def _burst(number: int) -> Iterator[bytes]:
    yield from _known("burst", number)
    for repeat in range(64 if number == DAYS - 1 else 0):
        second = 40 * repeat - (12 * repeat if repeat > 40 else 0)
        yield _error("burst", number, 5, {"message": "sluice refuses to turn"}, "loop", second)


def _volume(number: int) -> Iterator[bytes]:
    for session in range(60 if number >= DAYS - 2 else 12):
        facts = (RATE_LIMITED, OVERLOADED, INVALID)[(number + session) % 3]
        yield _error("volume", number, session, facts)


def _unknown_rate(number: int) -> Iterator[bytes]:
    # Nearly all of its errors were unknown before, so that their share hardly moves.
    for session in range(104 if number >= DAYS - 2 else 40):
        facts = RATE_LIMITED if session < 4 else {"message": "the heron is late"}
        yield _error("unknown_rate", number, session, facts)


def _outage(number: int) -> Iterator[bytes]:
    for caller in range(3):
        for session in range(12 if number == DAYS - 1 else 1 + (number + caller) % 2):
            name = {"caller": f"outage-{caller}", "provider": "outage", "reason": "network_transient"}
            here = f"outage-{number}-{20 * caller + session}"
            yield line(f"{here}-o", at=at(number, session, caller), session=here, facts=OVERLOADED, **name)


def _model_outage(number: int) -> Iterator[bytes]:
    for caller in range(6):
        model = "model_outage" if caller < 3 else "another"
        for session in range(12 if number == DAYS - 1 and caller < 3 else 1 + (number + caller) % 2):
            name = {"caller": f"model-{caller}", "provider": "models", "model": model, "reason": "network_transient"}
            here = f"model_outage-{number}-{20 * caller + session}"
            yield line(f"{here}-o", at=at(number, session, caller), session=here, facts=OVERLOADED, **name)


def _fleet_outage(number: int) -> Iterator[bytes]:
    for caller in range(4):
        for session in range(12):
            name = {"caller": f"fleet-{caller}", "provider": f"fleet-{caller}"}
            here = f"fleet_outage-{number}-{20 * caller + session}"
            yield line(f"{here}-w", "session.observed", at(number, session, caller), here, requests=3, **name)
            if number == DAYS - 1 or session < 1 + (number + caller) % 2:
                error = {"reason": "auth_error", "facts": REFUSED, **name}
                yield line(f"{here}-o", at=at(number, session, caller), session=here, **error)


def _shared_template(number: int) -> Iterator[bytes]:
    for caller in range(4):
        name = {"caller": f"shared-{caller}"}
        here = f"shared_template-{number}-{caller}"
        known = {"reason": "rate_limited", "facts": RATE_LIMITED}
        yield line(f"{here}-k", at=at(number, caller), session=here, **name, **known)
        if number >= DAYS - 2:
            new = {"reason": "unknown", "facts": {"message": "heron clock runs backwards"}}
            yield line(f"{here}-n", at=at(number, caller, 1), session=here, **name, **new)


def _weak_template(number: int) -> Iterator[bytes]:
    yield from _known("weak_template", number, 40)
    for session in range(2 if number >= CHANGE else 0):
        facts = {"status": 503, "message": "orrery bearing ran dry"}
        yield _error("weak_template", number, session + 9, facts, "n")


def _wording_changed(number: int) -> Iterator[bytes]:
    for session in range(12):
        limited = {"message": "the quota heron is asleep"} if number >= CHANGE else RATE_LIMITED
        yield _error("wording_changed", number, session, limited if session < 8 else INVALID)


def _relays(number: int, kind: str = "relays", **own: str) -> Iterator[bytes]:
    yield from _known(kind, number)
    for session in range(9 if number == DAYS - 1 else 1 + number % 2):
        for again in range(2 if number == DAYS - 1 else 1):
            name = f"{kind}-{number}-{session}"
            known = {"relay": f"{name}-{again}", "caller": kind, "trigger": "auto", **own}
            begin = at(number, session, again)
            yield line(f"{name}-r{again}", "relay.triggered", begin, session=name, token_usage_percent=82.0, **known)
            yield line(f"{name}-s{again}", "relay.resumed", at(number, session, again + 9), session=name, **known)


def _chains(caller: str, number: int, chains: tuple[int, int, int], facts: dict[str, Any]) -> Iterator[bytes]:
    """So many chains that recovered, that did not, and errors that were not retried."""
    recovered, failed, _ = chains
    for chain in range(sum(chains)):
        name = f"{caller}-{number}-{chain}"
        outcome = "recovered" if chain < recovered else "escalated" if chain < recovered + failed else "surfaced"
        attempts = 2 if chain < recovered + failed else 1
        known = {"operation": name, "caller": caller, "reason": "rate_limited"}
        for attempt in range(attempts):
            moment = at(number, chain, 20 * attempt)
            yield line(f"{name}-{attempt}", at=moment, session=name, facts=facts, attempt=attempt + 1, **known)
        end = at(number, chain, 50)
        yield line(f"{name}-end", "retry.settled", end, session=name, outcome=outcome, attempts=attempts, **known)


def _recovery_fell(number: int) -> Iterator[bytes]:
    chains = (2, 7, 0) if number >= CHANGE - 2 else (8, 1 + number % 2, 0)
    yield from _chains("recovery_fell", number, chains, RATE_LIMITED)


def _retry_in_vain(number: int) -> Iterator[bytes]:
    # Enough chains to be sure of it only at the end.
    yield from _chains("retry_in_vain", number, (0, 4 if number >= 28 else 0, 0), RATE_LIMITED)


def _retry_would_pay(number: int) -> Iterator[bytes]:
    yield from _chains(
        "retry_would_pay", number, (2, number % 2, 4) if number >= CHANGE - 9 else (6, number % 2, 0), OVERLOADED
    )


def _silence(number: int) -> Iterator[bytes]:
    for session in range(18 if number < DAYS - 1 else 1):
        name = f"silence-{number}-{session}"
        yield line(f"{name}-w", "session.observed", at(number, session), name, requests=3, caller="silence")


def _tool_failures(number: int) -> Iterator[bytes]:
    for session in range(24):
        name, known = f"tool_failures-{number}-{session}", {"caller": f"tools-{session % 3}"}
        tools = {"tool_failures": 3}
        yield line(f"{name}-w", "session.observed", at(number, session), name, requests=3, tools=tools, **known)
        failed = {"tool": "tool_failures", "message": "no such board", **known}
        for again in range(2 if session % 8 < (6 if number == DAYS - 1 else 1) else 0):
            yield line(f"{name}-t{again}", "tool.failed", at(number, session, 9 + again), name, **failed)


def _host_outage(number: int) -> Iterator[bytes]:
    for caller in range(6):
        host = "host_outage" if caller < 3 else "another-host"
        for session in range(12 if number == DAYS - 1 and caller < 3 else 1 + (number + caller) % 2):
            name = {"caller": f"host-{caller}", "provider": f"hosts-{caller % 3}", "reason": "network_permanent"}
            here = f"host_outage-{number}-{20 * caller + session}"
            moment = datetime.fromisoformat(at(number, session, caller))
            known = Event("error.classified", moment, here, {**name, "facts": GONE}, f"{here}-o")
            yield encode(replace(known, writer=f"{host}:1:a"))


def _project_outage(number: int) -> Iterator[bytes]:
    for caller in range(6):
        project = "project_outage" if caller < 3 else "another"
        for session in range(12 if number == DAYS - 1 and caller < 3 else 1 + (number + caller) % 2):
            name = {"caller": f"project-{caller}", "provider": f"projects-{caller % 3}", "project": project}
            here = f"project_outage-{number}-{20 * caller + session}"
            error = {"reason": "context_overflow", "facts": TOO_LONG, **name}
            yield line(f"{here}-o", at=at(number, session, caller), session=here, **error)


def _sessions(kind: str, number: int, **last: Any) -> Iterator[bytes]:
    """A caller's twelve sessions a day, most of which have something more on the last day, and one every third day."""
    for session in range(12):
        name = f"{kind}-{number}-{session}"
        other = session < 10 if number == DAYS - 1 else session == 0 and number % 3 == 0
        end = at(number, session, 30 if other else 50)
        known = {"caller": kind, "requests": 3, "ended_at": end, **(last if other else {})}
        yield line(f"{name}-w", "session.observed", end, name, **known)
        if kind == "sessions_unanswered":
            yield _error(kind, number, session, RATE_LIMITED, second=30)
        if kind == "shipped_twice" and other:
            yield line(f"{name}-again", "session.observed", end, f"{name}-again", **known)


def _retries_exhausted(number: int) -> Iterator[bytes]:
    for chain in range(12):
        name = f"retries_exhausted-{number}-{chain}"
        ended = "exhausted" if chain < (10 if number == DAYS - 1 else 1) else "recovered"
        known = {"operation": name, "caller": "patient", "provider": "retries_exhausted", "reason": "rate_limited"}
        yield line(f"{name}-k", at=at(number, chain), session=name, facts=RATE_LIMITED, attempt=1, **known)
        yield line(f"{name}-end", "retry.settled", at(number, chain, 50), name, outcome=ended, attempts=3, **known)


def _waits_grow(number: int) -> Iterator[bytes]:
    for session in range(24):
        name = f"waits_grow-{number}-{session}"
        chain = {"operation": name, "caller": f"waits-{session % 3}", "provider": "waits_grow"}
        chain |= {"reason": "network_transient"}
        yield line(f"{name}-k", at=at(number, session), session=name, facts=OVERLOADED, attempt=1, **chain)
        end = {"outcome": "recovered", "attempts": 2, "waited_seconds": 45.0 if number == DAYS - 1 else 3.0}
        yield line(f"{name}-end", "retry.settled", at(number, session, 50), name, **end, **chain)


_OWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("validation", INVALID),
    ("tool_not_found", {"message": "spawn rg ENOENT"}),
    ("context_overflow", {"status": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
)


def _under(kind: str, number: int, old: dict[str, str], new: dict[str, str]) -> Iterator[bytes]:
    """Thirty sessions of three callers, of which four meet errors of three reasons, and nine since the change."""
    work = new if number >= CHANGE else old
    for session in range(30):
        name, known = f"{kind}-{number}-{session}", {"caller": f"{kind}-{session % 3}", **work}
        yield line(f"{name}-w", "session.observed", at(number, session), name, requests=3, **known)
        if session < (9 if number >= CHANGE else 4):
            reason, facts = _OWN[(number + session) % 3]
            yield line(f"{name}-e", at=at(number, session, 9), session=name, reason=reason, facts=facts, **known)


def _version_worse(number: int) -> Iterator[bytes]:
    old, new = ({"agent": "version_worse", "agent_version": version} for version in ("2.1.7", "2.1.8"))
    yield from _under("version_worse", number, old, new)


def _model_worse(number: int) -> Iterator[bytes]:
    old, new = ({"agent": "other", "model": model} for model in ("before", "model_worse"))
    yield from _under("model_worse", number, old, new)


def _model_swapped(number: int) -> Iterator[bytes]:
    """Requests of three callers, of which most are refused and answered by another model on the last day."""
    for session in range(24):
        name, known = f"model_swapped-{number}-{session}", {"caller": f"asks-{session % 3}", "model": "model_swapped-2"}
        known |= {"request": name, "asked_model": "model_swapped-2", "output_tokens": 9}
        served = "lesser-1" if number == DAYS - 1 and session < 14 else "model_swapped-2"
        yield line(f"{name}-u", "usage.recorded", at(number, session), name, served_model=served, **known)


_STORIES = (
    _spike,
    _drift,
    _template,
    _burst,
    _volume,
    _unknown_rate,
    _outage,
    _model_outage,
    _fleet_outage,
    _shared_template,
    _weak_template,
    _wording_changed,
    partial(_relays, step_id="implement"),
    partial(_relays, kind="compactions", strategy="compact"),
    _recovery_fell,
    _retry_in_vain,
    _retry_would_pay,
    _silence,
    _tool_failures,
    _waits_grow,
    _version_worse,
    _model_worse,
    _model_swapped,
    _host_outage,
    _project_outage,
    _retries_exhausted,
    partial(_sessions, "sessions_aborted", aborted=1),
    partial(_sessions, "sessions_empty", requests=0),
    partial(_sessions, "sessions_unanswered"),
    partial(_sessions, "shipped_twice"),
)
