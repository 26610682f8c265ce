"""Move whole lakes: make one of a store, copy one into a store, or make one again.

Invariant: rows keep their ids and values, and a process that dies on the way leaves nothing that
looks like a lake or a store.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime

from analyzer.command_lines import LAKE, command_line
from analyzer.errors import FREE_SPACE, StoreError, system_text
from analyzer.lake.batch import LakeBatch, make, make_where_none_is
from analyzer.lake.beside import fill, fill_batch, write_journal
from analyzer.lake.former import brought_up_to_date, current
from analyzer.lake.layout import JOURNAL, rows
from analyzer.lake.location import Lake
from analyzer.lake.log import Conflict, Lease, State
from analyzer.store import Problem, Rebuild, open_store
from analyzer.store.db.connection import connect, private_files, store_errors
from analyzer.store.db.location import discard_work, exclusive, replace_store, work_of
from analyzer.store.journal import journal_of, parts_of
from analyzer.store.upkeep.rebuild import rebuild as rebuild_file


def up(store_path: str, lake: Lake) -> dict[str, int]:
    """Copy a DuckDB store with its journal into a new lake; return the rows of each table.

    Raises:
        StoreError: there is no such store, something is in the lake's place, or the storage refuses.
    """
    if lake.exists or (not lake.remote and os.path.isdir(lake.path) and os.listdir(lake.path)):
        raise StoreError(f"there is something at {lake.path} already", f"name a new folder: --to {LAKE}PATH")
    open_store(store_path).close()  # says what is wrong with it, and brings an earlier version's up to date
    counts: dict[str, int] = {}
    with private_files(), closing(connect(store_path, read_only=True)) as connection:
        try:
            make(lake, lambda first: counts.update(fill_batch(first, connection, str(journal_of(store_path)))))
        except Conflict:
            raise StoreError(f"somebody else makes a lake at {lake.path}", "name a new folder") from None
    return counts


def down(lake: Lake, store_path: str, since: datetime | None = None, until: datetime | None = None) -> dict[str, int]:
    """Copy a lake with its journal, or what it has of a window (naive UTC), into a new DuckDB store.

    Of a window the store is a slice: it has all sources and decisions, and no journal.

    Raises:
        StoreError: there is no such lake, something is in the store's place, or it cannot be written.
    """
    at = current(lake)
    if os.path.exists(store_path):
        raise StoreError(f"there is something at {store_path} already", "name a new file with --to")
    folder = journal_of(store_path)
    if folder and parts_of(folder):
        raise StoreError(f"{folder} is the journal of a store already", "name a new file with --to")
    with private_files(), exclusive(store_path):
        discard_work(store_path)
        try:
            counts = fill(work_of(store_path), lake, at, since, until)
            if folder and since is None and until is None:
                counts[JOURNAL] = write_journal(lake, at.files[JOURNAL], folder)
            replace_store(store_path)
        except OSError as error:
            raise StoreError(f"{store_path} cannot be made: {system_text(error)}", FREE_SPACE) from None
        finally:
            discard_work(store_path)
    return counts


def rebuild(lake: Lake, paths: Iterable[str] = (), progress: Callable[[str, int, int], None] | None = None) -> Rebuild:
    """Make a lake again from its journal, its sources and the logs below `paths`.

    This makes a store on this machine's disk first.

    Raises:
        StoreBusyError: another process writes to it.
        StoreError: there is nothing to make it from, or the lake cannot be read or written; what was there stays.
    """
    named = list(paths)
    if not lake.exists and named:
        make_where_none_is(lake)
    brought_up_to_date(lake)
    with (
        private_files(),
        store_errors(),
        Lease(lake).held() as lease,
        lease.alone(),
        tempfile.TemporaryDirectory(prefix="analyzer-") as folder,
    ):
        at, path = brought_up_to_date(lake), os.path.join(folder, "lake.duckdb")
        journal = str(journal_of(path))
        damaged = _journal_brought_down(lake, at, journal)
        why = _brought_down(lake, at, path)
        if why and not named:
            again = command_line("rebuild", "PATH...", store=f"{LAKE}{lake.path}")
            hint = f"name the logs that it was made from: {again}"
            raise StoreError(why, hint)
        result = rebuild_file(path, named or [journal], progress)
        result.store, result.aside = f"{LAKE}{lake.path}", None
        result.problems += damaged
        if why:
            result.former, result.why = "unreadable", why
        with LakeBatch(lake, at, lease.token) as batch, closing(connect(path, read_only=True)) as connection:
            fill_batch(batch, connection, journal)
            batch.commit()
    return result


def _journal_brought_down(lake: Lake, at: State, folder: str) -> list[Problem]:
    """Write all readable lines of a lake's journal to a folder; return the problems with the rest."""
    os.makedirs(folder)
    paths, problems = list(at.files[JOURNAL]), []
    for path in list(paths):
        try:
            rows(lake, JOURNAL, [path])
        except StoreError:
            paths.remove(path)
            hint = "bring it back from a backup; events of logs that are gone are in no other place"
            problems.append(Problem(f"{lake.table(JOURNAL)}/{path}", "a damaged part of the journal", hint))
    write_journal(lake, paths, folder)
    return problems


def _brought_down(lake: Lake, at: State, path: str) -> str | None:
    """Copy a lake into a store; return the reason if the lake cannot be read."""
    try:
        fill(path, lake, at)
    except StoreError as error:
        if os.path.exists(path):
            os.unlink(path)
        return error.message
    return None
