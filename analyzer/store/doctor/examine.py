"""Is everything in order? Checks of a store, of its journal and of log folders; each says what it found and what to do.

Nothing is changed but by the self-test of a log folder, which writes into a folder of its own and takes it away.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator

from analyzer.classifier.rules.loading import ruleset_for
from analyzer.command_lines import command_line
from analyzer.errors import RulesError, StoreBusyError, StoreError
from analyzer.plurals import counted
from analyzer.store.db.connection import EarlierStoreError, connect, store_errors
from analyzer.store.db.location import holder, location, lock_of, patiently
from analyzer.store.db.replacement import WAL, kept_of, replacement_waits, work_of
from analyzer.store.doctor.checks import (
    Check,
    content_checks,
    journalled,
    listed,
    loose_modes,
    megabytes,
    ruleset_check,
    space_check,
    vanished,
)
from analyzer.store.doctor.folder_checks import folder_checks, log_checks
from analyzer.store.export.slices import slice_said
from analyzer.store.journal import journal_of, left_behind, parts_of, rebuild_hint, was_store
from analyzer.store.upkeep.carry_over import unreadable
from analyzer.store.verdicts.rulesets import kept_rules


def examine(store_path: str, folders: Iterable[str] = ()) -> list[Check]:
    """All checks of a store and of log folders."""
    checks = list(_store(store_path))
    for folder in folders:
        checks += folder_checks(folder)
    return checks


def _store(path: str) -> Iterator[Check]:
    kept: int | None = 0
    try:
        real = location(path)
    except StoreError as error:
        yield Check("store", "problem", error.message, error.hint)
        return
    yield from _leftovers(path)
    if not os.path.exists(real):
        if folder := left_behind(path):
            yield Check("store", "problem", f"no store at {path}, but its journal in {folder}", rebuild_hint(path))
            return
        yield Check("store", "note", f"no store at {path}", f"make one: {command_line('ingest', 'PATH', store=path)}")
        return
    writer = holder(path)
    yield _lock(path, writer)
    yield loose_modes("permissions of the store", [name for name in (real, real + WAL) if os.path.exists(name)])
    yield space_check(os.path.dirname(real), os.path.getsize(real))
    try:
        why = unreadable(path)
    except StoreBusyError as error:
        yield Check("store", "note", f"{error.message}: not looked into", "run it again when that has finished")
    except StoreError as error:
        yield Check("store", "problem", error.message, error.hint)
    else:
        try:
            kept = yield from _content(path, why)
        except StoreError as error:
            yield Check("store", "problem", error.message, error.hint)
    yield from _journal(path, kept)


def _content(path: str, why: str | None) -> Generator[Check, None, int | None]:
    """The checks of what is in the store; how many of its events the journal has to have, too, None for a slice."""
    if why is not None:
        todo = rebuild_hint(path) if was_store(path) else "name another file with --store; this one is no store"
        yield Check("store", "problem", f"it cannot be read: {why}", todo)
        return 0
    try:
        connection = patiently(lambda: connect(path, read_only=True))
    except StoreError as error:
        expected = isinstance(error, StoreBusyError | EarlierStoreError)
        yield Check("store", "note" if expected else "problem", error.message, error.hint)
        return 0
    with connection, store_errors():
        yield Check("store", "ok", f"it opens, and every block of it can be read ({megabytes(os.path.getsize(path))})")
        rows = connection.execute("select value from internal.store_v1 where key = 'active_ruleset'").fetchall()
        if rows:
            yield _rules(path, str(rows[0][0]))
        yield from content_checks(
            lambda sql, given: connection.execute(sql, dict(given)).fetchall(),
            command_line("quarantine", "retry", store=path),
        )
        yield vanished(connection)
        if said := slice_said(connection):
            yield Check("slice", "note", said, "read logs into the store that it was cut from")
            return None
        return journalled(connection)


def _lock(path: str, writer: str | None) -> Check:
    if writer is not None:
        return Check("lock", "note", f"{writer} is writing", "wait, or look at that process if it takes too long")
    if os.path.exists(lock_of(path)):
        return Check("lock", "ok", "nobody is writing; the lock file holds nothing by itself")
    return Check("lock", "ok", "nobody is writing")


def _leftovers(path: str) -> Iterator[Check]:
    if replacement_waits(path):
        yield Check("rebuild", "note", "a new store waits to take its place", "open the store: it is done by that")
    elif os.path.exists(work_of(path)) and holder(path) is None:
        yield Check("rebuild", "note", "one died half-way", f"run it again, or delete {work_of(path)}")
    if kept := kept_of(path):
        files = [name for each in kept for name in (each, each + WAL) if os.path.exists(name)]
        said = f"{counted(len(kept), 'store')} from before a rebuild: {megabytes(sum(map(os.path.getsize, files)))}"
        yield Check("rebuild", "note", said, f"when all is well, delete {listed(kept)}")
    real = os.path.realpath(path)
    if os.path.exists(real + WAL) and holder(path) is None:
        said = "a write-ahead log is left of a process that died; it belongs to the store"
        yield Check("write-ahead log", "note", said, "never delete or copy one without the other")


def _rules(path: str, digest: str) -> Check:
    for place in (kept_rules(path, digest), None):
        try:
            if ruleset_for(place).digest == digest:
                return ruleset_check(digest, at_hand=True)
        except RulesError:
            continue
    return ruleset_check(digest, at_hand=False)


def _journal(path: str, kept: int | None) -> Iterator[Check]:
    folder = journal_of(path)
    if folder is None or not os.path.isdir(folder):
        if kept:
            said = f"{folder} is gone: {counted(kept, 'event')} out of it are in this store alone"
            yield Check("journal", "problem", said, "bring it back from a backup, or back up the store")
        elif kept is None:
            yield Check("journal", "ok", "none: that of the store it was cut from has its events")
        else:
            yield Check("journal", "ok", "none: nothing was read from other tools' logs yet")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Check("journal", "problem", f"{folder} may not be written", "check its permissions")
    parts = parts_of(folder)
    yield loose_modes("permissions of the journal", [folder, *parts])
    yield from log_checks("journal", parts, "bring the part back from a backup: no other place has its events")
    yield Check("journal", "ok", f"{counted(len(parts), 'part')}, {megabytes(sum(map(os.path.getsize, parts)))}")
