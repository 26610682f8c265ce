"""Which of many logs have changed since somebody last asked, at the price of a look at size and time.

Invariant: looking takes a steady share of a core. A file that has just changed is looked at whenever somebody asks, all
of them as often as that share allows, and folders are walked more seldom still.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence

from analyzer.importers.machine.places import LogPlace
from analyzer.importers.shapes.databases import SIDES
from analyzer.store.db.paths import on_disk
from analyzer.store.ingest.discovery import Found, Problem, discover

SHARE = 0.002
"""Of a core: for looks at all files, and as much again for walks through folders."""
LOOKED_SECONDS = 2.0
"""Between two looks at all files; more where that would take more than its share."""
WALKED_SECONDS = 10.0
"""Between two walks: each costs several times what a look at the known files does."""
BUSY_SECONDS = 60.0
"""So long after a change a file is looked at whenever somebody asks."""
_BESIDE = (".db", ".sqlite", ".sqlite3")
"""Endings of databases, beside which other files change alone."""

_Look = tuple[int, int, int, int, int]
"""Device, inode, bytes, nanoseconds of the last change, and of that of what stands beside a database."""


class Changes:
    """Follows files, folders, patterns and places of agents. What is there at first has not changed."""

    def __init__(self, paths: Iterable[str | LogPlace], own: Sequence[str] = ()) -> None:
        self._paths, self._own = list(paths), own
        self._looks: dict[str, _Look | None] = {}
        self._busy: dict[str, float] = {}
        self._next_look = self._next_walk = 0.0
        self._found = Found()
        self._walk()
        self._looks = {path: _look(path) for path in self._found.files}

    @property
    def files(self) -> int:
        """How many files are followed."""
        return len(self._looks)

    @property
    def problems(self) -> list[Problem]:
        """What the last walk could not look at."""
        return self._found.problems

    def folder_of(self, path: str) -> str | None:
        """The folder that was named, where the file was found inside of one: no link on the way from it is followed."""
        return self._found.below.get(path)

    def changed(self) -> dict[str, int]:
        """The files that grew, shrank, were replaced, came or went since the last call.

        Each has the number of bytes that were there before: 0 of a file that is new, was replaced, or is shorter now.
        """
        found: dict[str, int] = {}
        if time.monotonic() >= self._next_walk:
            found.update(dict.fromkeys(self._walk(), 0))
        if time.monotonic() >= self._next_look:
            began = time.process_time()
            self._look_at(list(self._looks), found)
            self._next_look = _later(LOOKED_SECONDS, began)
        else:
            self._look_at([path for path in self._busy if path in self._looks], found)
        until = time.monotonic() - BUSY_SECONDS
        self._busy = {path: at for path, at in self._busy.items() if at > until}
        return found

    def _look_at(self, paths: list[str], found: dict[str, int]) -> None:
        for path in paths:
            before, now = self._looks[path], _look(path)
            if now != before:
                self._looks[path] = now
                self._busy[path] = time.monotonic()
                grown = before is not None and now is not None and before[:2] == now[:2] and before[2] <= now[2]
                found[path] = before[2] if grown and before is not None else 0

    def _walk(self) -> list[str]:
        """Find the files; those of before that are no longer found."""
        began = time.process_time()
        self._found = discover(self._paths, own=self._own)
        former = self._looks
        self._looks = {path: former.get(path) for path in self._found.files}
        self._next_walk = _later(WALKED_SECONDS, began)
        return [path for path, look in former.items() if look is not None and path not in self._looks]


def _later(seconds: float, began: float) -> float:
    """When to do it again what has taken so long."""
    return time.monotonic() + max(seconds, (time.process_time() - began) / SHARE)


def _look(path: str) -> _Look | None:
    """What of a file changes with its content; None where it is not there."""
    try:
        status = os.stat(on_disk(path))
    except OSError:
        return None
    beside = 0
    if path.endswith(_BESIDE):
        for ending in SIDES:
            with contextlib.suppress(OSError):
                beside += os.stat(on_disk(path) + ending).st_mtime_ns
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, beside
