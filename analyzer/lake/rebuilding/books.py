"""What is small of a lake, in files of DuckDB's beside the driver: sources, quarantine, settings and decisions.

Invariant: what becomes of them is decided by the statements that make a store in a file again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Self, cast

import duckdb
import pyarrow as pa

from analyzer.lake.layout import tables
from analyzer.lake.writing.deciding import insert
from analyzer.lake.writing.ledger import LAST, Ledger
from analyzer.store.db.arrow import ArrowStream
from analyzer.store.db.connection import connect, transaction
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.upkeep.carry_over import FATES, FORMER, NATIVE, FormerStore, split
from analyzer.store.upkeep.prune import horizon_of, restore_horizon
from analyzer.store.upkeep.rebuild import Matched, adopt_sources
from analyzer.store.verdicts.rulesets import applied, restore_active

if TYPE_CHECKING:
    from deltalake import DeltaTable

_ROWS = 20_000
"""Rows that are in memory at a time."""
_QUARANTINE = "quarantine_v1"


class Books:
    """The new rows beside the former ones. Use as a context manager."""

    def __init__(self, folder: str, former: Ledger | None) -> None:
        """`folder` is one on this machine's disk that is nobody else's; `former` is None where it cannot be read."""
        self._former: FormerStore | None = None
        if former is not None:
            path = os.path.join(folder, "former.duckdb")
            with closing(connect(path, read_only=False)) as connection:
                connection.execute("delete from internal.store_v1").fetchall()
                for name in ("store_v1", LAST, _QUARANTINE):
                    _load(connection, name, former[name])
        self.connection = connect(os.path.join(folder, "new.duckdb"), read_only=False)
        if former is not None:
            self._former = FormerStore(self.connection, path)
        self.known: list[SourceCheckpoint] = self._former.sources() if self._former is not None else []
        """The sources of the former lake."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def take(self, new: Ledger, decisions: pa.Table) -> None:
        """Hold what was read again, and all decisions that there are."""
        for name in (LAST, _QUARANTINE):
            _load(self.connection, name, new[name])
        insert(self.connection, "event_v1", decisions)

    def unsettled(self, matched: Matched) -> list[tuple[int, str, str]]:
        """Id, path and format of the foreign logs whose figures have to be split by events: the journal had events of
        them before they were read, and the former lake does not say how they are split.
        """
        self.connection.execute("create or replace temp table matched (path varchar, source_id bigint)").fetchall()
        for path, item in matched.readable.items():
            self.connection.execute("insert into matched values ($1, $2)", [path, item.source_id]).fetchall()
        names = ("format", "lines", "bytes", *FATES)
        settled = (
            f" and not exists (from matched as m join {FORMER}.internal.source_v1 as o using (source_id)"
            f" where m.path = n.path and {' and '.join(f'n.{name} = o.{name}' for name in names)})"
        )
        found: list[tuple[int, str, str]] = self.connection.execute(
            "select source_id, path, format from internal.source_v1 as n where duplicates > 0"  # noqa: S608
            f" and format not in ({', '.join(map(repr, NATIVE))}){settled if self._former is not None else ''}"
        ).fetchall()
        return found

    def settle(self, splits: list[dict[str, int]], matched: Matched) -> list[str]:
        """Take over what the former lake says; the paths of its sources that have vanished."""
        vanished: list[str] = []
        with transaction(self.connection):
            for one in splits:
                split(self.connection, one["source_id"], one["events"], one["lines"], one["size"])
            if self._former is not None:
                vanished = adopt_sources(self.connection, self._former, self.known, matched)
            restore_horizon(self.connection)
            self.ruleset = restore_active(self.connection)
        self.horizon = horizon_of(self.connection)
        if self._former is not None:
            self._former.detach()
        return vanished

    def applied(self) -> list[tuple[str, datetime]]:
        """The rulesets that were applied, by digest and moment, in their order."""
        return applied(self.connection)

    def rows(self, name: str) -> Iterator[pa.Table]:
        """The rows of a table, as a lake has them."""
        for batch in self.connection.sql(f"from internal.{name}").to_arrow_reader(_ROWS):
            yield tables()[name].rows(cast("ArrowStream", batch))


def _load(connection: duckdb.DuckDBPyConnection, name: str, table: DeltaTable) -> None:
    rows = table.to_pyarrow_dataset().scanner(columns=tables()[name].columns.names, batch_size=_ROWS)
    insert(connection, name, rows.to_reader())
