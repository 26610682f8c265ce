"""What tests with processes share: their environment, scripted agents, and events read back."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.recovery.process.group import Process
from tests import REPOSITORY

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
AGENTS = REPOSITORY / "tests" / "agents"
LINE = "Claude AI usage limit reached|1770843600"
RESET = datetime.fromtimestamp(1770843600, UTC)


def agent(name: str, *arguments: object) -> tuple[str, ...]:
    """The command line of a scripted agent."""
    script = AGENTS / f"{name}.sh"
    program = ("sh", str(script)) if script.exists() else (sys.executable, str(AGENTS / f"{name}.py"))
    return (*program, *map(str, arguments))


def events(folder: Path, *types: str) -> list[dict[str, Any]]:
    """The events of a log folder, in order; of some types only, where they are named."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    found = [json.loads(line) for line in lines]
    return [event for event in found if not types or event["type"] in types]


def time_over_once(
    patch: Callable[[Any, str, Any], None], heard: Callable[[], bool], then: Callable[[], None] = lambda: None
) -> None:
    """Let the time of runs be over once something holds, however busy the machine is, and do something `then`; `patch`
    sets attributes.
    """
    real = Process.wait

    def wait(process: Process, timeout: float | None = None, cancel: threading.Event | None = None) -> str:
        if timeout is None:
            return real(process, timeout, cancel)
        while not heard() and process.exit_code is None:
            time.sleep(0.01)
        word = real(process, 0.0, cancel)
        then()
        return word

    patch(Process, "wait", wait)


@pytest.fixture(autouse=True)
def empty_stdin() -> Iterator[None]:
    """Nothing to read, whatever the tests were started with."""
    kept = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    yield
    os.dup2(kept, 0)
    os.close(kept)
