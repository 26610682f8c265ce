"""The findings of each whole hour, for a watch: from a private store, filled and asked by processes of their own.

Invariant: nobody waits for them, and whatever becomes of them, the watch goes on.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from analyzer.errors import FINDINGS, OK, UNREADABLE
from analyzer.events.times import now
from analyzer.interpreter import start

if TYPE_CHECKING:
    from analyzer.analysis.kinds.finding import Finding
    from analyzer.store import Selection

LATE = timedelta(minutes=2)
"""What an hour's last events have to arrive in."""
_HOUR = timedelta(hours=1)
_NICE = 10


class Hourly:
    """Findings that each whole hour brings, once it is over. Use as a context manager: its store goes with it."""

    def __init__(self, paths: Sequence[str], only: Selection) -> None:
        """Judge these paths (none: the places of agents), and tell what is about a part."""
        self._paths = list(paths)
        self._selection = [f"--{name}={value}" for name, value in only.given.items()]
        self._due = now().replace(minute=0, second=0, microsecond=0) + _HOUR + LATE
        self._until = self._due
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._steps: list[list[str]] = []
        self._running: subprocess.Popen[bytes] | None = None

    def findings(self) -> list[Finding]:
        """What the last whole hour brought that the hour before had not, once that is known; mostly nothing."""
        if self._running is None:
            if now() < self._due:
                return []
            self._begin()
        elif (code := self._running.poll()) is not None:
            self._running = None
            if code not in (OK, FINDINGS, UNREADABLE):
                self._steps.clear()
            elif not self._steps:
                return self._findings()
        if self._running is None and self._steps:
            self._start(self._steps.pop(0))
        return []

    def _begin(self) -> None:
        self._until, self._due = self._due - LATE, self._due + _HOUR
        while self._due <= now():
            self._until, self._due = self._until + _HOUR, self._due + _HOUR
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="analyzer-watch-", ignore_cleanup_errors=True)
        store = os.path.join(self._folder.name, "s.duckdb")
        window = ["--since", f"{self._until - _HOUR:%Y-%m-%dT%H:%M}", "--until", f"{self._until:%Y-%m-%dT%H:%M}"]
        check = ["check", "--store", store, *window, *self._selection, "--json", "--output", self._answer, "--quiet"]
        self._steps = [["ingest", "--store", store, "--quiet", "--", *self._paths], check]

    @property
    def _answer(self) -> str:
        return os.path.join(self._folder.name if self._folder else "", "night.json")

    def _start(self, arguments: list[str]) -> None:
        # What it has to say was said by the watch, or is of no use to who sees neither its store nor its command line.
        silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # Who watches in GitHub Actions wants no summary of each hour.
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_IT}
        with suppress(OSError):
            self._running = start("-m", "analyzer", *arguments, environment=environment, **silent)
            # Others that want this processor get it first.
            os.setpriority(os.PRIO_PROCESS, self._running.pid, _NICE)

    def _findings(self) -> list[Finding]:
        from analyzer.analysis.kinds.finding import Finding

        with suppress(OSError, ValueError, LookupError):
            answer = json.loads(Path(self._answer).read_bytes())
            return [Finding.from_dict(one) for one in answer["findings"] if one["state"] == "new"]
        return []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()
        if self._folder is not None:
            self._folder.cleanup()


_NOT_FOR_IT = frozenset({"GITHUB_STEP_SUMMARY", "ANALYZER_DELIVER", "ANALYZER_STORE"})
