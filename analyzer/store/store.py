"""`Store`: an open store, as the layers above and notebooks see it. Queries in, polars frames out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Self

import duckdb
import polars as pl

from analyzer.classifier.rules import ruleset_for
from analyzer.store import adhoc
from analyzer.store.catalogue import run as run_query
from analyzer.store.database import MEMORY, connect, exclusive
from analyzer.store.ingest import IngestResult, ingest, open_journal
from analyzer.store.reclassify import Reclassification, keep_up, reclassify


class Store:
    """An open store. Use as a context manager, or call `close`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: str) -> None:
        self._connection = connection
        self.path = path
        """The file, or `:memory:`."""

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """A catalogue query by name; `since` and `until` take datetimes or texts such as `7d`.

        Raises:
            QueryError: unknown name or parameter, or a bad value.
        """
        return run_query(self._connection, name, params)

    def sql(self, sql: str) -> pl.DataFrame:
        """All rows of one reading statement over the views.

        Raises:
            QueryError: it is more than one statement, or writes, or the database refuses it.
        """
        return adhoc.run(self._connection, sql, limit=None).frame

    def answer(self, sql: str, limit: int | None) -> adhoc.Answer:
        """At most `limit` rows of one reading statement, and whether that cut any off.

        Raises:
            QueryError: as for `sql`.
        """
        return adhoc.run(self._connection, sql, limit)

    def ingest(self, paths: Iterable[str], progress: Callable[[str, int, int], None] | None = None) -> IngestResult:
        """Read what is new below the paths. The store must be open for writing.

        Raises:
            StoreError: the store refused a batch.
        """
        result = ingest(self._connection, paths, store_path=self.path, progress=progress, reopen=self._reopen())
        result.unjudged = keep_up(self._connection)
        return result

    def reclassify(
        self, rules_path: str | None = None, *, apply: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Reclassification:
        """Judge all history with a ruleset (None: the built-in one) and compare; `apply` needs a writable store.

        Raises:
            RulesError: the rules cannot be used.
            StoreError: the store or its journal cannot be written.
        """
        with open_journal(self.path if apply else MEMORY) as journal:
            return reclassify(
                self._connection, ruleset_for(rules_path), rules_path, journal=journal, apply=apply, progress=progress
            )

    def _reopen(self) -> Callable[[], duckdb.DuckDBPyConnection] | None:
        """How to go on after an error that has ended the connection; a throw-away store ends with it."""
        if self.path == MEMORY:
            return None

        def again() -> duckdb.DuckDBPyConnection:
            self._connection.close()
            self._connection = connect(self.path, read_only=False)
            return self._connection

        return again

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _WritableStore(Store):
    """Holds the lock for as long as it is open."""

    def __init__(self, path: str) -> None:
        self._lock = exclusive(path)
        self._lock.__enter__()
        try:
            super().__init__(connect(path, read_only=False), path)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def close(self) -> None:
        super().close()
        self._lock.__exit__(None, None, None)


def open_store(path: str | os.PathLike[str], *, writable: bool = False) -> Store:
    """Open a store file, read-only unless asked; `:memory:` is a new, empty, throw-away store.

    Raises:
        StoreError: there is none, or it cannot be opened.
        StoreBusyError: another process is writing.
    """
    name = os.fspath(path)
    if name == MEMORY or writable:
        return _WritableStore(name)
    return Store(connect(name, read_only=True), name)
