"""Batches into the tables of a lake: each table's commits carry the batch's number, and those of the sources come last.

Invariant: what the sources do not count as finished never stays. Whoever writes next takes back the tables to where
the last finished batch left them, and no commit of one who was taken for dead gets in after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from analyzer.errors import FREE_SPACE, StoreBusyError, StoreError
from analyzer.lake.location import said_by
from analyzer.lake.writing.lease import unreadable

APP = "analyzer"
"""The application id of all commits, whose version is the number of their batch."""
LAST = "source_v1"
"""The table whose commit makes a batch count."""


class Ledger:
    """The tables of a lake, as one process writes them. Whoever makes one holds the lease."""

    def __init__(self, tables: Mapping[str, DeltaTable], *, taken_over: bool) -> None:
        """`taken_over`: somebody died while writing. Then nothing that he might still send gets in any more."""
        self._tables = dict(tables)
        self._finished = self._tables[LAST].transaction_version(APP) or 0
        numbers = {name: table.transaction_version(APP) or 0 for name, table in self._tables.items()}
        self._number = max(numbers.values())
        with _commit_errors():
            if taken_over or self._number > self._finished:
                self._take_back(numbers)

    def __getitem__(self, name: str) -> DeltaTable:
        """A table as its last commit of ours has left it."""
        return self._tables[name]

    def rows(self, name: str, filters: list[tuple[str, str, object]] | None = None) -> pa.Table:
        """The rows of a table.

        Raises:
            StoreError: a file of it cannot be read.
        """
        table = self._tables[name]
        try:
            return table.to_pyarrow_table(filters=filters)
        except (DeltaError, OSError) as error:
            raise unreadable(table.table_uri, error) from None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """What the block writes counts once it has ended, all of it or nothing.

        Raises:
            StoreBusyError: another process has taken over.
            StoreError: the storage does not take it.
        """
        self._number += 1
        with _commit_errors():
            yield
            if (self._tables[LAST].transaction_version(APP) or 0) < self._number:
                self._mark(LAST)
        self._finished = self._number

    def append(self, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Add rows to a table."""
        if not isinstance(rows, pa.Table) or rows.num_rows:
            write_deltalake(self._tables[name], rows, mode="append", commit_properties=self._marked())

    def replace(self, name: str, rows: pa.Table, where: str | None = None) -> None:
        """Put rows in the place of all that are `where`, or of the whole table."""
        write_deltalake(self._tables[name], rows, mode="overwrite", predicate=where, commit_properties=self._marked())

    def renew(self, name: str, chunks: Iterable[pa.Table]) -> None:
        """Put rows in the place of a whole table, a commit for each chunk, so that no more than one is in memory."""
        rows = iter(chunks)
        self.replace(name, next(rows, self._tables[name].schema().to_arrow().empty_table()))
        for chunk in rows:
            self.append(name, chunk)

    def upsert(self, name: str, key: str, rows: pa.Table) -> None:
        """Put rows in the place of those with the same key, and add the others."""
        (
            self._tables[name]
            .merge(rows, f"t.{key} = s.{key}", source_alias="s", target_alias="t", commit_properties=self._marked())
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )

    def delete(self, name: str, where: str) -> None:
        """Delete the rows that are `where`."""
        self._tables[name].delete(where, commit_properties=self._marked())

    def drop(self, name: str, key: str, rows: pa.Table) -> None:
        """Delete the rows with the keys of others."""
        (
            self._tables[name]
            .merge(rows, f"t.{key} = s.{key}", source_alias="s", target_alias="t", commit_properties=self._marked())
            .when_matched_delete()
            .execute()
        )

    def _marked(self) -> CommitProperties:
        return CommitProperties(app_transactions=[Transaction(APP, self._number)])

    def _mark(self, name: str) -> None:
        table = self._tables[name]
        table.create_write_transaction([], "append", table.schema(), commit_properties=self._marked())
        table.update_incremental()

    def _take_back(self, numbers: Mapping[str, int]) -> None:
        self._number += 1
        for name, number in numbers.items():
            if name == LAST:
                continue
            if number > self._finished:
                table = self._tables[name]
                table.restore(before(table, self._finished), commit_properties=self._marked())
            else:
                self._mark(name)
        self._mark(LAST)
        self._finished = self._number


def before(table: DeltaTable, finished: int) -> int:
    """The last version of a table that no batch after the finished one has written to."""
    former = DeltaTable(table.table_uri, version=table.version(), storage_options=table._storage_options)
    while (former.transaction_version(APP) or 0) > finished:
        former.load_as_version(former.version() - 1)
    version: int = former.version()
    return version


@contextmanager
def _commit_errors() -> Iterator[None]:
    try:
        yield
    except CommitFailedError as error:
        raise StoreBusyError(
            f"another process has taken over the lake: {said_by(error)}", "try again when it has finished"
        ) from None
    except (DeltaError, OSError) as error:
        raise StoreError(f"the lake does not take the batch: {said_by(error)}", FREE_SPACE) from None
