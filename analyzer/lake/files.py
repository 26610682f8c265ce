"""The Delta tables of a lake on their storage, and the files that their last commit names.

Invariant: a reader takes the files that a commit names, and no others: a folder also holds what no commit ever named.
Of a batch that is not finished, be it because whoever wrote it died, no reader sees anything.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from urllib.parse import unquote

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import ArrowException
from pyarrow.fs import PyFileSystem

from analyzer.errors import StoreError
from analyzer.lake.location import Lake, for_spark, said_by
from analyzer.lake.writing.ledger import APP, LAST, before
from analyzer.store.db.tables.schema import SCHEMA_VERSION

KNOWN_BY = "store_v1"
"""The table by which a lake is known."""
_READ = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""What a table may ask of its readers without changing what the rows of its files mean."""


def finished(lake: Lake) -> int:
    """The number of the last batch that counts. Who opens several tables as of one number sees them of one moment.

    Raises:
        StoreError: the table that tells it is missing, or its log is damaged.
    """
    with lake_errors(lake):
        return _latest(lake, LAST).transaction_version(APP) or 0


def filesystem(lake: Lake, name: str = "") -> PyFileSystem:
    """The files of a lake, or of one of its folders."""
    return PyFileSystem(DeltaStorageHandler(lake.table(name).rstrip("/"), options=dict(lake.storage)))


def opened(lake: Lake, name: str, batch: int | None = None) -> DeltaTable:
    """A table as a batch has left it: that of this number, else the last one that is finished.

    Raises:
        StoreError: there is no such table, its log is damaged, or it asks more of a reader than this program knows.
    """
    with lake_errors(lake):
        table = _latest(lake, name)
        number = table.transaction_version(APP) or 0
        if number and number > (last := finished(lake) if batch is None else batch):
            table.load_as_version(before(table, last))
        unknown = set(table.protocol().reader_features or ()) - _READ
    if unknown:
        said = f"{lake.table(name)} asks its readers for {', '.join(sorted(unknown))}, which this program cannot do"
        raise StoreError(said, "drop the feature from the table, or export it from where it is known")
    return table


def _latest(lake: Lake, name: str) -> DeltaTable:
    return DeltaTable(lake.table(name), storage_options=dict(lake.storage) or None)


def files(lake: Lake, name: str, batch: int | None = None) -> list[str]:
    """The addresses of the files that a table names, as `opened` has it.

    Raises:
        StoreError: as `opened`, or one of the files is not there.
    """
    table = opened(lake, name, batch)
    with lake_errors(lake):
        found = sorted(table.file_uris())
    if lake.remote:
        found = [for_spark(uri) for uri in found]
    else:
        found = [unquote(uri.removeprefix("file://")) for uri in found]
        missing = [path for path in found if not os.path.exists(path)]
        if missing:
            said = f"{missing[0]} is missing, which the lake's table {name} names"
            raise StoreError(said, "bring it back, or make the lake again from its logs or from a store")
    return found


def check_version(lake: Lake) -> None:
    """Say so where a lake's tables are those of another version of the program.

    Raises:
        StoreError: they are, or there is no lake.
    """
    lake.check()
    if settings(lake).get("schema_version") != SCHEMA_VERSION:
        said = f"{lake.path} was made by another version of this program"
        raise StoreError(said, "make the lake again, from its logs or from a store")


def settings(lake: Lake) -> dict[str, str | None]:
    """What a lake knows of itself, such as `active_ruleset`, by name.

    Raises:
        StoreError: the table of it is missing or damaged.
    """
    table = opened(lake, KNOWN_BY)
    with lake_errors(lake):
        return {str(row["key"]): row["value"] for row in table.to_pyarrow_table().to_pylist()}


@contextlib.contextmanager
def lake_errors(lake: Lake) -> Iterator[None]:
    """The errors of Delta, of its files and of the storage as `StoreError`."""
    try:
        yield
    except TableNotFoundError as error:
        hint = "bring the table back, or make the lake again"
        raise StoreError(f"{lake.path} is no whole lake: {said_by(error)}", hint) from None
    except (DeltaError, OSError) as error:
        hint = "look at the _delta_log folder of the table: an entry is damaged, or the storage refuses"
        raise StoreError(f"{lake.path} cannot be used: {said_by(error)}", hint) from None
    except ArrowException as error:
        hint = "a file of it is damaged: bring it back from a copy, or make the lake again by analyzer rebuild"
        raise StoreError(f"{lake.path} cannot be read: {said_by(error)}", hint) from None
