"""Bring the events of a lake of a release up to 0.2 into a shared table, and its decisions into a store."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from analyzer.errors import StoreError
from analyzer.store.db.connection import connect, private_files
from analyzer.store.db.frames import ask, register, sql
from analyzer.store.db.location import MEMORY
from analyzer.store.fleet.ship import Push, push
from analyzer.store.fleet.table import table_named
from analyzer.store.journal import RULESETS, journal_of
from analyzer.store.upkeep.rebuild import rebuild

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = {
    "facts_v1": "facts_id, facts",
    "event_v1": "event_id, type, occurred_at, session_id, schema_version, writer, seq, dropped_before, host,"
    " time_source, payload, facts_id, source_format, source_path, source_line, ingested_at",
}
"""The tables of a lake that hold its events, and the columns that a line is made of."""


def push_lake(lake: str, to: str, store: str | None = None) -> Push:
    """Push all events of a lake. Make a new store of what the lake's users and nights decided, if one is named.

    Raises:
        AnalyzerError: a name can be that of no lake, or of no table.
        StoreError: there is no lake, the store exists, or something cannot be read or written.
    """
    former = table_named(lake).path
    if store is not None and (os.path.exists(store) or os.path.exists(str(journal_of(store)))):
        raise StoreError(f"{store} or its journal is there already", "name a new store for what the lake decided")
    with closing(connect(MEMORY, read_only=False)) as connection:
        for name, columns in _COLUMNS.items():
            for frame in _frames(former, name):
                register(connection, "of_lake", frame)
                insert = "insert into internal.{name} by name select {columns} from of_lake"
                connection.execute(sql(insert, name=name, columns=columns)).fetchall()
        if store is not None:
            decided = ask(connection, "select event_id from internal.event_v1 where source_path is null")
            with private_files():
                _keep_decisions(str(journal_of(store)), list(_frames(former, "journal_v1")), set(decided["event_id"]))
            rebuild(store, [str(journal_of(store))])
        return push(connection, to)


def _frames(lake: str, name: str) -> list[pl.DataFrame]:
    import polars as pl
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        files = DeltaTable(f"{lake}/{name}").file_uris()
    except DeltaError:
        raise StoreError(f"there is no lake at {lake}", "name what stood after --store delta:") from None
    return [pl.read_parquet(file, hive_partitioning=False) for file in files]


def _keep_decisions(journal: str, frames: list[pl.DataFrame], decided: set[str]) -> None:
    """Write the lines of decisions, and the rulesets that were applied, as a journal."""
    os.makedirs(os.path.join(journal, RULESETS))
    with open(os.path.join(journal, "events-1970-01-01.jsonl"), "w", encoding="utf-8") as part:
        for name, line in (row for frame in frames for row in frame.select("event_id", "line").iter_rows()):
            if name in decided:
                part.write(f"{line}\n")
            elif name is not None and name.startswith(f"{RULESETS}/"):
                with open(os.path.join(journal, RULESETS, os.path.basename(name)), "w", encoding="utf-8") as ruleset:
                    ruleset.write(line)
