"""Every check of the project, as `python -m tests`: style, types, layers, and the tests in two time zones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
TIMED = [f"tests/{room}" for room in ("events", "importers", "store", "analysis", "classifier/test_reset_times.py")]
"""Where days and hours are computed."""
CHECKS: tuple[tuple[str, list[str], dict[str, str]], ...] = (
    ("style", [str(BIN / "ruff"), "check", "--quiet", "."], {}),
    ("format", [str(BIN / "ruff"), "format", "--check", "--quiet", "."], {}),
    ("types", [sys.executable, "-m", "mypy"], {}),
    ("layers", [str(BIN / "lint-imports")], {}),
    ("tests", [sys.executable, "-m", "pytest", "-q", "-rs"], {"TZ": "UTC"}),
    # Days must not move with the machine's own zone; this one is off by 45 minutes from every round number.
    ("tests in another time zone", [sys.executable, "-m", "pytest", "-q", *TIMED], {"TZ": "Asia/Kathmandu"}),
)


def main() -> int:
    """Run all checks, and say at the end which ones failed."""
    failed = []
    for name, command, environment in CHECKS:
        print(f"== {name}", flush=True)
        done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **environment}, check=False)
        if done.returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
