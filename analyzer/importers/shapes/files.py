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
"""Bytes of the line that names the database: always the same, so that the database is known by it."""
SIDES = ("-wal", "-journal")
"""Endings of the files beside a database that say what of it is committed: they change without it."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a value; longer ones are refused by SQLite itself."""
_TOO_LONG = ["line_too_long", f"a row with a value of more than {_LONGEST >> 20} MiB"]
UNKNOWN = _encode({"sqlite": {"tables": []}}).ljust(FIRST_LINE - 1) + b"\n"
"""The line of a database that cannot be looked into."""


def rows_as_lines(path: str, after: Mapping[str, Any]) -> Iterator[bytes]:
    """The line that names the database, and a line for each row that changed behind `after`, a cursor by table.

    A cursor is the last change that was read, and the names of the rows that had it.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    with _committed(path) as connection:
        connection.execute("begin")
        names = _tables(connection)
        there = _named(names)
        shape = next((found for needed, found in SHAPES if needed <= there), ())
        yield _first_line(connection, names, shape)
        streams = {
            table: _changed(connection, table, names[table.name], mapping(after).get(table.name)) for table in shape
        }
        for table, stream in streams.items():
            if table.ahead:
                yield from (line for *_, line in stream)
        together = [stream for table, stream in streams.items() if not table.ahead]
        for *_, line in heapq.merge(*together, key=lambda item: item[:2]):
            yield line


def in_use(error: sqlite3.Error) -> bool:
    """Whether a database may be read later that cannot be read now; of any other failure it is no database."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return name.startswith(_FOR_NOW) or isinstance(error, _MovedError)


_FOR_NOW = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY")


class _MovedError(sqlite3.OperationalError):
    """A database changed under its reader."""


@contextmanager
def _committed(path: str) -> Iterator[sqlite3.Connection]:
    """A connection to what a database's writer has committed.

    A write-ahead log with its index is read beside whoever writes. A log without one, or a rollback journal, is played
    into a copy. A file that stands alone is read as it is, and must not change meanwhile.

    Raises:
        sqlite3.OperationalError: it changed while it was read, or no copy could be made.
    """
    before = _state(path)
    hot, logged = (_holds(path + ending) for ending in ("-journal", "-wal"))
    if not hot and all(_is_file(path + ending) for ending in ("-wal", "-shm")):
        with closing(_opened(path, "mode=ro")) as connection:
            yield connection
    elif hot or logged:
        with tempfile.TemporaryDirectory(prefix="analyzer-") as folder:
            copy = os.path.join(folder, "copy")
            try:
                for ending in ("", *filter(lambda ending: _is_file(path + ending), SIDES)):
                    shutil.copyfile(path + ending, copy + ending)
                _set_apart(copy + "-journal")
            except OSError as error:
                raise _MovedError(f"no copy could be made: {system_text(error)}") from None
            _unmoved(path, before)
            with closing(_opened(copy, "mode=rw")) as connection:
                yield connection
    else:
        with closing(_opened(path, "mode=ro&immutable=1")) as connection:
            yield connection
        _unmoved(path, before)


def _state(path: str) -> list[object]:
    """What changes of a database and of what stands beside it when somebody writes; its header counts commits."""
    found: list[object] = []
    try:
        for ending in ("", *filter(lambda ending: _is_file(path + ending), SIDES)):
            status = os.stat(path + ending)
            found.append((ending, status.st_ino, status.st_size, status.st_mtime_ns))
        with open(path, "rb") as handle:
            return [*found, handle.read(100)]
    except OSError as error:
        raise _MovedError(system_text(error)) from None


def _unmoved(path: str, before: list[object]) -> None:
    if _state(path) != before:
        raise _MovedError("it changed while it was read")


def _is_file(path: str) -> bool:
    """Whether a file stands there: no link, and nothing that keeps its reader waiting."""
    return os.path.isfile(path) and not os.path.islink(path)


def _holds(path: str) -> bool:
    """Whether a log or a journal holds anything; SQLite is done with one that is empty or begins with a zero."""
    if not _is_file(path):
        return False
    with open(path, "rb") as handle:
        return handle.read(1) not in (b"", b"\0")


_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


def _set_apart(journal: str) -> None:
    """Free the copy of a journal of the name of another one, which SQLite would read and, once it is done, delete.

    A transaction over several databases is committed once that other journal is gone. The name stands at the end,
    before its length, its checksum and a mark: https://www.sqlite.org/fileformat.html#the_rollback_journal
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


def _opened(path: str, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?{mode}", uri=True, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma query_only = on")
    return connection


def _tables(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """The columns of each real table; views and virtual tables may run anything."""
    names = [
        row[0]
        for row in connection.execute(
            "select name from sqlite_master where type = 'table' and sql not like 'create virtual%' order by name"
        )
    ]
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        columns = connection.execute("select name from pragma_table_info(?)", (name,)).fetchall()
        found[str(name)] = tuple(str(row[0]) for row in columns)
    return found


def _named(names: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Every table, and every column behind its table and a dot."""
    return {*names, *(f"{table}.{column}" for table, columns in names.items() for column in columns)}


def _first_line(
    connection: sqlite3.Connection, names: Mapping[str, tuple[str, ...]], shape: tuple[RowTable, ...]
) -> bytes:
    oldest = [
        connection.execute(f'select "{table.key}" from "{table.name}" order by rowid limit 1').fetchone()  # noqa: S608 - named above
        for table in shape[:1]
    ]
    known = sorted(_named(names) & {"schema_version", *(name for needed, _ in SHAPES for name in needed)})
    identity = derived_id(*sorted(names.items()), oldest)
    line = _encode({"sqlite": {"tables": known, "identity": identity}})
    return line.ljust(FIRST_LINE - 1) + b"\n"


def _changed(
    connection: sqlite3.Connection, table: RowTable, there: tuple[str, ...], cursor: object
) -> Iterator[tuple[float, str, bytes]]:
    """Rows of a table behind the cursor, each with its change, table and line; of one change as they came."""
    since, seen = cursor if isinstance(cursor, list) and len(cursor) == 2 else (-1, [])
    known = frozenset(map(str, seen))
    columns = [name for name in table.columns.split() if name in there]
    missing = {name: None for name in table.columns.split() if name not in there}
    listed = ", ".join(f'"{name}"' for name in columns)
    complete = table.completing(_asking(connection)) if table.completing else None
    query = f'select {listed} from "{table.name}" where rowid = ?'  # noqa: S608 - names out of the tables of `rows`
    for place, changed in _places(connection, table, since):
        # A change beyond all that can be would hide whatever comes later.
        if quantity(changed) is None:
            continue
        try:
            values = connection.execute(query, (place,)).fetchone()
            row: Row = {**missing, **dict(zip(columns, values, strict=True))}
            name = str(row[table.key])
            if changed == since and name in known:
                continue
            record = table.record(row)
            if complete is not None:
                complete(record, place)
        except sqlite3.DataError:
            name, record = f"row {place}", {"$refused": _TOO_LONG}
            if changed == since and name in known:
                continue
        except UnreadableError as error:
            record = {"$refused": [error.reject.why, error.reject.detail]}
        # Texts that were stored as bytes are texts, whose secrets are looked for.
        for key in [key for key, value in record.items() if isinstance(value, bytes)]:
            record[key] = record[key].decode("utf-8", "replace")
        line = _encode({**record, "$row": [table.name, changed, name]}) + b"\n"
        yield float(changed), table.name, line


def _places(connection: sqlite3.Connection, table: RowTable, since: Any) -> Iterator[tuple[int, Any]]:
    """Yield the places of rows that changed since then, each with its change, in the order of their changes.

    The places are put in order, and not the rows, which hold all that was said.
    """
    changed = f'select rowid, {table.changed} from "{table.name}"'  # noqa: S608 - as above
    try:
        found = connection.execute(f"{changed} where {table.changed} >= ? order by {table.changed}, rowid", (since,))
        first = found.fetchone()
    except sqlite3.DataError:
        # A change that is read out of a value cannot be told of one that is too long: such a row comes first.
        places = [place for (place,) in connection.execute(f'select rowid from "{table.name}"')]  # noqa: S608
        rows = [(place, _change(connection, f"{changed} where rowid = ?", place, since)) for place in places]
        later = ((place, change) for place, change in rows if isinstance(change, int | float) and change >= since)
        yield from sorted(later, key=lambda item: (item[1], item[0]))
        return
    if first is not None:
        yield first
        yield from found


def _change(connection: sqlite3.Connection, query: str, place: int, since: Any) -> Any:
    try:
        return connection.execute(query, (place,)).fetchone()[1]
    except sqlite3.DataError:
        return since


def _asking(connection: sqlite3.Connection) -> Ask:
    def ask(query: str, parameters: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
        # What other rows say of this one ends at one that is too long.
        with suppress(sqlite3.DataError):
            yield from connection.execute(query, parameters)

    return ask
