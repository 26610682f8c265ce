"""Read the store that a rebuild replaces: what it knew of its sources, and what only it still has.

Invariant: what was read again from logs and journal stays; the former store adds when it was read,
and what is gone.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from analyzer.errors import StoreError
from analyzer.store.db.connection import connect_plain, first_line
from analyzer.store.db.engine import Connection, duckdb, execute
from analyzer.store.db.frames import quoted, sql
from analyzer.store.db.location import patiently
from analyzer.store.db.tables.columns import TYPED, filled
from analyzer.store.db.tables.schema import leave_out_told_twice
from analyzer.store.ingest.identity import SourceCheckpoint

_FORMER = "analyzer_former"
"""The name under which the former store is attached.

Views `former_event_v1` and so on show its rows.
"""
_TABLES = ("store_v1", "event_v1", "facts_v1", "verdict_v1", "source_v1", "quarantine_v1")
_NOTHING = {"BIGINT": "0", "INTEGER": "0", "BOOLEAN": "false", "VARCHAR": "''"}
_DERIVED = {"event_bytes": "bytes"}
"""Figures that an older store keeps only within another sum."""
FATES = ("quarantined", "blank", "skipped")
"""Figures that do not depend on what was read before."""


def unreadable(path: str) -> str | None:
    """Return why the store, of any version, cannot be read to its last block; None if it can.

    Raises:
        StoreBusyError: another process has it open.
        StoreError: it is a database of something else.
    """
    try:
        with patiently(lambda: connect_plain(path, read_only=True)) as connection:
            names = {str(row[0]) for row in execute(connection, "select table_name from duckdb_tables()")}
            if "store_v1" not in names:
                raise StoreError(f"{path} is a DuckDB file of something else", "name another file with --store")
            for table in _TABLES:
                execute(connection, sql("select count(*), bit_xor(hash(t)) from internal.{table} as t", table=table))
    except duckdb.Error as error:
        return first_line(error)
    return None


class FormerStore:
    """The former store, attached to the connection of the new one."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection = connection
        execute(connection, f"attach {quoted(os.path.realpath(path))} as {_FORMER} (read_only)")
        self._columns = {table: self._shared(table) for table in _TABLES}
        for table in _TABLES:
            rows = sql(
                "select {columns} from {former}.internal.{table}",
                columns=self._taken_over(table),
                former=_FORMER,
                table=table,
            )
            execute(connection, f"create or replace temp view former_{table} as {rows}")

    def _run(self, statement: str, parameters: list[Any] | None = None) -> list[Any]:
        return execute(self._connection, statement, parameters)

    def _shared(self, table: str) -> list[str]:
        """List the columns that both versions of the table have and that are not decoded again."""
        rows = execute(
            self._connection,
            "select column_name from duckdb_columns() where schema_name = 'internal' and table_name = $1"
            " group by column_name having count(distinct database_name) = 2",
            [table],
        )
        return sorted({str(row[0]) for row in rows} - TYPED.get(table, frozenset()))

    def sources(self) -> list[SourceCheckpoint]:
        """Return the checkpoints of its sources, with the fields that tell whether one is still there."""
        names = ("source_id", "path", "generation", "fingerprint", "fingerprint_length", "mark", "mark_length")
        rows = execute(
            self._connection,
            sql("select {names}, read_bytes from former_source_v1 order by source_id", names=", ".join(names)),
        )
        return [SourceCheckpoint(**dict(zip(names, row[:-1], strict=True)), offset=row[-1]) for row in rows]

    def _taken_over(self, table: str) -> str:
        """Return the columns of the former table in the form of the new one.

        A missing one is null or zero.
        """
        rows = execute(
            self._connection,
            "select column_name, data_type from duckdb_columns() where database_name = current_database()"
            " and schema_name = 'internal' and table_name = $1 and not is_nullable order by column_name",
            [table],
        )
        added = [
            f"{_DERIVED.get(name, _NOTHING.get(kind, 'null'))} as {name}"
            for name, kind in rows
            if name not in self._columns[table]
        ]
        return ", ".join([*self._columns[table], *added])

    def take_over(self, again: Mapping[str, int], vanished: Collection[int], read: Collection[str]) -> int:
        """Give the new store what no log and no journal says; return the number of events that only this one has.

        `again`: path → former id of sources that were read again; `vanished`: former ids of those whose file is gone;
        `read`: the paths of all logs that were read.
        """
        # The ids of the new store stay; other sources get those after the last one.
        self._run(
            "create or replace temp table numbered as"
            " select f.source_id as former_id, n.source_id is not null as is_read, coalesce(n.source_id,"
            " f.source_id + coalesce((select max(source_id) from internal.source_v1), 0)) as source_id"
            " from former_source_v1 as f"
            " left join (select unnest($1) as path, unnest($2) as former_id) as a on a.former_id = f.source_id"
            " left join internal.source_v1 as n on n.path = a.path",
            [list(again), list(again.values())],
        )
        for table in ("source_v1", "quarantine_v1"):
            self._run(
                sql(
                    "create or replace temp table numbered_{table} as select f.* replace (n.source_id as source_id),"
                    " n.is_read, n.former_id from former_{table} as f join numbered as n on n.former_id = f.source_id",
                    table=table,
                )
            )
        self._take_over_sources(vanished)
        self._take_over_quarantine()
        self._run(
            "insert into internal.store_v1 select key, value from former_store_v1"
            " where key not in (select key from internal.store_v1)"
        )
        return self._take_over_events(read)

    def _take_over_sources(self, vanished: Collection[int]) -> None:
        update = (
            "update internal.source_v1 as n set {values} from numbered_source_v1 as o where n.source_id = o.source_id"
        )
        self._run(sql(update, values="generation = o.generation, first_ingested_at = o.first_ingested_at"))
        # Figures depend on the order of reading; if the same lines were read, the former figures hold.
        kept = [name for name in self._columns["source_v1"] if name not in {"source_id", "path", "state", "status"}]
        same = "".join(f" and n.{name} = o.{name}" for name in ("format", "lines", "bytes", *FATES))
        self._run(sql(update, values=", ".join(f"{name} = o.{name}" for name in kept)) + same)
        self._run(
            "insert into internal.source_v1 by name select * exclude (is_read, former_id) replace ("
            " case when former_id in (select unnest($1)) then 'vanished' else status end as status,"
            " case when former_id in (select unnest($1)) and status in ('damaged', 'unsupported')"
            " then concat_ws(': ', status, detail) else detail end as detail)"
            " from numbered_source_v1 where not is_read",
            [sorted(vanished)],
        )

    def _take_over_quarantine(self) -> None:
        """Keep the moments of rejects, and the rejects of sources that were not read again.

        Those that were pruned or mended do not come back.
        """
        same = "q.source_id = o.source_id and q.byte_offset = o.byte_offset and q.why = o.why"
        self._run(
            sql(
                "delete from internal.quarantine_v1 as q where exists ("
                "from internal.source_v1 as n join numbered_source_v1 as o using (source_id)"
                " where n.source_id = q.source_id and n.quarantined = o.quarantined and n.lines = o.lines)"
                " and not exists (from numbered_quarantine_v1 as o where {same})",
                same=same,
            )
        )
        self._run(
            sql(
                "update internal.quarantine_v1 as q set ingested_at = o.ingested_at, source_path = o.source_path"
                " from numbered_quarantine_v1 as o where {same}",
                same=same,
            )
        )
        self._run(
            "insert into internal.quarantine_v1 by name"
            " select * exclude (is_read, former_id) from numbered_quarantine_v1 where not is_read"
        )

    def _take_over_events(self, read: Collection[str]) -> int:
        """Keep source and moments of events, and the events that only this store has, with their facts and verdicts.

        An event of a log that was read again is not among them if it was dated by the time of its file.
        """
        self._run(
            "update internal.event_v1 as e set ingested_at = o.ingested_at, source_format = o.source_format,"
            " source_path = o.source_path, source_line = o.source_line,"
            " occurred_at = case when e.time_source = 'file' then o.occurred_at else e.occurred_at end"
            " from former_event_v1 as o where e.event_id = o.event_id"
        )
        carried = self._run(
            filled(
                "event_v1",
                "select * from former_event_v1 where event_id not in (select event_id from internal.event_v1)"
                " and not (time_source = 'file' and source_path in (select unnest($1)))",
            ),
            [list(read)],
        )[0][0]
        leave_out_told_twice(self._connection)
        self._run(
            filled(
                "facts_v1",
                "select * from former_facts_v1 where facts_id in (select facts_id from internal.event_v1)"
                " and facts_id not in (select facts_id from internal.facts_v1)",
            )
        )
        self._run(
            "insert into internal.verdict_v1 by name"
            " select * from former_verdict_v1 where facts_id in (select facts_id from internal.facts_v1)"
        )
        return int(carried)

    def detach(self) -> None:
        """Detach the former store."""
        for table in _TABLES:
            self._run(f"drop view if exists temp.former_{table}")
        self._run(f"detach {_FORMER}")
