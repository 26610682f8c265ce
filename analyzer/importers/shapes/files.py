"""SQLite databases of agents as lines: one that names the database, then the rows that are new, in order of change."""

from __future__ import annotations

import heapq
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any
from urllib.parse import quote

import msgspec

from analyzer.agent_stream import mapping
from analyzer.errors import system_text
from analyzer.events.model import derived_id
from analyzer.importers.failures import quantity
from analyzer.importers.shapes.rows import Ask, Row, RowTable, UnreadableError
from analyzer.importers.shapes.threads import SHAPES

_encode = msgspec.json.Encoder().encode
SQLITE = b"SQLite format 3\0"
FIRST_LINE = 1_024
"""Bytes of the line that names the database: a fixed length, by which a database is recognised."""
SIDES = ("-wal", "-journal")
"""Endings of the files beside a database that decide what is committed: they change without it."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of the longest value; SQLite itself refuses longer ones."""
_TOO_LONG = ["line_too_long", f"a row with a value of more than {_LONGEST >> 20} MiB"]
UNKNOWN = _encode({"sqlite": {"tables": []}}).ljust(FIRST_LINE - 1) + b"\n"
"""The first line of a database that cannot be opened."""


def rows_as_lines(path: str, after: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the line that names the database, then a line for each row that changed since.

    `after` holds a cursor for each table: the last change that was read, and the names of the rows
    with it.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    with _connect(path) as connection:
        connection.execute("begin")
        columns = _columns_of_tables(connection)
        names = _names_in(columns)
        shape = next((tables for needed, tables in SHAPES if needed <= names), ())
        yield _first_line(connection, columns, shape)
        streams = {
            table: _changed_rows(connection, table, columns[table.name], mapping(after).get(table.name))
            for table in shape
        }
        for table, stream in streams.items():
            if table.ahead:
                yield from (line for *_, line in stream)
        together = [stream for table, stream in streams.items() if not table.ahead]
        for *_, line in heapq.merge(*together, key=lambda item: item[:2]):
            yield line


def in_use(error: sqlite3.Error) -> bool:
    """Return true if the database may be readable later; else the file is no database."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return name.startswith(_FOR_NOW) or isinstance(error, _MovedError)


_FOR_NOW = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY")


class _MovedError(sqlite3.OperationalError):
    """A database changed under its reader."""


@contextmanager
def _connect(path: str) -> Iterator[sqlite3.Connection]:
    """Open a connection to the committed state of a database.

    A write-ahead log with its index is read while others write. A log without its index, or a
    rollback journal, is applied to a copy. A file without either is read as it is, and must not
    change meanwhile.

    Raises:
        sqlite3.OperationalError: it changed while it was read, or no copy could be made.
    """
    before = _file_state(path)
    has_journal, has_log = (_has_content(path + ending) for ending in ("-journal", "-wal"))
    if not has_journal and all(_is_file(path + ending) for ending in ("-wal", "-shm")):
        with closing(_open(path, "mode=ro")) as connection:
            yield connection
    elif has_journal or has_log:
        with tempfile.TemporaryDirectory(prefix="analyzer-") as folder:
            copy = os.path.join(folder, "copy")
            try:
                for ending in ("", *filter(lambda ending: _is_file(path + ending), SIDES)):
                    shutil.copyfile(path + ending, copy + ending)
                _detach_journal(copy + "-journal")
            except OSError as error:
                raise _MovedError(f"no copy could be made: {system_text(error)}") from None
            _check_unmoved(path, before)
            with closing(_open(copy, "mode=rw")) as connection:
                yield connection
    else:
        with closing(_open(path, "mode=ro&immutable=1")) as connection:
            yield connection
        _check_unmoved(path, before)


def _file_state(path: str) -> list[object]:
    """Return what a write changes: the files' status, and the header, which counts commits."""
    state: list[object] = []
    try:
        for ending in ("", *filter(lambda ending: _is_file(path + ending), SIDES)):
            status = os.stat(path + ending)
            state.append((ending, status.st_ino, status.st_size, status.st_mtime_ns))
        with open(path, "rb") as handle:
            return [*state, handle.read(100)]
    except OSError as error:
        raise _MovedError(system_text(error)) from None


def _check_unmoved(path: str, before: list[object]) -> None:
    if _file_state(path) != before:
        raise _MovedError("it changed while it was read")


def _is_file(path: str) -> bool:
    """Return true for a regular file: no link, and no pipe or device, which may block."""
    return os.path.isfile(path) and not os.path.islink(path)


def _has_content(path: str) -> bool:
    """Return true if a log or journal is in use: it is not empty and begins with no zero byte."""
    if not _is_file(path):
        return False
    with open(path, "rb") as handle:
        return handle.read(1) not in (b"", b"\0")


_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


def _detach_journal(journal: str) -> None:
    """Remove the name of a super-journal from the copy of a journal.

    SQLite would read the super-journal and then delete it. A transaction over several databases is
    committed when its super-journal is gone; then the copy is deleted. The name stands at the end,
    before its length, its checksum and a mark:
    https://www.sqlite.org/fileformat.html#the_rollback_journal
    """
    if not os.path.exists(journal):
        return
    with open(journal, "r+b") as handle:
        end = handle.seek(0, os.SEEK_END)
        handle.seek(max(end - 16, 0))
        tail = handle.read()
        length = int.from_bytes(tail[:4], "big")
        if tail[8:] != _JOURNAL_MAGIC or not 0 < length <= end - 20:
            return
        handle.seek(end - 16 - length)
        name = handle.read(length)
        handle.truncate(end - 20 - length)
    if not os.path.exists(name.replace(b"\0", b"?")):
        os.unlink(journal)


def _open(path: str, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?{mode}", uri=True, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma query_only = on")
    return connection


def _columns_of_tables(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Return the columns of each real table; views and virtual tables could run any code."""
    tables = connection.execute(
        "select name from sqlite_master where type = 'table' and sql not like 'create virtual%' order by name"
    ).fetchall()
    columns_of: dict[str, tuple[str, ...]] = {}
    for (name,) in tables:
        columns = connection.execute("select name from pragma_table_info(?)", (name,))
        columns_of[str(name)] = tuple(str(column) for (column,) in columns)
    return columns_of


def _names_in(columns: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the name of each table, and each column as `table.column`."""
    return {*columns, *(f"{table}.{name}" for table, names in columns.items() for name in names)}


def _first_line(
    connection: sqlite3.Connection, columns: Mapping[str, tuple[str, ...]], shape: tuple[RowTable, ...]
) -> bytes:
    """Return the line that names a database by its tables, columns and oldest row."""
    oldest = [
        connection.execute(f'select "{table.key}" from "{table.name}" order by rowid limit 1').fetchone()  # noqa: S608 - named above
        for table in shape[:1]
    ]
    telling = {"schema_version", *(name for needed, _ in SHAPES for name in needed)}
    identity = derived_id(*sorted(columns.items()), oldest)
    line = _encode({"sqlite": {"tables": sorted(_names_in(columns) & telling), "identity": identity}})
    return line.ljust(FIRST_LINE - 1) + b"\n"


def _changed_rows(
    connection: sqlite3.Connection, table: RowTable, existing: tuple[str, ...], cursor: object
) -> Iterator[tuple[float, str, bytes]]:
    """Yield the rows of a table that changed after the cursor: change, table and line.

    They come in the order of their changes, rows with the same change in the order of the table.
    """
    since, names = cursor if isinstance(cursor, list) and len(cursor) == 2 else (-1, [])
    read = frozenset(map(str, names))
    columns = [name for name in table.columns.split() if name in existing]
    missing = {name: None for name in table.columns.split() if name not in existing}
    selected = ", ".join(f'"{name}"' for name in columns)
    complete = table.completing(_ask_of(connection)) if table.completing else None
    query = f'select {selected} from "{table.name}" where rowid = ?'  # noqa: S608 - names in `rows`
    for rowid, changed in _changed_rowids(connection, table, since):
        # A change that is no sane number would hide all later changes.
        if quantity(changed) is None:
            continue
        try:
            values = connection.execute(query, (rowid,)).fetchone()
            row: Row = {**missing, **dict(zip(columns, values, strict=True))}
            name = str(row[table.key])
            if changed == since and name in read:
                continue
            record = table.record(row)
            if complete is not None:
                complete(record, rowid)
        except sqlite3.DataError:
            name, record = f"row {rowid}", {"$refused": _TOO_LONG}
            if changed == since and name in read:
                continue
        except UnreadableError as error:
            record = {"$refused": [error.reject.why, error.reject.detail]}
        # Texts that were stored as bytes become texts, so that their secrets are redacted.
        for key in [key for key, value in record.items() if isinstance(value, bytes)]:
            record[key] = record[key].decode("utf-8", "replace")
        line = _encode({**record, "$row": [table.name, changed, name]}) + b"\n"
        yield float(changed), table.name, line


def _changed_rowids(connection: sqlite3.Connection, table: RowTable, since: Any) -> Iterator[tuple[int, Any]]:
    """Yield the rowid and the change of each row that changed since, in order of change.

    Only the rowids are sorted, because rows are large: they hold whole conversations.
    """
    changes = f'select rowid, {table.changed} from "{table.name}"'  # noqa: S608 - as above
    try:
        rows = connection.execute(f"{changes} where {table.changed} >= ? order by {table.changed}, rowid", (since,))
        first = rows.fetchone()
    except sqlite3.DataError:
        # No change can be read from a value that is too long: such a row comes first.
        rowids = [rowid for (rowid,) in connection.execute(f'select rowid from "{table.name}"')]  # noqa: S608
        pairs = [(rowid, _change_of(connection, f"{changes} where rowid = ?", rowid, since)) for rowid in rowids]
        later = ((rowid, change) for rowid, change in pairs if isinstance(change, int | float) and change >= since)
        yield from sorted(later, key=lambda item: (item[1], item[0]))
        return
    if first is not None:
        yield first
        yield from rows


def _change_of(connection: sqlite3.Connection, query: str, rowid: int, since: Any) -> Any:
    """Return the change of a row; `since` where its value is too long to be read."""
    try:
        return connection.execute(query, (rowid,)).fetchone()[1]
    except sqlite3.DataError:
        return since


def _ask_of(connection: sqlite3.Connection) -> Ask:
    def ask(query: str, parameters: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
        # The results end at the first row that is too long to be read.
        with suppress(sqlite3.DataError):
            yield from connection.execute(query, parameters)

    return ask
