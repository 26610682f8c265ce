"""The Delta tables of a lake on their storage, and the files that their last commit names.

Invariant: a reader takes the files that a commit names, and no others: a folder also holds what no commit ever named.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from urllib.parse import unquote

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from analyzer.errors import StoreError
from analyzer.lake.location import Lake, for_spark, said_by
from analyzer.store.db.tables.schema import SCHEMA_VERSION

KNOWN_BY = "store_v1"
"""The table by which a lake is known."""
_READ = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""What a table may ask of its readers without changing what the rows of its files mean."""


def opened(lake: Lake, name: str) -> DeltaTable:
    """A table as its last commit leaves it.

    Raises:
        StoreError: there is no such table, its log is damaged, or it asks more of a reader than this program knows.
    """
    with lake_errors(lake):
        table = DeltaTable(lake.table(name), storage_options=dict(lake.storage) or None)
        unknown = set(table.protocol().reader_features or ()) - _READ
    if unknown:
        said = f"{lake.table(name)} asks its readers for {', '.join(sorted(unknown))}, which this program cannot do"
        raise StoreError(said, "drop the feature from the table, or export it from where it is known")
    return table


def files(lake: Lake, name: str) -> list[str]:
    """The addresses of the files that the last commit of a table names.

    Raises:
        StoreError: as `opened`, or one of the files is not there.
    """
    table = opened(lake, name)
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
    rows = opened(lake, KNOWN_BY).to_pyarrow_table().to_pylist()
    if [row["value"] for row in rows if row["key"] == "schema_version"] != [SCHEMA_VERSION]:
        said = f"{lake.path} was made by another version of this program"
        raise StoreError(said, "make the lake again, from its logs or from a store")


@contextlib.contextmanager
def lake_errors(lake: Lake) -> Iterator[None]:
    """The errors of Delta and of the storage as `StoreError`."""
    try:
        yield
    except TableNotFoundError as error:
        hint = "bring the table back, or make the lake again"
        raise StoreError(f"{lake.path} is no whole lake: {said_by(error)}", hint) from None
    except (DeltaError, OSError) as error:
        hint = "look at the _delta_log folder of the table: an entry is damaged, or the storage refuses"
        raise StoreError(f"{lake.path} cannot be used: {said_by(error)}", hint) from None
