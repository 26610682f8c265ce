"""Commands on a lake that are killed before each of their commits, as `python -m tests.lake.command_kills`.

Every command that writes, but for those of one row: an ingest, a check, a reclassification, a prune, a rebuild and a
night. Each is run on copies of one lake: once to its end, and then once for every commit, before which the driver is
ended by SIGKILL with all that is not written. What readers see then has to be the lake as it was, or with whole batches
of the command and no part of one; and the same command, run again, has to end with what one clean run leaves.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

import pyarrow as pa

from analyzer.events.times import now
from analyzer.lake.files import opened
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import lake_of
from analyzer.lake.moving import up
from analyzer.store import open_store
from benchmarks.ingest import write_log
from tests import REPOSITORY
from tests.store.upkeep.test_rebuild import RULES

_MOVES = {"ingested_at", "first_ingested_at", "last_ingested_at", "incident_at", "judged_at", "batch_id", "source_id"}
"""Columns of moments and numbers that differ from run to run."""
_KEPT_FROM = date(2026, 11, 6)
"""The first day of the samples that a prune keeps."""
_BATCHED = {"ingest", "nightly"}
"""Commands of several batches, of which the first may stay."""


def main() -> int:
    """Run it, and return 1 where a lake is not as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m tests.lake.command_kills", description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="kill before every N-th commit only")
    parser.add_argument("--only", metavar="COMMAND")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        commands = _prepared(folder)
        chosen = {given.only: commands[given.only]} if given.only else commands
        wrong = sum(_killed(folder, name, line, given.every) for name, line in chosen.items())
    print("wrong:", wrong)
    return bool(wrong)


def _prepared(folder: Path) -> dict[str, list[str]]:
    """A lake at `before`, and the commands with what they need."""
    logs = folder / "logs"
    shutil.copytree(REPOSITORY / "sample_events", logs)
    with open_store(folder / "fleet.duckdb", writable=True) as store:
        store.ingest([str(logs)])
        store.reclassify(apply=True)
    up(str(folder / "fleet.duckdb"), lake_of(f"delta:{folder}/before"))
    write_log(folder / "new.jsonl", 700)
    (folder / "rules.toml").write_text(RULES, "utf-8")
    return {
        "ingest": ["ingest", str(folder / "new.jsonl")],
        "check": ["check", "--until", "2026-11-10"],
        "reclassify": ["reclassify", "--apply", "--rules", str(folder / "rules.toml")],
        "prune": ["prune", "--older-than", f"{(now().date() - _KEPT_FROM).days}d"],
        "rebuild": ["rebuild"],
        "nightly": ["nightly", str(folder / "new.jsonl"), "--until", "2026-11-10", "--keep", "3650d"],
    }


def _killed(folder: Path, name: str, line: list[str], every: int) -> int:
    """How many lakes were not as they have to be."""
    work, wrong, last, met = folder / "work", 0, 0, False
    before = _state(folder / "before")
    clean, _ = _run(folder, 0, line, fresh=True)
    after = _state(work)
    while not met:
        last += every
        began = time.monotonic()
        code, said = _run(folder, last, line, fresh=True)
        met = code == clean
        if met:
            break
        seen = _state(work)
        whole = seen == before or (name in _BATCHED and _within(before, seen, after))
        again, told = _run(folder, 0, line, fresh=False)
        end = _state(work)
        good = code == -9 and whole and end == after and again in (clean, 0)
        wrong += not good
        print(
            f"{name}: killed before commit {last}: {'as it was' if seen == before else 'other' if whole else 'TORN'};"
            f" again {again}, {'equal' if end == after else 'NOT EQUAL'}, {time.monotonic() - began:.0f} s",
            "" if good else f"{said[-300:]} {told[-300:]} {_apart(end, after)}",
            flush=True,
        )
    return wrong


def _run(folder: Path, last: int, line: list[str], *, fresh: bool) -> tuple[int, str]:
    """Run a command on the working lake, made anew where it is `fresh`; its exit code and what it said."""
    work = folder / "work"
    if fresh:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(folder / "before", work)
    command = [sys.executable, "-m", "tests.lake.dying", str(last), *line, "--store", f"delta:{work}", "-q"]
    done = subprocess.run(
        [*command, "--master", "local[2]"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def _state(place: Path) -> dict[str, Counter[str]]:
    """By table what readers see, without what is another one in every run."""
    lake = lake_of(f"delta:{place}")
    return {name: _rows(name, opened(lake, name).to_pyarrow_table()) for name in tables() if name != "store_v1"}


def _rows(name: str, found: pa.Table) -> Counter[str]:
    """The rows as texts; of decisions and lines of the journal, whose ids and moments are their own, only how many."""
    if name == JOURNAL:
        return Counter({"lines": found.num_rows})
    rows: Counter[str] = Counter()
    for row in found.to_pylist():
        if name == "event_v1" and row["source_path"] is None:
            rows[row["type"]] += 1
        else:
            rows[str({key: value for key, value in row.items() if key not in _MOVES})] += 1
    return rows


def _within(before: dict[str, Counter[str]], seen: dict[str, Counter[str]], after: dict[str, Counter[str]]) -> bool:
    """Whether what is seen of events lies between two states."""
    return before["event_v1"] <= seen["event_v1"] <= after["event_v1"]


def _apart(one: dict[str, Counter[str]], other: dict[str, Counter[str]]) -> dict[str, list[str]]:
    """The first rows by which tables differ."""
    return {
        name: [row[:200] for row in list((one[name] - other[name]) + (other[name] - one[name]))[:2]]
        for name in one
        if one[name] != other[name]
    }


if __name__ == "__main__":
    sys.exit(main())
