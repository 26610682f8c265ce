"""The agents that may be asked, shared by processes through a file: an agent at its limit is out until it resets.

Invariant: an agent leaves only by an `Exhaustion`, and comes back once, whichever process looks first.

Only a plan's usage limit takes an agent out, and no other end of a run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from analyzer.events import EventLog
from analyzer.events.times import format_time, parse_time
from analyzer.frozen import frozen
from analyzer.recovery.limits.state_file import State, StateFile
from analyzer.recovery.waiting import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from analyzer.classifier import Classification


UNKNOWN_RESET_SECONDS = 3_600.0
"""The time that an agent stays out if its limit does not say when it resets."""


@frozen
class Exhaustion:
    """An agent that ran into its usage limit."""

    agent: str
    reason_text: str
    """For people: the limit, and when it resets."""
    exhausted_at: datetime
    """Aware, UTC."""
    reset_at: datetime | None
    """Aware, UTC; None if the limit does not say."""
    exit_code: int | None

    @property
    def back_at(self) -> datetime:
        """Return when the agent may be asked again, aware, UTC."""
        return self.reset_at or self.exhausted_at + timedelta(seconds=UNKNOWN_RESET_SECONDS)


def exhaustion(agent: str, verdict: Classification, exit_code: int, at: datetime) -> Exhaustion | None:
    """Return the exhaustion that a run shows; None if it did not hit the usage limit.

    `at` (aware) is the moment of its end. The classifier decides which lines count; a run that
    ended with 0 never counts.
    """
    if exit_code == 0 or verdict.detail != "usage_limit" or not verdict.retryable:
        return None
    reset_at = verdict.reset_at
    if reset_at is None and verdict.retry_after_seconds is not None:
        reset_at = at + timedelta(seconds=verdict.retry_after_seconds)
    when = f"resets {reset_at:%Y-%m-%d %H:%M} UTC" if reset_at else "does not say when it resets"
    line = _limit_line(verdict)
    text = f"usage limit reached, {when}{f': {line}' if line else ''}"
    return Exhaustion(agent, text, at, reset_at, exit_code)


def log_exhausted(log: EventLog, gone: Exhaustion, *, session: str | None = None) -> None:
    """Log `agent.exhausted`."""
    log.agent_exhausted(
        agent=gone.agent,
        reason_text=gone.reason_text,
        reset_at=format_time(gone.reset_at) if gone.reset_at else None,
        exit_code=gone.exit_code,
        session=session,
    )


def _limit_line(verdict: Classification) -> str:
    """Return the line about the limit: in the record's text, else in the last words of the output."""
    from analyzer.classifier.rules.text_evidence import last_line

    facts = verdict.facts
    lines = [*(facts.message or "").splitlines(), *(last_line(text) for text in (facts.stderr, facts.stdout) if text)]
    return next((line.strip()[:200] for line in lines if "limit" in line.lower()), "")


_AGENTS = "agents"


class AgentPool:
    """The agents that are out, and until when. Safe between threads and processes of one machine."""

    def __init__(
        self, path: str | os.PathLike[str], *, log: EventLog | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._file = StateFile(path)
        self._log = log
        self._clock = clock

    def remove(self, gone: Exhaustion, *, session: str | None = None) -> None:
        """Take an agent out until its limit resets, and log `agent.exhausted`.

        Raises:
            StateError: the file cannot be used.
        """
        entry = {
            "reason_text": gone.reason_text,
            "exhausted_at": format_time(gone.exhausted_at),
            "reset_at": format_time(gone.reset_at) if gone.reset_at else None,
            "exit_code": gone.exit_code,
        }
        self._file.update(lambda state: {**state, _AGENTS: {**_agents(state), gone.agent: entry}})
        if self._log is not None:
            log_exhausted(self._log, gone, session=session)

    def out(self, agent: str) -> Exhaustion | None:
        """Return why an agent is out; None if it may be asked.

        An agent whose limit has reset is brought back.

        Raises:
            StateError: the file cannot be used.
        """
        return self.everyone_out().get(agent)

    def everyone_out(self) -> dict[str, Exhaustion]:
        """Return all agents that are out, by name.

        Raises:
            StateError: the file cannot be used.
        """
        present = self._clock.now()
        entries = {name: _exhaustion(name, entry) for name, entry in _agents(self._file.read()).items()}
        if any(_is_over(gone, present) for gone in entries.values()):
            entries = self._bring_back(present)
        return {name: gone for name, gone in entries.items() if gone is not None}

    def choose(self, agents: Iterable[str]) -> str | None:
        """Return the first of these agents that may be asked; None if all are out.

        Raises:
            StateError: the file cannot be used.
        """
        gone = self.everyone_out()
        return next((agent for agent in agents if agent not in gone), None)

    def wait_for(self, agent: str, max_wait_seconds: float, cancel: threading.Event | None = None) -> Exhaustion | None:
        """Wait until an agent is back, and return None.

        If that takes longer than `max_wait_seconds`, return at once why the agent is out.

        Raises:
            StateError: the file cannot be used.
            WaitCancelledError: `cancel` was set.
        """
        began = self._clock.now()
        while (gone := self.out(agent)) is not None and (gone.back_at - began).total_seconds() <= max_wait_seconds:
            self._clock.sleep((gone.back_at - self._clock.now()).total_seconds(), cancel)
        return gone

    def _bring_back(self, present: datetime) -> dict[str, Exhaustion | None]:
        back: list[str] = []

        def change(state: State) -> State:
            back.clear()
            agents = dict(_agents(state))
            for name, entry in list(agents.items()):
                if _is_over(_exhaustion(name, entry), present):
                    del agents[name]
                    back.append(name)
            return {**state, _AGENTS: agents}

        agents = _agents(self._file.update(change))
        if self._log is not None:
            for name in back:
                self._log.agent_restored(agent=name)
        return {name: _exhaustion(name, entry) for name, entry in agents.items()}


def _agents(state: State) -> dict[str, Any]:
    agents = state.get(_AGENTS)
    return agents if isinstance(agents, dict) else {}


def _exhaustion(agent: str, entry: Any) -> Exhaustion | None:
    """Return the exhaustion in an entry of the file; None if the entry has another form."""
    if not isinstance(entry, dict):
        return None
    try:
        since, until = _moment(entry.get("exhausted_at")), _moment(entry.get("reset_at"))
    except ValueError:
        return None
    if since is None:
        return None
    code = entry.get("exit_code")
    return Exhaustion(agent, str(entry.get("reason_text")), since, until, code if isinstance(code, int) else None)


def _moment(value: object) -> datetime | None:
    moment = parse_time(value)
    return moment.replace(tzinfo=UTC) if moment is not None else None


def _is_over(gone: Exhaustion | None, present: datetime) -> bool:
    """Return true if an agent may come back, also for an unreadable entry or one that ends far ahead of the clock."""
    from analyzer.classifier.reading.reset_times import FARTHEST

    return gone is None or not present < gone.back_at <= present + FARTHEST
