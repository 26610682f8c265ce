"""`analyzer rebuild` on a lake: a lake is made beside the former tables, and takes their place as one batch.

Order decides who counts as first, as in a file: the journal, then every known source as far as it had been read, then
new ones. Whoever dies on the way leaves the lake as it was; what is staged the next rebuild or ingest deletes.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.errors import StoreError
from analyzer.events.ids import new_id
from analyzer.lake.answers import stored
from analyzer.lake.files import check_version, filesystem, settings
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import PREFIX, Lake, for_spark
from analyzer.lake.rebuilding.books import Books
from analyzer.lake.rebuilding.journal import read_journal
from analyzer.lake.rebuilding.merging import EVENTS, FACTS, VERDICTS, Merging
from analyzer.lake.session import own_views, require, session, spark_said
from analyzer.lake.writing.applying import SUMMED
from analyzer.lake.writing.deciding import load
from analyzer.lake.writing.judging import judge_former, keep_up
from analyzer.lake.writing.ledger import LAST, Ledger
from analyzer.lake.writing.opening import STAGING, clear_staging, ledger_of, make_where_none_is, opened, spark_failures
from analyzer.lake.writing.replaying import suggest
from analyzer.lake.writing.run import ingest
from analyzer.store.db.arrow import ArrowStream
from analyzer.store.db.connection import connect, store_errors
from analyzer.store.db.lock import MEMORY
from analyzer.store.db.paths import kept
from analyzer.store.ingest.batch import MAX_EVENTS
from analyzer.store.ingest.discovery import STDIN, Problem, discover
from analyzer.store.upkeep.rebuild import Matched, Rebuild, match

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMER = ("store_v1", EVENTS, FACTS, VERDICTS, LAST, "quarantine_v1")
"""The tables of a lake that can be made again; its journal cannot."""
_CHUNK_BYTES = 64 * 1024 * 1024
"""Of the rows of a commit, in memory."""
Shown = Callable[[str, int, int], None]


def rebuild(lake: Lake, paths: Iterable[str] = (), progress: Shown | None = None) -> Rebuild:
    """Make a lake again from its journal, the sources that it knows and those below `paths`.

    Raises:
        StoreBusyError: another process writes to it.
        StoreError: there is nothing to make it from, Spark does not start, or the lake cannot be read or written; what
            was there before stays.
    """
    began = time.monotonic()
    named = list(paths)
    result = Rebuild(f"{PREFIX}{lake.path}")
    require(lake)
    if lake.exists:
        result.why = _unusable(lake, result.store, named)
        result.former = "unreadable" if result.why else "read"
    elif not named:
        lake.check()
    else:
        make_where_none_is(lake)
    with spark_failures(), store_errors(), opened(lake) as ledger:
        try:
            with tempfile.TemporaryDirectory() as folder:
                _Work(lake, ledger, result, folder, progress).run(named)
        finally:
            clear_staging(lake)
    result.seconds = time.monotonic() - began
    return result


def _unusable(lake: Lake, store: str, named: list[str]) -> str | None:
    """Why a lake does not tell what it knows of itself; None where it does.

    Raises:
        StoreError: it does not and no logs are named, or it is of another version of the program.
    """
    try:
        settings(lake)
    except StoreError as error:
        if named:
            return error.message
        raise StoreError(error.message, _name_logs(store)) from None
    check_version(lake)
    return None


def _name_logs(store: str) -> str:
    return f"name the logs that it was made from: analyzer rebuild PATH... --store {store}"


class _Work:
    """The steps of one rebuild."""

    def __init__(self, lake: Lake, ledger: Ledger, result: Rebuild, folder: str, progress: Shown | None) -> None:
        """`folder` is one on this machine's disk that is nobody else's."""
        self._lake, self._ledger, self._result = lake, ledger, result
        self._folder, self._progress = folder, progress
        self._spark: SparkSession = own_views(session(lake))
        self._place = f"{lake.table(STAGING)}/{new_id()}"
        self._whole: list[str] | None = None
        """The files of the journal that can be read, where others cannot."""

    def run(self, named: list[str]) -> None:
        """Run all steps; the tables have changed when it ends, or as if nothing had been done."""
        result = self._result
        if result.former == "read" and (why := self._unreadable()):
            result.former, result.why = "unreadable", why
            if not named:
                raise StoreError(f"{self._lake.path} cannot be read: {why}", _name_logs(result.store))
        work = Lake(f"{self._place}/lake", self._lake.master, self._lake.storage)
        make_where_none_is(work)
        new = ledger_of(work)
        former = self._ledger if result.former == "read" else None
        self._read_journal(new)
        with Books(self._folder, former) as books:
            matched = self._read_logs(new, books, named)
            self._merge(new, former, books, matched)
            self._replace(new, books)
            self._judge(books, judge_all=former is None)

    def _unreadable(self) -> str | None:
        """Why the former lake cannot be read to its last row; None where it can."""
        for name in _FORMER:
            if why := self._broken(name, self._files(name)):
                return why
        return None

    def _broken(self, name: str, files: list[str]) -> str | None:
        try:
            stored(self._spark, tables()[name], files).write.format("noop").mode("overwrite").save()
        except StoreError as error:
            return error.message.removeprefix("the lake cannot be read: ")
        except Exception as error:
            if not type(error).__module__.startswith(("py4j", "pyspark")):
                raise
            return spark_said(error)
        return None

    def _files(self, name: str) -> list[str]:
        return [for_spark(one) for one in sorted(self._ledger[name].file_uris())]

    def _read_journal(self, new: Ledger) -> None:
        files = self._files(JOURNAL)
        if self._broken(JOURNAL, files):
            whole = [one for one in files if not self._broken(JOURNAL, [one])]
            hint = "bring it back from a backup; events of logs that are gone are in no other place"
            told = (Problem(one, "a damaged part of the journal", hint) for one in files if one not in whole)
            self._result.problems += told
            files = self._whole = whole
        if not files:
            return
        self._result.journal_damaged, problems = read_journal(
            lambda: self._spark, files, new, for_spark(f"{self._place}/journal"), self._lake.table(JOURNAL)
        )
        self._result.problems += problems
        self._result.journal_events = new[EVENTS].to_pyarrow_dataset().count_rows()

    def _read_logs(self, new: Ledger, books: Books, named: list[str]) -> Matched:
        own = [] if self._lake.remote else [self._lake.path]
        found = discover(named, own=own)
        self._result.problems += found.problems
        files = [kept(name) for name in found.files if name != STDIN]
        matched = match(books.known, files)
        limits = {name: checkpoint.offset for name, checkpoint in matched.readable.items()}
        if order := [*limits, *(name for name in files if name not in limits)]:
            read = ingest(
                lambda: self._spark,
                new,
                order,
                staging=for_spark(f"{self._place}/read"),
                own=own,
                limits=limits,
                below={kept(name): folder for name, folder in found.below.items()},
                progress=self._progress,
            )
            self._result.problems += [item for item in read.problems if item.path not in limits]
        return matched

    def _merge(self, new: Ledger, former: Ledger | None, books: Books, matched: Matched) -> None:
        merging = Merging(self._spark, new, former, for_spark(f"{self._place}/merged"))
        books.take(new, merging.decisions())
        self._result.vanished = books.settle(merging.splits(books.unsettled(matched)), matched)
        self._result.ruleset = books.ruleset
        merging.stage(books.horizon, books.ruleset)
        self._result.carried_events = merging.carried()

    def _replace(self, new: Ledger, books: Books) -> None:
        """Put all tables in the place of the former ones, as one batch."""
        ledger = self._ledger
        with ledger.batch():
            ledger.renew("store_v1", books.rows("store_v1"))
            for name in (EVENTS, FACTS, VERDICTS):
                merged = f"{os.path.basename(self._place)}/merged/{name}"
                ledger.renew(name, _chunks(name, self._below(merged, STAGING)))
            ledger.renew("quarantine_v1", books.rows("quarantine_v1"))
            gained = _chunks(JOURNAL, new[JOURNAL].to_pyarrow_dataset())
            if self._whole is not None:
                ledger.renew(JOURNAL, chain.from_iterable(map(self._journal_of, self._whole)))
            for chunk in gained:
                ledger.append(JOURNAL, chunk)
            ledger.renew(SUMMED, ())
            sources = list(books.rows(LAST))
            ledger.replace(LAST, pa.concat_tables(sources) if sources else tables()[LAST].schema.empty_table())
        self._result.sources = sum(chunk.num_rows for chunk in sources)
        self._result.events = ledger[EVENTS].to_pyarrow_dataset().count_rows()

    def _judge(self, books: Books, *, judge_all: bool) -> None:
        """The last ruleset that was applied is active; those before judged what had happened by then."""
        asked = partial(session, self._lake)
        for (digest, _), (_, superseded_at) in pairwise(books.applied()) if judge_all else ():
            judge_former(asked, self._ledger, digest, superseded_at)
        self._result.unjudged = keep_up(asked, self._ledger)
        if self._result.ruleset is not None:
            with connect(MEMORY, read_only=False) as connection, self._ledger.batch():
                load(connection, "store_v1", self._ledger.rows("store_v1"))
                suggest(self._spark, self._ledger, connection, self._result.ruleset, recorded=True)

    def _journal_of(self, file: str) -> Iterator[pa.Table]:
        return _chunks(JOURNAL, self._below(os.path.basename(file), JOURNAL))

    def _below(self, place: str, name: str) -> ds.Dataset:
        """Files in the folder of a lake."""
        return ds.dataset(place, format="parquet", filesystem=filesystem(self._lake, name))


def _chunks(name: str, rows: ds.Dataset) -> Iterator[pa.Table]:
    """The rows of a dataset in their order, as a lake's table has them: so many that they are a batch at most."""
    table, waiting = tables()[name], []
    columns = table.columns.names
    height = size = 0
    for batch in rows.to_batches(columns=columns, batch_size=16_384, batch_readahead=1, fragment_readahead=1):
        waiting.append(batch)
        height += batch.num_rows
        size += batch.nbytes
        if height >= MAX_EVENTS or size >= _CHUNK_BYTES:
            yield table.rows(cast("ArrowStream", pa.Table.from_batches(waiting)))
            waiting, height, size = [], 0, 0
    if height:
        yield table.rows(cast("ArrowStream", pa.Table.from_batches(waiting)))
