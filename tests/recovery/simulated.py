"""Simulated time, calls that fail as they are told to, and a log that can say what it holds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import Event, EventLog, decode
from analyzer.events.times import now
from analyzer.recovery import Backoff, Policy
from analyzer.recovery.limits.state_file import StateFile
from analyzer.recovery.waiting import cancelled


class FakeClock:
    """Time that passes only when somebody waits, or when a test says so."""

    def __init__(self, wall: datetime = datetime(2026, 11, 2, 8, tzinfo=UTC)) -> None:
        self.wall = wall
        self.steady = 1000.0
        self.slept: list[float] = []
        self.at_sleep: Callable[[float], None] = lambda seconds: None

    def now(self) -> datetime:
        """The time as the machine shows it."""
        return self.wall

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return self.steady

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.wall += timedelta(seconds=seconds)
        self.steady += seconds

    def set_back(self, seconds: float) -> None:
        """Somebody sets the machine's clock; the steady one does not notice."""
        self.wall -= timedelta(seconds=seconds)

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Time passes at once; the flag is looked at first."""
        if cancel is not None and cancel.is_set():
            raise cancelled()
        self.slept.append(seconds)
        self.advance(seconds)
        self.at_sleep(seconds)

    async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """The same, for coroutines."""
        self.sleep(seconds, cancel)
        await asyncio.sleep(0)


def threads_at_state_files(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads that read state files, or wait for their locks, from now on."""
    seen: set[int] = set()

    def noting(real: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any) -> Any:
            seen.add(threading.get_ident())
            return real(*given)

        return noted

    for name in ("read", "update"):
        monkeypatch.setattr(StateFile, name, noting(getattr(StateFile, name)))
    return seen


class Log(EventLog):
    """A log that can say what it holds."""

    def events(self) -> list[Event]:
        """All events, in order."""
        lines = [line for path in sorted(Path(self.folder).glob("*.jsonl")) for line in path.read_bytes().splitlines()]
        decoded = [decode(line, now()) for line in lines]
        assert all(isinstance(event, Event) for event in decoded)
        return [event for event in decoded if isinstance(event, Event)]

    def types(self) -> list[str]:
        """Their types."""
        return [event.type for event in self.events()]

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of one type."""
        return [dict(event.payload) for event in self.events() if event.type == kind]


class HttpError(Exception):
    """An error as HTTP clients raise it."""

    def __init__(self, status: int, message: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.headers = headers or {}


class Flaky:
    """A call that fails as it is told to, then answers."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Any:
        """The next answer; an exception is raised."""
        self.calls.append(tuple(list(arg) if isinstance(arg, list) else arg for arg in args))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def later(self, *args: Any) -> Any:
        """The same, as a coroutine function."""
        await asyncio.sleep(0)
        return self(*args)


def limited(seconds: float | str | None = None, **headers: str) -> HttpError:
    """A 429."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return HttpError(429, "Too many requests", named | ({} if seconds is None else {"retry-after": str(seconds)}))


OVERFLOW = "prompt is too long: 210000 tokens > 200000 maximum"


STEADY = Policy(backoff=Backoff(jitter=0))
"""The policy of the table, without jitter."""


def settled(log: Log) -> dict[str, Any]:
    """The end of the one chain in a log."""
    (payload,) = log.payloads("retry.settled")
    return payload


def alone(log: Log) -> dict[str, Any]:
    """The one failure in a log that nobody tried again: it has its own outcome and belongs to no chain."""
    (event,) = log.events()
    assert event.type == "error.classified"
    assert not {"operation", "attempt", "max_attempts"} & set(event.payload)
    return dict(event.payload)


def note(error: BaseException) -> str:
    """What the loop says to the person."""
    (text,) = error.__notes__
    return text


def conversation(turns: int = 10) -> list[dict[str, str]]:
    """A system message and turns of equal length."""
    messages = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        messages.append({"role": "user", "content": f"question {number} " + "x" * 400})
        messages.append({"role": "assistant", "content": f"answer {number} " + "y" * 400})
    return [*messages, {"role": "user", "content": "the last question"}]
