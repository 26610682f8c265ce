"""Units that run `analyzer nightly` every night: for systemd, cron, launchd and GitHub's workflows.

Invariant: every argument of the job is quoted for the program that reads the unit.
"""

from __future__ import annotations

import plistlib
import shlex
from collections.abc import Sequence

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
# Secrets of the job, as ANALYZER_DELIVER=slack:https://…, in a file that you alone can read.
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
    """The files that run a command in a folder every night: their texts by their place below the home directory.

    A workflow's place is below the repository, and what cron reads has none: an empty name.
    """
    if kind == "systemd":
        service = _SERVICE.format(folder=_systemd(folder), command=" ".join(_quoted(each) for each in command))
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
    # cron makes a new line of a bare percent sign.
    line = f"cd {shlex.quote(folder)} && {shlex.join(command)}".replace("%", "\\%")
    return {"": f'{MINUTE} {HOUR} * * * {line} >nightly.log 2>&1 || {{ echo "exit code $?"; cat nightly.log; }}\n'}


def _systemd(text: str) -> str:
    """A text with the specifiers of systemd written out."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    """An argument of ExecStart, where a dollar sign would name a variable."""
    inner = _systemd(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{inner}"'


def _yaml(text: str) -> str:
    """A scalar of YAML in single quotes."""
    return "'" + text.replace("'", "''") + "'"
