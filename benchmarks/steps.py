"""What each step of a plain ingest costs a line, beside the bare cost of such a step: `python -m benchmarks.steps`.

All by processor time, in one process, one step after the other, of a log without checksums. The floor of a step is the
least that the same library takes for what the step is about, with all rules left out; a row's last column says what it
is. Medians of several runs are printed. What the steps lack of a whole ingest is the last row but one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import msgspec
import polars as pl

from analyzer.events import rows as rows_of
from analyzer.events.fast_decode import suspect
from analyzer.events.rows import RowDecoder
from analyzer.events.times import now
from analyzer.redaction.automata import set_of
from analyzer.store import open_store
from analyzer.store.db.connection import connect
from analyzer.store.db.frames import OnlyStream, frame_of, register
from analyzer.store.ingest.batch import staged
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import Blocks
from analyzer.store.ingest.statements import COUNT_LINES, INSERT_EVENTS, INSERT_FACTS
from benchmarks.ingest import write_log, write_plain

STEPS = {
    "read": "reading the file, and splitting it at its newlines",
    "search for secrets and long numbers": "RE2, one word that stands nowhere",
    "decode": "msgspec, each line as a dict, and its payload as JSON again",
    "lists to polars": "polars, ids and payloads alone",
    "polars to DuckDB": "DuckDB, counting the rows of the frame",
    "count lines and repeats": "DuckDB, distinct ids",
    "insert events": "DuckDB, the same columns out of a table that has them",
    "insert facts": "DuckDB, distinct texts of facts, without their columns",
    "commit": "DuckDB, a commit of the ready columns",
}
"""The steps in their order, each with what its floor is."""
_Costs = dict[str, list[float]]


def main(lines: int = 100_000, runs: int = 5) -> None:
    """Print the table."""
    ours: _Costs = defaultdict(list)
    floors: _Costs = defaultdict(list)
    whole: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        write_log(here / "crc.jsonl", lines)
        write_plain(here)
        path = str(here / "plain.jsonl")
        for number in range(runs + 1):
            for found, costs in ((_steps(path, here / f"steps-{number}.duckdb"), ours), (_floors(path, here), floors)):
                for name, seconds in found.items() if number else ():  # the first one loads and compiles
                    costs[name].append(seconds)
            began = time.process_time()
            with open_store(":memory:") as store:
                store.sql("select 1")
            opened = time.process_time() - began
            began = time.process_time()
            with open_store(here / f"whole-{number}.duckdb", writable=True) as store:
                store.ingest([path])
            if number:
                whole.append(time.process_time() - began - opened)
    print(f"{lines:,} lines, medians of {runs} runs: microseconds of processor time a line\n")
    print("| step | ours | floor | what the floor is |\n| --- | ---: | ---: | --- |")
    total = bare = 0.0
    for name, what in STEPS.items():
        cost, floor = (statistics.median(costs[name]) / lines * 1e6 for costs in (ours, floors))
        total, bare = total + cost, bare + floor
        print(f"| {name} | {cost:.2f} | {floor:.2f} | {what} |")
    all_of_it = statistics.median(whole) / lines * 1e6
    print(f"| all else: accounts, checkpoints | {all_of_it - total:.2f} | | |")
    print(f"| **an ingest** | **{all_of_it:.2f}** | **{bare:.2f}** | |")


class _Clock:
    """Adds up the processor time of this process by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.seconds[step] += time.process_time() - began


def _steps(path: str, store: Path) -> dict[str, float]:
    """What an ingest does with a log, one step after the other."""
    clock = _Clock()
    with connect(str(store), read_only=False) as connection:
        run = connection.execute
        with Input(path) as source:
            with clock("read"):
                stretches = list(Blocks(source, 0))
            search = suspect()
            with clock("search for secrets and long numbers"):
                for stretch in stretches:
                    for start in range(0, len(stretch.data), rows_of._PIECE):
                        search(stretch.data[start : start + rows_of._PIECE])
            with clock("decode"):
                decoder = RowDecoder(source.file_time)
                decoded = [decoder.decode(stretch.data) for stretch in stretches]
            clock.seconds["decode"] -= clock.seconds["search for secrets and long numbers"]
        with clock("lists to polars"):
            frames, line = [], 0
            for stretch, found in zip(stretches, decoded, strict=True):
                count = len(found.rows.ids)
                end = stretch.offset + stretch.length
                block = count, 1, line, stretch.offset, end, "analyzer", path
                frames.append(staged(found.rows, [None] * count, [block]))
                line += found.lines
            events = pl.concat(frames, rechunk=False).with_row_index("place").drop("event_line")
        with clock("polars to DuckDB"):
            register(connection, "staged_event", events)
            run("select count(*), count(payload) from staged_event").fetchall()
        with clock("count lines and repeats"):
            events["event_id"].n_unique()
            run("create temp table repeated (place ubigint, conflict boolean)")
            register(connection, "bad_line", frame_of({"source_id": "Int64", "line": "Int64"}))
            run(COUNT_LINES).fetchall()
        run("begin")
        with clock("insert events"):
            run(INSERT_EVENTS, [now()]).fetchall()
        with clock("insert facts"):
            run(INSERT_FACTS).fetchall()
        with clock("commit"):
            run("commit")
    return clock.seconds


def _floors(path: str, folder: Path) -> dict[str, float]:
    """The least that each step can cost."""
    clock = _Clock()
    with clock("read"):
        data = Path(path).read_bytes()
        data.split(b"\n")
    search = set_of(["nowhere_at_all"])
    with clock("search for secrets and long numbers"):
        search(data)
    decode, encode = msgspec.json.Decoder().decode_lines, msgspec.json.Encoder().encode
    with clock("decode"):
        found = decode(data)
        payloads = [encode(one["payload"]).decode() for one in found]
    ids = [one["id"] for one in found]
    facts = [msgspec.json.encode(one["payload"].get("facts")).decode() for one in found]
    with clock("lists to polars"):
        frame = pl.DataFrame({"id": ids, "payload": payloads})
    wide = pl.DataFrame({"id": ids, "payload": payloads, "facts": facts, "moment": [one["timestamp"] for one in found]})
    kept = folder / "floor.duckdb"
    kept.unlink(missing_ok=True)
    with open_store(kept, writable=True) as store:
        store.ingest([path])
    with duckdb.connect(str(kept)) as connection:
        run = connection.execute
        with clock("polars to DuckDB"):
            connection.register("bare", OnlyStream(frame))
            run("select count(*), count(payload) from bare").fetchall()
        connection.register("bare", OnlyStream(wide))
        with clock("count lines and repeats"):
            run("select count(distinct id) from bare").fetchall()
        run("create table copied as from internal.event_v1 limit 0")
        run("begin")
        with clock("insert events"):
            run("insert into copied from internal.event_v1").fetchall()
        with clock("insert facts"):
            run("create table facts as select distinct facts from bare where facts <> 'null'").fetchall()
        with clock("commit"):
            run("commit")
    return clock.seconds


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
