"""Retention in a lake: what happened before a day goes in one batch, with the decision that keeps it from coming back.

Files that are no longer named stay in the folders of the tables until these are vacuumed, as in any lake.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

from analyzer.errors import AnalyzerError
from analyzer.events import EventLog
from analyzer.events.times import format_time
from analyzer.lake.files import check_version, lake_errors
from analyzer.lake.files import opened as table_of
from analyzer.lake.location import Lake, for_spark
from analyzer.lake.session import require, session
from analyzer.lake.writing.applying import SUMMED
from analyzer.lake.writing.deciding import record, rows_of
from analyzer.lake.writing.ledger import LAST, Ledger
from analyzer.lake.writing.opening import opened, spark_failures
from analyzer.store.db.connection import connect, store_errors
from analyzer.store.db.lock import MEMORY
from analyzer.store.decisions import DECISIONS, decide
from analyzer.store.upkeep.prune import Prune, horizon_of, nanoseconds, set_horizon

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_AT_ONCE = 100_000
"""Ids of facts that are deleted together."""


def prune(lake: Lake, before: datetime, *, files: bool = False, dry_run: bool = False) -> Prune:
    """Delete the events of a lake before a moment (naive UTC), with all that rests on them alone; decisions stay.

    Raises:
        AnalyzerError: `files` is asked for; logs on shared storage are not ours to delete.
        StoreBusyError: another process writes to the lake.
        StoreError: there is no lake, or it cannot be read or written; then nothing of it is deleted.
    """
    if files:
        raise AnalyzerError("--files is for a store in a file", "leave it out: the logs of a lake stay where they are")
    require(lake)
    check_version(lake)
    if dry_run:
        result = Prune(before, done=False)
        _count(result, partial(table_of, lake), lake)
        return result
    with opened(lake) as ledger:
        return prune_held(lake, ledger, before)


def prune_held(lake: Lake, ledger: Ledger, before: datetime) -> Prune:
    """Delete the same from a lake that this process holds already.

    Raises:
        StoreError: as `prune`.
    """
    result = Prune(before, done=True)
    with spark_failures(), store_errors():
        _count(result, ledger.__getitem__, lake)
        with connect(MEMORY, read_only=False) as connection, ledger.batch():
            record(ledger, connection, partial(_decide, before))
            ledger.replace("store_v1", rows_of(connection, "store_v1"))
            horizon = horizon_of(connection) or before
            # A plain timestamp would be one of nanoseconds, which no column here is compared with.
            moment = f"arrow_cast('{horizon.isoformat()}', 'Timestamp(Microsecond, None)')"
            ledger.delete("event_v1", f"occurred_at < {moment} and not ({DECIDED})")
            if ids := _old_sources(ledger[LAST], horizon):
                ledger.delete("quarantine_v1", f"source_id in ({', '.join(map(str, ids))})")
            _drop_facts(session(lake), ledger)
            if ledger.rows(SUMMED).num_rows:
                ledger.delete(SUMMED, "true")
    return result


def _decide(before: datetime, connection: duckdb.DuckDBPyConnection, journal: EventLog) -> None:
    former = horizon_of(connection)
    if former is None or before > former:
        decide(connection, journal, "history.pruned", {"before": format_time(before)})
    set_horizon(connection, before)


DECIDED = f"source_path is null and type in ({', '.join(repr(name) for name in DECISIONS)})"


def _count(result: Prune, table: Callable[[str], DeltaTable], lake: Lake) -> None:
    """How much goes, as the files of the tables say."""
    moment, decided = ds.field("occurred_at"), ds.field("source_path").is_null() & ds.field("type").isin(DECISIONS)
    old = (moment < pa.scalar(result.before, pa.timestamp("us"))) & ~decided
    with lake_errors(lake):
        result.events = table("event_v1").to_pyarrow_dataset().count_rows(filter=old)
        ids = _old_sources(table(LAST), result.before)
        rejects = ds.field("source_id").isin(pa.array(ids, pa.int64()))
        result.quarantined = table("quarantine_v1").to_pyarrow_dataset().count_rows(filter=rejects)


def _old_sources(sources: DeltaTable, before: datetime) -> list[int]:
    """The sources whose files were last changed before a moment."""
    changed = ds.field("mtime_ns")
    rows = sources.to_pyarrow_dataset().to_table(
        columns=["source_id"], filter=(changed >= 0) & (changed < nanoseconds(before))
    )
    found: list[int] = sorted(rows["source_id"].to_pylist())
    return found


def _drop_facts(spark: SparkSession, ledger: Ledger) -> None:
    """Delete facts of which no event is left, and their verdicts."""

    def rows(name: str) -> list[str]:
        return [for_spark(one) for one in ledger[name].file_uris()]

    facts, events = rows("facts_v1"), rows("event_v1")
    if not facts:
        return
    gone = spark.read.parquet(*facts).select("facts_id")
    if events:
        left = spark.read.parquet(*events).where("facts_id is not null").select("facts_id")
        gone = gone.join(left, "facts_id", "left_anti")
    ids = gone.toArrow()
    for first in range(0, ids.num_rows, _AT_ONCE):
        some = ids.slice(first, _AT_ONCE)
        for name in ("facts_v1", "verdict_v1"):
            ledger.drop(name, "facts_id", some)
