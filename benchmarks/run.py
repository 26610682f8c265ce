"""What `analyzer run` costs a command that prints much: `python -m benchmarks.run`. See README.md for the rows."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

MEGABYTE = 1024 * 1024
AGENT = """
import json, sys
text = "The agent reads one more file of the project and says what it found there. " * {repeated}
left, number = {megabytes} * 1024 * 1024, 0
while left > 0:
    number += 1
    content = [{{"type": "text", "text": text}}]
    message = {{"id": f"msg_{{number}}", "content": content, "usage": {{"input_tokens": 10, "output_tokens": number}}}}
    line = json.dumps({{"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s-1"}})
    left -= len(line) + 1
    print(line)
"""
CLI = (sys.executable, "-c", "from analyzer.cli import main; main()")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print the table. Contenders take turns, so that a slow moment of the machine hits all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="printed a run (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=9, help="runs a row; the median counts (default: %(default)s)")
    options = parser.parse_args(argv)
    print(f"{options.megabytes} MB of NDJSON, median of {options.runs} runs\n")
    print(f"{'':42} {'| cat, s':>9} {'run, s':>8} {'ratio':>6} {'--relay, s':>11} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, producer, command in _producers(options.megabytes, Path(folder)):
            contenders = (
                ("sh", "-c", '"$@" | cat', "sh", *producer),
                (*command, "--log", f"{folder}/log", "--", *producer),
                (*command, "--log", f"{folder}/log", "--relay", "70", "--", *producer),
            )
            cat, run, relay = measured(contenders, options.runs)
            print(f"{name:42} {cat:9.3f} {run:8.3f} {run / cat:6.2f} {relay:11.3f} {relay / cat:6.2f}")


def measured(commands: Sequence[Sequence[str]], runs: int) -> list[float]:
    """Median seconds of each command, taking turns."""
    seconds: list[list[float]] = [[] for _ in commands]
    for _ in range(runs):
        for command, taken in zip(commands, seconds, strict=True):
            taken.append(_seconds(command))
    return [statistics.median(taken) for taken in seconds]


def _producers(megabytes: int, folder: Path) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Name of the row, what prints, and what supervises it."""
    made = folder / "records"
    agents = [(sys.executable, "-c", AGENT.format(repeated=repeated, megabytes=megabytes)) for repeated in (6, 60)]
    with made.open("wb") as file:
        subprocess.run(agents[0], stdout=file, check=True)  # noqa: S603 - our own
    command = (*CLI, "run")
    return [
        ("an agent, lines of 0.6 kB", agents[0], command),
        ("an agent, lines of 5 kB", agents[1], command),
        ("records in a file, made before", ("cat", str(made)), command),
        ("nothing at all: the start alone", ("true",), command),
    ]


def _seconds(command: Sequence[str]) -> float:
    """From the start to the end of a command, its output read through a pipe and thrown away."""
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
    assert process.stdout is not None
    with process.stdout:
        while process.stdout.read(MEGABYTE):
            pass
    process.wait()
    return perf_counter() - began


if __name__ == "__main__":
    main()
