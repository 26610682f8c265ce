"""Runs the command line in a process of its own: stdout, stderr and exit code are its contract."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("report", "x", stdin="", env={})`, in an empty folder."""

    def call(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONWARNINGS": "error", **(env or {})}
        environment.pop("ANALYZER_STORE", None)
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
