"""`analyzer watch` follows logs as they grow, and prints what goes wrong as it happens."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.hourly import Hourly
from analyzer.cli.machine import places_here
from analyzer.cli.options import PathsCommand, quiet_option, selection_options
from analyzer.cli.output import narrate, report_problems, text_layout
from analyzer.cli.signals import raising
from analyzer.errors import UNREADABLE, AnalyzerError
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
    from analyzer.events.times import now
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
            click.echo(line)
            sys.stdout.flush()
    return 0


def _lines(
    changes: Changes, hourly: Hourly | None, began: datetime, only: Selection, *, as_json: bool
) -> Iterator[str]:
    """What happens from now on, a line each, for ever; never more than `SHARE` of a core, as long as that can be."""
    from analyzer.analysis.timeline import WATCHED, happening_of, is_about
    from analyzer.events.times import now
    from analyzer.store.following import Tails

    tails = Tails(began, WATCHED)
    for named, before in changes.named.items():
        tails.look(named, before)
    told = changes.problems
    while True:
        used = time.process_time()
        events = [
            event
            for path, before in changes.changed().items()
            for event in tails.new(path, before, changes.folder_of(path))
        ]
        events.sort(key=lambda event: event.occurred_at)
        yield from (_shown(happening_of(event), as_json=as_json) for event in events if is_about(event, only))
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
