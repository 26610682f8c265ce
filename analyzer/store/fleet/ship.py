"""Push a store's events into a shared table as lines, and load the lines of others into a store.

Every part is in the table once: it is one commit, which also sets the number of the writer's part. A store remembers
the last number it has committed, and up to which moment its events are in the table. If the table has another number,
as after a crash between commit and remembering, the ids in the table decide what is missing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from analyzer.command_lines import TABLE
from analyzer.errors import AnalyzerError, StoreError
from analyzer.events import Event
from analyzer.events.appending.writer import host_name
from analyzer.events.codec import encode
from analyzer.events.model import Origin, new_id
from analyzer.events.times import EPOCH
from analyzer.store.db.connection import transaction
from analyzer.store.db.engine import Connection, execute, first_value
from analyzer.store.db.frames import frame_of, register, sql
from analyzer.store.db.tables.schema import remember, setting
from analyzer.store.fleet.table import SCHEMA, EventTable, TableError, TwiceError, table_named
from analyzer.store.ingest.batch import STORED, Progress
from analyzer.store.ingest.discover import Problem
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.run import IngestResult, ingest

if TYPE_CHECKING:
    import polars as pl
    from deltalake import DeltaTable

PART_EVENTS = 50_000
"""Events of a part, some 40 MB of lines."""
_LOADED_BYTES = 512 * 1024 * 1024
"""Bytes of lines that are loaded at a time; as much is needed in the temporary folder."""
_FOLDER = "analyzer-table-"
_TRIES = 5
"""Times that a push begins again after another process of the same writer has pushed."""
_EVENTS = """
select
  e.event_id, e.type, e.occurred_at, e.session_id, e.schema_version, e.writer, e.seq, e.dropped_before, e.host,
  e.time_source, e.payload, f.facts, e.source_format, e.source_path, e.source_line
from internal.event_v1 as e
left join internal.facts_v1 as f
  on e.facts_id = f.facts_id
where e.source_path is not null and e.ingested_at > $1 and e.event_id not in (from pushed_id)
"""
OnProgress = Callable[[str, int, int], None]
_State = TypeVar("_State")


class _Pushed(msgspec.Struct):
    """What a store remembers of a table that it pushes to."""

    writer: str
    """The name under which the store commits: host and a random number."""
    part: int = 0
    """The number of its last part."""
    until: datetime = EPOCH
    """The table has all events that were ingested until then (naive UTC)."""


class _Loaded(msgspec.Struct):
    """What a store remembers of a table that it loads."""

    table: str
    """The id that Delta has given the table."""
    version: int
    """The last version of which everything is in the store."""


@dataclass(slots=True)
class Push:
    """The figures of a push."""

    table: str
    events: int = 0
    """Events that are in the table by this push."""
    parts: int = 0
    """Commits that it took."""

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return asdict(self)


def push(connection: Connection, name: str, writer: str | None = None) -> Push:
    """Append the store's events that a table does not have yet. Decisions stay in the store.

    A store that has not pushed before does so as `writer` (None: a name of its own).

    Raises:
        AnalyzerError: the name can be that of no table, or the store loads this table.
        TableError: the table cannot be reached or written; the parts before are in it.
    """
    table = table_named(name)
    _refuse_both(connection, _loaded_key(table), f"this store loads {table.path}")
    for _ in range(_TRIES):
        try:
            return _push(connection, table, writer or f"{host_name()}:{new_id()[-12:]}")
        except TwiceError:
            continue
    raise StoreError(f"a copy of this store pushes to {table.path} all the time", "let only one of them push")


def _push(connection: Connection, table: EventTable, writer: str) -> Push:
    state = _recalled(connection, _pushed_key(table), _Pushed) or _Pushed(writer)
    opened = table.opened(create=True)
    last = opened.transaction_version(state.writer) or 0
    newest = first_value(connection, "select max(ingested_at) from internal.event_v1 where source_path is not null")
    since = state.until if last == state.part else EPOCH
    result = Push(f"{TABLE}{table.path}")
    for rows in missing_rows(connection, table, opened, since):
        last += 1
        table.append(opened, rows, state.writer, last)
        result.events += rows.height
        result.parts += 1
    _remember(connection, _pushed_key(table), _Pushed(state.writer, last, newest or EPOCH))
    return result


def missing_rows(
    connection: Connection, table: EventTable, opened: DeltaTable, since: datetime = EPOCH
) -> Iterator[pl.DataFrame]:
    """Yield the rows of events that were ingested since a moment, in parts.

    Without a moment those are left out whose ids the table has.
    """
    ids = frame_of({"event_id": "String"})
    if since == EPOCH and (files := opened.file_uris()):
        days = {
            f"day={day}" for (day,) in execute(connection, "select distinct occurred_at::date from internal.event_v1")
        }
        near = [file for file in files if "day=" not in file or days & set(file.split("/"))]
        ids = table.column("event_id", near).to_frame()
    register(connection, "pushed_id", ids)
    connection.execute(_EVENTS, [since])
    while events := connection.fetchmany(PART_EVENTS):
        yield frame_of(SCHEMA, map(_row, events))


def _row(event: tuple[Any, ...]) -> tuple[object, ...]:
    """Make the row of an event: its line has its origin, so that loading gives the same event on another machine."""
    name, kind, moment, session, version, writer, seq, dropped, host, dated, payload, facts, form, path, line = event
    host = host or host_name()
    if facts is not None:
        payload = f'{payload[:-1]}{"," if len(payload) > 2 else ""}"facts":{facts}}}'
    record = Event(
        kind,
        moment,
        session,
        {},
        name,
        version,
        writer,
        seq,
        dated,
        Origin(form, path, line, host),
        {} if dropped is None else {"dropped_before": dropped},
    )
    return moment.date(), name, host, path, encode(record, payload.encode())[:-1].decode()


def load_all(connection: Connection, names: Iterable[str], result: IngestResult, progress: OnProgress | None) -> None:
    """Read the lines that tables have got since the store has loaded them last, and add the figures to `result`.

    A table that is missing or damaged, or that cannot be reached, is a problem of the result.

    Raises:
        AnalyzerError: a name can be that of no table, or the store pushes to the table.
        StoreError: the store refused a batch.
    """
    for table in map(table_named, names):
        _refuse_both(connection, _pushed_key(table), f"this store pushes to {table.path}")
        try:
            _load(connection, table, result, progress)
        except TableError as error:
            result.problems.append(Problem(f"{TABLE}{table.path}", error.message, error.hint))


def _load(connection: Connection, table: EventTable, result: IngestResult, progress: OnProgress | None) -> None:
    opened = table.opened()
    metadata = opened.metadata()
    files, source = _new_files(connection, table, opened, str(metadata.id)), f"{TABLE}{table.path}"
    total = Progress(SourceCheckpoint(0, source, "analyzer"), native=True)
    result.sources.append(total)
    result.unchanged += not files
    is_whole = True
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as folder:
        for index, lines in enumerate(_files_of_lines(table, files, folder)):
            if progress is not None:
                progress(source, index, index + 1)
            read = ingest(connection, [lines], journal_parts=True)
            with transaction(connection):
                _merge_sources(connection, source)
            total.tally.add(read.total)
            # What could not be read is tried again by the next load.
            result.problems += read.problems
            is_whole = is_whole and not read.problems
    if is_whole:
        _remember(connection, _loaded_key(table), _Loaded(str(metadata.id), opened.version()))


def _new_files(connection: Connection, table: EventTable, opened: DeltaTable, number: str) -> list[str]:
    """Return the files that the last loaded version does not have: those of parts that came since.

    Files that a compaction has written are among them; their events are in the store already.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    files = opened.file_uris()
    state = _recalled(connection, _loaded_key(table), _Loaded)
    if state is None or state.table != number:
        return files
    try:
        before = set(DeltaTable(table.path, version=state.version).file_uris())
    except DeltaError:
        return files  # the table's log does not reach back so far any more
    return [file for file in files if file not in before]


def _files_of_lines(table: EventTable, files: list[str], folder: str) -> Iterator[str]:
    """Write the lines of some files of a table into a file, again and again, and yield its path."""
    path, size = os.path.join(folder, "lines.jsonl"), 0
    handle = open(path, "w", encoding="utf-8")  # noqa: SIM115 - it is opened again for the next lines
    try:
        for file in files:
            for part in table.column("line", [file]).drop_nulls().to_frame().iter_slices(PART_EVENTS):
                size += handle.write("\n".join([*part.to_series(), ""]))
            if size >= _LOADED_BYTES or file is files[-1]:
                handle.close()
                yield path
                handle, size = open(path, "w", encoding="utf-8"), 0  # noqa: SIM115 - as above
    finally:
        handle.close()


def _merge_sources(connection: Connection, source: str) -> None:
    """Count the files of lines, which are gone, as one source: the table."""
    of_lines = f"%/{_FOLDER}%/lines.jsonl"
    for table, column in (("event_v1", "source_path"), ("quarantine_v1", "source_path"), ("source_v1", "path")):
        execute(
            connection,
            sql("update internal.{table} set {column} = $1 where {column} like $2", table=table, column=column),
            [source, of_lines],
        )
    figures = ("read_bytes", "read_lines", *STORED)
    execute(
        connection,
        sql(
            "update internal.source_v1 as s set {sums}, last_ingested_at = t.last_ingested_at,"
            " fingerprint = '', fingerprint_length = 0, mark = '', mark_length = 0, size = t.read_bytes"
            " from (select max(last_ingested_at) as last_ingested_at, {totals}"
            " from internal.source_v1 where path = $1) as t where s.path = $1",
            sums=", ".join(f"{name} = t.{name}" for name in figures),
            totals=", ".join(f"sum({name}) as {name}" for name in figures),
        ),
        [source],
    )
    of_table = "select {first} from internal.source_v1 where path = $1"
    first = first_value(connection, sql(of_table, first="min(source_id)"), [source])
    execute(connection, "update internal.quarantine_v1 set source_id = $2 where source_path = $1", [source, first])
    execute(connection, "delete from internal.source_v1 where path = $1 and source_id <> $2", [source, first])


def _pushed_key(table: EventTable) -> str:
    return f"pushed_to {table.path}"


def _loaded_key(table: EventTable) -> str:
    return f"loaded_from {table.path}"


def _recalled(connection: Connection, key: str, kind: type[_State]) -> _State | None:
    text = setting(connection, key)
    return None if text is None else msgspec.json.decode(text, type=kind)


def _remember(connection: Connection, key: str, state: _Pushed | _Loaded) -> None:
    with transaction(connection):
        remember(connection, **{key: state})


def _refuse_both(connection: Connection, key: str, message: str) -> None:
    """Raise an error if the store also does the opposite with this table: it would push what it has loaded."""
    if setting(connection, key) is not None:
        raise AnalyzerError(message, "name another store: --store FILE")
