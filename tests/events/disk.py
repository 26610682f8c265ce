"""A disk that fails when it is told to, and what can be read from a log by this project's own reader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from analyzer.events import Event, decode, log
from analyzer.events.appending import appender, places, system
from analyzer.events.rows import intact_records

MOMENT = datetime(2026, 1, 1)
USERS: tuple[ModuleType, ...] = (appender, log, places)
FAILING = frozenset({"chmod", "close", "fstat", "hold", "last_byte", "listdir", "lstat", "mkdir", "open", "stat"}) | {
    "sync_data",
    "sync_folder",
    "wait_for_writes",
    "write",
}


class Disk:
    """Stands in for `system`: passes calls on, notes them, and fails those that it is told to."""

    def __init__(self, fail_at: int = 0, error: int = 0, short: int | None = None, only: str = "", times: int = 1):
        self.fail_at, self.error, self.short, self.only, self.times = fail_at, error, short, only, times
        self.count = 0
        self.fired = 0
        self.calls: list[tuple[str, tuple[Any, ...], Any]] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(system, name)
        if name not in FAILING:
            return real

        def call(*args: Any) -> Any:
            if not self.only or name == self.only:
                self.count += 1
                if self.fail_at <= self.count < self.fail_at + self.times and self.fail_at:
                    self.fired += 1
                    if name == "write" and self.short is not None:
                        data = args[1][: self.short]
                        written = real(args[0], data)
                        self.calls.append((name, (args[0], data), written))
                        return written
                    if name == "close":
                        real(*args)
                    self.calls.append((name, args, OSError(self.error)))
                    raise OSError(self.error, os.strerror(self.error))
            result = real(*args)
            self.calls.append((name, args, result))
            return result

        return call

    def put_in(self, patch: pytest.MonkeyPatch) -> None:
        """Let the appender use this disk."""
        for user in USERS:
            if hasattr(user, "system"):
                patch.setattr(user, "system", self)


def events_in(data: bytes) -> Iterator[Event]:
    """The events of one file's bytes, glued and unfinished lines included."""
    for line in data.split(b"\n"):
        whole = decode(line, MOMENT)
        if isinstance(whole, Event):
            yield whole
            continue
        for record in intact_records(line):
            event = decode(record, MOMENT)
            assert isinstance(event, Event)
            yield event


def read_back(folder: Path) -> dict[str, Event]:
    """Every event of the folder once, by id; a second line with an id must say the same."""
    found: dict[str, Event] = {}
    for path in sorted(folder.glob("*.jsonl*")):
        for event in events_in(path.read_bytes()):
            assert found.setdefault(event.id, event) == event
    return found


def hold_account(folder: Path, ids: list[str | None], dropped: int) -> None:
    """The promise: what was acknowledged can be read once, and what was not is counted and leaves a gap."""
    found = read_back(folder)
    acknowledged = [each for each in ids if each is not None]
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= found.keys()
    assert dropped == ids.count(None)
    numbers = {event.seq for event in found.values()}
    assert len(numbers) == len(found)
    gaps = set(range(len(ids))) - numbers
    assert gaps <= {number for number, each in enumerate(ids) if each is None}
    told = sum(event.extra.get("dropped_before", 0) for event in found.values() if event.id in acknowledged)
    last = max((number for number, each in enumerate(ids) if each is not None), default=-1)
    assert told == sum(each is None for each in ids[:last]) if last >= 0 else not told
