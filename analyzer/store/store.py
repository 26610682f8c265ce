"""An open store, as the layers above and notebooks see it: queries in, polars frames out."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from analyzer.command_lines import TABLE, command_line
from analyzer.errors import QueryError, StoreError
from analyzer.store.db.connection import (
    EarlierStoreError,
    attended,
    connect,
    first_line,
    meanwhile,
    missing,
    private_files,
    query_errors,
    store_errors,
    transaction,
)
from analyzer.store.db.engine import Connection, Parameters, duckdb, execute
from analyzer.store.db.frames import MANY_ROWS, PlainRows, ask, ask_rows
from analyzer.store.db.location import (
    CATALOG,
    MEMORY,
    complete_replacement,
    discard_work,
    exclusive,
    location,
    patiently,
    replace_store,
    replacement_waits,
    work_of,
)
from analyzer.store.query.catalogue import run as run_query
from analyzer.store.query.pinning import pinned
from analyzer.store.query.selection import Selection, kept_since, selected
from analyzer.store.shown import Shown, store_facts, views_frame

if TYPE_CHECKING:
    import polars as pl

    from analyzer.classifier import Rules
    from analyzer.importers.places import LogPlace
    from analyzer.store.export.days import ExportedView, Folder
    from analyzer.store.fleet.ship import Push
    from analyzer.store.ingest.discover import Paths, Problem, Survey
    from analyzer.store.ingest.run import IngestResult
    from analyzer.store.query.adhoc import Registered
    from analyzer.store.sums.daily import DailySums
    from analyzer.store.upkeep.prune import Prune
    from analyzer.store.upkeep.quarantine import QuarantineRetry
    from analyzer.store.verdicts.reclassify import Reclassification


_T = TypeVar("_T")
FEW_ROWS = 10_000
"""Events of a store that answers for a session as fast as a copy of the session is made."""
_IS_SMALL = "select 1 from (select count(*) as events from internal.event_v1) where events < $1"
"""Asks whether the events are few."""


class Store(Shown):
    """An open store. Use as a context manager, or call `close`."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection = connection
        self.path = path
        """The file, or `:memory:`."""
        self._frames: dict[str, pl.DataFrame] = {}
        self._is_part = False

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """Run a query of the catalogue.

        `since` and `until` take datetimes or texts such as `7d`; `last` takes such a text.

        Raises:
            QueryError: unknown name or parameter, or a bad value.
        """
        return run_query(self._connection, name, params, ask)

    def rows(self, name: str, **params: object) -> PlainRows:
        """Run a query of the catalogue and return values of Python, for few rows: this loads no polars.

        Raises:
            QueryError: unknown name or parameter, or a bad value.
        """
        return run_query(self._connection, name, params, ask_rows)

    def sql(self, statement: str, parameters: Parameters = None, *, timeout: float | None = None) -> pl.DataFrame:
        """Run one reading statement over the views and registered frames, and return all its rows.

        `parameters` are a sequence for `?` and `$1`, or a mapping for `$name`. The statement may
        take `timeout` seconds (None: no limit). Ctrl-C also ends it.

        Raises:
            QueryError: it is more than one statement, or writes, or the database refuses it.
            LimitError: it takes longer than `timeout`.
        """
        from analyzer.store.query import adhoc
        from analyzer.store.query.adhoc import visible

        with visible(self._connection, self._frames):
            return adhoc.run(self._connection, statement, None, parameters, timeout).frame

    def view(self, name: str) -> pl.DataFrame:
        """Return all rows of a view, in no order.

        Raises:
            QueryError: there is no such view, or the store cannot be asked.
        """
        from analyzer.store.db.tables.schema import views

        if name not in views():
            raise QueryError.unknown_value("view", name, views(), command_line("sql", "show tables"))
        with query_errors():
            return attended(self._connection, lambda: ask(self._connection, f"from {name}"))

    def register(self, name: str, frame: Registered) -> None:
        """Let `sql` see rows under a name, as they are now; nothing is stored.

        The rows are a frame of polars, pandas or Arrow, a dict of columns, or a list of dicts.

        A new frame of the same name replaces the former one. `query` and the views never see it.

        Raises:
            QueryError: a name that SQL would want in quotes or that a view has, or something that is no frame.
        """
        from analyzer.store.query.adhoc import checked_name, copied

        checked = checked_name(self._connection, name)
        self._frames[checked] = copied(self._connection, checked, frame)

    @property
    def views(self) -> pl.DataFrame:
        """List what `sql` may ask: `view` as it follows `from`, `description`, and the `columns`.

        `columns` has the names of the view's columns.
        """
        return views_frame()

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        mode = "writing" if self.writable else "reading"
        return f"Store {self.path!r}", store_facts(self._connection, mode, self._frames)

    def pinned(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> AbstractContextManager[Callable[[str], None]]:
        """Work out errors, retries and relays of one window (naive UTC) once, for many questions.

        What a report asks of them is worked out too. The block does not see what is written
        meanwhile. It gets a function that releases one of them: `drop("errors")`.
        """
        return pinned(self._connection, since, until)

    @contextmanager
    def meanwhile(self, work: Callable[[Store], _T]) -> Iterator[Callable[[], _T]]:
        """Do `work` with a second store of the same content while the block asks this one.

        The block gets a function that waits for the answer of `work`. With many events both would
        take much memory at a time: then `work` is done before the block.
        """
        with store_errors():
            connection = self._connection.cursor()
            execute(connection, f"use {CATALOG}")
            small = execute(connection, _IS_SMALL, [MANY_ROWS])
        with connection:
            if small:
                with meanwhile(connection, lambda: work(Store(connection, self.path))) as waited:
                    yield lambda: waited(None)
            else:
                answer = work(self)
                yield lambda: answer

    @contextmanager
    def part(self, sessions: Iterable[str]) -> Iterator[Store]:
        """Give the block a store that has the rows of these sessions and answers at once.

        Of other sessions it has some rows, which are not theirs in full. It has no decisions. With few
        events, or in such a block, it is this store.

        Raises:
            StoreError: the store cannot be asked.
        """
        from analyzer.store.query.part import part

        with store_errors():
            if self._is_part or execute(self._connection, _IS_SMALL, [FEW_ROWS]):
                yield self
                return
            with part(self._connection, sessions) as copy:
                near = Store(copy, self.path)
                near._is_part = True
                yield near

    def selecting(self, only: Selection) -> AbstractContextManager[None]:
        """Let `query` and `sql` see only that part of the store within the block.

        The part covers its errors, chains, sessions and so on.

        Raises:
            QueryError: the store cannot be asked.
        """
        return selected(self._connection, only)

    def ingest(self, paths: Paths, progress: Callable[[str, int, int], None] | None = None) -> IngestResult:
        """Read what is new below one path or several, in places of agents, or in shared tables (`delta:PATH`).

        The store must be open for writing.

        Raises:
            AnalyzerError: a name can be that of no table.
            StoreError: the store refused a batch.
        """
        from analyzer.store.ingest.discover import named
        from analyzer.store.ingest.run import ingest

        several = named(paths)
        tables = [path for path in several if isinstance(path, str) and path.startswith(TABLE)]
        logs = [path for path in several if path not in tables]
        with private_files(), store_errors():
            result = ingest(self._connection, logs, store_path=self.path, progress=progress, reopen=self._reopen())
            if tables:
                from analyzer.store.fleet.ship import load_all

                load_all(self._connection, tables, result, progress)
            self._settle(result)
        return result

    def push(self, table: str) -> Push:
        """Append the events that a shared table (`delta:PATH`) does not have yet; decisions stay in the store.

        The store must be open for writing.

        Raises:
            AnalyzerError: the name can be that of no table, or the store loads this table.
            StoreError: the table cannot be reached or written; the parts before are in it.
        """
        from analyzer.store.fleet.ship import push

        with store_errors():
            return push(self._connection, table)

    def push_by_executors(self, paths: Iterable[str], table: str, master: str) -> tuple[Push, list[Problem]]:
        """Let executors of Spark read logs and append their events to a shared table; the store only remembers which.

        Raises:
            AnalyzerError: the master is none that Spark knows, or the name can be that of no table.
            StoreError: Spark does not start or fails, or the table cannot be reached; what was added stays.
        """
        from analyzer.store.fleet.spark import push_by_executors

        with store_errors():
            return push_by_executors(self._connection, master, paths, table)

    def survey(self, places: Iterable[LogPlace]) -> Survey:
        """Count the logs in places of agents, and those that the store has not read yet."""
        from analyzer.store.ingest.discover import sizes_read, survey

        return survey(places, sizes_read(self._connection))

    def retry_quarantine(self) -> QuarantineRetry:
        """Read again what is in quarantine. The store must be open for writing.

        Raises:
            StoreError: the store refused a batch.
        """
        from analyzer.store.upkeep.quarantine import retry

        with store_errors():
            result = retry(self._connection, store_path=self.path)
            self._settle(result)
        return result

    def _settle(self, result: IngestResult | QuarantineRetry) -> None:
        """Delete new events that are older than the store's horizon, and judge the others."""
        from analyzer.store.upkeep.prune import apply_horizon
        from analyzer.store.verdicts.rulesets import keep_up

        try:
            with transaction(self._connection):
                result.pruned = apply_horizon(self._connection)
            result.unjudged = keep_up(self._connection, self.path)
        except duckdb.Error as error:
            message = f"the events are stored, and not yet judged: {first_line(error)}"
            raise StoreError(message, "free space if there is none, then run the same command again") from None

    def prune(self, before: datetime | str, *, files: bool = False, dry_run: bool = False) -> Prune:
        """Delete events before a moment (naive UTC; `90d` is the midnight so long ago).

        With `files` the finished parts of logs that hold only such events go, too.
        The store must be open for writing, except for a dry run.

        Raises:
            StoreError: journal, store or a file cannot be written.
        """
        from analyzer.store.journal import open_journal
        from analyzer.store.upkeep.prune import prune

        before = kept_since(before) if isinstance(before, str) else before
        with store_errors(), open_journal(MEMORY if dry_run else self.path) as journal:
            return prune(self._connection, before, store_path=self.path, journal=journal, files=files, dry_run=dry_run)

    def reclassify(
        self, rules: Rules = None, *, apply: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Reclassification:
        """Judge all history with rules (a file, a ruleset, None: built in) and compare.

        `apply` needs a store that is open for writing.

        Raises:
            RulesError: the rules cannot be used.
            StoreError: the store or its journal cannot be written.
        """
        from analyzer.store.journal import open_journal
        from analyzer.store.verdicts.reclassify import reclassify

        with private_files(), store_errors(), open_journal(self.path if apply else MEMORY) as journal:
            return reclassify(
                self._connection,
                rules,
                store_path=self.path,
                journal=journal,
                apply=apply,
                progress=progress,
            )

    def judge_history(self, rules: Rules = None) -> str:
        """Judge what the ruleset in force has not judged yet, and return its digest.

        A store that is open for reading stays as it is. In force is the active ruleset, else
        `rules` (a file, a ruleset, None: the built-in ones).

        Raises:
            RulesError: the rules cannot be used.
        """
        from analyzer.store.verdicts.rulesets import judge_history

        with store_errors():
            return judge_history(self._connection, self.path, rules, judging=self.writable)

    def daily_sums(self, first: date, night: date, timezone: str = "UTC", ruleset: str | None = None) -> DailySums:
        """Count what detection asks of each day from `first` to `night`, in a zone, as the ruleset judges errors.

        Raises:
            QueryError: the store cannot be asked.
        """
        from analyzer.store.sums.daily import DailySums

        return DailySums(self._connection, timezone, ruleset, first, night)

    def excerpts(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the beginnings of lines of logs, redacted, by path and 1-based line number.

        A file that has changed since it was read gives none.
        """
        from analyzer.store.ingest.run import checkpoints
        from analyzer.store.query.excerpts import excerpts

        return excerpts(lambda paths: checkpoints(self._connection, paths), places)

    def export(
        self,
        target: Folder,
        views: Collection[str],
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[ExportedView]:
        """Bring a target up to date with views, day by day: the UTC days that a window (naive UTC) touches.

        Raises:
            AnalyzerError: a view that has no days, or a target that cannot be written.
            QueryError: the store cannot be asked.
        """
        from analyzer.store.export.days import export_days

        return export_days(self._connection, target, views, since, until)

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """Record decisions of the analyzer, all or none, as of one moment (None: now).

        They are types and payloads, in their order.

        The store must be open for writing.

        Raises:
            StoreError: the store or its journal cannot be written.
        """
        from analyzer.store.journal import decide_all, open_journal

        with private_files(), open_journal(self.path) as journal, store_errors(), transaction(self._connection):
            decide_all(self._connection, journal, decisions, at)

    @property
    def writable(self) -> bool:
        """Say whether the store is open for writing."""
        return False

    @property
    def size_bytes(self) -> int | None:
        """Return the bytes of the file and of the write-ahead log beside it.

        None for a store that is no single file.
        """
        if not os.path.isfile(self.path):
            return None
        return sum(os.path.getsize(name) for name in (self.path, f"{self.path}.wal") if os.path.exists(name))

    def verdicts(self, rules: Rules = None, *, progress: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """Judge each error that has facts with rules, and keep nothing.

        The rules are a file, a ruleset, or None for the built-in ones.

        One row an error: `event_id`, `reason`, `detail`, `action`, `rule`.

        Raises:
            RulesError: the rules cannot be used.
        """
        from analyzer.store.verdicts.reclassify import verdicts

        with store_errors():
            return verdicts(self._connection, rules, progress)

    def _reopen(self) -> Callable[[], Connection] | None:
        """Return a function that connects again after an error that ended the connection.

        None for a store in memory, which ends with its connection.
        """
        if self.path == MEMORY:
            return None

        def again() -> Connection:
            self._connection.close()
            self._connection = connect(self.path, read_only=False)
            return self._connection

        return again

    def close(self) -> None:
        """Close the connection, and with it the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _WritableStore(Store):
    """A store that is open for writing; it holds the lock for as long as it is open."""

    def __init__(self, path: str, *, create: bool) -> None:
        if not (create or os.path.exists(path) or replacement_waits(path)):
            raise missing(path)
        self._lock = exclusive(path)
        self._lock.__enter__()
        try:
            complete_replacement(path)
            if path != MEMORY and not os.path.exists(path):
                from analyzer.store.journal import left_behind

                if left_behind(path):
                    raise missing(path)
                _make(path)
            # Readers may have it open, for a short time.
            super().__init__(patiently(lambda: connect(path, read_only=False)), path)
            self._catch_up()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def _catch_up(self) -> None:
        from analyzer.store.upkeep.catching_up import catch_up

        try:
            catch_up(self._connection, self.path)
        except duckdb.Error as error:
            self._connection.close()
            message = f"{self.path} cannot take over what its journal has: {first_line(error)}"
            raise StoreError(message, "free space if there is none, then run the same command again") from None

    @property
    def writable(self) -> bool:
        return True

    def close(self) -> None:
        super().close()
        self._lock.__exit__(None, None, None)


def _make(path: str) -> None:
    """Make an empty store under a temporary name, and rename it once it is complete.

    If the process dies or the disk fills up, nothing is left under the store's name.
    """
    discard_work(path)
    try:
        connect(work_of(path), read_only=False).close()
        replace_store(path)
    except duckdb.Error as error:
        discard_work(path)
        raise StoreError(f"{path} cannot be made: {first_line(error)}", "free space, or check permissions") from None
    except BaseException:
        discard_work(path)
        raise


def open_store(path: str | os.PathLike[str], *, writable: bool = False, create: bool = True) -> Store:
    """Open a store, read-only unless asked.

    It is a file, or `:memory:`, which is new, empty and throw-away.

    A writable store is made if there is none and `create` is true, but never beside the journal of a
    store that is gone: it would lack the findings, the prunes and the events of logs that are gone.
    A store of an earlier version is brought up to date first, by a reader too if the file may be
    written.

    Raises:
        StoreError: there is none or only its journal, the path is no file, or it cannot be opened.
        StoreBusyError: another process is writing; a reader has waited a few seconds for it.
    """
    name = os.fspath(path)
    if name != MEMORY:
        location(name)
    if name == MEMORY or writable:
        return _WritableStore(name, create=create)
    return patiently(lambda: _read_only(name))


def _read_only(path: str) -> Store:
    if replacement_waits(path):
        with exclusive(path):
            complete_replacement(path)
    try:
        return Store(connect(path, read_only=True), path)
    except EarlierStoreError:
        if not os.access(path, os.W_OK):
            raise
    with exclusive(path):
        connect(path, read_only=False).close()
    return Store(connect(path, read_only=True), path)
