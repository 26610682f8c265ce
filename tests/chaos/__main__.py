"""`python -m tests.chaos --minutes N`: the long run. Exit code 1 when a promise was broken."""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.conductor import Conductor
from tests.chaos.tally import Tally

ROUND_SECONDS = 30.0
"""A round has a folder and a store of its own, so that the last judgement comes often."""


def main() -> int:
    """Rounds until the time is over, one row a round and their sum."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long, 10 by default")
    parser.add_argument("--seed", type=int, default=None, help="of the first round; each later one adds 1")
    parser.add_argument("--writers", type=int, default=3, help="at a time, two threads each")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    end = time.monotonic() + options.minutes * 60
    names = [field.name for field in dataclasses.fields(Tally) if field.name != "violations"]
    titles = ["seed", *(name.replace("_", " ") for name in names)]
    print("  ".join(titles))
    total = Tally()
    while (left := end - time.monotonic()) > 0:
        with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
            tally = Conductor(Path(folder), seed, options.writers).run(min(ROUND_SECONDS, left))
        for name in names:
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        total.violations += [f"seed {seed}: {text}" for text in tally.violations]
        print(_row(str(seed), tally, titles), flush=True)
        seed += 1
    print(_row("all", total, titles))
    print("\n".join(total.violations) or "no violation", flush=True)
    return not total.sound


def _row(first: str, tally: Tally, titles: list[str]) -> str:
    cells = [first, *(f"{getattr(tally, title.replace(' ', '_')):,}" for title in titles[1:])]
    return "  ".join(cell.rjust(len(title)) for cell, title in zip(cells, titles, strict=True))


if __name__ == "__main__":
    sys.exit(main())
