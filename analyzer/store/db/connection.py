"""Open connections to DuckDB: settings, the schema, and errors in our own words.

Ctrl-C and a time limit end work that somebody waits for, wherever it is.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from analyzer.command_lines import command_line
from analyzer.errors import FREE_SPACE, LimitError, QueryError, StoreBusyError, StoreError
from analyzer.store.db.engine import Connection, duckdb, execute, first_value
from analyzer.store.db.frames import OUT_OF_MEMORY_HINT, cannot_go_on, is_full, quoted, unusable
from analyzer.store.db.location import CATALOG, MEMORY, STORAGE_VERSION, WORK, holder, location
from analyzer.store.db.tables.schema import (
    MIGRATED,
    SCHEMA_VERSION,
    create,
    has_prices,
    migrate,
    ready_store,
    refresh_prices,
    setting,
)
from analyzer.store.journal import left_behind, rebuild_hint, was_store

_READY = "ready"
PARAMETERS_HINT = "give a list of values for ? and $1, or a dict for $name"


class EarlierStoreError(StoreError):
    """A store of an earlier version, which is brought up to date when it is opened for writing."""


def connect(
    path: str, *, read_only: bool, settings: Mapping[str, str] | None = None, closed: bool = False
) -> Connection:
    """Open a store file, or a throw-away one for `:memory:`, with `settings` of DuckDB beside our own.

    A `closed` connection opens no more files once it is open, not even its own and temporary ones.

    Raises:
        StoreBusyError: another process holds it.
        StoreError: it is missing (read-only), no store of ours, or cannot be opened.
    """
    if path != MEMORY:
        # DuckDB tells two names of one file apart, and would open it twice.
        path = location(path)
        if read_only and not os.path.exists(path):
            raise missing(path)
    try:
        connection = connect_plain(path, read_only=read_only and path != MEMORY, settings=settings)
    except duckdb.Error as error:
        raise StoreError(f"{path} does not open: {first_line(error)}", _opening_hint(path, error)) from None
    try:
        _prepare(connection, path, read_only=read_only, closed=closed)
    except duckdb.Error as error:
        connection.close()
        raise StoreError(f"{path} does not open: {first_line(error)}", _opening_hint(path, error)) from None
    except BaseException:
        connection.close()
        raise
    return connection


def connect_plain(path: str, *, read_only: bool, settings: Mapping[str, str] | None = None) -> Connection:
    """Open the file without checking its content; only the owner can read a new file.

    Raises:
        StoreBusyError: another process holds it, or this one does in the other mode.
        StoreError: it is no file.
        duckdb.Error: it does not open.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        # A checkpoint holds all that it merges in memory: some 100 MB per row group of a long ingest.
        "max_vacuum_tasks": 1,
        **(settings or {}),
    }
    instance = MEMORY
    if path != MEMORY:
        path = location(path)
        # Connections of one process to one file share an instance, which is known by this name.
        instance += path
        config.setdefault("temp_directory", f"{path}.tmp")
    connection = duckdb.connect(instance, config=config)
    try:
        with private_files():
            _attach(connection, path, read_only=read_only)
    except duckdb.IOException as error:
        connection.close()
        if busy := _busy(path, str(error)):
            raise busy from None
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _attach(connection: Connection, path: str, *, read_only: bool) -> None:
    """Open the database under `CATALOG`, and detach any other one."""
    mode_query = "select readonly from duckdb_databases() where database_name = $1"
    if not execute(connection, mode_query, [CATALOG]):
        # A file that is there keeps the format that it has: DuckDB refuses to open it under another one.
        new = f"(storage_version '{STORAGE_VERSION}')" if path == MEMORY or not os.path.exists(path) else ""
        # Another thread may be faster.
        attach = f"attach if not exists {quoted(path)} as {CATALOG} {'(read_only)' if read_only else new}"
        execute(connection, attach)
    if execute(connection, mode_query, [CATALOG]) != [(read_only,)]:
        mode = "writing" if read_only else "reading"
        raise StoreBusyError(f"{path} is open for {mode} in this process", "close it first")
    execute(connection, f"use {CATALOG}")
    execute(connection, "detach database if exists memory")


def _prepare(connection: Connection, path: str, *, read_only: bool, closed: bool) -> None:
    """Apply the settings, and create the schema where it is missing."""
    # A second connection of this process to the same file shares settings that may be locked by now.
    if not first_value(connection, "select current_setting('lock_configuration')"):
        connection.execute("set global TimeZone = 'UTC'")
        # On already in a notebook; there, DuckDB refuses to touch it at all while ipywidgets is missing.
        if first_value(connection, "select current_setting('enable_progress_bar')"):
            connection.execute("set enable_progress_bar = false")
        if read_only:
            # A reader reaches nothing but its store, and there is no way back.
            connection.execute("set global enable_external_access = false")
            if closed:
                # The setting above leaves a store's own files open to COPY, also of a store that is open for reading.
                connection.execute("set global disabled_filesystems = 'LocalFileSystem'")
            connection.execute("set global lock_configuration = true")
    if read_only and path != MEMORY:
        _check_schema(connection, path)
    else:
        _create_schema(connection, path)


def _busy(path: str, message: str) -> StoreBusyError | None:
    if "Could not set lock" not in message and "onflicting lock" not in message:
        return None
    match = re.search(r"\(PID (\d+)\)", message)
    who = f"process {match[1]}" if match else holder(path) or "another process"
    return StoreBusyError(f"{path} is in use by {who}", "try again when it has finished")


def _opening_hint(path: str, error: Exception) -> str:
    if is_full(str(error)):
        return FREE_SPACE
    if not os.access(path if os.path.exists(path) else os.path.dirname(path), os.R_OK):
        return "check the path and its permissions"
    if os.path.exists(path) and not was_store(path):
        return "name another file with --store; this one is left as it is"
    return rebuild_hint(path.removesuffix(WORK))


def missing(path: str) -> StoreError:
    """Return the error of a store that does not exist, or of which only the journal is left."""
    if folder := left_behind(path):
        return StoreError(f"no store at {path}, but its journal in {folder}", rebuild_hint(path))
    return StoreError(f"no store at {path}", f"make one with: {command_line('ingest', 'PATH', store=path)}")


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Let only the owner read and write files that the block makes.

    DuckDB leaves that to the process.
    """
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _create_schema(connection: Connection, path: str) -> None:
    try:
        version = setting(connection, "schema_version")
    except duckdb.CatalogException:
        if execute(connection, "select count(*) from duckdb_tables()") != [(0,)]:
            raise StoreError(f"{path} is a DuckDB file of something else", "name another file with --store") from None
        with private_files():
            ready = ready_store()
        if not _copied(connection, ready):
            with transaction(connection):
                create(connection)
        return
    if version in MIGRATED:
        with transaction(connection):
            migrate(connection)
    _check_schema(connection, path)
    if not has_prices(connection):
        with transaction(connection):
            refresh_prices(connection)


def _copied(connection: Connection, ready: str | None) -> bool:
    """Copy a ready store into an empty one; return whether that worked.

    DuckDB gives the copy its own id.
    """
    if ready is None:
        return False
    try:
        execute(connection, f"attach {quoted(ready)} as {_READY} (read_only)")
        try:
            with transaction(connection):
                execute(connection, f"copy from database {_READY} to {CATALOG}")
        finally:
            execute(connection, f"detach {_READY}")
    except duckdb.Error:
        return False
    return True


def _check_schema(connection: Connection, path: str) -> None:
    try:
        version = setting(connection, "schema_version")
    except duckdb.CatalogException:
        raise StoreError(
            f"{path} is not a store of this program", f"make one with: {command_line('ingest', 'PATH', store='FILE')}"
        ) from None
    if version in MIGRATED:
        hint = f"bring it up to date, as its owner: {command_line('query', 'overview-totals', store=path)}"
        raise EarlierStoreError(f"{path} was made by an earlier version of this program", hint)
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path} was made by another version of this program", rebuild_hint(path))


@contextlib.contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Run the block in a transaction: committed at its end, rolled back when it raises.

    DuckDB's COMMIT returns without an error after a failed statement, so no statement's error may be caught inside.
    """
    connection.execute("begin")
    try:
        yield
        # The first commit makes the write-ahead log, with all of the rows in it.
        with private_files():
            connection.execute("commit")
    except BaseException:
        # After some errors DuckDB has already ended the transaction, and says so by raising.
        with contextlib.suppress(duckdb.Error):
            connection.execute("rollback")
        raise


@contextlib.contextmanager
def query_errors() -> Iterator[None]:
    """Translate DuckDB's errors: `QueryError`, `LimitError` where memory ends, `StoreError` where the store fails."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.PermissionException as error:
        raise QueryError(
            first_line(error), "the store is read-only here, and nothing outside of it can be reached"
        ) from None
    except duckdb.OutOfMemoryException as error:
        raise LimitError(first_line(error), OUT_OF_MEMORY_HINT) from None
    except duckdb.Error as error:
        raise unusable(str(error)) or QueryError(first_line(error), _query_hint(str(error))) from None


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Translate DuckDB's errors in statements of our own into `StoreError`, and into `LimitError` where memory ends."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException as error:
        raise LimitError(first_line(error), "give the process more memory, or read less at a time") from None
    except duckdb.Error as error:
        raise cannot_go_on(str(error)) from None


def first_line(error: Exception) -> str:
    """Return the first line of a library's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _query_hint(message: str) -> str:
    candidates = re.search(r"(?:Did you mean|Candidate bindings?:?)\s+([^\n?]+)", message)
    if candidates:
        return f"did you mean {candidates[1].replace(chr(34), '').strip()}?"
    if "arameter" in message:
        return PARAMETERS_HINT
    if "TimeZone" in message:
        return "write an IANA name such as Europe/Berlin, or UTC"
    return f"the views: {command_line('sql', 'show tables')}; their columns: {command_line('sql', 'describe errors')}"


_T = TypeVar("_T")
_LISTENED_SECONDS = 0.1
_AGAIN_SECONDS = 0.05
"""Seconds after which an interrupt is sent again: between two statements it has no effect."""


def attended(connection: Connection, work: Callable[[], _T], seconds: float | None = None) -> _T:
    """Run `work` in a thread and return its result: a long call in the main thread blocks signals.

    Raises:
        LimitError: it takes longer than so many seconds.
        KeyboardInterrupt: the user interrupted it.
        Exception: whatever `work` raises.
    """
    if seconds is None and threading.current_thread() is not threading.main_thread():
        return work()  # only the main thread receives signals
    with meanwhile(connection, work) as answer:
        return answer(seconds)


@contextlib.contextmanager
def meanwhile(connection: Connection, work: Callable[[], _T]) -> Iterator[Callable[[float | None], _T]]:
    """Do `work` on the connection in a thread while the block does something else.

    It ends with the block.

    The block gets a function that waits so many seconds (None: without limit) and returns the
    result.
    """
    results: list[_T] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is waited for
            failed.append(error)
        finally:
            over.set()

    def answer(seconds: float | None) -> _T:
        deadline = time.monotonic() + (math.inf if seconds is None else seconds)
        # In short waits: polars installs a handler that hides signals during a long wait.
        while not over.wait(max(min(deadline - time.monotonic(), _LISTENED_SECONDS), 0)):
            if seconds is not None and time.monotonic() >= deadline:
                raise LimitError.of_time(seconds, "timeout=")
        if failed:
            raise failed[0]
        return results[0]

    thread = threading.Thread(target=run, name="attended", daemon=True)
    thread.start()
    try:
        yield answer
    finally:
        while not over.is_set() and not over.wait(_AGAIN_SECONDS):
            connection.interrupt()
        thread.join()
