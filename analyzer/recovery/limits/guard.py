"""The rate guard: what every process of a machine knows about each provider's limits, and the wait until they reset.

Invariant: of what is recorded for a limit, the smallest remainder and the latest reset hold until that reset.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from analyzer.errors import BUSY, AnalyzerError
from analyzer.events.appending.places import absolute
from analyzer.events.times import format_time, parse_time
from analyzer.recovery.limits.headers import MAX_SECONDS, RETRY_AFTER, Limit, read_limits, sane
from analyzer.recovery.limits.state_file import State, StateFile
from analyzer.recovery.waiting import SYSTEM_CLOCK, Clock

DEFAULT_BLOCK_SECONDS = 60.0
"""How long a limit holds that names no time: most are counted by the minute."""
RECHECK_SECONDS = 1.0
"""How often who waits looks whether another process has learned of a later reset."""
_STEP = timedelta(seconds=1)
"""A record that is further ahead of the clock than this was made before the clock was set back."""
_LONGEST = timedelta(seconds=MAX_SECONDS) + _STEP
"""What holds longer on file was not written here."""


class RateLimitedError(AnalyzerError):
    """The guard knows that a provider would refuse: it says so before the call, or after too long a wait."""

    exit_code = BUSY

    def __init__(self, provider: str, reset_at: datetime | None) -> None:
        until = f" until {format_time(reset_at)}" if reset_at else ""
        super().__init__(f"{provider} is rate limited{until}", "Try again then, or use another provider.")
        self.provider = provider
        self.reset_at = reset_at

    def __reduce__(self) -> tuple[type[RateLimitedError], tuple[str, datetime | None]]:
        """Copies and pickles are made of provider and moment, not of the message."""
        return type(self), (self.provider, self.reset_at)


@dataclass(frozen=True, slots=True)
class RateState:
    """What is known of one provider's limits at one moment."""

    provider: str
    remaining: float | None
    """The smallest of what is left of any limit; null where nothing says."""
    reset_at: datetime | None
    """When the last of the limits that have nothing left resets, aware, UTC; null where calls may be made."""
    wait_seconds: float
    """From now until then; 0 where calls may be made."""

    @property
    def ready(self) -> bool:
        """Whether a call may be made."""
        return self.wait_seconds <= 0


class RateGuard:
    """Limits by provider, kept in one state file each below `folder`, so that all processes hold back together.

    Without a folder it knows what this process was told and no more. `StateError` is raised where the folder cannot be
    used.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._folder = None if folder is None else Path(absolute(Path(folder).expanduser()))
        self._clock = clock
        self._cells: dict[str, StateFile | _Memory] = {}

    def record(
        self,
        provider: str,
        headers: object = None,
        *,
        limited: bool = False,
        wait_seconds: float | None = None,
    ) -> RateState:
        """Takes note of a response's headers: a mapping or pairs, any case, of a success as well as of a refusal.

        `limited` says that the provider refused for a limit (429). What then holds is what the headers name, else
        `wait_seconds` (what the error's text says), else a minute.
        """
        now = self._clock.now()
        limits = read_limits(headers, now) if headers is not None else {}
        if limited and not any(limit.remaining == 0 and limit.seconds for limit in limits.values()):
            resets = [limit.seconds for limit in limits.values() if limit.seconds is not None]
            asked = None if wait_seconds is None else sane(wait_seconds)
            known = asked if asked is not None else max(resets, default=None)
            limits[RETRY_AFTER] = Limit(0.0, DEFAULT_BLOCK_SECONDS if known is None else known)
        if not limits:
            return self.state(provider)
        state = self._cell(provider).update(lambda before: _merged(provider, before, limits, now))
        return _state(provider, _limits_of(state), now)

    def state(self, provider: str) -> RateState:
        """The limits of a provider as they are known now."""
        now = self._clock.now()
        cell = self._cell(provider)
        limits = _limits_of(cell.read())
        if any(limit.recorded_at > now + _STEP for limit in limits.values()):
            # The clock was set back. The moments on file mean nothing any more, the lengths of the waits do.
            limits = _limits_of(cell.update(lambda before: _merged(provider, before, {}, now)))
        return _state(provider, limits, now)

    def block_until_ready(
        self, provider: str, *, max_wait_seconds: float | None = None, cancel: threading.Event | None = None
    ) -> float:
        """Waits until a call may be made; the seconds waited.

        Raises:
            RateLimitedError: it would take longer than `max_wait_seconds`.
            WaitCancelledError: `cancel` was set.
        """
        wait = _Wait(self._clock, max_wait_seconds)
        while (seconds := wait.next_seconds(self.state(provider))) > 0:
            self._clock.sleep(seconds, cancel)
        return wait.waited_seconds

    async def block_until_ready_async(
        self, provider: str, *, max_wait_seconds: float | None = None, cancel: threading.Event | None = None
    ) -> float:
        """`block_until_ready` for coroutines; files and locks are used in a thread, so that the loop goes on."""
        import asyncio  # only loaded where somebody runs it anyway

        wait = _Wait(self._clock, max_wait_seconds)
        while (seconds := wait.next_seconds(await asyncio.to_thread(self.state, provider))) > 0:
            await self._clock.sleep_async(seconds, cancel)
        return wait.waited_seconds

    def _cell(self, provider: str) -> StateFile | _Memory:
        cell = self._cells.get(provider)
        if cell is None:
            made = _Memory() if self._folder is None else StateFile(self._folder / f"{_file_name(provider)}.json")
            cell = self._cells.setdefault(provider, made)
        return cell


class _Wait:
    """How long to sleep next; a clock that is set back while one waits makes the wait no longer."""

    def __init__(self, clock: Clock, max_wait_seconds: float | None) -> None:
        self._clock = clock
        self._max = max_wait_seconds
        self._begun = clock.monotonic()
        self._reset_at: datetime | None = None
        self._deadline = 0.0

    @property
    def waited_seconds(self) -> float:
        return self._clock.monotonic() - self._begun

    def next_seconds(self, state: RateState) -> float:
        now = self._clock.monotonic()
        if state.reset_at != self._reset_at:
            longest = self._deadline - now if self._reset_at is not None and _rebased(state, self._reset_at) else None
            self._reset_at = state.reset_at
            self._deadline = now + (state.wait_seconds if longest is None else min(longest, state.wait_seconds))
        left = min(state.wait_seconds, self._deadline - now)
        if self._max is not None and self.waited_seconds + left > self._max:
            raise RateLimitedError(state.provider, state.reset_at)
        return min(left, RECHECK_SECONDS)


def _rebased(state: RateState, before: datetime) -> bool:
    """Whether a reset became earlier: only a clock that was set back does that."""
    return state.reset_at is not None and state.reset_at < before


@dataclass(frozen=True, slots=True)
class _Recorded:
    remaining: float | None
    reset_at: datetime
    recorded_at: datetime


def _merged(provider: str, before: Mapping[str, Any], new: Mapping[str, Limit], now: datetime) -> State:
    """The state after a response; limits that have reset are gone."""
    limits: dict[str, _Recorded] = {}
    for name, old in _limits_of(before).items():
        if old.recorded_at > now + _STEP:
            old = _Recorded(old.remaining, now + (old.reset_at - old.recorded_at), now)
        if old.reset_at > now:
            limits[name] = old
    for name, limit in new.items():
        seconds = DEFAULT_BLOCK_SECONDS if limit.seconds is None else limit.seconds
        standing = limits.get(name)
        # Up to the next millisecond: the file keeps no more, and ready too early is refused again.
        left, reset_at = limit.remaining, now + timedelta(milliseconds=math.ceil(seconds * 1000))
        if standing is not None:
            left = min((each for each in (left, standing.remaining) if each is not None), default=None)
            reset_at = max(reset_at, standing.reset_at)
        if standing is None or (left, reset_at) != (standing.remaining, standing.reset_at):
            limits[name] = _Recorded(left, reset_at, now)
    return {
        "provider": provider,
        "limits": {
            name: {
                "remaining": limit.remaining,
                "reset_at": format_time(limit.reset_at),
                "recorded_at": format_time(limit.recorded_at),
            }
            for name, limit in limits.items()
        },
    }


def _limits_of(state: Mapping[str, Any]) -> dict[str, _Recorded]:
    """The limits in a state file. An entry that makes no sense is left out."""
    stored = state.get("limits")
    found: dict[str, _Recorded] = {}
    for name, limit in stored.items() if isinstance(stored, dict) else ():
        if not isinstance(limit, dict):
            continue
        try:
            reset_at, recorded_at = parse_time(limit.get("reset_at")), parse_time(limit.get("recorded_at"))
        except ValueError:
            continue
        left = limit.get("remaining")
        if reset_at is None or recorded_at is None or not (left is None or isinstance(left, int | float)):
            continue
        if reset_at - recorded_at > _LONGEST:
            continue
        found[name] = _Recorded(left, reset_at.replace(tzinfo=UTC), recorded_at.replace(tzinfo=UTC))
    return found


def _state(provider: str, limits: Mapping[str, _Recorded], now: datetime) -> RateState:
    current = [limit for limit in limits.values() if limit.reset_at > now]
    left = [limit.remaining for limit in current if limit.remaining is not None]
    until = max((limit.reset_at for limit in current if limit.remaining == 0), default=None)
    return RateState(provider, min(left, default=None), until, 0.0 if until is None else (until - now).total_seconds())


def _file_name(provider: str) -> str:
    """The provider's name where it is a harmless file name, else one that follows from it."""
    if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", provider):
        return provider
    legible = re.sub(r"[^a-z0-9]+", "-", provider.lower()).strip("-")[:40]
    return f"{legible}-{blake2b(provider.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


class _Memory:
    """A state in memory, for a guard without a folder."""

    def __init__(self) -> None:
        self._state: State = {}
        self._lock = threading.Lock()

    def read(self) -> State:
        return self._state

    def update(self, change: Callable[[State], State]) -> State:
        with self._lock:
            self._state = change(dict(self._state))
            return self._state
