"""The checks of the project: `python -m tests` runs them all, `python -m tests AREA...` the tests of an area alone.

All are style, types, layers, unused code, words, and the tests in two time zones; `python -m tests style` stops before
the tests. An area is a folder or a file below `tests/`: `redaction`, `cli/test_check.py`; `seeds` prints a table of the
requirements that this product grew from, and whether they hold. The parts of the tests run beside
each other, in more processes than there are cores, since many tests wait for other processes and for locks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
Check = tuple[str, list[str], dict[str, str]]

WORKERS = 1 + (os.cpu_count() or 1)
PYTEST = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
MOST = [*PYTEST, "--dist", "worksteal", "-n", str(WORKERS)]
FEW = [*PYTEST, "--dist", "worksteal", "-n", str((WORKERS + 2) // 4)]
TRACED = [*PYTEST, "-p", "no:xdist"]
"""The two lesser parts take no longer with a third of the processes than most tests do, which begin with them. The
traced one has a single process: in workers of pytest-xdist a second tracer of pytest-cov goes on through `no_cover`.
"""
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
PURE = [f"tests/{name}" for name in ("agent_stream", "analysis/kinds", "classifier", "redaction")]
"""The tests of the rooms that only compute. They run traced: the others take too long, and work across processes."""
STYLE: tuple[Check, ...] = (
    ("style", [str(BIN / "ruff"), "check", "--quiet", "."], {}),
    ("format", [str(BIN / "ruff"), "format", "--check", "--quiet", "."], {}),
    ("types", [sys.executable, "-m", "mypy"], {}),
    ("layers", [str(BIN / "lint-imports")], {}),
    ("dependencies", [str(BIN / "deptry"), "."], {}),
    ("words", [sys.executable, "-m", "tests.words"], {}),
    ("rooms and unused code", [sys.executable, "-m", "tests.house"], {}),
)
"""What takes seconds. Where one of these fails no test is run."""
TESTS: tuple[Check, ...] = (
    ("tests", [*MOST, "tests", *(f"--ignore={path}" for path in (*PURE, *ZONED))], {"TZ": "UTC"}),
    # `[tool.coverage]` of pyproject.toml says what is measured, and the floor.
    ("tests of the pure rooms, and the branches that they reach", [*TRACED, *PURE, "--cov"], {"TZ": "UTC"}),
    # Days must not move with the machine's own zone; this one is off by 45 minutes from every round number.
    ("tests in another time zone", [*FEW, *ZONED], {"TZ": "Asia/Kathmandu"}),
)
APART = {"frameworks": "RECIPES FOR FRAMEWORKS ARE", "spark": "SPARK IS"}
"""Tests in environments of their own, which their commands make: what they want is half a gigabyte each."""


_SPEAKING = threading.Lock()


def main(areas: Sequence[str] = ()) -> int:
    """Run all checks, or the tests of some areas, and return 1 where one failed, 2 where there is no such area."""
    if list(areas) == ["style"]:
        return _run(STYLE, beside=2)
    if missing := [area for area in areas if not (REPOSITORY / "tests" / area).exists()]:
        print(f"no such area below tests/: {', '.join(missing)}", file=sys.stderr)
        return 2
    if areas:
        shown = {"SHOW_SEEDS": "yes"} if list(areas) == ["seeds"] else {}
        return _run((("tests", [*MOST, *(f"tests/{area}" for area in areas)], shown),))
    if failed := _run(STYLE, beside=2):
        return failed
    there = [name for name in APART if (REPOSITORY / f".venv-{name}").exists()]
    for name in APART.keys() - there:
        print(
            f"== {APART[name]} NOT TESTED HERE: python -m tests.{name} installs what it wants and runs it", flush=True
        )
    apart: list[Check] = [(f"tests of {name}", [sys.executable, "-m", f"tests.{name}"], {}) for name in there]
    return _run([*TESTS, *apart], beside=len(TESTS))


def _run(checks: Sequence[Check], beside: int = 1) -> int:
    """Run the checks in their order, so many of them beside each other; what each says is shown when it is over."""
    with ThreadPoolExecutor(beside) as threads:
        done = [
            threads.submit(_passes, *check, shown_at_once=beside == 1 or number == 0)
            for number, check in enumerate(checks)
        ]
        failed = [name for (name, _, _), each in zip(checks, done, strict=True) if not each.result()]
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return int(bool(failed))


def _passes(name: str, command: list[str], environment: dict[str, str], *, shown_at_once: bool) -> bool:
    began = time.monotonic()
    if shown_at_once:
        print(f"== {name}", flush=True)
    # Compiled modules are kept, whatever the machine says: thousands of processes would compile them again.
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as later:
        output = None if shown_at_once else later
        done = subprocess.run(
            command, cwd=REPOSITORY, env={**kept, **environment}, stdout=output, stderr=output, check=False
        )
        later.seek(0)
        shown = later.read().decode("utf-8", "replace")
    with _SPEAKING:
        if not shown_at_once:
            shown = f"== {name}\n{shown}"
        print(f"{shown}== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return not done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
