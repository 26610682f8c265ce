"""`analyzer watch` follows logs as they grow, and prints what goes wrong as it happens.

The findings of each whole hour come from a private store, filled and asked by processes of their own. Nobody waits for
them, and whatever becomes of them, the watch goes on.
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
from analyzer.cli.output import echo, narrate, report_problems, text_layout
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
    from analyzer.store import Problem, Selection
    from analyzer.store.following import Changes

SHARE = 0.01
"""Of a core: who used more than that waits longer, up to the longest pause."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 5.0
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)

LATE = timedelta(minutes=2)
"""What an hour's last events have to arrive in."""
_HOUR = timedelta(hours=1)
_NICE = 10
_NOT_FOR_IT = frozenset({"GITHUB_STEP_SUMMARY", "ANALYZER_DELIVER", "ANALYZER_STORE"})
"""Variables that the processes of an hour do without."""


@click.command("watch", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@selection_options
@click.option("--no-findings", is_flag=True, help="Do not judge each whole hour, for which all logs are read once.")
@click.option("--json", "-j", "as_json", is_flag=True, help="JSON lines instead of text.")
@quiet_option
def command(paths: tuple[str, ...], only: Selection, no_findings: bool, as_json: bool, quiet: bool) -> int:
    """Follow PATHs (files, folders, patterns) and print errors, retries, hand-offs and limits as they happen.

    Without PATHs the logs of all agents on this machine are followed (see analyzer sources). What was there before is
    not told. Files may appear, grow, be rotated or cut. No store is touched: what a line says is told, with the reason
    that its log has, or that the built-in rules give. Once an hour is over, findings that it brought are told as
    analyzer check --last 1h finds them, from a temporary store of its own. It takes one hundredth of a core, and tells
    things within seconds. Times are UTC. It ends with Ctrl-C.

    \b
      analyzer watch
      analyzer watch ~/.claude/projects telemetry/
      analyzer watch --project shop --reason rate_limited
      analyzer watch logs/ --json | jq -r '.message // empty'
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
        # So that the temporary store goes, however the watch ends.
        stack.enter_context(raising(_ENDINGS))
        hourly = None if no_findings else stack.enter_context(Hourly(paths, only))
        for line in _lines(changes, hourly, began, only, as_json=as_json):
            echo(line)
            sys.stdout.flush()
    return 0


def _lines(
    changes: Changes, hourly: Hourly | None, began: datetime, only: Selection, *, as_json: bool
) -> Iterator[str]:
    """What happens from now on, a line each, for ever; never more than `SHARE` of a core, as long as that can be."""
    from analyzer.analysis.timeline import WATCHED, happening_of, is_about
    from analyzer.store.following import Tails

    tails = Tails(began, WATCHED)
    for named, before in changes.named.items():
        tails.look(named, before)
    told = changes.problems
    compactions: set[str] = set()
    while True:
        used = time.process_time()
        events = [
            event
            for path, before in changes.changed().items()
            for event in tails.new(path, before, changes.folder_of(path))
        ]
        events.sort(key=lambda event: event.occurred_at)
        yield from (
            _shown(happening_of(event, compactions), as_json=as_json) for event in events if is_about(event, only)
        )
        yield from (_shown_finding(one, now(), as_json=as_json) for one in (hourly.findings() if hourly else ()))
        told = _tell([*changes.problems, *tails.problems], told)
        tails.problems.clear()
        time.sleep(min(max((time.process_time() - used) / SHARE, SHORTEST_PAUSE), LONGEST_PAUSE))


def _tell(problems: list[Problem], told: list[Problem]) -> list[Problem]:
    """Tell on stderr what was not told the last time."""
    report_problems([problem for problem in problems if problem not in told])
    return problems


def _shown(one: Happening, *, as_json: bool) -> str:
    from analyzer.report.timeline import watched_line

    if as_json:
        return _as_json(asdict(one))
    width, colour = _layout()
    return watched_line(one, width, colour=colour)


def _shown_finding(one: Finding, at: datetime, *, as_json: bool) -> str:
    from analyzer.report.timeline import watched_finding

    if as_json:
        return _as_json({"occurred_at": at, "type": "finding", **one.to_dict()})
    width, colour = _layout()
    return watched_finding(one, at, width, colour=colour)


def _as_json(row: dict[str, Any]) -> str:
    from analyzer.analysis.tables import json_value
    from analyzer.report.escape import json_text

    return json_text({"schema": "analyzer.watch/1"} | {name: json_value(cell) for name, cell in row.items()})


def _layout() -> tuple[int | None, bool]:
    """The width of a line, none but at a terminal, and whether it may have colour; windows change their size."""
    width, colour = text_layout(None)
    return (width if sys.stdout.isatty() else None), colour


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
