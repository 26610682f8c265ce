"""Every check of the project, as `python -m tests`: style, types, layers, and the tests in two time zones.

Two lanes run beside each other, since tests wait for processes and locks; a check's output comes when it has ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
Check = tuple[str, list[str], dict[str, str]]

PYTEST = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
FIRST = ["tests/store", "tests/events", "tests/recovery", "tests/report"]
"""With what else is in the first lane, as much work as all other tests together."""
ZONED = [
    f"tests/{name}"
    for name in (
        "analysis/test_check.py",
        "analysis/test_incidents.py",
        "analysis/test_window_findings.py",
        "classifier/test_exhaustion.py",
        "classifier/test_reset_times.py",
        "events/test_codec.py",
        "events/test_log.py",
        "events/test_times_and_ids.py",
        "importers",
        "recovery/test_headers.py",
        "report/test_text.py",
        "store/test_catalogue_and_views.py",
        "store/test_prune.py",
        "store/test_store.py",
    )
]
"""Where days, hours and times of files are computed or shown."""
LANES: tuple[tuple[Check, ...], ...] = (
    (
        ("style", [str(BIN / "ruff"), "check", "--quiet", "."], {}),
        ("format", [str(BIN / "ruff"), "format", "--check", "--quiet", "."], {}),
        ("types", [sys.executable, "-m", "mypy"], {}),
        ("layers", [str(BIN / "lint-imports")], {}),
        ("tests of events, store, recovery and report", [*PYTEST, *FIRST], {"TZ": "UTC"}),
        # Days must not move with the machine's own zone; this one is off by 45 minutes from every round number.
        ("tests in another time zone", [*PYTEST, *ZONED], {"TZ": "Asia/Kathmandu"}),
    ),
    (("all other tests", [*PYTEST, "tests", *(f"--ignore={name}" for name in FIRST)], {"TZ": "UTC"}),),
)
_printing = Lock()


def main() -> int:
    """Run all checks, and say at the end which ones failed."""
    with ThreadPoolExecutor(len(LANES)) as lanes:
        failed = [name for names in lanes.map(_run, LANES) for name in names]
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return bool(failed)


def _run(checks: Iterable[Check]) -> list[str]:
    """The checks one after another; the names of those that failed."""
    failed = []
    for name, command, environment in checks:
        began = time.monotonic()
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        with _printing:
            print(f"== {name}: {time.monotonic() - began:.0f} s\n{done.stdout}", end="", flush=True)
        if done.returncode:
            failed.append(name)
    return failed


if __name__ == "__main__":
    sys.exit(main())
