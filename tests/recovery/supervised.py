"""What tests of supervised runs share: scripted agents, and events read back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import REPOSITORY

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
