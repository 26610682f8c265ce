"""Make a store again from journal and logs, with the same answers as before.

The order decides which event counts as first: the journal, then every former source as far as it
had been read, then new ones.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

from analyzer.command_lines import TABLE, command_line
from analyzer.errors import InputError, StoreError
from analyzer.store.db.connection import connect, first_line, transaction
from analyzer.store.db.engine import Connection, duckdb, execute, first_value
from analyzer.store.db.frames import sql
from analyzer.store.db.location import (
    MEMORY,
    aside_of,
    complete_replacement,
    discard_work,
    exclusive,
    files_of,
    kept,
    location,
    replace_store,
    work_of,
)
from analyzer.store.ingest.discover import STDIN, Problem, discover
from analyzer.store.ingest.identity import Checkpoints, SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.run import ingest
from analyzer.store.journal import as_decided, journal_of, parts_of, was_store
from analyzer.store.upkeep.carry_over import FormerStore, unreadable
from analyzer.store.upkeep.prune import restore_horizon
from analyzer.store.verdicts.rulesets import applied, judge_with, keep_up, kept_rules, restore_active

OnProgress = Callable[[str, int, int], None]
"""Called with the path that is read, its index and the number of paths."""


@dataclass(slots=True)
class Rebuild:
    """The figures of a rebuild."""

    store: str
    """The file, links resolved."""
    former: str = "missing"
    """The former store: `read`, `unreadable` or `missing`."""
    why: str | None = None
    """The reason why the former store is unreadable."""
    aside: str | None = None
    """The path at which the former store is kept now."""
    journal_events: int = 0
    journal_damaged: int = 0
    """Lines of the journal that cannot be read."""
    sources: int = 0
    """Sources in the new store."""
    vanished: list[str] = field(default_factory=list)
    """Files that were read before and are gone.

    Their rows of the former store were carried over.
    """
    events: int = 0
    carried_events: int = 0
    """Events of these that neither a log nor the journal has any more."""
    ruleset: str | None = None
    """Digest of the active ruleset."""
    unjudged: int = 0
    """Distinct facts without a verdict of it, because its rules are nowhere any more."""
    problems: list[Problem] = field(default_factory=list)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return {"schema": "analyzer.rebuild/1", **asdict(self)}


def rebuild(path: str, paths: Iterable[str] = (), progress: OnProgress | None = None) -> Rebuild:
    """Make the store again beside itself, then put it in its place.

    The former store is kept for good.

    The sources are those that the store knows and those below `paths`.

    Raises:
        StoreBusyError: another process has it open.
        StoreError: there is nothing to make it from, the file is no store, or it cannot be written;
            what was there before is untouched.
    """
    began = time.monotonic()
    if path == MEMORY:
        raise StoreError("a store in memory is gone with its process", "name a file with --store")
    with exclusive(path):
        complete_replacement(path)
        discard_work(path)
        result = Rebuild(location(path))
        if os.path.exists(path):
            if not os.access(path, os.R_OK | os.W_OK):
                raise StoreError(f"{path} may not be read and written by you", "check its permissions")
            result.why = unreadable(path)
            result.former = "unreadable" if result.why else "read"
            if result.why and not was_store(path):
                hint = "name another file with --store; if it was one, move it away and run this again"
                raise StoreError(f"{path} is no store: {result.why}", hint)
        named = list(paths)
        # The journal is always read: naming only it means that there are no other logs any more.
        logs = [name for name in named if os.path.realpath(name) != journal_of(path)]
        if result.former != "read" and not named:
            message = f"no store at {path}" if result.former == "missing" else f"{path} cannot be read: {result.why}"
            raise StoreError(
                message,
                "name the logs that it was made from, or only its journal if they are gone:"
                f" {command_line('rebuild', 'PATH...', store=path)}",
            )
        try:
            connection = connect(work_of(path), read_only=False)
            try:
                _make_again(connection, path, logs, result, progress)
            finally:
                connection.close()
            # DuckDB's COMMIT can return without an error and without having committed: look at every block.
            if why := unreadable(work_of(path)):
                raise StoreError(
                    f"the new store cannot be read: {why}", "check the disk; the store before is untouched"
                )
        except duckdb.Error as error:
            discard_work(path)
            raise StoreError(
                f"the new store cannot be made: {first_line(error)}", "the store before is untouched"
            ) from None
        except BaseException:
            discard_work(path)
            raise
        if result.former != "missing":
            result.aside = aside_of(path)
        replace_store(path)
    result.seconds = time.monotonic() - began
    return result


def _make_again(
    connection: Connection, path: str, logs: list[str], result: Rebuild, progress: OnProgress | None
) -> None:
    """Run all steps, until the new store is complete on the disk."""
    _read_journal(connection, path, result, progress)
    former = FormerStore(connection, path) if result.former == "read" else None
    sources = former.sources() if former is not None else []
    discovery = discover(logs, own=[*files_of(path), str(journal_of(path))])
    result.problems += discovery.problems
    files = [kept(name) for name in discovery.files if name != STDIN]
    readable, gone = match(sources, files)
    limits = {name: checkpoint.offset for name, checkpoint in readable.items()}
    order = [*limits, *(name for name in files if name not in limits)]
    if order:
        # An event dated by its file's time is read again from the log: a newer reader may date it better.
        execute(
            connection,
            "delete from internal.event_v1 where time_source = 'file' and source_path in (select unnest($1))",
            [order],
        )
        below = {kept(name): folder for name, folder in discovery.below.items()}
        read = ingest(connection, order, store_path=path, limits=limits, below=below, progress=progress)
        result.problems += [item for item in read.problems if item.path not in limits]
    with transaction(connection):
        # A log that was read in parts has events in the journal that reading it at once does not give.
        execute(
            connection,
            "update internal.source_v1 as s set events = e.events from (select source_path, source_format,"
            " count(*) as events from internal.event_v1 where source_format <> 'analyzer' group by all) as e"
            " where e.source_path = s.path and e.source_format = s.format",
        )
        if former is not None:
            here = {str(row[0]) for row in execute(connection, "select path from internal.source_v1")}
            again = {name: item.source_id for name, item in readable.items() if name in here}
            vanished = {item.source_id for item in gone}
            result.vanished = sorted({item.path for item in gone})
            result.carried_events = former.take_over(again, vanished, order)
        restore_horizon(connection)
        # Each applied ruleset judges what had happened by the time when the next one was applied.
        for (digest, _), (_, superseded_at) in pairwise(applied(connection)) if former is None else ():
            judge_with(connection, digest, (kept_rules(path, digest), None), superseded_at)
        result.ruleset = restore_active(connection)
    if former is not None:
        former.detach()
    result.unjudged = keep_up(connection, path)
    result.sources = _count(connection, "source_v1")
    result.events = _count(connection, "event_v1")
    execute(connection, "checkpoint")


def _read_journal(connection: Connection, path: str, result: Rebuild, progress: OnProgress | None) -> None:
    folder = journal_of(path)
    parts = parts_of(folder) if folder else []
    if not parts:
        return
    read = ingest(connection, parts, progress=progress, journal_parts=True)
    result.problems += read.problems
    for source in read.sources:
        if source.status == "unsupported" and source.checkpoint.format != "empty":
            hint = "bring it back from a backup; events of logs that are gone are in no other place"
            result.problems.append(Problem(source.checkpoint.path, "a damaged part of the journal", hint))
    result.journal_damaged = read.total.quarantined
    result.journal_events = _count(connection, "event_v1")
    with transaction(connection):
        as_decided(connection)
        execute(connection, "delete from internal.source_v1")
        execute(connection, "delete from internal.quarantine_v1")


def _count(connection: Connection, table: str) -> int:
    return int(first_value(connection, sql("select count(*) from internal.{table}", table=table)))


def match(
    sources: list[SourceCheckpoint], files: list[str]
) -> tuple[dict[str, SourceCheckpoint], list[SourceCheckpoint]]:
    """Find the sources under their own paths, and those that were renamed among `files`.

    Return those to read again by the path to read them from, in the order they were first met, and those whose content
    is at none of the paths.
    """
    paths_by_id: dict[int, str] = {}
    matched_ids: set[int] = set()
    paths: set[str] = set()
    # A file that was cut and has grown again holds two sources, and the shorter one is part of the longer.
    for checkpoint in sorted(sources, key=lambda item: (-item.offset, item.source_id)):
        if checkpoint.is_there():
            matched_ids.add(checkpoint.source_id)
            if checkpoint.path not in paths:
                paths_by_id[checkpoint.source_id] = checkpoint.path
                paths.add(checkpoint.path)
    elsewhere = Checkpoints(replace(item) for item in sources if item.source_id not in matched_ids)
    for name in files:
        if name in paths:
            continue
        try:
            with Input(name) as source:
                former, moved = elsewhere.locate(source)
        except InputError:
            continue  # reading it later reports the error
        if former is not None and moved and former.source_id not in matched_ids:
            paths_by_id[former.source_id] = name
            matched_ids.add(former.source_id)
    by_id = {item.source_id: item for item in sources}
    readable = {paths_by_id[source_id]: by_id[source_id] for source_id in sorted(paths_by_id)}
    # A shared table is never vanished: what it has given is carried over, and the next ingest goes on after it.
    gone = [item for item in sources if item.source_id not in matched_ids and not item.path.startswith(TABLE)]
    return readable, gone
