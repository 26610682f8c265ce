"""Who may write to a lake: one process at a time, told by a table of one row under the log's optimistic concurrency.

Invariant: whoever holds the lease is alive, or it has run out. One who was taken for dead and is not finds the tables
changed, and its next commit fails.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Self

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from analyzer.errors import StoreBusyError, StoreError
from analyzer.events.ids import new_id
from analyzer.events.times import now
from analyzer.lake.location import said_by

RUNS_OUT = timedelta(seconds=120)
"""A holder that was not heard of for so long is gone, wherever it ran."""
_EVERY_SECONDS = 30.0
_APP = "analyzer.lease"
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("owner", "host", "began")),
        ("process", pa.int64()),
        ("runs_out_at", pa.timestamp("us")),
    ]
)


GONE = (
    "its log or a file is damaged or gone: bring the folder back from a copy, or move the lake away and ingest the logs"
    " into a new one"
)


def unreadable(table: str, error: Exception) -> StoreError:
    """The error of a table whose log or files cannot be read."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return StoreError(f"{table} cannot be read: {said}"[:400], GONE)


def held(lake: str, options: dict[str, str] | None = None) -> tuple[str, bool] | None:
    """Who holds the lease of a lake, and whether it still lives; None where nobody does.

    Raises:
        StoreError: the lease cannot be read.
    """
    try:
        rows = DeltaTable(f"{lake}/lease", storage_options=options).to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise unreadable(f"{lake}/lease", error) from None
    return next(((_named(row), _alive(row)) for row in rows), None)


class Lease:
    """Use as a context manager: held inside of the block."""

    def __init__(self, lake: str, options: dict[str, str] | None = None) -> None:
        """`lake` is where the lake stands, as delta-rs names places; `options` are its settings of that storage."""
        self._lake, self._place, self._options = lake, f"{lake}/lease", options
        self._owner = new_id()
        self._table: DeltaTable | None = None
        self._ended = Event()
        self._heart = Thread(target=self._beat, name="lease", daemon=True)
        self.taken_over = False
        """Whether somebody died with it, who may have left a batch unfinished."""

    def __enter__(self) -> Self:
        """Hold it.

        Raises:
            StoreBusyError: another process holds it.
            StoreError: it cannot be read or written.
        """
        try:
            table = self._opened()
            rows = table.to_pyarrow_table().to_pylist()
        except (DeltaError, OSError) as error:
            raise unreadable(self._place, error) from None
        for row in rows:
            if _alive(row):
                raise StoreBusyError(
                    f"{self._lake} is being written by {_named(row)}",
                    "try again when it has finished",
                )
            self.taken_over = True
        self._write(table, [self._row()])
        self._table = table
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._heart.join()
        if self._table is not None:
            # Who has lost it has nothing to give back.
            with suppress(StoreError):
                self._write(self._table, [])

    def _opened(self) -> DeltaTable:
        try:
            return DeltaTable(self._place, storage_options=self._options)
        except TableNotFoundError:
            with suppress(Exception):  # somebody may have made it meanwhile; if not, the next line says why
                DeltaTable.create(self._place, _SCHEMA, storage_options=self._options)
            return DeltaTable(self._place, storage_options=self._options)

    def _row(self) -> dict[str, object]:
        return {
            "owner": self._owner,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "began": _began(os.getpid()),
            "runs_out_at": now() + RUNS_OUT,
        }

    def _write(self, table: DeltaTable, rows: list[dict[str, object]]) -> None:
        marked = CommitProperties(app_transactions=[Transaction(_APP, table.version() + 1)])
        try:
            write_deltalake(table, pa.Table.from_pylist(rows, _SCHEMA), mode="overwrite", commit_properties=marked)
        except CommitFailedError:
            raise StoreBusyError(
                f"{self._lake} is being written by another process", "try again when it has finished"
            ) from None
        except (DeltaError, OSError) as error:
            said = f"{self._lake} cannot be written: {said_by(error)}"
            raise StoreError(said, "check its storage, its space and its permissions") from None

    def _beat(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            assert self._table is not None
            with suppress(Exception):  # a commit that fails says what became of the lease
                self._write(self._table, [self._row()])


def _named(row: dict[str, object]) -> str:
    return f"process {row['process']} on {row['host']}"


def _alive(row: dict[str, object]) -> bool:
    if row["host"] == socket.gethostname():
        return _began(int(str(row["process"]))) == row["began"] is not None
    moment = row["runs_out_at"]
    return isinstance(moment, datetime) and moment > now()


def _began(process: int) -> str | None:
    """When a process of this machine began, in a form that is never used twice for one number; None without it."""
    try:
        with open(f"/proc/{process}/stat", "rb") as handle:
            return handle.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        pass
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "unknown"
    return "unknown"
