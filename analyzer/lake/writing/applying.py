"""A batch → the tables of a lake, decided by the very statements of a store: one in memory has the rows that the batch
meets, takes the batch, and what has become of it is committed.

Invariant: it holds the batch, what the batch meets, and the rows of all sources, but never history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Self, cast

import duckdb
import pyarrow as pa

from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.writing.ledger import LAST, Ledger
from analyzer.lake.writing.meeting import rows_with
from analyzer.store.db.arrow import ArrowStream
from analyzer.store.db.connection import connect, store_errors
from analyzer.store.db.frames import register
from analyzer.store.db.lock import MEMORY
from analyzer.store.ingest.batch import Sealed
from analyzer.store.ingest.run import checkpoints
from analyzer.store.ingest.statements import CLAIMED
from analyzer.store.ingest.writing import Writer
from analyzer.store.upkeep.prune import apply_horizon
from analyzer.store.verdicts.suggesting import add_suggestions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HELD = ("event_v1", "facts_v1", "quarantine_v1")
"""Tables that hold no more than a batch and what it meets."""
SUMMED = "sum_day_v1"
"""The table of the days that are summed."""
_WHOLE = ("store_v1", LAST)
"""Tables that are held as a whole: a row a source, and a few settings."""


class Applying:
    """Applies sealed batches to a lake. Use as a context manager."""

    def __init__(self, spark: Callable[[], SparkSession], ledger: Ledger, now: datetime) -> None:
        self._spark, self._ledger = spark, ledger
        self.connection: duckdb.DuckDBPyConnection = connect(MEMORY, read_only=False)
        """The store in memory, with the rows of all sources."""
        for name in _WHOLE:
            self.connection.execute(f"delete from internal.{name}").fetchall()  # noqa: S608 - names from this file alone
            self._hold(name, ledger.rows(name))
        self._known = {one.source_id for one in checkpoints(self.connection)}
        self._writer = Writer(self.connection, None, now)
        self.pruned = 0
        """Events that were left out because they are older than what the lake keeps."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def apply(self, batch: Sealed) -> None:
        """Commit a batch; its figures are added to those of its sources.

        Raises:
            AccountingError: lines or bytes do not add up; nothing of it is in the lake.
            StoreBusyError: another process has taken over.
            StoreError: the lake does not take it. What it has of it, whoever writes next takes back.
        """
        with store_errors():
            touched = self._meet(batch)
            self._writer.apply(batch)
            self._took()
            recorded = self._rows(JOURNAL, _RECORDED) if "recorded" in batch.events.columns else None
            self.pruned += apply_horizon(self.connection)
            add_suggestions(self.connection)
            with self._ledger.batch():
                self._commit(batch, touched, recorded)

    def _took(self) -> None:
        """What is to be done to the rows of a batch before they are committed: nothing, for logs."""

    def _meet(self, batch: Sealed) -> set[int]:
        """Hold what the batch meets; the sources whose quarantine may lose rows."""
        for name in _HELD:
            self.connection.execute(f"delete from internal.{name}").fetchall()  # noqa: S608 - as above
        ids = batch.events["event_id"].unique()
        self._hold_with("event_v1", "event_id", [*ids, *(CLAIMED + ids)])
        register(self.connection, "staged_event", batch.events)
        facts = self.connection.execute("select distinct md5(facts) from staged_event where facts is not null")
        self._hold_with("facts_v1", "facts_id", [row[0] for row in facts.fetchall()])
        for name, key in (("event_v1", "event_id"), ("facts_v1", "facts_id")):
            self.connection.execute(f"create or replace temp table met_{name} as select {key} from internal.{name}")  # noqa: S608
        self.connection.execute(
            "create or replace temp table unasked as"
            " select facts_id from internal.facts_v1 where suggested_probability is null"
        )
        touched = {one.checkpoint.source_id for one in batch.sources if one.retracted_bytes} | set(batch.forgotten)
        if touched:
            touched |= {one.checkpoint.source_id for one in batch.sources}
            kept = self._ledger.rows("quarantine_v1", [("source_id", "in", sorted(touched))])
            self._hold("quarantine_v1", kept)
        return touched

    def _hold_with(self, name: str, key: str, values: list[str]) -> None:
        found = rows_with(self._spark, self._ledger[name], key, values)
        if found is not None:
            self._hold(name, found)

    def _hold(self, name: str, rows: pa.Table) -> None:
        if rows.num_rows:
            self.connection.register("held", rows.select(tables()[name].columns.names))
            self.connection.execute(f"insert into internal.{name} by name from held").fetchall()
            self.connection.unregister("held")

    def _commit(self, batch: Sealed, touched: set[int], recorded: pa.Table | None) -> None:
        ledger, rows = self._ledger, self._rows
        if self.connection.execute("select count(*) from claimed where place is null").fetchall()[0][0]:
            found = self.connection.execute("select distinct event_id from claimed where place is null order by all")
            ids = [row[0] for row in found.fetchall()]
            both = ", ".join(_quoted(one) for name in ids for one in (name, CLAIMED + name))
            ledger.replace(
                "event_v1",
                rows("event_v1", f"from internal.event_v1 where event_id in ({both})"),
                f"event_id in ({both})",
            )
        events = rows("event_v1", _NEW_EVENTS)
        ledger.append("event_v1", events)
        if events.num_rows and ledger.rows(SUMMED).num_rows:
            # What was summed of a day no longer says what its events say, and they may be of any day.
            ledger.delete(SUMMED, "true")
        asked = rows("facts_v1", _ASKED)
        if asked.num_rows:
            ledger.upsert("facts_v1", "facts_id", asked)
        ledger.append("facts_v1", rows("facts_v1", "from internal.facts_v1 anti join met_facts_v1 using (facts_id)"))
        rejected = rows("quarantine_v1", "from internal.quarantine_v1")
        if touched:
            ledger.replace("quarantine_v1", rejected, f"source_id in ({_numbers(touched)})")
        else:
            ledger.append("quarantine_v1", rejected)
        if recorded is not None:
            ledger.append(JOURNAL, recorded)
        self._commit_sources(batch)

    def _commit_sources(self, batch: Sealed) -> None:
        ids = {one.checkpoint.source_id for one in batch.sources}
        gone = set(batch.forgotten) - ids
        if gone & self._known:
            self._ledger.delete(LAST, f"source_id in ({_numbers(gone)})")
        changed = self._rows(LAST, f"from internal.{LAST} where batch_id = {_quoted(batch.batch_id)}")
        if ids & self._known:
            self._ledger.upsert(LAST, "source_id", changed)
        else:
            self._ledger.append(LAST, changed)
        self._known = self._known - gone | ids

    def _rows(self, name: str, statement: str) -> pa.Table:
        """The rows of a statement as a table of the lake has them."""
        return tables()[name].rows(cast("ArrowStream", self.connection.sql(statement)))


_RECORDED = """
select event_id, recorded as line
from staged_event
anti join repeated using (place)
where recorded is not null
order by place
"""
_NEW_EVENTS = f"""
from internal.event_v1
anti join met_event_v1 using (event_id)
anti join (select '{CLAIMED}' || event_id as event_id from claimed where place is null) as c using (event_id)
"""  # noqa: S608 - a constant of the store's own statements
_ASKED = "from internal.facts_v1 semi join unasked using (facts_id) where suggested_probability is not null"


def _numbers(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
