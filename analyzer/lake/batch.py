"""Write a batch: files that one writer adds to a lake together.

The log names them after they are written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self, cast

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.errors import FREE_SPACE, StoreError
from analyzer.events.model import new_id
from analyzer.lake.layout import DAY, create, dataset, filesystem, rows, table_errors, tables
from analyzer.lake.location import Lake, NoLakeError, message_of
from analyzer.lake.log import LOG, Conflict, Entry, File, State, Swap, exists, follow, pauses, refused, state
from analyzer.lake.log import create as create_log
from analyzer.store.db.connection import private_files
from analyzer.store.db.frames import ArrowStream
from analyzer.store.db.location import sync
from analyzer.store.db.tables.schema import SCHEMA_VERSION

_ROWS_OF_FILE = 5_000_000
_ROWS_AT_ONCE = 50_000
"""Rows that go from a database to files at a time."""
SETTINGS = "store_v1"

Check = Callable[[list[Entry], State], None]
"""Called with the entries since and the lake after them; raises `Conflict` or changes the batch."""


class LakeBatch:
    """The files that a batch adds and removes.

    As a context manager it deletes them if the block raises.
    """

    def __init__(self, lake: Lake, at: State, token: str | None = None) -> None:
        """Begin a batch for the lake in state `at`.

        `token` is that of a lease that the caller holds.
        """
        self.lake, self.at = lake, at
        self.id = new_id()
        self._token = token
        self.adds: dict[str, list[File]] = {}
        self.removes: dict[str, list[str]] = {}
        self._count = 0
        self._named = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # Files that the log may name stay.
        if kind is not None and not self._named:
            for name in list(self.adds):
                self.without(name)

    def add(self, name: str, new: pa.Table | pa.RecordBatchReader) -> None:
        """Write rows, as the lake's table has them, into files.

        Raises:
            StoreError: the storage does not take them.
        """
        if written := self._write(name, new):
            self.adds.setdefault(name, []).extend(written)

    def add_from(self, connection: Any, name: str, statement: str, parameters: list[object] | None = None) -> None:
        """Add the rows of a statement, which begins with `from`, to a table, if there are any."""
        if connection.execute(f"select 1 {statement} limit 1", parameters).fetchall():
            reader = connection.sql(f"select * {statement}", params=parameters).to_arrow_reader(_ROWS_AT_ONCE)
            self.add(name, tables()[name].stream(cast("Iterable[ArrowStream]", reader)))

    def replace(self, name: str, paths: Iterable[str], new: pa.Table | pa.RecordBatchReader) -> None:
        """Replace all rows of some files."""
        gone = list(paths)
        if gone:
            self.removes.setdefault(name, []).extend(gone)
        self.add(name, new)

    def without(self, name: str) -> None:
        """Undo what the batch does to a table."""
        for file in self.adds.pop(name, []):
            with suppress(OSError):
                filesystem(self.lake, name).delete_file(file.path)
        self.removes.pop(name, None)

    def commit(self, check: Check | None = None) -> None:
        """Add the batch to the log; entries of others do not matter unless they touch the batch.

        Raises:
            Conflict: it does.
            StoreBusyError: another writer has exclusive access, and keeps it.
            StoreError: the storage does not take it.
        """
        began = time.monotonic()
        for _ in pauses():
            swap = Swap(self.lake)
            if swap.has(self.id):
                break
            if refused(self.lake, swap, self._token, began):
                continue
            self._rebase(swap, check or self._untouched)
            if not self.adds and not self.removes:
                return
            # From here on its files may be named, whatever becomes of the answer.
            self._named = True
            if swap.add(self.id, self.adds, self.removes):
                break
            self._named = False
        follow(self.lake)

    def _rebase(self, swap: Swap, check: Check) -> None:
        came = [entry for entry in swap.entries if entry.number > self.at.number]
        if len(came) != swap.number - self.at.number:
            raise Conflict
        if not came:
            return
        for entry in came:
            for name, paths in entry.removes.items():
                if name not in self.mended and set(paths) & set(self.removes.get(name, ())):
                    raise Conflict
        self.at = self.at.after(came)
        check(came, self.at)

    mended: frozenset[str] = frozenset()
    """Tables whose part of the batch the check makes again."""

    def _untouched(self, came: list[Entry], _: State) -> None:
        """Raise `Conflict` if others touched the settings or a table that loses files in this batch."""
        touched = {name for entry in came for name in (*entry.adds, *entry.removes)}
        if touched & {SETTINGS, *self.removes}:
            raise Conflict

    def _write(self, name: str, new: pa.Table | pa.RecordBatchReader) -> list[File]:
        layout = tables()[name]
        self._count += 1
        written: list[File] = []
        parts = ds.partitioning(pa.schema([(DAY, pa.date32())]), flavor="hive") if layout.day_of else None

        def note(file: ds.WrittenFile) -> None:
            if file.metadata.num_rows:
                low, high = _bounds(file.metadata, layout.key)
                written.append(File(file.path.removeprefix("/"), file.size, file.metadata.num_rows, low, high))

        with _refusals(self.lake), private_files():
            if not self.lake.remote:
                os.makedirs(self.lake.table(name), exist_ok=True)
            ds.write_dataset(
                new,
                "" if self.lake.remote else "/",
                filesystem=filesystem(self.lake, name),
                format="parquet",
                file_options=ds.ParquetFileFormat().make_write_options(compression="zstd"),
                partitioning=parts,
                basename_template=f"{self.id}-{self._count}-{{i}}.parquet",
                existing_data_behavior="overwrite_or_ignore",
                max_partitions=1_000_000,
                max_rows_per_file=_ROWS_OF_FILE,
                max_rows_per_group=250_000,
                file_visitor=note,
                use_threads=False,
            )
            for file in written if not self.lake.remote else ():
                sync(f"{self.lake.table(name)}/{file.path}")
        return sorted(written, key=lambda file: file.path)


def _bounds(metadata: pa.parquet.FileMetaData, key: str | None) -> tuple[str | None, str | None]:
    """Return the least and the greatest value of a column, out of the footer of a file."""
    if key is None:
        return None, None
    index = metadata.schema.names.index(key)
    statistics = [metadata.row_group(number).column(index).statistics for number in range(metadata.num_row_groups)]
    if not all(group is not None and group.has_min_max for group in statistics):
        return None, None
    return min(group.min for group in statistics), max(group.max for group in statistics)


@contextmanager
def _refusals(lake: Lake) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{lake.path} does not take the batch: {message_of(error)}", FREE_SPACE) from None


def rest_of(lake: Lake, name: str, paths: Iterable[str], keep: ds.Expression) -> pa.RecordBatchReader:
    """Read the rows of some files for which a condition holds, as they are written."""
    layout = tables()[name]
    with table_errors(lake, name):
        reader = dataset(lake, name, paths).scanner(filter=keep, batch_size=65_536, batch_readahead=1).to_reader()
    return layout.stream(reader)


def settings(lake: Lake, at: State) -> dict[str, str | None]:
    """Return the settings of a lake, such as `active_ruleset`, by their names."""
    return {str(row["key"]): row["value"] for row in rows(lake, SETTINGS, at.files[SETTINGS]).to_pylist()}


def changed_settings(values: dict[str, str | None]) -> pa.Table:
    """Make rows of settings."""
    return pa.table({"key": list(values), "value": list(values.values())}, tables()[SETTINGS].schema)


def make_where_none_is(lake: Lake) -> None:
    """Make an empty lake where there is none; if the process dies, the next one goes on.

    Raises:
        StoreError: it cannot be made.
    """
    if not lake.exists or (exists(lake) and not state(lake).files[SETTINGS]):
        with suppress(Conflict):
            make(lake, lambda first: first.add(SETTINGS, changed_settings({"schema_version": SCHEMA_VERSION})))


def make(lake: Lake, fill: Callable[[LakeBatch], object]) -> None:
    """Make a lake, whose first batch `fill` writes, settings included.

    Raises:
        Conflict: somebody else has made one there.
        StoreError: something else is there, or it cannot be made.
    """
    try:
        lake.check()
    except NoLakeError:
        pass
    except StoreError:
        if not os.path.isdir(lake.path) or not set(os.listdir(lake.path)) <= {*tables(), LOG}:
            raise
    with private_files():
        if not exists(lake):
            with table_errors(lake, LOG):
                create_log(lake)
        for table in sorted(tables().values(), key=lambda table: table.name == SETTINGS):
            create(lake, table)
        with LakeBatch(lake, state(lake)) as first:
            fill(first)
            first.commit(_alone)


def _alone(_: list[Entry], __: State) -> None:
    raise Conflict
