"""`analyzer watch`: follow logs as they grow, and print what goes wrong as it happens.

The findings of each whole hour come from a private store, which processes of their own fill and
query. The watch does not wait for these processes, and goes on if they fail.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from analyzer.cli.options import PathsCommand, quiet_option, selection_options
from analyzer.cli.output import echo, is_terminal, narrate, report_problems, text_layout
from analyzer.cli.signals import raising
from analyzer.cli.stores import places_here
from analyzer.errors import FINDINGS, OK, UNREADABLE, AnalyzerError
from analyzer.events.times import now
from analyzer.interpreter import start
from analyzer.readable import counted

if TYPE_CHECKING:
    from datetime import datetime

    from analyzer.analysis.kinds.finding import Finding
    from analyzer.analysis.timeline import Happening
    from analyzer.store import Selection
    from analyzer.store.following import Changes

SHARE = 0.01
"""Share of a core that the watch may use.

After more work it pauses up to `LONGEST_PAUSE` seconds.
"""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 5.0
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)

LATE = timedelta(minutes=2)
"""The last events of an hour must arrive within this time after its end."""
_HOUR = timedelta(hours=1)
_NICE = 10
_LEFT_OUT = frozenset({"GITHUB_STEP_SUMMARY", "ANALYZER_DELIVER", "ANALYZER_STORE"})
"""Environment variables that the processes of an hour do not get."""


@click.command("watch", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@selection_options
@click.option("--no-findings", is_flag=True, help="Do not check each hour; saves reading all logs once.")
@click.option("--json", "-j", "as_json", is_flag=True, help="Print JSON lines.")
@quiet_option
def command(paths: tuple[str, ...], only: Selection, no_findings: bool, as_json: bool, quiet: bool) -> int:
    """Print errors, retries, hand-offs and limits as they happen.

    \b
      analyzer watch
      analyzer watch ~/.claude/projects telemetry/
      analyzer watch --project shop --reason rate_limited
      analyzer watch logs/ --json | jq -r '.message // empty'

    It follows PATHs, or the logs of all agents on this machine, from now on. Files may appear, grow or be
    rotated. No store is changed. After each full hour it also prints that hour's findings, as analyzer check
    --last 1h does. Times are UTC. Stop it with Ctrl-C.
    """
    from analyzer.store.following import Changes

    if "-" in paths:
        raise AnalyzerError("standard input cannot be watched", "name files or folders")
    began = now()
    changes = Changes(paths or places_here())
    report_problems(changes.problems)
    if paths and not changes.files and not any(map(os.path.isdir, paths)):
        return UNREADABLE  # a folder may get its first log later
    narrate(f"watching {counted(changes.files, 'file')} since {began:%Y-%m-%d %H:%M:%S} UTC, until Ctrl-C", quiet=quiet)
    with ExitStack() as stack:
        # A signal becomes an exception, so that the temporary store is deleted in every case.
        stack.enter_context(raising(_ENDINGS))
        hourly = None if no_findings else stack.enter_context(Hourly(paths, only))
        for line in _lines(changes, hourly, began, only, as_json=as_json):
            echo(line)
            sys.stdout.flush()
    return 0


def _lines(
    changes: Changes, hourly: Hourly | None, began: datetime, only: Selection, *, as_json: bool
) -> Iterator[str]:
    """Yield a line for everything that happens from now on, without end.

    It uses at most `SHARE` of a core, if the longest pause suffices for that.
    """
    from analyzer.analysis.timeline import WATCHED, happening_of, is_about
    from analyzer.store.following import Tails

    tails = Tails(began, WATCHED)
    for path, before in changes.named.items():
        tails.look(path, before)
    reported = changes.problems
    compactions: set[str] = set()
    while True:
        used = time.process_time()
        events = [
            event
            for path, before in changes.changed().items()
            for event in tails.new(path, before, changes.folder_of(path))
        ]
        events.sort(key=lambda event: event.occurred_at)
        for event in events:
            if is_about(event, only):
                yield _happening_line(happening_of(event, compactions), as_json=as_json)
        for finding in hourly.findings() if hourly else ():
            yield _finding_line(finding, now(), as_json=as_json)
        problems = [*changes.problems, *tails.problems]
        report_problems([problem for problem in problems if problem not in reported])
        reported = problems
        tails.problems.clear()
        time.sleep(min(max((time.process_time() - used) / SHARE, SHORTEST_PAUSE), LONGEST_PAUSE))


def _happening_line(happening: Happening, *, as_json: bool) -> str:
    from analyzer.report.timeline import watched_line

    if as_json:
        return _json_line(asdict(happening))
    width, colour = _layout()
    return watched_line(happening, width, colour=colour)


def _finding_line(finding: Finding, at: datetime, *, as_json: bool) -> str:
    from analyzer.report.timeline import watched_finding

    if as_json:
        return _json_line({"occurred_at": at, "type": "finding", **finding.to_dict()})
    width, colour = _layout()
    return watched_finding(finding, at, width, colour=colour)


def _json_line(row: dict[str, Any]) -> str:
    from analyzer.analysis.tables import json_ready
    from analyzer.report.escape import json_text

    return json_text({"schema": "analyzer.watch/1", **json_ready(row)})


def _layout() -> tuple[int | None, bool]:
    """Return the width of a line, None without a terminal, and whether it may have colour.

    It is asked for every line, because windows change their size.
    """
    width, colour = text_layout(None)
    return (width if is_terminal(sys.stdout) else None), colour


class Hourly:
    """The findings of each whole hour, after it is over.

    A context manager: leaving it deletes the private store.
    """

    def __init__(self, paths: Sequence[str], only: Selection) -> None:
        """Judge these paths (none: the places of agents), only for the findings of a selection."""
        self._paths = list(paths)
        self._selection = [f"--{name}={value}" for name, value in only.given.items()]
        self._due = now().replace(minute=0, second=0, microsecond=0) + _HOUR + LATE
        self._until = self._due
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._steps: list[list[str]] = []
        self._running: subprocess.Popen[bytes] | None = None

    def findings(self) -> list[Finding]:
        """Go on with the last whole hour, and return its new findings once they are ready, else none."""
        if self._running is None:
            if now() < self._due:
                return []
            self._begin()
        elif (code := self._running.poll()) is not None:
            self._running = None
            if code not in (OK, FINDINGS, UNREADABLE):
                self._steps.clear()
            elif not self._steps:
                return self._read_findings()
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
        # The watch reports problems itself; a hint would name a store and a command that the user
        # cannot see.
        silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # In GitHub Actions an hour must not add to the summary.
        environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        with suppress(OSError):
            self._running = start("-m", "analyzer", *arguments, environment=environment, **silent)
            # Other processes get the processor first.
            os.setpriority(os.PRIO_PROCESS, self._running.pid, _NICE)

    def _read_findings(self) -> list[Finding]:
        from analyzer.analysis.kinds.finding import Finding

        with suppress(OSError, ValueError, LookupError):
            answer = json.loads(Path(self._answer).read_bytes())
            return [Finding.from_dict(row) for row in answer["findings"] if row["state"] == "new"]
        return []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()
        if self._folder is not None:
            self._folder.cleanup()
