"""A store on one machine into a lake, and a lake, or what it has of a stretch of time, into a store.

Invariant: rows keep their ids and values, and whoever dies on the way leaves nothing that passes for a lake or a store.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.command_lines import LAKE
from analyzer.errors import FREE_SPACE, StoreError
from analyzer.events.times import format_time, now
from analyzer.lake.batch import LakeBatch, make
from analyzer.lake.connection import load
from analyzer.lake.former import current, machines_of, with_machines
from analyzer.lake.layout import JOURNAL, LakeTable, dataset, table_errors, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import Conflict, State
from analyzer.store.db.connection import connect, private_files, store_errors, transaction
from analyzer.store.db.location import discard_work, exclusive, replace_store, work_of
from analyzer.store.export.slices import SLICE
from analyzer.store.journal import journal_of, parts_of
from analyzer.store.store import open_store
from analyzer.store.upkeep.prune import apply_horizon, set_horizon

_ROWS = 100_000
"""Rows of a batch, which is what memory grows with."""
RULESETS = "rulesets"
_PART = "events-{:%Y-%m-%d}.jsonl"


def up(store_path: str, lake: Lake) -> dict[str, int]:
    """Copy a DuckDB store with its journal into a new lake; the rows of each table.

    Raises:
        StoreError: there is no such store, something is in the lake's place, or the storage refuses.
    """
    if lake.exists or (not lake.remote and os.path.isdir(lake.path) and os.listdir(lake.path)):
        raise StoreError(f"there is something at {lake.path} already", f"name a new folder: --to {LAKE}PATH")
    open_store(store_path).close()  # says what is wrong with it, and brings an earlier version's up to date
    rows: dict[str, int] = {}
    with private_files(), closing(connect(store_path, read_only=True)) as connection:
        try:
            make(lake, lambda first: rows.update(fill_batch(first, connection, str(journal_of(store_path)))))
        except Conflict:
            raise StoreError(f"somebody else makes a lake at {lake.path}", "name a new folder") from None
    return rows


def down(lake: Lake, store_path: str, since: datetime | None = None, until: datetime | None = None) -> dict[str, int]:
    """Copy a lake with its journal, or what it has of a window (naive UTC), into a new DuckDB store.

    Of a window the store is a slice: it has all sources and decisions, and no journal.

    Raises:
        StoreError: there is no such lake, something is in the store's place, or it cannot be written.
    """
    at = current(lake)
    if os.path.exists(store_path):
        raise StoreError(f"there is something at {store_path} already", "name a new file with --to")
    folder = journal_of(store_path)
    if folder and parts_of(folder):
        raise StoreError(f"{folder} is the journal of a store already", "name a new file with --to")
    with private_files(), exclusive(store_path):
        discard_work(store_path)
        try:
            rows = fill(work_of(store_path), lake, at, since, until)
            if folder and since is None and until is None:
                rows[JOURNAL] = write_journal(lake, at.files[JOURNAL], folder)
            replace_store(store_path)
        except OSError as error:
            raise StoreError(f"{store_path} cannot be made: {error.strerror}", FREE_SPACE) from None
        finally:
            discard_work(store_path)
    return rows


def fill_batch(batch: LakeBatch, connection: Any, journal: str | None) -> dict[str, int]:
    """Put all rows of a store, and of its journal if one is named, in the place of all rows of a lake; how many each
    table has.
    """
    counts: dict[str, int] = {}
    machines = machines_of(batch.lake, batch.at)
    for name, table in tables().items():
        if name == JOURNAL:
            if journal is None:
                continue
            rows: Any = table.stream(journal_lines(journal))
        else:
            rows = table.stream(connection.sql(f"from internal.{name}").to_arrow_reader(_ROWS))
        if name == "source_v1":
            rows = with_machines(rows.read_all(), machines)
        batch.replace(name, batch.at.files[name], rows)
        counts[name] = sum(one.rows or 0 for one in batch.adds.get(name, ()))
    return counts


def journal_lines(folder: str) -> Iterator[pa.Table]:
    """The lines of a journal, and the texts of its rulesets under the names of their files."""
    import msgspec

    schema = tables()[JOURNAL].columns

    def rows() -> Iterator[dict[str, str | None]]:
        for path in parts_of(folder):
            with open(path, "rb") as lines:
                for line in lines:
                    text = line.decode("utf-8", "surrogateescape").rstrip("\n")
                    if not text:
                        continue
                    try:
                        name = msgspec.json.decode(line)["id"]
                    except (msgspec.DecodeError, KeyError, TypeError):
                        name = None
                    yield {"event_id": name, "line": text.encode("utf-8", "replace").decode()}
        with contextlib.suppress(FileNotFoundError):
            for entry in sorted(os.scandir(os.path.join(folder, RULESETS)), key=lambda entry: entry.name):
                with open(entry.path, encoding="utf-8") as ruleset:
                    yield {"event_id": f"{RULESETS}/{entry.name}", "line": ruleset.read()}

    waiting = rows()
    while some := list(islice(waiting, _ROWS)):
        yield pa.Table.from_pylist(some, schema)


def write_journal(lake: Lake, paths: Iterable[str], folder: str) -> int:
    """Make a journal in a folder of the lines in some files of a lake's; how many these are.

    Raises:
        StoreError: a file cannot be read.
    """
    count = 0
    os.makedirs(os.path.join(folder, RULESETS), exist_ok=True)
    with table_errors(lake, JOURNAL):
        path = os.path.join(folder, _PART.format(now()))
        with open(path, "w", encoding="utf-8") as part:
            for some in dataset(lake, JOURNAL, paths).to_batches():
                for row in some.to_pylist():
                    count += 1
                    name = row["event_id"] or ""
                    if name.startswith(f"{RULESETS}/"):
                        text = os.path.join(folder, RULESETS, os.path.basename(name))
                        with open(text, "w", encoding="utf-8") as ruleset:
                            ruleset.write(row["line"])
                    else:
                        part.write(row["line"] + "\n")
            part.flush()
            os.fsync(part.fileno())
    return count


def fill(
    work: str, lake: Lake, at: State, since: datetime | None = None, until: datetime | None = None
) -> dict[str, int]:
    """Make a store in a file of a lake, or of what it has of a window (naive UTC); the rows of each table.

    Raises:
        StoreError: a file of the lake cannot be read.
    """
    connection = connect(work, read_only=False)
    try:
        with store_errors(), transaction(connection):
            connection.execute("delete from internal.store_v1").fetchall()
            for name, table in tables().items():
                if name != JOURNAL:
                    _insert(connection, lake, at, table, since, until)
            if since is not None:
                set_horizon(connection, since)
                apply_horizon(connection)
            if since is not None or until is not None:
                between = f"from {format_time(since) if since else 'the beginning'} to {format_time(until or now())}"
                said = f"a slice of {os.path.basename(lake.path)}: what happened {between}"
                connection.execute("insert into internal.store_v1 values ($1, $2)", [SLICE, said]).fetchall()
            return {name: _count(connection, name) for name in tables() if name != JOURNAL}
    finally:
        connection.close()


def _insert(
    connection: Any, lake: Lake, at: State, table: LakeTable, since: datetime | None, until: datetime | None
) -> None:
    wanted = None
    if table.day_of:
        # Decisions are no events of a log, and are kept by every prune.
        moment, decided = ds.field(table.day_of), ds.field("source_path").is_null()
        for bound, holds in ((since, moment.__ge__), (until, moment.__lt__)):
            if bound is not None:
                within = holds(pa.scalar(bound, pa.timestamp("us"))) | decided
                wanted = within if wanted is None else wanted & within
    with table_errors(lake, table.name):
        found = dataset(lake, table.name, at.files[table.name])
        load(connection, table.name, found.scanner(columns=table.columns.names, filter=wanted).to_reader())


def _count(connection: Any, name: str) -> int:
    ((rows,),) = connection.execute(f"select count(*) from internal.{name}").fetchall()
    return int(rows)
