"""The last judgement of a round: the store against what was acknowledged, and against one that is made anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from analyzer.store import open_store
from tests.chaos.hostile import OUTSIDE
from tests.chaos.tally import Tally

_ACCOUNTS = """
  select source_path, lines, event_lines + duplicates + quarantined + blank + skipped as told
  from sources
"""
_NUMBERED_TWICE = """
  select count(*)
  from (select 1 from events where writer is not null group by writer, seq having count(*) > 1)
"""
_REBUILT = (
    "select * from events order by event_id",
    "select * exclude (ingested_at) from quarantine order by all",
    "select source_path, lines, event_lines + duplicates as read, quarantined, blank, bytes from sources order by all",
)
"""What a rebuild must give again. Which of two copies counts as the first is told by the order of reading alone."""
ANALYZER = [sys.executable, "-c", "from analyzer.cli import main; main()"]


def judge(logs: Path, notes: Path, store: Path, tally: Tally) -> None:
    """One ingest in peace, quarantine tried again, a rebuild; what is wrong is added to the tally."""
    if not _run(tally, "ingest", str(logs), "--store", str(store), "--quiet"):
        return
    _compare_with_notes(notes, store, tally)
    if not _run(tally, "quarantine", "retry", "--store", str(store)):
        return
    _check_accounts(store, tally)
    before = _contents(store)
    if _run(tally, "rebuild", str(logs), "--store", str(store)):
        _check_accounts(store, tally)
        for sql, former, now in zip(_REBUILT, before, _contents(store), strict=True):
            if former != now:
                lost, new = sorted(map(str, former - now)), sorted(map(str, now - former))
                said = f"{len(lost)} rows less, {len(new)} more: {lost[:2]} {new[:2]}"
                tally.violations.append(f"the rebuilt store differs: {sql[:60]}: {said}")


def _run(tally: Tally, *arguments: str) -> bool:
    """A command that has to succeed."""
    done = subprocess.run([*ANALYZER, *arguments], capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace")[-400:]
        tally.violations.append(f"{' '.join(arguments[:2])}: exit {done.returncode}: {said}")
    return not done.returncode


def _contents(store: Path) -> list[set[tuple[Any, ...]]]:
    with open_store(store) as opened:
        return [set(opened.sql(sql).rows()) for sql in _REBUILT]


def _check_accounts(store: Path, tally: Tally) -> None:
    with open_store(store) as opened:
        for path, lines, told in opened.sql(_ACCOUNTS).rows():
            if lines != told:
                tally.violations.append(f"{path}: {lines} lines, {told} accounted for")


def _compare_with_notes(notes: Path, store: Path, tally: Tally) -> None:
    noted = [line for path in notes.iterdir() for line in path.read_text().split("\n")[:-1]]
    if hung := noted.count("hung"):
        tally.violations.append(f"{hung} forked children hung")
    acknowledged = [line for line in noted if line != "hung"]
    with open_store(store) as opened:
        stored = opened.sql("select event_id, count(*) as n from events group by 1")
        tally.quarantined = opened.sql("select count(*) from quarantine").item()
        tally.conflicts = opened.sql("select count(*) from quarantine where why = 'conflict'").item()
        twice = opened.sql(_NUMBERED_TWICE).item()
    if twice:
        tally.violations.append(f"{twice} numbers of a writer stand on two events")
    known = set(stored["event_id"])
    if OUTSIDE in known:
        tally.violations.append("a link out of the folder was followed")
    tally.acknowledged, tally.stored = len(acknowledged), len(known)
    tally.lost = len(set(acknowledged) - known)
    tally.duplicated = stored.filter(stored["n"] > 1).height
