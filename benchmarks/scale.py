"""Commands on stores of growing size, with the curve and its exponent: `python -m benchmarks.scale`.

Every size is a log of the mix of `benchmarks.ingest` over the sixty days before today, so a day grows with the log:
what a command costs with ten times as many events, not with ten times as long a history. Each command is a process of
its own, run once, from its start to its end; processor time and the memory of all its processes are what is compared.
The first check also judges all messages, the second is what each night costs afterwards.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from itertools import pairwise
from math import log
from pathlib import Path

from analyzer.events.times import now
from benchmarks.ingest import write_log
from benchmarks.measure import ANALYZER, Cost, cost_of
from benchmarks.scale_picture import Curve, draw

DAYS = 60
MOST_EXPONENT = 1.1
LEAST_SECONDS = 1.0
"""Of processor time beyond the start at the larger size; less says nothing about growth."""


def steps(store: str, log_file: str, last: datetime) -> Iterator[tuple[str, Sequence[str]]]:
    """The commands, in an order in which each finds what it needs; `last` is the end of the log."""
    nights = [f"{last - timedelta(days=number):%Y-%m-%d}" for number in (1, 0)]
    week = ("--since", f"{last - timedelta(days=7):%Y-%m-%d}", "--until", nights[-1])
    yield "ingest", ("ingest", log_file, "--store", store, "--quiet")
    yield "check, first", ("check", "--store", store, "--until", nights[0])
    yield "check, next night", ("check", "--store", store, "--until", nights[1])
    yield "report", ("report", "--store", store, "--format", "html", "--output", "report.html")
    yield "report of a week", ("report", "--store", store, *week, "--format", "html", "--output", "report.html")
    yield "unknowns", ("unknowns", "--store", store)
    yield "reclassify", ("reclassify", "--store", store)
    yield "prune half", ("prune", "--store", store, "--older-than", f"{DAYS // 2}d")


def measured(events: int, folder: Path) -> dict[str, Cost]:
    """What each command costs on so many events."""
    last = datetime.combine(now().date(), time())
    write_log(folder / "events.jsonl", events, first=last - timedelta(days=DAYS), days=DAYS)
    costs = {}
    for name, arguments in steps("scale.duckdb", "events.jsonl", last):
        cost = cost_of((*ANALYZER, *arguments), folder, bounded=False)
        if cost.exit_code not in {0, 1}:
            raise SystemExit(f"{name} of {events:,} events ended with {cost.exit_code}")
        costs[name] = cost
        print(f"{events:12,} {name:20} {cost.seconds:8.1f} CPU s {cost.megabytes:8,.0f} MB", flush=True)
    return costs


def exponent(smaller: tuple[int, float], larger: tuple[int, float]) -> float:
    """The power of the size that a cost grows by, from two sizes and what was spent on each."""
    return log(larger[1] / smaller[1]) / log(larger[0] / smaller[0])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every size, print the curves, draw them; exits with 1 where one of them is steeper than allowed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--events", type=float, nargs="+", default=[1e5, 1e6, 1e7], help="sizes (default: to 1e7)")
    parser.add_argument("--folder", help="where the logs and stores are made (default: a temporary one)")
    parser.add_argument("--picture", default=str(Path(__file__).with_name("scale.svg")))
    options = parser.parse_args(argv)
    sizes = sorted(int(size) for size in options.events)
    found: dict[int, dict[str, Cost]] = {}
    with tempfile.TemporaryDirectory(prefix="scale-", dir=options.folder) as scratch:
        start = cost_of((*ANALYZER, "query", "--list"), Path(scratch)).seconds
        for events in sizes:
            folder = Path(scratch) / f"{events}"
            folder.mkdir()
            found[events] = measured(events, folder)
            shutil.rmtree(folder)
    steep = False
    curves = []
    head = "".join(f"{events:>12,}{'':9}" for events in sizes)
    print(f"\nCPU s and peak MB by events; the start of a program takes {start:.1f} CPU s\n{'':20}{head} exponent")
    for name in found[sizes[0]]:
        costs = [found[events][name] for events in sizes]
        power = _power(sizes, [max(0.01, cost.seconds - start) for cost in costs])
        mark = " ! time" if power is not None and power > MOST_EXPONENT else ""
        steep |= bool(mark)
        cells = "".join(f"{cost.seconds:10.1f}{cost.megabytes:8,.0f} MB" for cost in costs)
        print(f"{name:20}{cells} {'-' if power is None else f'{power:.2f}':>8}{mark}")
        curves.append(Curve(name, [cost.seconds for cost in costs], [cost.megabytes for cost in costs], power))
    Path(options.picture).write_text(draw(sizes, curves), "utf-8")
    raise SystemExit(int(steep))


def _power(sizes: Sequence[int], spent: Sequence[float]) -> float | None:
    """The steepest exponent between two neighbouring sizes; None where nothing takes long enough to tell."""
    pairs = list(zip(sizes, spent, strict=True))
    told = [exponent(*pair) for pair in pairwise(pairs) if pair[1][1] >= LEAST_SECONDS]
    return max(told, default=None)


if __name__ == "__main__":
    main()
