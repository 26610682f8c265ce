"""Lakes of earlier versions: read as they are, and brought up to date by whoever writes to them.

Before a lake had a log of its own, each table's commits carried the number of their batch, and a batch counted once
`source_v1` had it. Nothing is lost on the way: what was not finished is taken back, all else stays where it is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import closing

import pyarrow as pa
from deltalake import DeltaTable, Field
from deltalake.exceptions import DeltaError

from analyzer.errors import StoreError
from analyzer.lake import log
from analyzer.lake.layout import JOURNAL, MACHINE, LakeTable, dataset, rows, table_errors, tables
from analyzer.lake.location import Lake, said_by
from analyzer.lake.log import APP, File, State
from analyzer.store.db.connection import connect, connect_plain, private_files
from analyzer.store.db.tables.schema import MIGRATED, SCHEMA_VERSION

_LAST = "source_v1"
SETTINGS = "store_v1"


def current(lake: Lake) -> State:
    """A lake as it is now, for who reads it.

    Raises:
        NoLakeError: there is none.
        StoreError: it is of a version that has to be brought up to date first and may not be written, or of one that
            this program does not know; or it is damaged.
    """
    lake.check()
    found = log.state(lake) if log.exists(lake) else _before_the_log(lake)[1]
    version = settings(lake, found).get("schema_version")
    if version == SCHEMA_VERSION:
        return found
    _refuse(lake, version)
    return brought_up_to_date(lake)


def brought_up_to_date(lake: Lake) -> State:
    """A lake as it is now, for who writes to it: with the log and the tables of this version.

    Raises:
        StoreError: as `current`, or it cannot be written.
    """
    lake.check()
    if not log.exists(lake):
        _give_log(lake)
    found = log.state(lake)
    version = settings(lake, found).get("schema_version")
    if version != SCHEMA_VERSION:
        _refuse(lake, version)
        _migrate(lake)
        found = log.state(lake)
    return found


def settings(lake: Lake, at: State) -> dict[str, str | None]:
    """What a lake knows of itself, such as `active_ruleset`, by name."""
    return {str(row["key"]): row["value"] for row in rows(lake, SETTINGS, at.files[SETTINGS]).to_pylist()}


def _refuse(lake: Lake, version: str | None) -> None:
    if version not in MIGRATED:
        said = f"{lake.path} was made by another version of this program"
        raise StoreError(said, "make a lake again, from its logs or from a store")


def _before_the_log(lake: Lake) -> tuple[int, State, dict[str, list[str]]]:
    """The number of the last batch of a lake without a log, the lake as that left it, and files of none or a later one,
    which tables name.
    """
    found: dict[str, DeltaTable] = {}
    for name in tables():
        try:
            with table_errors(lake, _LAST):
                found[name] = DeltaTable(lake.table(name), storage_options=dict(lake.storage) or None)
        except StoreError:
            # A version that had no such table.
            if name in {_LAST, SETTINGS} or os.path.isdir(lake.table(name)):
                raise
    finished = found[_LAST].transaction_version(APP) or 0
    numbers = {name: table.transaction_version(APP) or 0 for name, table in found.items()}
    files: dict[str, dict[str, File]] = {name: {} for name in tables()}
    late: dict[str, list[str]] = {}
    for name, table in found.items():
        with table_errors(lake, name):
            now = log.files_of(lake, name, table)
            while (table.transaction_version(APP) or 0) > finished:
                table.load_as_version(table.version() - 1)
            files[name] = log.files_of(lake, name, table)
        late[name] = sorted(now.keys() - files[name].keys())
    return max(numbers.values()), State(0, files, ()), late


def _give_log(lake: Lake) -> None:
    """Give a lake its log, whose first entry takes back what was not finished."""
    number, found, late = _before_the_log(lake)
    adds = {}
    with table_errors(lake, log.LOG), private_files():
        for name, table in tables().items():
            create(lake, table)
            if late.get(name):
                adds[name] = list(found.files[name].values())
        log.create(lake)
    log.start(lake, number + 1, adds, {name: paths for name, paths in late.items() if paths})
    log.follow(lake)


def create(lake: Lake, table: LakeTable) -> None:
    """Make a table where there is none, and give one that is there the columns that it lacks.

    Raises:
        StoreError: the storage refuses.
    """
    try:
        made = DeltaTable.create(
            lake.table(table.name),
            table.schema,
            mode="ignore",
            partition_by=table.partition,
            storage_options=dict(lake.storage),
        )
        known = {field.name for field in made.schema().fields}
        lacking = [Field.from_arrow(field) for field in table.schema if field.name not in known]
        if lacking:
            made.alter.add_columns(lacking)
    except (DeltaError, OSError) as error:
        raise StoreError(
            f"{lake.table(table.name)} cannot be made: {said_by(error)}", "check the path, and that it may be written"
        ) from None


def _migrate(lake: Lake) -> None:
    """Bring the rows of all tables up to date, as those of a file are; one batch."""
    from analyzer.lake.batch import LakeBatch
    from analyzer.lake.log import Lease
    from analyzer.lake.moving import fill_batch

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
                        held = rows(lake, name, at.files[name]).select(_known(lake, name, at))
                    connection.register("held", held)
                    connection.execute(f"create table internal.{name} as from held").fetchall()
                    connection.unregister("held")
        batch = LakeBatch(lake, at, lease.token)
        with closing(connect(path, read_only=False)) as connection:
            fill_batch(batch, connection, None)
        batch.commit()


def machines_of(lake: Lake, at: State) -> dict[int, str | None]:
    """By source, the machine whose path it is."""
    found = rows(lake, _LAST, at.files[_LAST])
    return dict(zip(found["source_id"].to_pylist(), found[MACHINE].to_pylist(), strict=True))


def with_machines(sources: pa.Table, machines: Mapping[int, str | None]) -> pa.Table:
    """Rows of sources, with the machine of each that has one."""
    named = pa.array([machines.get(source_id) for source_id in sources["source_id"].to_pylist()], pa.string())
    return sources.set_column(sources.schema.get_field_index(MACHINE), MACHINE, named)


def _known(lake: Lake, name: str, at: State) -> list[str]:
    """The columns that the files of a table have, of those that it has today; all of them where there is no file."""
    if not at.files[name]:
        return list(tables()[name].columns.names)
    known = {
        column
        for fragment in dataset(lake, name, at.files[name]).get_fragments()
        for column in fragment.physical_schema.names
    }
    return [column for column in tables()[name].stored.names if column in known]
