"""Cut a slice: a store that holds a window of another one, ids kept.

Every command opens it like any other.

Decisions are copied whole, so that findings and nights read as they were; what detection counts is
counted again. A slice has no journal: it is a copy, and logs are read into the store that it was
cut from.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from datetime import datetime

from analyzer.command_lines import command_line
from analyzer.errors import StoreError, system_text
from analyzer.events.times import format_time, now
from analyzer.frozen import frozen
from analyzer.store.db.connection import connect, private_files, store_errors, transaction
from analyzer.store.db.engine import Connection, duckdb, execute
from analyzer.store.db.frames import quoted, sql
from analyzer.store.db.location import WAL, exclusive, location, patiently, sync
from analyzer.store.db.tables.schema import leave_out_told_twice, remember, setting
from analyzer.store.journal import DECIDED, DECISIONS
from analyzer.store.upkeep.prune import set_horizon
from analyzer.store.verdicts.rulesets import kept_rules

SLICE = "slice"
"""Key under which a slice keeps the sentence about itself."""
_FROM = "analyzer_whole"
_KEPT_KEYS = ("active_ruleset", "active_rules", "horizon")
_DECISIONS = f"({DECIDED} and type in ({', '.join(repr(name) for name in DECISIONS)}))"


@frozen
class Slice:
    """A slice that was made: its path, its sentence about itself, and its number of events."""

    path: str
    said: str
    events: int


def slice_sentence(connection: Connection) -> str | None:
    """Return the sentence of a slice about itself; None for a whole store."""
    return setting(connection, SLICE)


def cut_slice(store_path: str, target: str, since: datetime | None, until: datetime | None) -> Slice:
    """Make a store at `target` of what another one holds of a window (naive UTC), or make such a slice again.

    Raises:
        StoreBusyError: another process has either open.
        StoreError: there is a store at `target` that is no slice, or either cannot be opened or written.
    """
    real, whole = location(target), location(store_path)
    if real == whole:
        raise StoreError(f"{target} is the store itself", "name another file with --to")
    work = f"{real}.slice"
    with exclusive(target):
        if os.path.exists(real):
            _refuse_whole(real)
        _discard(work)
        try:
            # Opening it brings a store of an earlier version up to date.
            patiently(lambda: connect(whole, read_only=True)).close()
            with connect(work, read_only=False) as connection, store_errors():
                rules, sentence, events = _fill(connection, whole, since, until)
                execute(connection, "checkpoint")
            if rules and (own := kept_rules(whole, rules)) and os.path.exists(own):
                copy = str(kept_rules(real, rules))
                with private_files():
                    os.makedirs(os.path.dirname(copy), exist_ok=True)
                    shutil.copyfile(own, copy)
            sync(work)
            os.replace(work, real)
            sync(os.path.dirname(real))
        except duckdb.Error as error:
            raise StoreError(f"{target} cannot be made: {error}", "free space, or check permissions") from None
        except OSError as error:
            raise StoreError(
                f"{target} cannot be made: {system_text(error)}", "free space, or check permissions"
            ) from None
        finally:
            _discard(work)
    return Slice(target, sentence, events)


def _refuse_whole(real: str) -> None:
    with patiently(lambda: connect(real, read_only=True)) as connection:
        if slice_sentence(connection) is None:
            raise StoreError(f"{real} is a store of its own and no slice", "name another file with --to")
    if os.path.exists(real + WAL):
        raise StoreError(f"{real} was not closed by the last who wrote to it", command_line("doctor", store=real))


def _fill(
    connection: Connection, whole: str, since: datetime | None, until: datetime | None
) -> tuple[str | None, str, int]:
    """Copy the rows of the window; return active ruleset, sentence and number of events."""
    execute(connection, f"attach {quoted(whole)} as {_FROM} (read_only)")
    window = f"(occurred_at >= coalesce($1, occurred_at) and ($2 is null or occurred_at < $2) or {_DECISIONS})"
    facts = "facts_id in (select facts_id from internal.event_v1 where facts_id is not null)"
    with transaction(connection):
        for table, only, parameters in (
            ("event_v1", window, [since, until]),
            ("facts_v1", facts, []),
            ("verdict_v1", facts, []),
            ("source_v1", "true", []),
            ("quarantine_v1", "true", []),
            ("store_v1", "list_contains($1, key)", [_KEPT_KEYS]),
        ):
            execute(
                connection,
                sql(
                    "insert into internal.{table} by name select * from {whole}.internal.{table} where {only}",
                    table=table,
                    whole=_FROM,
                    only=only,
                ),
                parameters,
            )
        leave_out_told_twice(connection)
        sentence = call_slice(connection, whole, since, until)
    execute(connection, f"detach {_FROM}")
    events = execute(connection, "select count(*) from internal.event_v1")
    return setting(connection, "active_ruleset"), sentence, int(events[0][0])


def call_slice(connection: Connection, whole: str, since: datetime | None, until: datetime | None) -> str:
    """Mark a store as a slice that holds nothing from before its window; return its sentence."""
    if since is not None:
        set_horizon(connection, since)
    between = f"from {format_time(since) if since else 'the beginning'} to {format_time(until or now())}"
    sentence = f"a slice of {os.path.basename(whole)}: what happened {between}"
    remember(connection, **{SLICE: sentence})
    return sentence


def _discard(work: str) -> None:
    for name in (work, work + WAL):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
