"""What a command costs on an input that was made to be costly: a row an input, and a mark where a bound is broken.

An input is made twice, the second time twice as large, so that a cost that grows faster than the input shows.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ANALYZER = (sys.executable, "-c", "from analyzer.cli import main; main()")
MOST_MEGABYTES = 1_000
MOST_GROWTH = 2.6
"""Of the processor time when the input doubles, the start of the program not counted; 2 is in proportion."""
LEAST_SECONDS = 1.0
"""Of processor time beyond the start; less says nothing about growth."""
_KILLED_MEGABYTES = 4_000
_KILLED_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Hostile:
    """One input, and the command that has to cope with it."""

    name: str
    make: Callable[[Path, int], Sequence[str]]
    """Makes the input in an empty folder, once or twice as large, and gives the arguments of `analyzer`.

    The command runs in that folder; only the command is measured.
    """
    exits: frozenset[int] = frozenset({0, 1})
    stdin: str | None = None
    """The name of a file in the folder that the command reads as its standard input."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took."""

    seconds: float
    """Of processor time, with everything that it started."""
    wall: float
    """Seconds by the clock."""
    megabytes: float
    """The peak of all its processes together as seen twenty times a second; at least that of the largest one."""
    exit_code: int
    """Negative: the signal that ended it, SIGKILL where it went over the bounds of this module."""


def cost_of(
    command: Sequence[str],
    folder: Path,
    stdin: str | None = None,
    *,
    bounded: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Cost:
    """Run a command in a folder; if `bounded`, it is killed at 4 GB or 10 minutes.

    `environment` takes the place of this process's own, with what this one imports.
    """
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path)}
    with contextlib.ExitStack() as opened:
        given = opened.enter_context((folder / stdin).open("rb")) if stdin else subprocess.DEVNULL
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - our own command line
            command,
            cwd=folder,
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=own if environment is None else environment,
        )
        over, peaks = threading.Event(), [0.0]
        watcher = threading.Thread(target=_watch, args=(process.pid, over, peaks), kwargs={"bounded": bounded})
        watcher.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        over.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts the memory of the parent at the fork into that of its child: there the watcher alone tells.
    megabytes = peaks[0] or used.ru_maxrss / 2**20
    return Cost(used.ru_utime + used.ru_stime, wall, megabytes, process.returncode)


def _watch(pid: int, over: threading.Event, peaks: list[float], *, bounded: bool) -> None:
    """Add up the memory of a process group, and end it where it takes too much or too long."""
    looks = 0
    while not over.wait(0.05):
        looks += 1
        peaks[0] = max(peaks[0], _group_megabytes(pid))
        if bounded and (peaks[0] > _KILLED_MEGABYTES or looks * 0.05 > _KILLED_SECONDS):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            return


def _group_megabytes(group: int) -> float:
    """Resident memory of the processes of a group, or the peak of one of them; 0 where there is no `/proc`."""
    total = largest = 0
    for entry in Path("/proc").glob("[0-9]*") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError, KeyError):  # it is gone, or a zombie
            if os.getpgid(int(entry.name)) == group:
                told = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
                total += int(told["VmRSS"].split()[0])
                largest = max(largest, int(told["VmHWM"].split()[0]))
    return max(total, largest) / 1024


def print_rows(inputs: Iterable[Hostile], idle: Sequence[str] = ("ingest", os.devnull)) -> bool:
    """Measure each input and print its row; whether all bounds held.

    `idle` are the arguments of a command that has nothing to do: what it takes is no cost of an input.
    """
    print(f"{'input':44} {'bytes':>12} {'CPU s':>7} {'MB/s':>7} {'peak MB':>8} {'x2':>5}")
    sound = True
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        start = cost_of((*ANALYZER, *idle), _empty(scratch)).seconds
        for hostile in inputs:
            sound &= _print_row(hostile, start, scratch)
    return sound


def _print_row(hostile: Hostile, start: float, scratch: str) -> bool:
    once, size = _measured(hostile, 1, scratch)
    twice, _ = _measured(hostile, 2, scratch)
    spent = once.seconds - start
    growth = (twice.seconds - start) / spent if spent >= LEAST_SECONDS else None
    marks = _marks(hostile, (once, twice), growth)
    speed = f"{size / 1e6 / spent:7.1f}" if spent > 0.01 else f"{'-':>7}"
    print(
        f"{hostile.name:44} {size:12,} {once.seconds:7.1f} {speed} {max(once.megabytes, twice.megabytes):8.0f} "
        f"{'-' if growth is None else f'{growth:.1f}':>5} {' '.join(marks)}".rstrip(),
        flush=True,
    )
    return not marks


def _marks(hostile: Hostile, costs: Sequence[Cost], growth: float | None) -> list[str]:
    """What is out of bounds."""
    marks = [f"! exit {cost.exit_code}" for cost in costs if cost.exit_code not in hostile.exits][:1]
    if max(cost.megabytes for cost in costs) > MOST_MEGABYTES:
        marks.append("! memory")
    if growth is not None and growth > MOST_GROWTH:
        marks.append("! time")
    return marks


def _measured(hostile: Hostile, scale: int, scratch: str) -> tuple[Cost, int]:
    """The cost of one run, and the bytes of what was made for it."""
    folder = _empty(scratch)
    arguments = hostile.make(folder, scale)
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    return cost_of((*ANALYZER, *arguments), folder, hostile.stdin), size


def _empty(scratch: str) -> Path:
    """A new folder in place of the former one, whose input may fill the disk."""
    folder = Path(scratch) / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
