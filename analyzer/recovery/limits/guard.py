"""The rate guard: each provider's limits, shared by all processes of a machine, and the wait until they reset.

Invariant: of the records of a limit, the smallest remainder and the latest reset hold until that reset.

The limits in a response's headers are a pure function of these and of the present moment, for any input.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from analyzer.classifier.reading.reset_times import header_value
from analyzer.classifier.reading.responses import attribute_of
from analyzer.errors import BUSY, AnalyzerError
from analyzer.events.appending.places import absolute
from analyzer.events.times import format_time, parse_time
from analyzer.frozen import frozen
from analyzer.recovery.limits.state_file import State, StateFile
from analyzer.recovery.waiting import BLOCKING, ON_LOOP, SYSTEM_CLOCK, Clock, Runner, finish

RETRY_AFTER = "retry-after"
"""The name under which an explicit request to wait is kept among the limits."""
MAX_SECONDS = 400 * 86_400.0
"""The longest time that a limit holds; a longer one is garbled."""

_MAX_HEADERS = 500
_MAX_CAUSES = 5
# "x-ratelimit-reset-tokens", "anthropic-ratelimit-requests-remaining", "x-rate-limit-reset", "x-codex-primary-reset-at"
_LIMIT_NAME = re.compile(r"^(?:x-|anthropic-|openai-)*(?:ratelimit|rate-limit|codex)-(.+)$")
# Words of a name that describe the value; the others name the limit.
_FIELD_WORDS = frozenset({"remaining", "reset", "status", "used", "percent", "after", "at", "seconds", "ms", "time"})
# `"burst";r=0;t=30` and `limit=10, remaining=0, reset=30`: the header `RateLimit` of the IETF's drafts, new and old.
_PARAMETER = re.compile(r"\b(r|remaining|t|reset)=(\d+(?:\.\d+)?)")

DEFAULT_BLOCK_SECONDS = 60.0
"""The time that a limit holds if it names none: most are counted by the minute."""
RECHECK_SECONDS = 1.0
"""The interval in which a waiting process looks for a later reset,
which another process may have recorded.
"""
_STEP = timedelta(seconds=1)
"""A record that is further ahead of the clock than this was made before the clock was set back."""
_LONGEST = timedelta(seconds=MAX_SECONDS) + _STEP
"""The longest time that a record may hold; a longer one was not written by this module."""


@frozen
class Limit:
    """One limit in a response."""

    remaining: float | None = None
    """The rest in the limit's own unit: requests, tokens, per cent."""
    seconds: float | None = None
    """Seconds until it resets, from the moment of the response."""

    def stricter(self, other: Limit) -> Limit:
        """Return the smaller remainder and the later reset of two limits."""
        left = [limit.remaining for limit in (self, other) if limit.remaining is not None]
        resets = [limit.seconds for limit in (self, other) if limit.seconds is not None]
        return Limit(min(left, default=None), max(resets, default=None))


def read_limits(headers: object, now: datetime) -> dict[str, Limit]:
    """Return the limits by name; `headers` is a mapping or pairs, names in any case; `now` is aware.

    Moments are measured against the server's own clock if it sent a `Date`, so that a wrong clock of this machine does
    no harm.
    """
    pairs = list(_pairs(headers))
    server_now = _server_time(dict(pairs)) or now
    limits: dict[str, Limit] = {}
    for name, text in pairs:
        for limit, value in _read(name, text, server_now):
            limits[limit] = limits.get(limit, Limit()).stricter(value)
    millis = dict(pairs).get("retry-after-ms")
    if millis is not None and (exact := _number(millis)) is not None:
        # The same wait as `retry-after`, which is rounded up to whole seconds.
        limits[RETRY_AFTER] = Limit(0.0, sane(exact / 1000))
    return limits


def response_headers(error: BaseException) -> list[tuple[str, str]]:
    """Return the headers of the response in an exception, or in one that it was raised from; else nothing.

    Client libraries agree on `error.response.headers`; some have `error.headers`, botocore a dict.
    """
    seen: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if seen is None:
            break
        response = attribute_of(seen, "response")
        if isinstance(response, Mapping):
            metadata = response.get("ResponseMetadata")
            candidate = metadata.get("HTTPHeaders") if isinstance(metadata, Mapping) else None
        else:
            candidate = attribute_of(response, "headers")
        pairs = list(_pairs(candidate)) or list(_pairs(attribute_of(seen, "headers")))
        if pairs:
            return pairs
        seen = seen.__cause__
    return []


def _pairs(headers: object) -> Iterator[tuple[str, str]]:
    """Yield the headers as pairs of lower-case name and text,
    without values that are no text or number.
    """
    try:
        items: Any = headers.items() if hasattr(headers, "items") else headers
        listed = list(islice(items, _MAX_HEADERS))
    except Exception:  # noqa: BLE001 - a foreign class of headers may raise anything
        return
    for item in listed:
        if isinstance(item, (list, tuple)) and len(item) == 2:
            name, text = (part.decode("latin-1") if isinstance(part, bytes) else part for part in item)
            if isinstance(text, (list, tuple)) and text:
                text = text[0]
            if isinstance(name, str) and isinstance(text, (str, int, float)) and not isinstance(text, bool):
                yield name.strip().lower().replace("_", "-"), str(text).strip()[:300]


def _server_time(headers: Mapping[str, str]) -> datetime | None:
    moment = header_value(headers["date"]).moment if "date" in headers else None
    if moment is None:
        return None
    age = sane(_number(headers.get("age", "0")) or 0.0) or 0.0
    try:
        return moment + timedelta(seconds=age)
    except OverflowError:
        return None


def _read(name: str, text: str, now: datetime) -> Iterator[tuple[str, Limit]]:
    if name == "retry-after":
        if (seconds := _seconds(text, now)) is not None:
            yield RETRY_AFTER, Limit(0.0, seconds)
        return
    if name == "ratelimit":
        for part in re.split(r",\s*(?=\")", text):
            quoted = re.match(r'\s*"([^"]*)"', part)
            values = dict(_PARAMETER.findall(part))
            left, resets = values.get("r") or values.get("remaining"), values.get("t") or values.get("reset")
            yield (
                quoted[1] if quoted else "",
                Limit(float(left) if left else None, sane(float(resets)) if resets else None),
            )
        return
    match = _LIMIT_NAME.match(name)
    if match is None:
        return
    words = match[1].split("-")
    limit = "-".join(word for word in words if word not in _FIELD_WORDS)
    if "remaining" in words:
        numbers = [number for part in text.split(",") if (number := _number(part)) is not None and number >= 0]
        if numbers:
            yield limit, Limit(min(numbers), None)
    elif "reset" in words:
        seconds = _number(text) if "ms" in words else None
        seconds = sane(seconds / 1000) if seconds is not None else _seconds(text, now)
        if seconds is not None:
            yield limit, Limit(None, seconds)
    elif words[-2:] == ["used", "percent"]:
        if (used := _number(text)) is not None:
            yield limit, Limit(max(0.0, 100.0 - used), None)
    elif words[-1] == "status" and text.lower() == "rejected":
        yield limit, Limit(0.0, None)


def _seconds(text: str, now: datetime) -> float | None:
    """Return the seconds until the moment that a value names, 0 if it is past.

    None if it names none.
    """
    reset = header_value(text)
    if reset.seconds is not None:
        return reset.seconds
    if reset.moment is not None:
        return sane(max(0.0, (reset.moment - now).total_seconds()))
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def sane(seconds: float) -> float | None:
    """Return the seconds; None if they are negative or longer than a limit can hold."""
    return seconds if 0 <= seconds <= MAX_SECONDS else None


class RateLimitedError(AnalyzerError):
    """A refusal by the guard, before the call or after too long a wait,
    because the provider would refuse.
    """

    exit_code = BUSY

    def __init__(self, provider: str, reset_at: datetime | None) -> None:
        until = f" until {format_time(reset_at)}" if reset_at else ""
        super().__init__(f"{provider} is rate limited{until}", "Try again then, or use another provider.")
        self.provider = provider
        self.reset_at = reset_at

    def __reduce__(self) -> tuple[type[RateLimitedError], tuple[str, datetime | None]]:
        """Copy and pickle by provider and moment, not by the message."""
        return type(self), (self.provider, self.reset_at)


@frozen
class RateState:
    """The limits of one provider at one moment."""

    provider: str
    remaining: float | None
    """The smallest remainder of any limit; None if it is unknown."""
    reset_at: datetime | None
    """The reset of the last limit with nothing left, aware, UTC; None if calls may be made."""
    wait_seconds: float
    """Seconds from now until then; 0 if calls may be made."""

    @property
    def ready(self) -> bool:
        """Return true if a call may be made."""
        return self.wait_seconds <= 0


class RateGuard:
    """Limits by provider, each in a state file below `folder`, shared by all processes.

    Without a folder it only has what this process recorded. `StateError` is raised if the folder
    cannot be used.
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
        """Record a response's headers: a mapping or pairs, any case, of a success as well as of a refusal.

        `limited` says that the provider refused for a limit (429). Then the wait is that of the headers, else
        `wait_seconds` (from the error's text), else `DEFAULT_BLOCK_SECONDS`.
        """
        now = self._clock.now()
        limits = read_limits(headers, now) if headers is not None else {}
        if limited and not any(limit.remaining == 0 and limit.seconds for limit in limits.values()):
            resets = [limit.seconds for limit in limits.values() if limit.seconds is not None]
            asked = None if wait_seconds is None else sane(wait_seconds)
            seconds = asked if asked is not None else max(resets, default=None)
            limits[RETRY_AFTER] = Limit(0.0, DEFAULT_BLOCK_SECONDS if seconds is None else seconds)
        if not limits:
            return self.state(provider)
        state = self._cell(provider).update(lambda before: _merged(provider, before, limits, now))
        return _state(provider, _limits_of(state), now)

    def state(self, provider: str) -> RateState:
        """Return the present limits of a provider."""
        now = self._clock.now()
        cell = self._cell(provider)
        limits = _limits_of(cell.read())
        if any(limit.recorded_at > now + _STEP for limit in limits.values()):
            # The clock was set back: the moments on file have no meaning any more, but the lengths of the waits have.
            limits = _limits_of(cell.update(lambda before: _merged(provider, before, {}, now)))
        return _state(provider, limits, now)

    def block_until_ready(
        self, provider: str, *, max_wait_seconds: float | None = None, cancel: threading.Event | None = None
    ) -> float:
        """Wait until a call may be made, and return the seconds waited.

        Raises:
            RateLimitedError: it would take longer than `max_wait_seconds`.
            WaitCancelledError: `cancel` was set.
        """
        return finish(self.wait_until_ready(BLOCKING, provider, max_wait_seconds, cancel))

    async def block_until_ready_async(
        self, provider: str, *, max_wait_seconds: float | None = None, cancel: threading.Event | None = None
    ) -> float:
        """Run `block_until_ready` for coroutines; files and locks are used in a thread, so that the loop goes on."""
        return await self.wait_until_ready(ON_LOOP, provider, max_wait_seconds, cancel)

    async def wait_until_ready(
        self, runner: Runner, provider: str, max_wait_seconds: float | None, cancel: threading.Event | None
    ) -> float:
        """Wait as `block_until_ready` does, by a runner."""
        clock = self._clock
        begun = clock.monotonic()
        reset_at: datetime | None = None
        deadline = begun
        while True:
            state = await runner.call(self.state, provider)
            now = clock.monotonic()
            if state.reset_at != reset_at:
                # Only a clock that was set back makes a reset earlier; the wait becomes no longer by it.
                is_earlier = reset_at is not None and state.reset_at is not None and state.reset_at < reset_at
                deadline = min(deadline if is_earlier else math.inf, now + state.wait_seconds)
                reset_at = state.reset_at
            left = min(state.wait_seconds, deadline - now)
            if left <= 0:
                return now - begun
            if max_wait_seconds is not None and now - begun + left > max_wait_seconds:
                raise RateLimitedError(provider, reset_at)
            await runner.sleep(clock, min(left, RECHECK_SECONDS), cancel)

    def _cell(self, provider: str) -> StateFile | _Memory:
        cell = self._cells.get(provider)
        if cell is None:
            made = _Memory() if self._folder is None else StateFile(self._folder / f"{_file_name(provider)}.json")
            cell = self._cells.setdefault(provider, made)
        return cell


@frozen
class _Recorded:
    remaining: float | None
    reset_at: datetime
    recorded_at: datetime


def _merged(provider: str, before: Mapping[str, Any], new: Mapping[str, Limit], now: datetime) -> State:
    """Return the state after a response, without limits that have reset."""
    limits: dict[str, _Recorded] = {}
    for name, old in _limits_of(before).items():
        if old.recorded_at > now + _STEP:
            old = _Recorded(old.remaining, now + (old.reset_at - old.recorded_at), now)
        if old.reset_at > now:
            limits[name] = old
    for name, limit in new.items():
        seconds = DEFAULT_BLOCK_SECONDS if limit.seconds is None else limit.seconds
        earlier = limits.get(name)
        # Rounded up to the millisecond, the precision of the file: a call that comes too early is refused again.
        left, reset_at = limit.remaining, now + timedelta(milliseconds=math.ceil(seconds * 1000))
        if earlier is not None:
            left = min((rest for rest in (left, earlier.remaining) if rest is not None), default=None)
            reset_at = max(reset_at, earlier.reset_at)
        if earlier is None or (left, reset_at) != (earlier.remaining, earlier.reset_at):
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
    """Return the limits in a state file, without entries that make no sense."""
    stored = state.get("limits")
    limits: dict[str, _Recorded] = {}
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
        limits[name] = _Recorded(left, reset_at.replace(tzinfo=UTC), recorded_at.replace(tzinfo=UTC))
    return limits


def _state(provider: str, limits: Mapping[str, _Recorded], now: datetime) -> RateState:
    current = [limit for limit in limits.values() if limit.reset_at > now]
    left = [limit.remaining for limit in current if limit.remaining is not None]
    until = max((limit.reset_at for limit in current if limit.remaining == 0), default=None)
    return RateState(provider, min(left, default=None), until, 0.0 if until is None else (until - now).total_seconds())


def _file_name(provider: str) -> str:
    """Return the provider's name if it is a harmless file name, else one that is derived from it."""
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
