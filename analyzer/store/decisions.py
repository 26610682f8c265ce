"""The analyzer's own decisions: in the journal first, then in the store.

A journal that is read back gives exactly the rows that `decide` put into the store. An event of the same type in any
other log is an event like others and decides nothing: who may write to a log can neither silence a check nor empty a
store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import duckdb
import msgspec

from analyzer.errors import StoreError
from analyzer.events import Event, EventLog
from analyzer.events.ids import new_id
from analyzer.events.recorded import Recorded, recorded
from analyzer.events.times import now
from analyzer.store.db.frames import frame_of, register
from analyzer.store.db.tables.columns import filled
from analyzer.store.journal import record_all

DECISIONS = (
    "ruleset.applied",
    "finding.opened",
    "finding.resolved",
    "finding.reported",
    "finding.handled",
    "finding.delivered",
    "night.judged",
    "history.pruned",
)
"""Types that only this program writes into a journal; they are never pruned."""
DECIDED = "source_path is null"
"""What tells the rows of decisions from those of logs: they are in the journal alone."""


def decide(
    connection: duckdb.DuckDBPyConnection, journal: EventLog | None, kind: str, payload: Mapping[str, Any]
) -> None:
    """Record one decision. Call it inside of the transaction that acts on it.

    Raises:
        StoreError: the journal cannot be written; nothing was done.
    """
    decide_all(connection, journal, [(kind, payload)])


def decide_all(
    connection: duckdb.DuckDBPyConnection,
    journal: EventLog | None,
    decisions: Iterable[tuple[str, Mapping[str, Any]]],
    at: datetime | None = None,
) -> None:
    """Record decisions of one moment (None: now), in their order. Call it inside of the transaction that acts on them.

    The journal may have the first few of them when its writing fails, or when the process dies: what belongs together
    says so in its payload.

    Raises:
        StoreError: the journal cannot be written, or a decision is too long for a line; the store has none of them.
    """
    moment = at or now()
    events = [_whole(Event(kind, moment, None, dict(payload), new_id())) for kind, payload in decisions]
    if journal is not None:
        record_all(journal, events)
    keep_decided(connection, events)


def keep_decided(connection: duckdb.DuckDBPyConnection, decisions: Iterable[Recorded]) -> None:
    """Insert decisions that are in the journal into the store."""
    rows = [(one.event.id, one.event.type, one.event.occurred_at, one.payload.decode()) for one in decisions]
    register(connection, "staged_decision", frame_of(_STAGED, rows))
    connection.execute(
        filled(
            "event_v1",
            "select event_id, type, occurred_at, true as recognised, payload, 'analyzer' as source_format,"
            " occurred_at as ingested_at from staged_decision",
        )
    ).fetchall()


_STAGED = {
    "event_id": "String",
    "type": "String",
    "occurred_at": "Datetime",
    "payload": "String",
}


def _whole(event: Event) -> Recorded:
    """The decision as the journal will give it back. One that is too long for a line is refused."""
    kept = recorded(event)
    if kept.truncated:
        said = f"a decision of {msgspec.json.decode(kept.payload)['original_bytes']:,} bytes ({event.type})"
        said += " is too long for the journal"
        raise StoreError(said, "nothing was written down; please report this")
    return kept


def as_decided(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the rows of decisions that were read from a journal equal to those that `decide` writes."""
    connection.execute(
        "update internal.event_v1 set schema_version = null, writer = null, seq = null, host = null,"
        " time_source = null, recognised = true, source_format = 'analyzer', source_path = null, source_line = null,"
        " ingested_at = occurred_at"
        " where source_path in (select path from internal.source_v1)"
    ).fetchall()
