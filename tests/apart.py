"""Tests that want libraries which are too heavy for the test command, in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests import REPOSITORY


def run(venv: Path, constraints: str, tests: Sequence[str]) -> int:
    """Make the environment where it is not there, and run the tests that are asked for; the exit code is pytest's."""
    python = venv / "bin" / "python"
    if not python.exists():
        install = [str(python), "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([*install, "--require-hashes", "-r", constraints], cwd=REPOSITORY, check=True)
        subprocess.run([*install, "--no-build-isolation", "-e", "."], cwd=REPOSITORY, check=True)
    asked = sys.argv[1:]
    if all(word.startswith("-") for word in asked):
        asked += tests
    return subprocess.run(
        [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *asked], cwd=REPOSITORY, check=False
    ).returncode
