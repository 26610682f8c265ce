"""Read lakes of earlier versions, and bring them up to date when somebody writes to them.

Before a lake had a log of its own, each table's commits carried the number of their batch, and a
batch counted once `source_v1` had it. Nothing is lost: unfinished work is taken back, all else
stays where it is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

from deltalake import DeltaTable

from analyzer.errors import StoreBusyError, StoreError
from analyzer.lake import log
from analyzer.lake.batch import SETTINGS, LakeBatch, settings
from analyzer.lake.beside import fill_batch
from analyzer.lake.layout import JOURNAL, create, dataset, opened, rows, table_errors, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import APP, Conflict, File, Lease, State
from analyzer.store.db.connection import connect, connect_plain, private_files, store_errors
from analyzer.store.db.tables.schema import MIGRATED, SCHEMA_VERSION

_LAST = "source_v1"
_AGAIN = 30
"""Times that a batch is made again because others came before it."""
T = TypeVar("T")


def current(lake: Lake) -> State:
    """Return the present state of a lake to a reader.

    Raises:
        NoLakeError: there is none.
        StoreError: it is of a version that has to be brought up to date first and may not be written, or of one that
            this program does not know; or it is damaged.
    """
    lake.check()
    at = log.state(lake) if log.exists(lake) else _before_the_log(lake)[1]
    version = settings(lake, at).get("schema_version")
    if version != SCHEMA_VERSION:
        _refuse(lake, version)
        return brought_up_to_date(lake)
    _check_whole(lake, at)
    return at


def brought_up_to_date(lake: Lake) -> State:
    """Return the present state of a lake to a writer, with the log and the tables of this version.

    Raises:
        StoreError: as `current`, or it cannot be written.
    """
    lake.check()
    if not log.exists(lake):
        _give_log(lake)
    at = log.state(lake)
    version = settings(lake, at).get("schema_version")
    if version != SCHEMA_VERSION:
        _refuse(lake, version)
        _migrate(lake)
        at = log.state(lake)
    _check_whole(lake, at)
    return at


def _refuse(lake: Lake, version: str | None) -> None:
    if version not in MIGRATED:
        message = f"{lake.path} was made by another version of this program"
        raise StoreError(message, "make a lake again, from its logs or from a store")


def _check_whole(lake: Lake, at: State) -> None:
    """Raise the error of a table that is missing in a lake of this version."""
    for name in at.missing:
        opened(lake, name)


def again(lake: Lake, make: Callable[[State], T]) -> T:
    """Call `make` with the lake's present state, again whenever others came first.

    Files are private to the owner, and database errors become those of a store.

    Raises:
        StoreBusyError: others always do.
        StoreError: the lake cannot be read or written.
    """
    for _ in range(_AGAIN):
        with suppress(Conflict), private_files(), store_errors():
            return make(brought_up_to_date(lake))
    raise StoreBusyError(f"{lake.path} is written by others all the time", "try again later")


def _before_the_log(lake: Lake) -> tuple[int, State, dict[str, list[str]]]:
    """Return the last batch's number, the state after it, and unfinished files of a lake without log.

    The unfinished files are those that tables name but that belong to no batch or to a later one.
    """
    delta_tables: dict[str, DeltaTable] = {}
    for name in tables():
        try:
            with table_errors(lake, _LAST):
                delta_tables[name] = DeltaTable(lake.table(name), storage_options=dict(lake.storage) or None)
        except StoreError:
            # An earlier version had no such table.
            if name in {_LAST, SETTINGS} or os.path.isdir(lake.table(name)):
                raise
    finished = delta_tables[_LAST].transaction_version(APP) or 0
    numbers = {name: table.transaction_version(APP) or 0 for name, table in delta_tables.items()}
    files: dict[str, dict[str, File]] = {name: {} for name in tables()}
    late: dict[str, list[str]] = {}
    for name, table in delta_tables.items():
        with table_errors(lake, name):
            present = log.files_of(lake, name, table)
            while (table.transaction_version(APP) or 0) > finished:
                table.load_as_version(table.version() - 1)
            files[name] = log.files_of(lake, name, table)
        late[name] = sorted(present.keys() - files[name].keys())
    return max(numbers.values()), State(0, files, ()), late


def _give_log(lake: Lake) -> None:
    """Give a lake its log, whose first entry takes back what was not finished."""
    number, at, late = _before_the_log(lake)
    adds = {}
    with table_errors(lake, log.LOG), private_files():
        for name, table in tables().items():
            create(lake, table)
            if late.get(name):
                adds[name] = list(at.files[name].values())
        log.create(lake)
    log.start(lake, number + 1, adds, {name: paths for name, paths in late.items() if paths})
    log.follow(lake)


def _migrate(lake: Lake) -> None:
    """Bring the rows of all tables up to date in one batch, as those of a store in a file are."""
    with Lease(lake).held() as lease, lease.alone(), tempfile.TemporaryDirectory() as folder:
        for table in tables().values():
            create(lake, table)
        at = log.state(lake)
        if settings(lake, at).get("schema_version") == SCHEMA_VERSION:
            return
        path = os.path.join(folder, "former.duckdb")
        with closing(connect_plain(path, read_only=False)) as connection:
            connection.execute("create schema internal")
            for name in tables():
                if name != JOURNAL:
                    with table_errors(lake, name):
                        held = rows(lake, name, at.files[name]).select(_present_columns(lake, name, at))
                    connection.register("held", held)
                    connection.execute(f"create table internal.{name} as from held").fetchall()
                    connection.unregister("held")
        with LakeBatch(lake, at, lease.token) as batch, closing(connect(path, read_only=False)) as connection:
            fill_batch(batch, connection, None)
            batch.commit()


def _present_columns(lake: Lake, name: str, at: State) -> list[str]:
    """Return the present columns of a table that its files have; all of them where there is no file."""
    if not at.files[name]:
        return list(tables()[name].columns.names)
    present = {
        column
        for fragment in dataset(lake, name, at.files[name]).get_fragments()
        for column in fragment.physical_schema.names
    }
    return [column for column in tables()[name].stored.names if column in present]
