"""What an operator is told of fleets whose incidents are known, beside six rivals: `python -m benchmarks.alarms`.

    python -m benchmarks.alarms --quick --histories 8
    python -m benchmarks.alarms --simulator fleet --histories 58 --seed 1 --results fleet.jsonl --processes 2
    python -m benchmarks.alarms --simulator real --shape ~/.claude/projects --histories 20
    python -m benchmarks.alarms --histories 0 --results fleet.jsonl     # the table of what was measured

Every history is a fleet of its own; three of four have incidents, two where both have room. Kinds and strengths take
turns, so that 58 histories have each of the fleet's once. The product reads each day's log files and checks each night.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.alarms import fleet_incidents, nights, real_incidents, rivals, scores
from benchmarks.alarms.real import MADE_UP, Shape
from benchmarks.alarms.truth import STRENGTHS, History

SIMULATORS = {"fleet": tuple(fleet_incidents.KINDS), "real": tuple(real_incidents.KINDS)}
"""The kinds of each simulator's incidents."""


def wanted(kinds: Sequence[str], seed: int, number: int) -> list[tuple[str, int]]:
    """The kinds and strengths of the incidents of one history: none of every fourth, and of the others in turn."""
    if number % 4 == 3:
        return []
    places = [(kind, strength) for kind in kinds for strength in range(len(STRENGTHS))]
    first = 2 * (number - number // 4)
    found = []
    for place in (first, first + 1):
        turn = list(places)
        Random(f"{seed}/{place // len(places)}").shuffle(turn)  # noqa: S311 - no secret
        found.append(turn[place % len(places)])
    return found


def history(simulator: str, seed: int, number: int, shape: Shape = MADE_UP) -> History:
    """One history of a simulator."""
    name, what = f"{simulator}/{seed}/{number}", wanted(SIMULATORS[simulator], seed, number)
    return fleet_incidents.history(name, what) if simulator == "fleet" else real_incidents.history(name, what, shape)


def quick(one: History) -> History:
    """The first incident of a history, or its last nights, from the night before to the third one after."""
    one.incidents = one.incidents[:1]
    last = one.last_day(one.incidents[0]) + 3 if one.incidents else len(one.files) - 1
    one.judged_from = one.day(one.incidents[0].onset) - 1 if one.incidents else last - 3
    one.files = one.files[: last + 1]
    one.sessions = {caller: days[: last + 1] for caller, days in one.sessions.items()}
    return one


def measured(simulator: str, seed: int, shape: Shape, briefly: bool, number: int) -> list[scores.Tally]:
    """What the product and its rivals make of one history."""
    one = history(simulator, seed, number, shape)
    one = quick(one) if briefly else one
    started = time.process_time()
    ours = scores.tally(one, scores.OURS, nights.told(one))
    ours.seconds = round(time.process_time() - started, 1)
    return [ours, *(scores.tally(one, name, told) for name, told in rivals.told(one))]


def _measured(options: argparse.Namespace) -> Iterator[scores.Tally]:
    kept = Path(options.results) if options.results else None
    done: set[str] = set()
    if kept and kept.exists():
        for line in kept.read_text("utf-8").splitlines():
            one = scores.Tally.of(json.loads(line))
            done.add(one.history)
            yield one
    numbers = range(options.first, options.first + options.histories)
    todo = [number for number in numbers if f"{options.simulator}/{options.seed}/{number}" not in done]
    shape = Shape.read(options.shape) if options.shape else MADE_UP
    run = partial(measured, options.simulator, options.seed, shape, options.quick)
    with ProcessPoolExecutor(options.processes) as pool:
        for made in pool.map(run, todo) if options.processes > 1 else map(run, todo):
            print(f"{made[0].history}: {made[0].seconds} CPU s", file=sys.stderr, flush=True)
            if kept:
                with kept.open("a", encoding="utf-8") as lines:
                    lines.writelines(json.dumps(one.to_dict()) + "\n" for one in made)
            yield from made


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.alarms", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulator", choices=tuple(SIMULATORS), default="fleet")
    parser.add_argument("--shape", nargs="+", metavar="PATH", help="logs that `real` takes its sessions from")
    parser.add_argument("--histories", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="number of the first history (default: 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="the nights around one incident of each history")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", metavar="FILE", help="keep each history's tally there, and leave out those it has")
    parser.add_argument("--verbose", action="store_true", help="name what was missed, misnamed and false")
    options = parser.parse_args(argv)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    tallies = list(_measured(options))
    for line in scores.table(tallies):
        print(line)
    for one in (one for one in tallies if options.verbose and one.detector == scores.OURS):
        for case in one.cases:
            state = "missed" if not case.found else "named" if case.named else "misnamed"
            print(f"{one.history}: {case.kind}, {case.strength}: {state} {case.first}")
        for each in one.false:
            print(f"{one.history}: false: {each}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
