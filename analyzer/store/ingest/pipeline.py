"""Batches into the store while the next one is read, through every failure that is not the disk's.

A batch is in the store once, or an error was raised. Whether a failed commit happened is looked up, never guessed. Rows
that the database fails on again and again go to quarantine as `poison`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

import duckdb

from analyzer.errors import FREE_SPACE, StoreError
from analyzer.events import EventLog
from analyzer.store.db.connection import first_line
from analyzer.store.ingest.batch import Rejected, Sealed
from analyzer.store.ingest.write import Meet, Writer

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    import polars as pl

Reopen = Callable[[], duckdb.DuckDBPyConnection]
MOST_POISON = 100
"""Rows of one batch; when more of them fail, it is not the rows."""
_DEAD = duckdb.InternalException, duckdb.FatalException, duckdb.ConnectionException
_ROOM = duckdb.IOException, duckdb.OutOfMemoryException


class Pipeline:
    """Commits sealed batches one after another, each in the background. Use as a context manager, and `finish` it."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        reopen: Reopen | None,
        journal: EventLog | None,
        now: datetime,
        meet: Meet | None = None,
    ) -> None:
        self._connection, self._reopen, self._journal, self._now = connection, reopen, journal, now
        self._meet = meet
        self._writer = Writer(connection, journal, now, meet=meet)
        self._background: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def submit(self, batch: Sealed | None) -> None:
        """Commit a batch in the background, once the one before it is in the store.

        Raises:
            StoreError: the one before could not be.
            AccountingError: its lines or bytes do not add up.
        """
        self.wait()
        if batch is not None:
            if self._background is None:
                from concurrent.futures import ThreadPoolExecutor  # here: mostly there is nothing to commit

                self._background = ThreadPoolExecutor(1, "store")
            self._running = self._background.submit(self._commit, batch)

    def wait(self) -> None:
        """Wait until everything that was submitted is in the store. Raises what `submit` raises."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Also after an error: nobody may use the connection while a batch is on its way.
        if self._background is not None:
            self._background.shutdown(wait=True)

    def _commit(self, batch: Sealed) -> None:
        error: duckdb.Error | None = None
        for _ in range(2):
            try:
                self._writer.apply(batch)
            except duckdb.Error as failure:
                error = failure
                self._recover(failure)
                if self._writer.holds(batch):
                    self._writer.settle(batch)
                    return
            else:
                return
        if error is None or _no_room(error) or not self._applies(batch, batch.events.head(0)):
            raise _refusal(error)
        poison = self._poison(batch, batch.events)
        try:
            self._writer.apply(_without(batch, poison))
        except duckdb.Error as failure:
            self._recover(failure)
            raise _refusal(failure) from None

    def _recover(self, error: duckdb.Error) -> None:
        """A connection that works, whatever the error has done to this one.

        Raises:
            StoreError: there is no way to one.
        """
        with contextlib.suppress(duckdb.Error):
            self._connection.execute("rollback")
        if not isinstance(error, _DEAD):
            try:
                self._connection.execute("select 1").fetchall()
            except duckdb.Error as failure:
                error = failure
            else:
                return
        if self._reopen is None:
            raise _refusal(error)
        try:
            self._connection = self._reopen()
        except duckdb.Error as failure:
            raise _refusal(failure) from None
        self._writer = Writer(self._connection, self._journal, self._now, self._writer, self._meet)

    def _applies(self, batch: Sealed, rows: pl.DataFrame) -> bool:
        """Whether the store takes these rows of the batch; nothing of it is kept."""
        try:
            self._writer.rehearse(replace(batch, events=rows))
        except duckdb.Error as error:
            self._recover(error)
            return False
        return True

    def _poison(self, batch: Sealed, rows: pl.DataFrame) -> list[int]:
        """The places of the rows that fail by themselves, found by halving."""
        found: list[int] = []
        stretches = [rows]
        while stretches:
            stretch = stretches.pop()
            if self._applies(batch, stretch):
                continue
            if stretch.height == 1:
                found.append(stretch["place"].item())
                if len(found) > MOST_POISON:
                    raise StoreError("the store refused very many rows", "nothing of the batch was kept")
                continue
            half = stretch.height // 2
            stretches += (stretch[half:], stretch[:half])
        return sorted(found)


def _without(batch: Sealed, places: list[int]) -> Sealed:
    """The batch without these rows; their lines go to quarantine."""
    lost = batch.events["place"].is_in(places)
    poison = batch.events.filter(lost)
    paths = {change.checkpoint.source_id: change.checkpoint.path for change in batch.sources}
    rejected = list(batch.rejected)
    bad_lines = set(batch.bad_lines)
    gained = {change.checkpoint.source_id: replace(change.gained) for change in batch.sources}
    for row in poison.iter_rows(named=True):
        source, line, length = row["source_id"], row["line"], row["byte_length"]
        text = row["payload"].encode()
        rejected.append(
            Rejected(
                source, paths[source], line or 0, row["byte_offset"], length, "poison", f"id {row['event_id']}", text
            )
        )
        if line is not None and (source, line) not in bad_lines:
            bad_lines.add((source, line))
            gained[source].quarantined += 1
            gained[source].quarantined_bytes += length + row["newline_bytes"]
    return replace(
        batch,
        events=batch.events.filter(~lost),
        derived={place: event for place, event in batch.derived.items() if place not in places},
        rejected=rejected,
        bad_lines=bad_lines,
        sources=[replace(change, gained=gained[change.checkpoint.source_id]) for change in batch.sources],
    )


def _refusal(error: duckdb.Error | None) -> StoreError:
    said = first_line(error) if error is not None else "no reason given"
    no_room = error is not None and _no_room(error)
    hint = FREE_SPACE if no_room else "nothing of it was kept"
    return StoreError(f"the store refused the batch: {said}", hint)


def _no_room(error: duckdb.Error) -> bool:
    # In a commit a write that fails is told as an error of the transaction.
    return isinstance(error, _ROOM) or "Could not write" in str(error)
