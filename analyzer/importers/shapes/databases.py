"""SQLite databases of agents as lines: one that names the database, then the rows that are new, in order of change.

Opened for reading only, beside whoever writes. Only the tables and columns that `rows` names are read.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

import msgspec

from analyzer.agent_stream.values import mapping
from analyzer.events.ids import derived_id
from analyzer.importers.shapes.rows import SHAPES, Row, RowTable

SQLITE = b"SQLite format 3\0"
FIRST_LINE = 1_024
"""Bytes of the line that names the database: always the same, so that the database is known by it."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a value; longer ones are refused by SQLite itself."""
_encode = msgspec.json.Encoder().encode
UNKNOWN = _encode({"sqlite": {"tables": []}}).ljust(FIRST_LINE - 1) + b"\n"
"""The line of a database that cannot be looked into."""


def rows_as_lines(path: str, after: Mapping[str, Any]) -> Iterator[bytes]:
    """The line that names the database, and a line for each row that changed behind `after`, a cursor by table.

    A cursor is the last change that was read, and the names of the rows that had it.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    with closing(_opened(path)) as connection:
        connection.execute("begin")
        names = _tables(connection)
        shape = next((found for needed, found in SHAPES if needed <= names.keys()), ())
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


def moved_on(cursor: dict[str, Any], record: Mapping[str, Any]) -> None:
    """Move a cursor behind the row that a record was made of."""
    place = record.get("$row")
    if isinstance(place, list) and len(place) == 3 and isinstance(place[0], str):
        table, changed, name = place
        before = cursor.get(table)
        cursor[table] = [changed, [*before[1], name]] if before and before[0] == changed else [changed, [name]]


def _opened(path: str) -> sqlite3.Connection:
    # Without a log of a writer beside it the file is all there is, and opening it makes no files beside it either.
    alone = not (os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"))
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro{'&immutable=1' * alone}", uri=True, isolation_level=None)
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


def _first_line(
    connection: sqlite3.Connection, names: Mapping[str, tuple[str, ...]], shape: tuple[RowTable, ...]
) -> bytes:
    oldest = [
        connection.execute(f'select id from "{table.name}" order by rowid limit 1').fetchone()  # noqa: S608 - named above
        for table in shape[:1]
    ]
    known = sorted(set(names) & {name for needed, _ in SHAPES for name in needed} | (set(names) & {"schema_version"}))
    identity = derived_id(*sorted(names.items()), oldest)
    line = _encode({"sqlite": {"tables": known, "identity": identity}})
    return line.ljust(FIRST_LINE - 1) + b"\n"


def _changed(
    connection: sqlite3.Connection, table: RowTable, there: tuple[str, ...], cursor: object
) -> Iterator[tuple[float, str, bytes]]:
    """Rows of a table behind the cursor, each with its change, table and line; of one change as they came."""
    since, seen = cursor if isinstance(cursor, list) and len(cursor) == 2 else (-1, [])
    columns = [name for name in table.columns if name in there]
    missing = {name: None for name in table.columns if name not in there}
    listed = ", ".join(f'"{name}"' for name in columns)
    query = (
        f'select {listed}, {table.changed} as "$changed" from "{table.name}"'  # noqa: S608 - names out of the tables of `rows`
        f" where {table.changed} >= ? order by {table.changed}, rowid"
    )
    for *values, changed in connection.execute(query, (since,)):
        row: Row = {**missing, **dict(zip(columns, values, strict=True))}
        name = str(row["id"])
        if not isinstance(changed, int | float) or (changed == since and name in seen):
            continue
        record = table.record(row)
        if table.complete is not None:
            table.complete(record, connection.execute)
        line = _encode({**record, "$row": [table.name, changed, name]}) + b"\n"
        yield float(changed), table.name, line
