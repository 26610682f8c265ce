"""A store on one machine into a lake, and a lake, or what it has of a stretch of time, into a store.

Invariant: rows keep their ids and values, and whoever dies on the way leaves nothing that passes for a lake or a store.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from typing import Any, cast

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import write_deltalake

from analyzer.errors import FREE_SPACE, StoreError
from analyzer.events.times import format_time, now
from analyzer.lake.files import KNOWN_BY, check_version, finished, lake_errors, opened
from analyzer.lake.layout import JOURNAL, LakeTable, tables
from analyzer.lake.location import PREFIX, Lake
from analyzer.store.db.arrow import ArrowStream, OnlyStream
from analyzer.store.db.connection import connect, private_files, store_errors, transaction
from analyzer.store.db.lock import exclusive
from analyzer.store.db.replacement import discard_work, replace_store, work_of
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
        raise StoreError(f"there is something at {lake.path} already", f"name a new folder: --to {PREFIX}PATH")
    open_store(store_path).close()  # says what is wrong with it, and brings an earlier version's up to date
    rows: dict[str, int] = {}
    folder = journal_of(store_path)
    assert folder is not None  # a store in memory cannot be opened again
    with private_files(), closing(connect(store_path, read_only=True)) as connection:
        # The table by which a lake is known comes last.
        for name in sorted(tables(), key=lambda name: (name == KNOWN_BY, name)):
            batches = (
                journal_lines(str(journal_of(store_path))) if name == JOURNAL else _stored(connection, tables()[name])
            )
            rows[name] = _append(lake, tables()[name], batches)
    return rows


def down(lake: Lake, store_path: str, since: datetime | None = None, until: datetime | None = None) -> dict[str, int]:
    """Copy a lake with its journal, or what it has of a window (naive UTC), into a new DuckDB store.

    Of a window the store is a slice: it has all sources and decisions, and no journal.

    Raises:
        StoreError: there is no such lake, something is in the store's place, or it cannot be written.
    """
    check_version(lake)
    if os.path.exists(store_path):
        raise StoreError(f"there is something at {store_path} already", "name a new file with --to")
    folder = journal_of(store_path)
    if folder and parts_of(folder):
        raise StoreError(f"{folder} is the journal of a store already", "name a new file with --to")
    with private_files(), exclusive(store_path):
        discard_work(store_path)
        try:
            batch = finished(lake)
            rows = _fill(work_of(store_path), lake, batch, since, until)
            if folder and since is None and until is None:
                rows[JOURNAL] = _write_journal(lake, batch, folder)
            replace_store(store_path)
        except OSError as error:
            raise StoreError(f"{store_path} cannot be made: {error.strerror}", FREE_SPACE) from None
        finally:
            discard_work(store_path)
    return rows


def _append(lake: Lake, table: LakeTable, batches: Iterator[pa.Table]) -> int:
    """One commit makes a table with its rows; the number of these."""
    count = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for batch in batches:
            count += batch.num_rows
            yield from table.rows(batch).to_batches()

    with lake_errors(lake):
        write_deltalake(
            lake.table(table.name),
            pa.RecordBatchReader.from_batches(table.schema, counted()),
            mode="error",
            partition_by=table.partition or None,
            storage_options=dict(lake.storage) or None,
        )
    return count


def _stored(connection: Any, table: LakeTable) -> Iterator[pa.Table]:
    relation = connection.sql(f"from internal.{table.name}")
    for batch in relation.to_arrow_reader(_ROWS):
        yield pa.Table.from_batches([batch])


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


def _write_journal(lake: Lake, batch: int, folder: str) -> int:
    table, count = opened(lake, JOURNAL, batch), 0
    os.makedirs(os.path.join(folder, RULESETS), exist_ok=True)
    with lake_errors(lake):
        path = os.path.join(folder, _PART.format(now()))
        with open(path, "w", encoding="utf-8") as part:
            for some in table.to_pyarrow_dataset().to_batches():
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


def _fill(work: str, lake: Lake, batch: int, since: datetime | None, until: datetime | None) -> dict[str, int]:
    connection = connect(work, read_only=False)
    try:
        with store_errors(), transaction(connection):
            connection.execute("delete from internal.store_v1").fetchall()
            for name, table in tables().items():
                if name != JOURNAL:
                    _insert(connection, lake, batch, table, since, until)
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
    connection: Any, lake: Lake, batch: int, table: LakeTable, since: datetime | None, until: datetime | None
) -> None:
    wanted = None
    if table.day_of:
        # Decisions are no events of a log, and are kept by every prune.
        moment, decided = ds.field(table.day_of), ds.field("source_path").is_null()
        for bound, holds in ((since, moment.__ge__), (until, moment.__lt__)):
            if bound is not None:
                within = holds(pa.scalar(bound, pa.timestamp("us"))) | decided
                wanted = within if wanted is None else wanted & within
    names = ", ".join(f'"{name}"' for name in table.columns.names)
    with lake_errors(lake):
        dataset = opened(lake, table.name, batch).to_pyarrow_dataset()
        rows = dataset.scanner(columns=table.columns.names, filter=wanted)
        connection.register("incoming", OnlyStream(cast("ArrowStream", rows.to_reader())))
        connection.execute(f"insert into internal.{table.name} ({names}) select {names} from incoming").fetchall()  # noqa: S608
        connection.unregister("incoming")


def _count(connection: Any, name: str) -> int:
    ((rows,),) = connection.execute(f"select count(*) from internal.{name}").fetchall()  # noqa: S608 - a name of ours
    return int(rows)
