"""The checks of the project: `python -m tests` runs them all, `python -m tests AREA...` the tests of an area alone.

All are style, types, layers, unused code, and the tests in two time zones; `python -m tests style` stops before the
tests. An area is a folder or a file below `tests/`: `redaction`, `cli/test_check.py`. The tests use a process more than
there are cores, since many of them wait for other processes and for locks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
Check = tuple[str, list[str], dict[str, str]]

WORKERS = 1 + (os.cpu_count() or 1)
PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-rs",
    "-p",
    "no:cacheprovider",
    "-n",
    str(WORKERS),
    "--dist",
    "worksteal",
]
ZONED = [
    f"tests/{name}"
    for name in (
        "analysis/nightly/test_check.py",
        "analysis/nightly/test_incidents.py",
        "analysis/summary/test_window_findings.py",
        "classifier/test_exhaustion.py",
        "classifier/reading/test_reset_times.py",
        "events/test_codec.py",
        "events/test_log.py",
        "events/test_times_and_ids.py",
        "importers",
        "recovery/limits/test_headers.py",
        "report/test_text.py",
        "store/query/test_catalogue_and_views.py",
        "store/upkeep/test_prune.py",
        "store/test_store.py",
    )
]
"""Where days, hours and times of files are computed or shown. These run in the other zone, all others in UTC."""
PURE = [f"tests/{name}" for name in ("agent_stream", "analysis/detection", "classifier", "redaction")]
"""The tests of the rooms that only compute. They run traced: the others take too long, and work across processes."""
STYLE: tuple[Check, ...] = (
    ("style", [str(BIN / "ruff"), "check", "--quiet", "."], {}),
    ("format", [str(BIN / "ruff"), "format", "--check", "--quiet", "."], {}),
    ("types", [sys.executable, "-m", "mypy"], {}),
    ("layers", [str(BIN / "lint-imports")], {}),
    ("dependencies", [str(BIN / "deptry"), "."], {}),
    ("rooms and unused code", [sys.executable, "-m", "tests.house"], {}),
)
"""What takes seconds. Where one of these fails no test is run."""
TESTS: tuple[Check, ...] = (
    ("tests", [*PYTEST, "tests", *(f"--ignore={path}" for path in (*PURE, *ZONED))], {"TZ": "UTC"}),
    # `[tool.coverage]` of pyproject.toml says what is measured, and the floor.
    ("tests of the pure rooms, and the branches that they reach", [*PYTEST, *PURE, "--cov"], {"TZ": "UTC"}),
    # Days must not move with the machine's own zone; this one is off by 45 minutes from every round number.
    ("tests in another time zone", [*PYTEST, *ZONED], {"TZ": "Asia/Kathmandu"}),
)
APART = {"frameworks": "RECIPES FOR FRAMEWORKS ARE", "lake": "SPARK IS"}
"""Tests in environments of their own, which their commands make: what they want is half a gigabyte each."""


def main(areas: Sequence[str] = ()) -> int:
    """Run all checks, or the tests of some areas, and return 1 where one failed, 2 where there is no such area."""
    if list(areas) == ["style"]:
        return _run(STYLE)
    if missing := [area for area in areas if not (REPOSITORY / "tests" / area).exists()]:
        print(f"no such area below tests/: {', '.join(missing)}", file=sys.stderr)
        return 2
    if areas:
        return _run((("tests", [*PYTEST, *(f"tests/{area}" for area in areas)], {}),))
    if failed := _run(STYLE):
        return failed
    there = [name for name in APART if (REPOSITORY / f".venv-{name}").exists()]
    for name in APART.keys() - there:
        print(
            f"== {APART[name]} NOT TESTED HERE: python -m tests.{name} installs what it wants and runs it", flush=True
        )
    return _run((*TESTS, *((f"tests of {name}", [sys.executable, "-m", f"tests.{name}"], {}) for name in there)))


def _run(checks: Sequence[Check]) -> int:
    failed = [name for name, command, environment in checks if not _passes(name, command, environment)]
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return int(bool(failed))


def _passes(name: str, command: list[str], environment: dict[str, str]) -> bool:
    began = time.monotonic()
    print(f"== {name}", flush=True)
    done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **environment}, check=False)
    print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return not done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
