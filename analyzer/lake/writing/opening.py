"""A lake that is written to: made where there is none, held by one process, its tables at hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from analyzer.errors import StoreError
from analyzer.events.ids import new_id
from analyzer.importers.machine.places import LogPlace
from analyzer.lake.files import filesystem
from analyzer.lake.layout import tables
from analyzer.lake.location import Lake, NoLakeError, for_spark, said_by
from analyzer.lake.session import CONNECTOR, lacks_connector, session, spark_said
from analyzer.lake.writing.judging import keep_up
from analyzer.lake.writing.lease import GONE, Lease, unreadable
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.run import ingest
from analyzer.store.db.connection import private_files
from analyzer.store.db.tables.schema import SCHEMA_VERSION
from analyzer.store.ingest.run import IngestResult

STAGING = "_staging"
"""The folder, of no table, where executors put what they have read."""
_FIRST = "store_v1"
"""The table that tells a lake: it is made last."""


def ingest_into(
    lake: Lake, paths: Iterable[str | LogPlace], progress: Callable[[str, int, int], None] | None = None
) -> IngestResult:
    """Read what is new below the paths, or in places of agents, into a lake, which is made where there is none.

    Raises:
        StoreBusyError: another process writes to it.
        StoreError: Spark does not start, or the lake refused a batch; earlier batches are kept.
    """
    make_where_none_is(lake)
    with opened(lake) as ledger:
        return ingest_held(lake, ledger, paths, progress)


def ingest_held(
    lake: Lake,
    ledger: Ledger,
    paths: Iterable[str | LogPlace],
    progress: Callable[[str, int, int], None] | None = None,
) -> IngestResult:
    """The same into a lake that this process holds already.

    Raises:
        StoreError: as `ingest_into`.
    """
    # Nobody else's: an executor of a driver that died may go on writing for a while.
    staging = for_spark(f"{lake.table(STAGING)}/{new_id()}")
    own = [] if lake.remote else [lake.path]
    try:
        with spark_failures():
            result = ingest(lambda: session(lake), ledger, paths, staging=staging, own=own, progress=progress)
            result.unjudged = keep_up(lambda: session(lake), ledger)
            return result
    finally:
        clear_staging(lake)


def make_where_none_is(lake: Lake) -> None:
    """Make an empty lake, unless there is one.

    Raises:
        StoreError: it cannot be made.
    """
    if not lake.exists:
        _make(lake)


@contextmanager
def spark_failures() -> Iterator[None]:
    """What Spark fails at as `StoreError`, with what to do."""
    try:
        yield
    except Exception as error:
        # Its bridge and its SQL each raise classes of their own, which only an import of all of Spark names.
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        said = f"Spark failed at it: {spark_said(error)}"
        if lacks_connector(error):
            raise StoreError(said, CONNECTOR) from None
        gone = "PATH_NOT_FOUND" in said or "FAILED_READ_FILE" in said
        again = "batches that are finished are kept; run the same command again"
        raise StoreError(said, GONE if gone else again) from None


@contextmanager
def opened(lake: Lake) -> Iterator[Ledger]:
    """The tables of a lake, for this process alone.

    Raises:
        StoreBusyError: another process writes to it.
        StoreError: there is none, or it cannot be read.
    """
    lake.check()
    with private_files(), Lease(lake.path, dict(lake.storage)) as lease:
        yield ledger_of(lake, taken_over=lease.taken_over)


def ledger_of(lake: Lake, *, taken_over: bool = False) -> Ledger:
    """The tables of a lake that nobody else writes to.

    Raises:
        StoreError: one of them cannot be read.
    """
    found: dict[str, DeltaTable] = {}
    for name in tables():
        try:
            found[name] = DeltaTable(lake.table(name), storage_options=dict(lake.storage))
        except (DeltaError, OSError) as error:
            raise unreadable(lake.table(name), error) from None
    return Ledger(found, taken_over=taken_over)


def _half_made(lake: Lake) -> bool:
    """Whether nothing stands there but what somebody left who could not make a whole lake."""
    return os.path.isdir(lake.path) and set(os.listdir(lake.path)) <= set(tables())


def clear_staging(lake: Lake) -> None:
    """Delete what was staged, by those who died, too; what cannot be deleted waits for the next ingest."""
    if not lake.remote:
        shutil.rmtree(lake.table(STAGING), ignore_errors=True)
        return
    with suppress(DeltaError, OSError):
        filesystem(lake).delete_dir(STAGING)


def _make(lake: Lake) -> None:
    """Make the tables, the one that tells a lake last: who dies here leaves nothing that counts."""
    try:
        lake.check()
    except NoLakeError:
        pass
    except StoreError:
        if not _half_made(lake):
            raise
    options = dict(lake.storage)
    try:
        with private_files():
            for name, table in sorted(tables().items(), key=lambda item: item[0] == _FIRST):
                DeltaTable.create(
                    lake.table(name),
                    table.schema,
                    mode="ignore",
                    partition_by=table.partition,
                    storage_options=options,
                )
            first = pa.table({"key": ["schema_version"], "value": [SCHEMA_VERSION]})
            write_deltalake(lake.table(_FIRST), first, mode="overwrite", storage_options=options)
    except (DeltaError, OSError) as error:
        said = f"{lake.path} cannot be made: {said_by(error)}"
        raise StoreError(said, "check the path, and that it may be written") from None
