"""What the check of a night costs as history grows, and the report of a week beside it: `python -m benchmarks.nights`.

A year of the mix of `benchmarks.ingest`, so many events a day throughout: what differs from one night to another is the
history behind it. The log is read up to the day before a night, and that day is checked; then the night's own day is
read and checked, which is what is measured, as a process of its own from its start to its end.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

from analyzer.events.times import now
from benchmarks.ingest import write_log
from benchmarks.measure import ANALYZER, Cost, cost_of

DAYS = 365
NIGHTS = (30, 180, 365)
EVENTS = 1_000_000
_STORE = "nights.duckdb"


class NightCost(NamedTuple):
    """What was spent when there were so many nights of history."""

    night: int
    """1-based."""
    check: Cost
    week: Cost
    """Of the report of the week that ends with it."""


def measured(folder: Path, events: int = EVENTS) -> Iterator[NightCost]:
    """The costs of each of `NIGHTS`, one after another, in an empty folder."""
    first = datetime.combine(now().date(), time()) - timedelta(days=DAYS)
    write_log(folder / "year.jsonl", events, first=first, days=DAYS)
    with (folder / "year.jsonl").open("rb") as log:
        read = 0
        for night in NIGHTS:
            for day in (night - 1, night):
                part = folder / f"to-{day}.jsonl"
                with part.open("wb") as lines:
                    lines.writelines(next(log) for _ in range(events * day // DAYS - read))
                read = events * day // DAYS
                _cost(folder, "ingest", part.name, "--quiet")
                until = f"{first + timedelta(days=day):%Y-%m-%d}"
                check = _cost(folder, "check", "--until", until)
            since = f"{first + timedelta(days=night - 7):%Y-%m-%d}"
            yield NightCost(night, check, _cost(folder, "report", "--since", since, "--until", until, "-f", "html"))


def _cost(folder: Path, *words: str) -> Cost:
    cost = cost_of((*ANALYZER, *words, "--store", _STORE), folder, bounded=False)
    if cost.exit_code not in {0, 1}:
        raise SystemExit(f"analyzer {' '.join(words)} ended with {cost.exit_code}")
    return cost


def main(argv: Sequence[str] | None = None) -> None:
    """Print what each of the nights costs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nights", description=__doc__)
    parser.add_argument("--events", type=float, default=EVENTS, help="of the whole year (default: 1e6)")
    events = int(parser.parse_args(argv).events)
    print(f"{events:,} events in {DAYS} days\n{'night':>5} {'check':>20} {'report of a week':>20}")
    with tempfile.TemporaryDirectory(prefix="nights-") as folder:
        for night, *costs in measured(Path(folder), events):
            said = (f"{cost.seconds:.1f} CPU s, {cost.megabytes:,.0f} MB" for cost in costs)
            print(f"{night:5} {' '.join(f'{each:>20}' for each in said)}", flush=True)


if __name__ == "__main__":
    main()
