"""Machines push to one shared table at once, are killed, and push again: each event is in it once."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analyzer.errors import AnalyzerError
from analyzer.events.times import now
from analyzer.store import open_store
from analyzer.store.db.frames import frame_of
from analyzer.store.fleet import ship
from analyzer.store.fleet.ship import push as push_from
from analyzer.store.fleet.table import SCHEMA, TwiceError
from tests import LONG_RUNS
from tests.store.fleet.machines import ids, load, opened, push

WRITERS, ROUNDS = 4, 3 * LONG_RUNS

Native = Callable[..., bytes]


def _log(path: Path, native: Native, name: str, count: int = 25) -> Path:
    """Append events whose ids begin with a name to a log."""
    path.parent.mkdir(exist_ok=True, parents=True)
    first = path.read_bytes().count(b"\n") if path.exists() else 0
    with path.open("ab") as log:
        for number in range(first, first + count):
            log.write(native(f"{name}-{number}", at=f"2026-11-{1 + number % 3:02}T08:00:00", message=f"fault {number}"))
    return path


def test_several_writers_at_once_lose_nothing_and_double_nothing(tmp_path: Path, native: Native) -> None:
    """Each pushes several times from a log that grows, and all make the table at the same moment."""
    to, start = f"delta:{tmp_path}/table", threading.Barrier(WRITERS)

    def writer(number: int) -> None:
        start.wait()
        for _ in range(ROUNDS):
            log = _log(tmp_path / f"{number}" / "log.jsonl", native, f"w{number}")
            assert push(tmp_path / f"{number}.duckdb", log, to=to).events == 25

    with ThreadPoolExecutor(WRITERS) as pool:
        for done in [pool.submit(writer, number) for number in range(WRITERS)]:
            done.result()
    assert ids(to) == {f"w{number}-{event}": 1 for number in range(WRITERS) for event in range(25 * ROUNDS)}
    assert load(tmp_path / "fleet.duckdb", to).total.events == 25 * WRITERS * ROUNDS


@pytest.mark.parametrize("write", [1, 2, 3, 4])
def test_a_push_that_is_killed_is_finished_by_the_next_one(write: int, tmp_path: Path, native: Native) -> None:
    """Before the first commit, between two, and between the last one and what the store remembers of it."""
    to, store, log = f"delta:{tmp_path}/table", tmp_path / "a.duckdb", _log(tmp_path / "logs" / "a.jsonl", native, "a")
    command = [sys.executable, "-m", "tests.store.fleet.dying", str(write), str(store), str(log), to]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    before = ids(to) if write > 1 else {}
    assert len(before) == min(10 * (write - 1), 25)
    _log(log, native, "a")
    assert push(store, log, to=to).events == 50 - len(before)
    assert push(store, log, to=to).events == 0
    assert ids(to) == {f"a-{number}": 1 for number in range(50)}


def test_a_part_that_is_sent_twice_at_once_is_refused(
    tmp_path: Path, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a commit may reach an object store after its process was killed; the push looks again, and adds the rest."""
    to = f"delta:{tmp_path}/table"
    table = opened(to)
    one, two = table.opened(create=True), table.opened()
    rows = frame_of(SCHEMA, [(datetime(2026, 11, 1, tzinfo=UTC).date(), "x", "host", "/log", "{}")])
    table.append(one, rows, "w", 1)
    with pytest.raises(TwiceError):
        table.append(two, rows, "w", 1)
    log, append = _log(tmp_path / "logs" / "a.jsonl", native, "a"), type(table).append
    copies = [tmp_path / "a.duckdb", tmp_path / "copy.duckdb"]
    push(copies[0], log, to=to)
    shutil.copy(*copies)
    _log(log, native, "a")

    def beaten(*given: object) -> None:
        monkeypatch.setattr(type(table), "append", append)
        push(copies[1], log, to=to)
        append(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(table), "append", beaten)
    assert push(copies[0], log, to=to).events == 0
    assert ids(to) == {"x": 1, **{f"a-{number}": 1 for number in range(50)}}


def test_copies_and_new_stores_add_only_what_is_missing(tmp_path: Path, native: Native) -> None:
    """A copied store, a store that was made again, and another machine that reads the same log."""
    to, log = f"delta:{tmp_path}/table", _log(tmp_path / "logs" / "a.jsonl", native, "a")
    first, copy, other = (tmp_path / f"{name}.duckdb" for name in ("first", "copy", "other"))
    assert push(first, log, to=to).events == 25
    shutil.copy(first, copy)
    for store in (copy, other, first, copy):
        _log(log, native, "a", 5)
        assert push(store, log, to=to).events == 5
    assert set(ids(to).values()) == {1} and len(ids(to)) == 45


def test_a_clock_that_was_set_back_hides_no_event(
    tmp_path: Path, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read last is pushed last, whatever time it is."""
    to, store = f"delta:{tmp_path}/table", tmp_path / "a.duckdb"
    monkeypatch.setattr("analyzer.store.ingest.run.now", lambda: datetime(2099, 1, 1))
    log = _log(tmp_path / "logs" / "a.jsonl", native, "a")
    push(store, log, to=to)
    monkeypatch.setattr("analyzer.store.ingest.run.now", now)
    assert push(store, _log(log, native, "a"), to=to).events == 25


def test_decisions_and_quarantine_stay_in_the_store_that_has_them(tmp_path: Path, native: Native) -> None:
    """Only events of logs are pushed, and nothing where there are none."""
    to, store = f"delta:{tmp_path}/table", tmp_path / "a.duckdb"
    with open_store(store, writable=True) as held:
        held.decide([("finding.opened", {"finding": "x"})])
        assert held.push(to).parts == 0
    log = _log(tmp_path / "logs" / "a.jsonl", native, "a", 5)
    log.write_bytes(log.read_bytes() + b"no line\n")
    assert push(store, log, to=to).events == 5


def test_a_store_either_pushes_to_a_table_or_loads_it(tmp_path: Path, native: Native) -> None:
    """Else it would push what it has loaded; another table is its own matter."""
    to, log = f"delta:{tmp_path}/table", _log(tmp_path / "logs" / "a.jsonl", native, "a")
    store, fleet = tmp_path / "a.duckdb", tmp_path / "fleet.duckdb"
    push(store, log, to=to)
    load(fleet, to)
    with pytest.raises(AnalyzerError, match="this store pushes to"):
        load(store, to)
    with pytest.raises(AnalyzerError, match="this store loads"):
        push(fleet, to=to)
    assert push(fleet, to=f"delta:{tmp_path}/of_fleets").events == 25


def test_a_push_gives_up_where_a_copy_is_always_first(
    memory: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says why."""

    def refuse(*_: object) -> None:
        raise TwiceError

    monkeypatch.setattr(ship, "_push", refuse)
    with pytest.raises(AnalyzerError, match="a copy of this store"):
        push_from(memory._connection, f"delta:{tmp_path}/table")  # type: ignore[attr-defined]
