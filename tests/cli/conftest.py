"""Runs the command line in a process of its own: stdout, stderr and exit code are its contract."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import Event, encode
from analyzer.importers.machine.places import VARIABLES
from analyzer.store import open_store
from tests.cli.nightly import write_nights

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("report", "x", stdin="", env={})`, in an empty folder that is the home directory, too."""

    def call(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONWARNINGS": "error", "HOME": str(tmp_path)}
        for name in ("ANALYZER_STORE", *VARIABLES):
            environment.pop(name, None)
        environment.update(env or {})
        command = [sys.executable, "-c", "from analyzer.cli import main; main()", *arguments]
        return subprocess.run(
            command,
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def store(run: Run, samples: Path, tmp_path: Path) -> str:
    """A store of the samples."""
    path = str(tmp_path / "s.duckdb")
    run("ingest", str(samples), "--store", path)
    return path


@pytest.fixture(scope="session")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of 38 days, whose history was judged once; tests copy it."""

    def native(event_id: str, at: str, session: str, **payload: Any) -> bytes:
        return encode(Event("error.classified", datetime.fromisoformat(at), session, payload, event_id))

    folder = tmp_path_factory.mktemp("fed")
    write_nights(folder / "logs", native, 38)
    with open_store(folder / "x.duckdb", writable=True) as store:
        store.ingest([str(folder / "logs")])
        store.judge_history()
    return folder
