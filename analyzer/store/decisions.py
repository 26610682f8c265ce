"""The analyzer's own decisions: in the journal first, then in the store.

A journal that is read back gives exactly the rows that `decide` put into the store. An event of the same type in any
other log is an event like others and decides nothing: who may write to a log can neither silence a check nor empty a
store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import msgspec

from analyzer.errors import StoreError
from analyzer.events import Event, EventLog
from analyzer.events.ids import new_id
from analyzer.events.sanitize import sanitize
from analyzer.events.times import now

DECISIONS = ("ruleset.applied", "finding.opened", "finding.resolved", "night.judged", "history.pruned")
"""Types that only this program writes into a journal; they are never pruned."""
DECIDED = "source_path is null"
"""What tells the rows of decisions from those of logs: they are in the journal alone."""


def decide(
    connection: duckdb.DuckDBPyConnection, journal: EventLog | None, kind: str, payload: Mapping[str, Any]
) -> Event:
    """Record a decision. Call it inside of the transaction that acts on it.

    Raises:
        StoreError: the journal cannot be written; nothing was done.
    """
    event = Event(kind, now(), None, sanitize(payload), new_id())
    if journal is not None and (journal.record(event) is None or not journal.sync()):
        raise StoreError(f"the journal in {journal.folder} cannot be written", "free space, or check its permissions")
    connection.execute(
        "insert into internal.event_v1 (event_id, type, occurred_at, recognised, payload, source_format, ingested_at)"
        " values ($1, $2, $3, true, $4, 'analyzer', $3)",
        [event.id, event.type, event.occurred_at, msgspec.json.encode(event.payload).decode()],
    ).fetchall()
    return event


def as_decided(connection: duckdb.DuckDBPyConnection) -> None:
    """Give the decisions that were read from a journal the row that `decide` gives them."""
    connection.execute(
        "update internal.event_v1 set schema_version = null, writer = null, seq = null, host = null,"
        " time_source = null, recognised = true, source_format = 'analyzer', source_path = null, source_line = null,"
        " ingested_at = occurred_at"
        " where source_path in (select path from internal.source_v1)"
    ).fetchall()
