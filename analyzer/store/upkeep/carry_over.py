"""Read the store that a rebuild replaces: what it knew of its sources, and what only it still has.

Invariant: what was read again from logs and journal stays; the former store adds when it was read,
and what is gone.
"""

from __future__ import annotations

import os

import duckdb

from analyzer.errors import InputError, StoreError
from analyzer.importers import FORMATS
from analyzer.store.db.connection import connect_plain, first_line
from analyzer.store.db.frames import quoted, sql
from analyzer.store.db.location import patiently
from analyzer.store.db.tables.columns import TYPED, filled
from analyzer.store.db.tables.schema import leave_out_told_twice
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import lengths_of

_FORMER = "analyzer_former"
"""The name under which the former store is attached.

Views `former_event_v1` and so on show its rows.
"""
_TABLES = ("store_v1", "event_v1", "facts_v1", "verdict_v1", "source_v1", "quarantine_v1")
_NOTHING = {"BIGINT": "0", "INTEGER": "0", "BOOLEAN": "false", "VARCHAR": "''"}
_DERIVED = {"event_bytes": "bytes"}
"""Figures that an older store keeps only within another sum."""
NATIVE = tuple(kind.name for kind in FORMATS if kind.native)


def unreadable(path: str) -> str | None:
    """Return why the store, of any version, cannot be read to its last block; None if it can.

    Raises:
        StoreBusyError: another process has it open.
        StoreError: it is a database of something else.
    """
    try:
        with patiently(lambda: connect_plain(path, read_only=True)) as connection:
            names = {str(row[0]) for row in connection.execute("select table_name from duckdb_tables()").fetchall()}
            if "store_v1" not in names:
                raise StoreError(f"{path} is a DuckDB file of something else", "name another file with --store")
            for table in _TABLES:
                connection.execute(
                    sql("select count(*), bit_xor(hash(t)) from internal.{table} as t", table=table)
                ).fetchall()
    except duckdb.Error as error:
        return first_line(error)
    return None


class FormerStore:
    """The former store, attached to the connection of the new one."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: str) -> None:
        self._connection = connection
        connection.execute(f"attach {quoted(os.path.realpath(path))} as {_FORMER} (read_only)").fetchall()
        self._columns = {table: self._shared(table) for table in _TABLES}
        for table in _TABLES:
            rows = sql(
                "select {columns} from {former}.internal.{table}",
                columns=self._taken_over(table),
                former=_FORMER,
                table=table,
            )
            connection.execute(f"create or replace temp view former_{table} as {rows}").fetchall()

    def _shared(self, table: str) -> list[str]:
        """List the columns that both versions of the table have and that are not decoded again."""
        rows = self._connection.execute(
            "select column_name from duckdb_columns() where schema_name = 'internal' and table_name = $1"
            " group by column_name having count(distinct database_name) = 2",
            [table],
        ).fetchall()
        return sorted({str(row[0]) for row in rows} - TYPED.get(table, frozenset()))

    def sources(self) -> list[SourceCheckpoint]:
        """Return the checkpoints of its sources, with the fields that tell whether one is still there."""
        names = ("source_id", "path", "generation", "fingerprint", "fingerprint_length", "mark", "mark_length")
        rows = self._connection.execute(
            sql("select {names}, read_bytes from former_source_v1 order by source_id", names=", ".join(names))
        ).fetchall()
        return [SourceCheckpoint(**dict(zip(names, row[:-1], strict=True)), offset=row[-1]) for row in rows]

    def _taken_over(self, table: str) -> str:
        """Return the columns of the former table in the form of the new one.

        A missing one is null or zero.
        """
        rows = self._connection.execute(
            "select column_name, data_type from duckdb_columns() where database_name = current_database()"
            " and schema_name = 'internal' and table_name = $1 and not is_nullable order by column_name",
            [table],
        ).fetchall()
        added = [
            f"{_DERIVED.get(name, _NOTHING.get(kind, 'null'))} as {name}"
            for name, kind in rows
            if name not in self._columns[table]
        ]
        return ", ".join([*self._columns[table], *added])

    def adopt_sources(self, matched: dict[str, int], vanished: set[int]) -> None:
        """Keep the ids, generations and moments of sources.

        Take over those that were not read again.

        `matched`: path → former id of sources that were read again; `vanished`: former ids of those whose file is gone.
        """
        self._renumber(matched)
        run = self._connection.execute
        kept = [name for name in self._columns["source_v1"] if name not in {"source_id", "path", "state", "status"}]
        moments = ("generation", "first_ingested_at")
        run(self._update_sources(moments)).fetchall()
        # Figures depend on the order of reading; if the same lines were read, the former figures hold.
        run(
            self._update_sources(kept)
            + "".join(f" and n.{name} = o.{name}" for name in ("format", "lines", "bytes", *FATES))
        ).fetchall()
        run(
            "insert into internal.source_v1 by name select * replace ("
            " case when source_id in (select unnest($1)) then 'vanished' else status end as status,"
            " case when source_id in (select unnest($1)) and status in ('damaged', 'unsupported')"
            " then concat_ws(': ', status, detail) else detail end as detail)"
            " from former_source_v1 where source_id not in (select source_id from internal.source_v1)",
            [sorted(vanished)],
        ).fetchall()

    def _update_sources(self, names: list[str] | tuple[str, ...]) -> str:
        return sql(
            "update internal.source_v1 as n set {values} from former_source_v1 as o where n.source_id = o.source_id",
            values=", ".join(f"{name} = o.{name}" for name in names),
        )

    def _renumber(self, matched: dict[str, int]) -> None:
        run = self._connection.execute
        rows = run("select path, source_id from internal.source_v1 order by source_id").fetchall()
        last = int(run("select coalesce(max(source_id), 0) from former_source_v1").fetchall()[0][0])
        numbers: dict[int, int] = {}
        for path, source_id in rows:
            if path in matched:
                numbers[source_id] = matched[path]
            else:
                last += 1
                numbers[source_id] = last
        for table in ("source_v1", "quarantine_v1"):
            run(
                sql(
                    "update internal.{table} as t set source_id = m.new"
                    " from (select unnest($1) as old, unnest($2) as new) as m where t.source_id = m.old",
                    table=table,
                ),
                [list(numbers), list(numbers.values())],
            ).fetchall()

    def adopt_quarantine(self) -> None:
        """Keep the moment of rejects; those that were pruned or mended do not come back."""
        run = self._connection.execute
        run(
            "delete from internal.quarantine_v1 as q where exists ("
            "from internal.source_v1 as n join former_source_v1 as o using (source_id)"
            " where n.source_id = q.source_id and n.quarantined = o.quarantined and n.lines = o.lines)"
            " and not exists (from former_quarantine_v1 as o"
            " where q.source_id = o.source_id and q.byte_offset = o.byte_offset and q.why = o.why)"
        ).fetchall()
        run(
            "update internal.quarantine_v1 as q set ingested_at = o.ingested_at, source_path = o.source_path"
            " from former_quarantine_v1 as o"
            " where q.source_id = o.source_id and q.byte_offset = o.byte_offset and q.why = o.why"
        ).fetchall()

    def adopt_rejects_of(self, source_ids: list[int]) -> None:
        """Take over the rejects of sources that were not read again."""
        self._connection.execute(
            "insert into internal.quarantine_v1 by name"
            " select * from former_quarantine_v1 where source_id in (select unnest($1))",
            [source_ids],
        ).fetchall()

    def adopt_events(self, read: list[str]) -> int:
        """Keep source and moments of events.

        Take over those that no log and no journal has any more.

        Returns the number of events taken over. Events of logs that were read again, dated by the
        time of their file, are not among them.
        """
        run = self._connection.execute
        run(
            "update internal.event_v1 as e set ingested_at = o.ingested_at, source_format = o.source_format,"
            " source_path = o.source_path, source_line = o.source_line,"
            " occurred_at = case when e.time_source = 'file' then o.occurred_at else e.occurred_at end"
            " from former_event_v1 as o where e.event_id = o.event_id"
        ).fetchall()
        carried = run(
            filled(
                "event_v1",
                "select * from former_event_v1 where event_id not in (select event_id from internal.event_v1)"
                " and not (time_source = 'file' and source_path in (select unnest($1)))",
            ),
            [read],
        ).fetchall()[0][0]
        leave_out_told_twice(self._connection)
        run(
            filled(
                "facts_v1",
                "select * from former_facts_v1 where facts_id in (select facts_id from internal.event_v1)"
                " and facts_id not in (select facts_id from internal.facts_v1)",
            )
        ).fetchall()
        run(
            "insert into internal.verdict_v1 by name"
            " select * from former_verdict_v1 where facts_id in (select facts_id from internal.facts_v1)"
        ).fetchall()
        return int(carried)

    def adopt_settings(self) -> None:
        """Take over all settings of the former store, except its version."""
        self._connection.execute(
            "insert into internal.store_v1 select key, value from former_store_v1"
            " where key not in (select key from internal.store_v1)"
        ).fetchall()

    def detach(self) -> None:
        """Detach the former store."""
        for table in _TABLES:
            self._connection.execute(f"drop view if exists temp.former_{table}").fetchall()
        self._connection.execute(f"detach {_FORMER}").fetchall()


FATES = ("quarantined", "blank", "skipped")
"""Figures that do not depend on what was read before."""


def split_by_events(connection: duckdb.DuckDBPyConnection) -> None:
    """Count again which lines of foreign logs gave events first, by the events themselves.

    A rebuild reads the journal before the logs, so the lines of the logs look like duplicates.
    """
    connection.execute(
        "create or replace temp table given as select distinct s.source_id, s.path, e.source_line as line,"
        " count(*) over (partition by s.source_id) as events, q.line is null as whole"
        " from internal.source_v1 as s join internal.event_v1 as e"
        " on e.source_path = s.path and e.source_format = s.format"
        " left join (select distinct source_id, line from internal.quarantine_v1) as q"
        " on q.source_id = s.source_id and q.line = e.source_line"
        " where not list_contains($1, s.format)",
        [NATIVE],
    ).fetchall()
    rows = connection.execute(
        "select source_id, path, any_value(events), coalesce(list(line) filter (whole and line is not null), [])"
        " from given group by source_id, path"
    ).fetchall()
    for source_id, path, events, lines in rows:
        split(connection, source_id, events, len(lines), bytes_of(path, set(lines)))


def split(connection: duckdb.DuckDBPyConnection, source_id: int, events: int, lines: int, size: int) -> None:
    """Set for a source how many events it gave, and from how many whole lines of how many bytes."""
    connection.execute(
        "update internal.source_v1 set events = $2, event_lines = least($3, event_lines + duplicates),"
        " duplicates = greatest(event_lines + duplicates - $3, 0),"
        " event_bytes = least($4, event_bytes + duplicate_bytes),"
        " duplicate_bytes = greatest(event_bytes + duplicate_bytes - $4, 0) where source_id = $1",
        [source_id, events, lines, size],
    ).fetchall()


def bytes_of(path: str, lines: set[int]) -> int:
    """Return the bytes of some lines of a log; 0 if it cannot be read."""
    try:
        with Input(path) as source:
            return sum(lengths_of(source, lines).values())
    except InputError:
        return 0
