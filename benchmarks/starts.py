"""What a start costs, beside `import json, logging`: `python -m benchmarks.starts`.

Compared is the processor time of whole processes, from the start of the interpreter to its end; what is left of it
without that of `python -c pass`; and what passes between the first line of a script and its last, which leaves out the
end of the interpreter. They take turns, every other round backwards, and medians count. It is fair, as every process
finds the bytecode of all that it imports, as after an installation: a first round, which is not counted, writes it
into a folder for this benchmark alone. `json` and `logging` are what a program that logs has anyway.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

BARE = "bare Python"
PEER = "json, logging"
IMPORT, EVENT, CLASSIFY, HELP = "EventLog imported", "first event", "first classify", "--help"
SCRIPTS = {
    BARE: "pass",
    PEER: "import json, logging",
    IMPORT: "import analyzer; analyzer.EventLog",
    EVENT: "import analyzer; analyzer.EventLog({folder!r}).append('error.classified', {{'reason': 'unknown'}})",
    CLASSIFY: "import analyzer; analyzer.classify('HTTP 503 Service Unavailable, trace 4711')",
    HELP: "import sys; sys.argv = ['analyzer', '--help']; from analyzer.cli import main; main()",
}


class Start(NamedTuple):
    """One script, in milliseconds of processor time."""

    whole: float
    """The process."""
    over_bare: float
    """Without what Python itself takes."""
    inside: float
    """From the first line of the script to its last; all of it where that line ends the process."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print a line a script."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starts", description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="processes a script (default: %(default)s)")
    found = starts(parser.parse_args(argv).runs)
    print(f"{'':18} {'whole ms':>9} {'over bare':>10} {'inside':>7} {'ratio':>6}")
    for name, each in found.items():
        ratio = each.over_bare / found[PEER].over_bare
        print(f"{name:18} {each.whole:9.1f} {each.over_bare:10.1f} {each.inside:7.1f} {ratio:6.2f}")


def starts(runs: int) -> dict[str, Start]:
    """The medians of each script."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in SCRIPTS}
    with tempfile.TemporaryDirectory() as folder:
        environment = as_installed(folder)
        for turn in range(runs + 1):
            for name in list(SCRIPTS)[:: 1 if turn % 2 == 0 else -1]:
                taken[name].append(_milliseconds(SCRIPTS[name].format(folder=f"{folder}/log"), environment))
    wholes, insides = (
        {name: statistics.median(run[place] for run in found[1:]) for name, found in taken.items()} for place in (0, 1)
    )
    return {name: Start(whole, whole - wholes[BARE], insides[name]) for name, whole in wholes.items()}


def as_installed(folder: str) -> dict[str, str]:
    """This environment, for processes that keep their bytecode in the folder and find what this one finds."""
    found = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    places = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    return {**found, "PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode"), "PYTHONPATH": places}


def _milliseconds(script: str, environment: Mapping[str, str]) -> tuple[float, float]:
    """The processor time of a process that runs the script, and of the script alone."""
    timed = f"import time; began = time.process_time(); {script}; print(time.process_time() - began)"
    process = subprocess.Popen([sys.executable, "-c", timed], env=environment, stdout=subprocess.PIPE)  # noqa: S603
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read().split()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{script} ended with {process.returncode}")
    whole = (used.ru_utime + used.ru_stime) * 1_000
    return whole, float(said[-1]) * 1_000 if len(said) == 1 else whole


if __name__ == "__main__":
    main()
