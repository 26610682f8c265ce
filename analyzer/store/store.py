"""`Store`: an open store, as the layers above and notebooks see it. Queries in, polars frames out."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb

from analyzer.command_lines import LAKE, command_line
from analyzer.errors import AnalyzerError, QueryError, StoreError
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
    from analyzer.store.export.days import DayTarget, ExportedView
    from analyzer.store.ingest.discover import Paths, Survey
    from analyzer.store.ingest.run import IngestResult
    from analyzer.store.query.adhoc import Parameters, Registered
    from analyzer.store.sums.daily import DailySums
    from analyzer.store.upkeep.prune import Prune
    from analyzer.store.upkeep.quarantine import QuarantineRetry
    from analyzer.store.verdicts.reclassify import Reclassification


_T = TypeVar("_T")
_IS_SMALL = "select 1 from duckdb_tables() where table_name = 'event_v1' and estimated_size < $1"
"""Of a lake it is no table."""


class Store(Shown):
    """An open store. Use as a context manager, or call `close`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: str) -> None:
        self._connection = connection
        self.path = path
        """The file, or `:memory:`."""
        self._frames: dict[str, pl.DataFrame] = {}

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """Run a query of the catalogue; `since` and `until` take datetimes or texts such as `7d`, `last` such a text.

        Raises:
            QueryError: unknown name or parameter, or a bad value.
        """
        return run_query(self._connection, name, params, ask)

    def rows(self, name: str, **params: object) -> PlainRows:
        """The same as values of Python, for few rows: it takes no polars.

        Raises:
            QueryError: unknown name or parameter, or a bad value.
        """
        return run_query(self._connection, name, params, ask_rows)

    def sql(self, statement: str, parameters: Parameters = None, *, timeout: float | None = None) -> pl.DataFrame:
        """Run one reading statement over the views and the registered frames, and return all its rows.

        `parameters` are a sequence for `?` and `$1`, or a mapping for `$name`. It may take `timeout` seconds (None:
        however long); Ctrl-C ends it, too.

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
        """Let `sql` see rows under a name, as they are now: a frame of polars, pandas or Arrow, a dict of columns, or a
        list of dicts. Nothing is stored.

        A name that is registered again stands for the new frame. `query` and the views never see it.

        Raises:
            QueryError: a name that SQL would want in quotes or that a view has, or something that is no frame.
        """
        from analyzer.store.query.adhoc import checked_name, copied

        known = checked_name(self._connection, name)
        self._frames[known] = copied(self._connection, known, frame)

    @property
    def views(self) -> pl.DataFrame:
        """What `sql` may ask: `view`, as it is written behind `from`, `description`, and the names of its `columns`."""
        return views_frame()

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        mode = "writing" if self.writable else "reading"
        return f"Store {self.path!r}", store_facts(self._connection, mode, self._frames)

    def pinned(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> AbstractContextManager[Callable[[str], None]]:
        """For many questions about one window (naive UTC): within the block its errors, retries and relays are worked
        out once, with what a report asks of them.

        What is written meanwhile does not show in them. What the block gets lets go of one of them: `drop("errors")`.
        """
        return pinned(self._connection, since, until)

    @contextmanager
    def meanwhile(self, work: Callable[[Store], _T]) -> Iterator[Callable[[], _T]]:
        """Do `work` with a store of its own, which sees the same, while the block asks this one; the block gets what
        waits for its answer.

        Of many events both would take much memory at a time, and a lake is asked through one connection: there it is
        done before the block.
        """
        with store_errors():
            connection = self._connection.cursor()
            connection.execute(f"use {CATALOG}").fetchall()
            small = connection.execute(_IS_SMALL, [MANY_ROWS]).fetchall()
        with connection:
            if small:
                with meanwhile(connection, lambda: work(Store(connection, self.path))) as waited:
                    yield lambda: waited(None)
            else:
                answer = work(self)
                yield lambda: answer

    def selecting(self, only: Selection) -> AbstractContextManager[None]:
        """Within the block `query` and `sql` see that part of the store alone: its errors, chains, sessions and so on.

        Raises:
            QueryError: the store cannot be asked.
        """
        return selected(self._connection, only)

    def ingest(self, paths: Paths, progress: Callable[[str, int, int], None] | None = None) -> IngestResult:
        """Read what is new below one path or several, or in places of agents. The store must be open for writing.

        Raises:
            StoreError: the store refused a batch.
        """
        from analyzer.store.ingest.discover import named
        from analyzer.store.ingest.run import ingest

        with private_files(), store_errors():
            result = ingest(
                self._connection, named(paths), store_path=self.path, progress=progress, reopen=self._reopen()
            )
            self._settle(result)
        return result

    def survey(self, places: Iterable[LogPlace]) -> Survey:
        """What lies in places of agents, and what of it is not in the store yet."""
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
        """What a store does with new events: those before its horizon go, the others are judged."""
        from analyzer.store.upkeep.prune import apply_horizon
        from analyzer.store.verdicts.rulesets import keep_up

        try:
            with transaction(self._connection):
                result.pruned = apply_horizon(self._connection)
            result.unjudged = keep_up(self._connection, self.path)
        except duckdb.Error as error:
            said = f"the events are stored, and not yet judged: {first_line(error)}"
            raise StoreError(said, "free space if there is none, then run the same command again") from None

    def prune(self, before: datetime | str, *, files: bool = False, dry_run: bool = False) -> Prune:
        """Delete events before a moment (naive UTC; `90d` is the midnight so long ago).

        With `files` the finished parts of logs that hold only such go, too.
        The store must be open for writing, but for a dry run.

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
        """Judge all history with rules (a file, a ruleset, None: built in) and compare; `apply` wants a writable store.

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
        """Judge what the ruleset in force has not judged yet; its digest. A store open for reading stays as it is.

        In force is the active ruleset, else `rules` (a file, a ruleset, None: the built-in ones).

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
        from analyzer.store.sums.daily import daily_sums

        return daily_sums(self._connection, first, night, timezone, ruleset)

    def excerpts(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The beginnings of lines of logs (path, 1-based number), redacted, where the file still is what was read."""
        from analyzer.store.ingest.run import checkpoints
        from analyzer.store.query.excerpts import excerpts

        return excerpts(lambda paths: checkpoints(self._connection, paths), places)

    def export(
        self,
        target: DayTarget,
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
        """Record decisions of the analyzer, all or none: types and payloads, in their order, as of one moment (now).

        The store must be open for writing.

        Raises:
            StoreError: the store or its journal cannot be written.
        """
        from analyzer.store.journal import decide_all, open_journal

        with private_files(), open_journal(self.path) as journal, store_errors(), transaction(self._connection):
            decide_all(self._connection, journal, decisions, at)

    @property
    def writable(self) -> bool:
        """Whether it is open for writing."""
        return False

    @property
    def size_bytes(self) -> int | None:
        """What its file takes, with the writes that wait beside it; None where it is no single file."""
        if not os.path.isfile(self.path):
            return None
        return sum(os.path.getsize(name) for name in (self.path, f"{self.path}.wal") if os.path.exists(name))

    def verdicts(self, rules: Rules = None, *, progress: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """What rules (a file, a ruleset, None: the built-in ones) say of each error that has facts, without keeping it.

        One row an error: `event_id`, `reason`, `detail`, `action`, `rule`.

        Raises:
            RulesError: the rules cannot be used.
        """
        from analyzer.store.verdicts.reclassify import verdicts

        with store_errors():
            return verdicts(self._connection, rules, progress)

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
            # Readers may have it open; who only reads is soon done.
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
            said = f"{self.path} cannot take over what its journal has: {first_line(error)}"
            raise StoreError(said, "free space if there is none, then run the same command again") from None

    @property
    def writable(self) -> bool:
        return True

    def close(self) -> None:
        super().close()
        self._lock.__exit__(None, None, None)


def _make(path: str) -> None:
    """An empty store gets its name when it is whole: who dies here, or fills the disk, leaves nothing in its place."""
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


def open_store(
    path: str | os.PathLike[str], *, writable: bool = False, create: bool = True, master: str | None = None
) -> Store:
    """Open a store, read-only unless asked: a file, a lake (`delta:PATH`), or `:memory:`, which is new, empty and
    throw-away.

    A writable one is made where there is none, if `create`, and never beside a journal of one that is gone: it would
    know neither the findings nor the prunes, nor the events of logs that are gone. A store of an earlier version is
    brought up to date first, also by who only reads, if the file may be written. `master` is the Spark that reads logs
    for a lake.

    Raises:
        AnalyzerError: the name can be that of no lake, or there is a master without a lake.
        StoreError: there is none or only its journal, something else than a file stands there, or it cannot be opened.
        StoreBusyError: another process is writing; who only reads has waited a few seconds for it to finish.
    """
    name = os.fspath(path)
    if name.startswith(LAKE):
        # The room above this one: its libraries are an extra, and are loaded for the name of a lake alone.
        opened: Store = import_module("analyzer.lake").open_lake(name, master, writable=writable, create=create)
        return opened
    if master is not None:
        raise AnalyzerError("--master is for a lake alone", f"name one: --store {LAKE}PATH")
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
