"""What DuckDB has freed goes back to the system: pinned, since it does so in passing alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.store import Store, open_store
from analyzer.store.query import catalogue

LARGE = """
import duckdb
from analyzer.store.db.frames import give_back

def resident():
    with open("/proc/self/statm") as said:
        return int(said.read().split()[1]) * 4096 // 1_000_000

connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")  # a slow machine would draw it
before = resident()
names = "select 'caller-' || i as a, 'session-' || i as b from range(500000) as t(i)"
connection.execute(f"select *, count(*) from ({names}) group by all order by all")
connection.execute("select 1").fetchall()
after = resident()
give_back()
print(before, after, resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_large_query_took_is_given_back() -> None:
    """Four fifths of it at least, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    before, after, given = map(int, done.stdout.split())
    assert after - before > 30
    assert given - before < (after - before) / 5


FRAME = """
import os, sys, time
from analyzer.store import load_frugal_polars

def resident():
    with open("/proc/self/statm") as said:
        return int(said.read().split()[1]) * 4096 // 1_000_000

assert "polars" not in sys.modules
variables = dict(os.environ)
load_frugal_polars()
import polars as pl
assert dict(os.environ) == variables
before = resident()
frame = pl.select(a=pl.int_range(10_000_000)).with_columns(b=pl.col("a") + 1)
after = resident()
del frame
for _ in range(100):
    time.sleep(0.02)
    pl.select(a=pl.int_range(1000))
    if resident() - before < 30:
        break
print(before, after, resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_frames_took_is_given_back_as_well() -> None:
    """By polars as `report` and `check` load it; and the variable that says so is gone for their children."""
    done = subprocess.run([sys.executable, "-c", FRAME], capture_output=True, text=True, check=True)
    before, after, given = map(int, done.stdout.split())
    assert after - before > 100
    assert given - before < 30


def test_an_answer_of_many_rows_is_no_reason_to_hold_more(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it, and not after small ones."""
    given: list[bool] = []
    monkeypatch.setattr(catalogue, "give_back", lambda: given.append(True))
    memory.query("overview-totals")
    assert not given
    monkeypatch.setattr(catalogue, "MANY_ROWS", 1)
    memory.query("overview-totals")
    assert given == [True]


def test_a_checkpoint_holds_one_merge_of_row_groups_in_memory(tmp_path: Path) -> None:
    """Eight halves of row groups would else be made whole at once, and a long ingest leaves hundreds of them."""
    count = "select count(distinct row_group_id) from pragma_storage_info('halves')"
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        run = store._connection.execute
        run("create table halves (number bigint)")
        for _ in range(8):
            run("insert into halves select range from range(130_000)")
        assert run(count).fetchall() == [(16,)]
        run("checkpoint")
        assert run(count).fetchall() == [(15,)]
