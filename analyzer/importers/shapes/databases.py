"""SQLite databases of agents as lines: one that names the database, then the rows that are new, in order of change.

Opened for reading only, beside whoever writes. Only the tables and columns named here are read: never accounts or
tokens, and of messages nothing that was said.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from analyzer.agent_stream.values import mapping
from analyzer.events.ids import derived_id

SQLITE = b"SQLite format 3\0"
FIRST_LINE = 1_024
"""Bytes of the line that names the database: always the same, so that the database is known by it."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a value; longer ones are refused by SQLite itself."""
_encode = msgspec.json.Encoder().encode
UNKNOWN = _encode({"sqlite": {"tables": []}}).ljust(FIRST_LINE - 1) + b"\n"
"""The line of a database that cannot be looked into."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table that is read."""

    name: str
    changed: str
    """The column that grows with each change of a row."""
    columns: tuple[str, ...]
    """Those that the table may have; others, and those of other versions, are left out."""
    record: Callable[[Row], Row]
    """What of a row is a record."""


def _parsed(value: object) -> Any:
    try:
        return msgspec.json.decode(value) if isinstance(value, str | bytes) else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _first_words(said: object) -> str | None:
    return said.strip().split("\n", 1)[0][:2_000] if isinstance(said, str) else None


_MESSAGE_KEYS = frozenset(
    {"role", "time", "error", "modelID", "providerID", "agent", "mode", "tokens", "parentID", "finish", "path"}
)
_PART_KEYS = {"compaction": frozenset({"auto", "overflow"}), "retry": frozenset({"attempt", "error", "time"})}


def slim_message(message: Mapping[str, Any]) -> Row:
    """What is read of a message of opencode: nothing that was said."""
    kept = {key: value for key, value in message.items() if key in _MESSAGE_KEYS}
    return {**kept, "summary": message.get("summary") is True}


def _opencode_message(row: Row) -> Row:
    return {**slim_message(mapping(_parsed(row["data"]))), "id": row["id"], "sessionID": row["session_id"]}


def _opencode_part(row: Row) -> Row:
    data = mapping(_parsed(row["data"]))
    kind = data.get("type")
    kept = {key: value for key, value in data.items() if key in _PART_KEYS.get(str(kind), ())}
    if kind == "tool":
        state = mapping(data.get("state"))
        shown = {"status": state.get("status"), "time": state.get("time"), "error": _first_words(state.get("error"))}
        kept = {"tool": data.get("tool"), "state": shown}
    named = {"id": row["id"], "sessionID": row["session_id"], "messageID": row["message_id"], "type": kind}
    return {**kept, **named, "time": {"created": row["time_created"]}}


def _opencode_session(row: Row) -> Row:
    return {"id": row["id"], "directory": row["directory"], "version": row["version"], "time": {}}


def _crush_message(row: Row) -> Row:
    parts = _parsed(row.pop("parts"))
    listed = [
        (part.get("type"), mapping(part.get("data"))) for part in map(mapping, parts if isinstance(parts, list) else ())
    ]
    finished = [
        {key: data.get(key) for key in ("reason", "time", "message", "details")}
        for kind, data in listed
        if kind == "finish"
    ]
    # Of tools their names, and of those that failed what they said first.
    called = [{"name": data.get("name"), "call": data.get("id")} for kind, data in listed if kind == "tool_call"]
    failed = [
        {"name": data.get("name"), "call": data.get("tool_call_id"), "said": _first_words(data.get("content"))}
        for kind, data in listed
        if kind == "tool_result" and data.get("is_error") is True
    ]
    return {**row, "finished": finished, "called": called, "failed": failed}


_OPENCODE = (
    RowTable("session", "time_updated", ("id", "directory", "version", "time_updated"), _opencode_session),
    RowTable("message", "time_updated", ("id", "session_id", "time_updated", "data"), _opencode_message),
    RowTable(
        "part",
        "time_updated",
        ("id", "message_id", "session_id", "time_created", "time_updated", "data"),
        _opencode_part,
    ),
)
_CRUSH = (
    RowTable("sessions", "updated_at", ("id", "parent_session_id", "summary_message_id", "updated_at"), dict),
    RowTable(
        "messages",
        "updated_at",
        ("id", "session_id", "role", "parts", "model", "provider", "is_summary_message", "created_at", "updated_at"),
        _crush_message,
    ),
)
_SHAPES: tuple[tuple[frozenset[str], tuple[RowTable, ...]], ...] = (
    (frozenset({"session", "message", "part"}), _OPENCODE),
    (frozenset({"sessions", "messages", "files", "goose_db_version"}), _CRUSH),
)


def rows_as_lines(path: str, after: Mapping[str, Any]) -> Iterator[bytes]:
    """The line that names the database, and a line for each row that changed behind `after`, a cursor by table.

    A cursor is the last change that was read, and the names of the rows that had it.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    with closing(_opened(path)) as connection:
        connection.execute("begin")
        names = _tables(connection)
        shape = next((found for needed, found in _SHAPES if needed <= names.keys()), ())
        yield _first_line(connection, names, shape)
        streams = [_changed(connection, table, names[table.name], mapping(after).get(table.name)) for table in shape]
        for _, _, _, line in heapq.merge(*streams, key=lambda item: item[:3]):
            yield line


def moved_on(cursor: dict[str, Any], record: Mapping[str, Any]) -> None:
    """Move a cursor behind the row that a record was made of."""
    place = record.get("$row")
    if isinstance(place, list) and len(place) == 3:
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
    known = sorted(set(names) & {name for needed, _ in _SHAPES for name in needed} | (set(names) & {"schema_version"}))
    identity = derived_id(*sorted(names.items()), oldest)
    line = _encode({"sqlite": {"tables": known, "identity": identity}})
    return line.ljust(FIRST_LINE - 1) + b"\n"


def _changed(
    connection: sqlite3.Connection, table: RowTable, there: tuple[str, ...], cursor: object
) -> Iterator[tuple[float, str, str, bytes]]:
    """Rows of a table behind the cursor, each with its change, its name and its line."""
    since, seen = cursor if isinstance(cursor, list) and len(cursor) == 2 else (-1, [])
    columns = [name for name in table.columns if name in there]
    missing = {name: None for name in table.columns if name not in there}
    listed = ", ".join(f'"{name}"' for name in columns)
    query = (
        f'select {listed} from "{table.name}" where "{table.changed}" >= ?'  # noqa: S608 - names out of the table above
        f' order by "{table.changed}", id'
    )
    for values in connection.execute(query, (since,)):
        row: Row = {**missing, **dict(zip(columns, values, strict=True))}
        changed, name = row[table.changed], str(row["id"])
        if not isinstance(changed, int | float) or (changed == since and name in seen):
            continue
        line = _encode({**table.record(row), "$row": [table.name, changed, name]}) + b"\n"
        yield float(changed), table.name, name, line
