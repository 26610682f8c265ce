"""Connections to DuckDB: the settings that every one of them has, the schema, the lock, and errors in our own words."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from importlib import resources

import duckdb

from analyzer.errors import QueryError, StoreBusyError, StoreError
from analyzer.store.header import Header, parse_header

MEMORY = ":memory:"
SCHEMA_VERSION = "3"


def connect(path: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open a store file, or a throw-away one for `:memory:`.

    Raises:
        StoreBusyError: another process holds it.
        StoreError: it is missing (read-only), no store of ours, or cannot be opened.
    """
    if path != MEMORY:
        # DuckDB tells two names of one file apart, and would open it twice.
        path = os.path.realpath(path)
        if read_only and not os.path.exists(path):
            raise StoreError(f"no store at {path}", "make one with: analyzer ingest PATH --store FILE")
    config: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "allow_community_extensions": "false",
    }
    before = os.umask(0o077)
    try:
        connection = duckdb.connect(path, read_only=read_only and path != MEMORY, config=config)
    except duckdb.IOException as error:
        raise _opening_error(path, str(error)) from None
    except duckdb.Error as error:
        raise StoreError(f"{path} does not open: {first_line(error)}", "is it a DuckDB file?") from None
    finally:
        os.umask(before)
    # A second connection of this process to the same file shares settings that may be locked by now.
    if not connection.execute("select current_setting('lock_configuration')").fetchall()[0][0]:
        connection.execute("set global TimeZone = 'UTC'")
        # On already in a notebook; there, DuckDB refuses to touch it at all while ipywidgets is missing.
        if connection.execute("select current_setting('enable_progress_bar')").fetchall()[0][0]:
            connection.execute("set enable_progress_bar = false")
        if read_only and path != MEMORY:
            # A reader reaches nothing but its store, and there is no way back.
            connection.execute("set global enable_external_access = false")
            connection.execute("set global lock_configuration = true")
    if read_only and path != MEMORY:
        _check_schema(connection, path)
    else:
        _create_schema(connection, path)
    return connection


def _opening_error(path: str, message: str) -> StoreError:
    if "Could not set lock" in message or "onflicting lock" in message:
        holder = re.search(r"\(PID (\d+)\)", message)
        who = f" by process {holder[1]}" if holder else ""
        return StoreBusyError(f"{path} is in use{who}", "try again when it has finished")
    return StoreError(f"{path} cannot be opened: {message.splitlines()[0]}", "check the path and its permissions")


def _create_schema(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    tables = {str(row[0]) for row in connection.execute("select table_name from duckdb_tables()").fetchall()}
    if tables and "store_v1" not in tables:
        raise StoreError(f"{path} is a DuckDB file of something else", "name another file with --store")
    if "store_v1" in tables:
        _check_schema(connection, path)
        return
    with transaction(connection):
        for statement in resources.files("analyzer.store").joinpath("tables.sql").read_text("utf-8").split(";\n"):
            if statement.strip():
                connection.execute(statement)
        for name, header in views().items():
            connection.execute(f"create view {name} as {header.body}")
            connection.execute(f"comment on view {name} is {_quoted(header.description)}")
            for column in header.columns:
                connection.execute(f'comment on column {name}."{column.name}" is {_quoted(column.description)}')
        connection.execute("insert into internal.store_v1 values ('schema_version', $1)", [SCHEMA_VERSION])


def _check_schema(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    try:
        rows = connection.execute("select value from internal.store_v1 where key = 'schema_version'").fetchall()
    except duckdb.CatalogException:
        raise StoreError(f"{path} is not a store of this program", "make one with: analyzer ingest PATH") from None
    if rows != [(SCHEMA_VERSION,)]:
        raise StoreError(f"{path} was made by another version of this program", "ingest the logs into a new store")


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of it or nothing: committed at the end of the block, rolled back when it raises.

    DuckDB's COMMIT returns without an error after a failed statement, so no statement's error may be caught inside.
    """
    connection.execute("begin")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        # After some errors DuckDB has already ended the transaction, and says so by raising.
        with contextlib.suppress(duckdb.Error):
            connection.execute("rollback")
        raise


def views() -> dict[str, Header]:
    """The views by name, in the order in which they build on each other."""
    folder = resources.files("analyzer.store").joinpath("views")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    headers = [parse_header(folder.joinpath(name).read_text("utf-8"), name) for name in names]
    return {header.title: header for header in headers}


@contextlib.contextmanager
def exclusive(path: str) -> Iterator[None]:
    """Hold the store for writing; the lock goes with the process, however that ends.

    Raises:
        StoreBusyError: another process of ours is writing.
    """
    if path == MEMORY:
        yield
        return
    try:
        import fcntl
    except ImportError:
        raise StoreError("stores in files need a POSIX system", "read the logs with: analyzer report PATH") from None
    lock = os.path.realpath(path) + ".lock"
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{lock} cannot be made: {error.strerror}", "the store's folder must be writable") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "another process"
            raise StoreBusyError(f"{path} is being written by {holder}", "try again when it has finished") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def query_errors() -> Iterator[None]:
    """DuckDB's errors as `QueryError`, with its first lines."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.PermissionException as error:
        raise QueryError(
            first_line(error), "the store is read-only here, and nothing outside of it can be reached"
        ) from None
    except duckdb.Error as error:
        raise QueryError(first_line(error), _query_hint(str(error))) from None


def first_line(error: Exception) -> str:
    """The first line of a library's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _query_hint(message: str) -> str:
    candidates = re.search(r"(?:Did you mean|Candidate bindings?:?)\s+([^\n?]+)", message)
    if candidates:
        return f"did you mean {candidates[1].replace(chr(34), '').strip()}?"
    if "TimeZone" in message:
        return "write an IANA name such as Europe/Berlin, or UTC"
    return "the views: analyzer sql 'show tables'; their columns: analyzer sql 'describe errors'"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
