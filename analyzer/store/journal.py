"""Keep the journal, the log folder beside a store: decisions go first into it, then into the store.

Every question to a store loads this module, so what writes logs is loaded where it is used.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from analyzer.command_lines import command_line
from analyzer.errors import StoreError
from analyzer.events.times import now
from analyzer.store.db.frames import frame_of, register
from analyzer.store.db.location import MEMORY, replacement_waits

if TYPE_CHECKING:
    import duckdb

    from analyzer.events import EventLog


def part_day(path: str) -> date | None:
    """Return the UTC day in a file's name; None for a file that is no part of an event log."""
    from analyzer.events.appending.places import PART

    match = PART.match(os.path.basename(path))
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


@contextlib.contextmanager
def finished(path: str) -> Iterator[bool]:
    """Yield whether this part is final: its day is over and no writer has it open.

    Writers hold a shared lock while they have a part open; inside the block they cannot get it.

    Raises:
        OSError: the file cannot be opened.
    """
    from analyzer.events.appending import system

    day = part_day(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield system.take_alone(descriptor) and day is not None and day < now().date()
    finally:
        os.close(descriptor)


ENDING = ".journal"
_MAGIC, _MAGIC_OFFSET = b"DUCK", 8
"""How a DuckDB file begins: https://duckdb.org/docs/stable/internals/storage; the offset is in bytes."""


def journal_of(store_path: str) -> str | None:
    """Return the path of a store's journal; None for a store in memory."""
    if store_path == MEMORY:
        return None
    base, ending = os.path.splitext(os.path.realpath(store_path))
    return f"{base}{ENDING}" if ending != ENDING else f"{base}{ending}{ENDING}"


@contextlib.contextmanager
def open_journal(store_path: str) -> Iterator[EventLog | None]:
    """Open the journal of a store; gives None for a store in memory."""
    folder = journal_of(store_path)
    if folder is None:
        yield None
        return
    from analyzer.events import EventLog

    with EventLog(folder, durability="batch") as journal:
        yield journal


_AT_ONCE = 500
"""Lines that become objects together."""


def record_all(journal: EventLog, lines: Iterable[bytes]) -> None:
    """Append lines of `event_line` to a journal, and wait until they are on the disk.

    The store's own commit is synced: it must not know of events that a power cut takes from the journal.

    Raises:
        StoreError: the journal cannot be written; it may have the first few of the events.
    """
    waiting = iter(lines)
    groups = iter(lambda: list(islice(waiting, _AT_ONCE)), [])
    if not (all(map(journal.record, groups)) and journal.sync()):
        raise StoreError(f"the journal in {journal.folder} cannot be written", "free space, or check its permissions")


def parts_of(folder: str) -> list[str]:
    """List the parts of a journal, oldest first; none where there is no such folder."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl")]


def is_journal(folder: str) -> bool:
    """Say whether a folder is the journal of a store, by its name and by the parts in it."""
    real = os.path.realpath(folder)
    return real.endswith(ENDING) and any(part_day(path) is not None for path in parts_of(real))


RULESETS = "rulesets"
"""The folder in a journal that keeps the rules of applied rulesets, a file each."""


def left_behind(store_path: str) -> str | None:
    """Return the journal of a store that is gone, if the journal has any part; else None."""
    folder = journal_of(store_path)
    if folder is None or os.path.exists(store_path) or replacement_waits(store_path):
        return None
    return folder if parts_of(folder) else None


def was_store(path: str) -> bool:
    """Say whether an unreadable file was a store: it begins like a database or has a journal."""
    with open(path, "rb") as handle:
        handle.seek(_MAGIC_OFFSET)
        begins = handle.read(len(_MAGIC)) == _MAGIC
    return begins or os.path.isdir(journal_of(path) or "")


def rebuild_hint(store_path: str) -> str:
    """Return the hint that tells how to make a damaged, outdated or missing store again."""
    return f"make it again from the logs: {command_line('rebuild', 'PATH...', store=store_path)}"


DECISIONS = (
    "ruleset.applied",
    "finding.opened",
    "finding.resolved",
    "finding.reported",
    "finding.handled",
    "finding.delivered",
    "night.judged",
    "history.pruned",
    "change.noted",
    "change.withdrawn",
)
"""Types that only this program writes into a journal; they are never pruned."""
DECIDED = "source_path is null"
"""Selects the rows of decisions: they come from the journal, not from a log."""


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
    from analyzer.events.appending.writer import event_line
    from analyzer.events.model import Event, new_id

    moment = at or now()
    lines: list[bytes] = []
    for kind, payload in decisions:
        try:
            lines.append(event_line(Event(kind, moment, None, dict(payload), new_id()), whole=True))
        except ValueError as error:
            message = f"a decision ({kind}) is too long for the journal: {error}"
            raise StoreError(message, "nothing was written down; please report this") from None
    if journal is not None:
        record_all(journal, lines)
    keep_decided(connection, lines)


def keep_decided(connection: duckdb.DuckDBPyConnection, lines: Iterable[bytes]) -> set[str]:
    """Insert decisions that are lines of the journal into the store; return their types."""
    from analyzer.events.rows import RowDecoder
    from analyzer.events.times import EPOCH
    from analyzer.store.db.tables.columns import filled

    rows = RowDecoder(EPOCH, journal=True).decode(b"\n".join(lines)).rows
    columns = zip(rows.ids, rows.types, rows.moments, rows.payloads, rows.source_formats, strict=True)
    # A foreign log may say of a record that it is a decision.
    decisions = [row for *row, translated_from in columns if translated_from is None]
    register(connection, "staged_decision", frame_of(dict.fromkeys(_STAGED, "String"), decisions))
    connection.execute(
        filled(
            "event_v1",
            "select event_id, type, moment::timestamp as occurred_at, true as recognised, payload,"
            " 'analyzer' as source_format, moment::timestamp as ingested_at from staged_decision",
        )
    ).fetchall()
    return {row[1] for row in decisions}


_STAGED = ("event_id", "type", "moment", "payload")


def as_decided(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the rows of decisions that were read from a journal equal to those that `decide` writes."""
    connection.execute(
        "update internal.event_v1 set schema_version = null, writer = null, seq = null, host = null,"
        " time_source = null, recognised = true, source_format = 'analyzer', source_path = null, source_line = null,"
        " ingested_at = occurred_at"
        " where source_path in (select path from internal.source_v1)"
    ).fetchall()
