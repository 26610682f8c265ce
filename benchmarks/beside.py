"""What each piece of work costs in two checkouts, side by side: `python -m benchmarks.beside OLD NEW`.

The checkouts take turns, every other round backwards, each piece of work in a process of its own from its start to
its end; medians of processor time, of time by the clock and of peak memory are printed, and ratios. Both run with
this interpreter and its packages, with their bytecode kept as after an installation. Both find a log of the mix of
`benchmarks.ingest` over the sixty days before today, made once, and a store each that they made of it. The columns of
the two stores are held against each other by `benchmarks.rows` first, since work that gives other rows is another
work; then each piece of work is done once without being measured, so that the night of the check is judged already.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from pathlib import Path

from analyzer.events.times import now
from benchmarks.ingest import write_log
from benchmarks.measure import Cost, cost_of
from benchmarks.rows import main as held_against
from benchmarks.starts import as_installed

DAYS = 60
MAIN = ("-c", "from analyzer.cli import main; main()")
BARE = ("-c", "pass")
CLASSIFY = "import analyzer; analyzer.classify('HTTP 503 Service Unavailable, trace 4711')"
STEADY = f"{CLASSIFY}\nfor n in range(20_000): analyzer.classify(f'HTTP 503 Service Unavailable, trace {{n}}')"
STORE, NEW_STORE, LOG = "kept.duckdb", "new.duckdb", "events.jsonl"


def works(samples: Path, transcripts: Path | None, last: datetime) -> dict[str, tuple[str, ...]]:
    """The arguments of the interpreter for each piece of work; `last` is the end of the log."""
    week = ("--since", f"{last - timedelta(days=7):%Y-%m-%d}", "--until", f"{last:%Y-%m-%d}")
    page = ("--format", "html", "--output", "report.html")
    commands: dict[str, tuple[str, ...]] = {
        "report of the samples": ("report", str(samples), *page),
        "ingest": ("ingest", LOG, "--store", NEW_STORE, "--quiet"),
        "query": ("query", "errors-by-reason", "--store", STORE),
        "check with nothing new": ("check", "--store", STORE, "--until", f"{last:%Y-%m-%d}"),
        "report": ("report", "--store", STORE, *page),
        "report of a week": ("report", "--store", STORE, *week, *page),
    }
    if transcripts:
        commands["ingest of transcripts"] = ("ingest", str(transcripts), "--store", NEW_STORE, "--quiet")
    return {
        "bare Python": BARE,
        **{name: (*MAIN, *words) for name, words in commands.items()},
        "import and first classify": ("-c", CLASSIFY),
        "20,000 errors classified": ("-c", STEADY),
    }


def spent(checkout: Path, arguments: Sequence[str], folder: Path) -> Cost:
    """Run the interpreter on a checkout's code in a folder.

    Raises:
        SystemExit: it ended with another code than 0 or 1.
    """
    (folder / NEW_STORE).unlink(missing_ok=True)
    # What a store took over from foreign logs stands beside it; a new store is refused beside another one's.
    shutil.rmtree(folder / NEW_STORE.replace(".duckdb", ".journal"), ignore_errors=True)
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(checkout)}
    cost = cost_of(
        (sys.executable, *arguments), folder, bounded=False, environment={**as_installed(str(folder)), **own}
    )
    if cost.exit_code not in {0, 1}:
        raise SystemExit(f"{checkout}: {' '.join(arguments)} ended with {cost.exit_code}")
    return cost


def compared(checkouts: Sequence[Path], events: int, runs: int, transcripts: Path | None, scratch: Path) -> bool:
    """Print a row a piece of work, and whether the stores of both have the same columns.

    `checkouts` are the old and the new one; `scratch` is an empty folder, in which each gets one of its own.
    """
    last = datetime.combine(now().date(), time())
    folders = [scratch / name for name in ("old", "new")]
    for folder in folders:
        folder.mkdir()
    write_log(folders[0] / LOG, events, first=last - timedelta(days=DAYS), days=DAYS)
    os.link(folders[0] / LOG, folders[1] / LOG)
    there = works(checkouts[1] / "sample_events", transcripts, last)
    sides = list(zip(checkouts, folders, strict=True))
    for checkout, folder in sides:
        spent(checkout, (*MAIN, "ingest", LOG, "--store", STORE, "--quiet"), folder)
    same = held_against([str(folder / STORE) for folder in folders]) == 0
    for checkout, folder in sides:
        for arguments in there.values():
            spent(checkout, arguments, folder)
    print(f"{'work':28} old CPU s new CPU s  ratio     old s     new s  ratio  old MB  new MB")
    for name, arguments in there.items():
        found: tuple[list[Cost], list[Cost]] = ([], [])
        for turn in range(runs):
            for place in (0, 1)[:: 1 if turn % 2 == 0 else -1]:
                found[place].append(spent(sides[place][0], arguments, sides[place][1]))
        cpu, wall, memory = (
            [statistics.median(getattr(each, what) for each in side) for side in found]
            for what in ("seconds", "wall", "megabytes")
        )
        print(
            f"{name:28} {cpu[0]:9.3f} {cpu[1]:9.3f} {cpu[1] / cpu[0]:6.2f} {wall[0]:9.3f} {wall[1]:9.3f}"
            f" {wall[1] / wall[0]:6.2f} {memory[0]:7.0f} {memory[1]:7.0f}",
            flush=True,
        )
    return same


def main(argv: Sequence[str] | None = None) -> int:
    """Compare two checkouts; exits with 1 where their stores differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout of the version before")
    parser.add_argument("new", type=Path, help="a checkout of the version after")
    parser.add_argument("--transcripts", type=Path, help="a folder of logs of agents that both read")
    parser.add_argument("--events", type=int, default=300_000, help="lines of the log (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="processes a piece of work and side (default: %(default)s)")
    given = parser.parse_args(argv)
    checkouts = [path.resolve() for path in (given.old, given.new)]
    for path in checkouts:
        if not (path / "analyzer" / "__init__.py").is_file():
            parser.error(f"{path} is no checkout: analyzer/ is not in it")
    transcripts = given.transcripts.resolve() if given.transcripts else None
    if transcripts and not transcripts.exists():
        parser.error(f"there is no {transcripts}")
    with tempfile.TemporaryDirectory(prefix="beside-") as scratch:
        same = compared(checkouts, given.events, given.runs, transcripts, Path(scratch))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
