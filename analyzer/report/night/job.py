"""The document of the steps of the nightly job, and the units that run it every night.

A failed step has its reason and its hint, and the exit code is that of the gravest step. Every
argument of a unit is quoted for the program that reads it.
"""

from __future__ import annotations

import plistlib
import shlex
from collections.abc import Sequence
from typing import Any

from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import Asking
from analyzer.errors import FINDINGS, OK, PARTIAL, UNREADABLE, USAGE
from analyzer.frozen import frozen
from analyzer.report.document import Document, Heading, TableBlock
from analyzer.report.night.document import night_document

SCHEMA = "analyzer.nightly/1"
_GRAVEST = (UNREADABLE, USAGE, PARTIAL, FINDINGS, OK)
_WORDS = {OK: "ok", FINDINGS: "findings", PARTIAL: "partial"}


@frozen
class JobStep:
    """One step of the night's job."""

    name: str
    """`ingest`, `check`, `report`, `prune`, `prometheus` or `webhook`."""
    exit_code: int
    """The exit code that the command of the step would have."""
    said: str
    """The result of the step, or the reason of its failure."""
    hint: str = ""
    """The advice about a failure."""


def gravest_code(steps: Sequence[JobStep]) -> int:
    """Return the gravest exit code: unreadable, usage, partial, findings, fine.

    Any other code comes first.
    """
    codes = {step.exit_code for step in steps}
    other = codes - set(_GRAVEST)
    return max(other) if other else next((code for code in _GRAVEST if code in codes), OK)


def job_dict(steps: Sequence[JobStep], night: Night | None, store: str) -> dict[str, Any]:
    """Return the steps in order JSON-ready, and the night as `analyzer.check/1`.

    The night is null if it could not be judged.
    """
    return {
        "schema": SCHEMA,
        "store": store,
        "exit_code": gravest_code(steps),
        "steps": [
            {"step": step.name, "exit_code": step.exit_code, "said": step.said, "hint": step.hint or None}
            for step in steps
        ],
        "opening": list(night.opening) if night else [],
        "night": night.to_dict() if night else None,
    }


def job_document(steps: Sequence[JobStep], night: Night | None, asking: Asking | None = None) -> Document:
    """Return a table of the steps, with the hints of those that failed, and below it the night."""
    rows = []
    for step in steps:
        came = "; ".join(filter(None, (step.said, step.hint)))
        rows.append((step.name, _WORDS.get(step.exit_code, "FAILED"), str(step.exit_code), came))
    table = TableBlock(("Step", "Result", "Exit code", "What came of it"), rows)
    if night is None:
        return [table]
    # The step of the check has the headline already.
    return [table, Heading(night.headline, 2, repeats=True), *night_document(night, asking)[1:]]


KINDS = ("systemd", "cron", "launchd", "github-actions")
HOUR, MINUTE = 2, 15
LABEL = "analyzer.nightly"

_SERVICE = """\
[Unit]
Description=Read the agents' logs, judge the day and report
# A unit of yours that tells you; findings start it, too, as they are exit code 1.
OnFailure=tell-me@%N.service

[Service]
Type=oneshot
WorkingDirectory={folder}
# Secrets of the job, as ANALYZER_DELIVER=slack:https://…, in a file that only you can read.
EnvironmentFile=-%h/.config/analyzer/environment
ExecStart={command}
# Another process has the store open (75): once more in five minutes. The other codes would come again.
Restart=on-failure
RestartPreventExitStatus=1 2 3 4
RestartSec=5min
Nice=10
UMask=0077
"""
_TIMER = f"""\
[Unit]
Description=Read the agents' logs every night

[Timer]
OnCalendar=*-*-* {HOUR:02}:{MINUTE:02}:00
# A machine that was off at that time catches up.
Persistent=true
RandomizedDelaySec=20min

[Install]
WantedBy=timers.target
"""
_WORKFLOW = f"""\
name: nightly
on:
  schedule:
    - cron: "{MINUTE} {HOUR} * * *"
  workflow_dispatch:
concurrency: analyzer-nightly
permissions:
  contents: read
jobs:
  nightly:
    # A runner of yours that has the logs, the store and the program.
    runs-on: self-hosted
    steps:
      - run: {{command}}
        working-directory: {{folder}}
"""


def job_units(kind: str, command: Sequence[str], folder: str) -> dict[str, str]:
    """Return the files that run a command in a folder every night, by path.

    The paths are below the home directory. A workflow's path is below the repository; the line for
    cron has no path, but an empty name.
    """
    if kind == "systemd":
        service = _SERVICE.format(folder=_systemd(folder), command=" ".join(_quoted(argument) for argument in command))
        places = ".config/systemd/user/analyzer.service", ".config/systemd/user/analyzer.timer"
        return dict(zip(places, (service, _TIMER), strict=True))
    if kind == "launchd":
        job = {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "WorkingDirectory": folder,
            "StartCalendarInterval": {"Hour": HOUR, "Minute": MINUTE},
            "StandardOutPath": f"{folder}/nightly.log",
            "StandardErrorPath": f"{folder}/nightly.log",
            "Umask": 0o077,
        }
        return {f"Library/LaunchAgents/{LABEL}.plist": plistlib.dumps(job).decode()}
    if kind == "github-actions":
        return {
            ".github/workflows/nightly.yml": _WORKFLOW.format(command=_yaml(shlex.join(command)), folder=_yaml(folder))
        }
    # cron reads a bare percent sign as a new line.
    line = f"cd {shlex.quote(folder)} && {shlex.join(command)}".replace("%", "\\%")
    return {"": f'{MINUTE} {HOUR} * * * {line} >nightly.log 2>&1 || {{ echo "exit code $?"; cat nightly.log; }}\n'}


def _systemd(text: str) -> str:
    """Escape the percent signs of a text, which begin systemd's specifiers."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    """Quote an argument of ExecStart, in which a dollar sign would name a variable."""
    inner = _systemd(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{inner}"'


def _yaml(text: str) -> str:
    """Write a scalar of YAML in single quotes."""
    return "'" + text.replace("'", "''") + "'"
