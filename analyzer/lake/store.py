"""`LakeStore`: a store whose rows are in a lake, on a connection that shows them.

What changes there beside new logs, as decisions, verdicts, another ruleset and retention, is one batch each, by the
statements of a store beside the lake. Who changes what is there already holds the lease.

The connection has the large tables as views of their files, and copies of the small ones, so that everything of a store
that asks is used as it is: no statement is written for a lake.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.command_lines import LAKE
from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake.batch import SETTINGS, LakeBatch, make_where_none_is, settings
from analyzer.lake.beside import Beside, columns_of, kept_rules, listed, load, relation
from analyzer.lake.former import again, brought_up_to_date, current
from analyzer.lake.layout import GONE, JOURNAL, missing, rows, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import Conflict, Entry, Lease, State
from analyzer.lake.push import (
    EVENTS,
    FACTS,
    QUARANTINE,
    SOURCES,
    VERDICTS,
    ingest_into,
    machine,
    own_sources,
    retry_quarantine,
)
from analyzer.store import Prune, Store, kept_since, survey
from analyzer.store.db.connection import connect, private_files, store_errors, transaction
from analyzer.store.db.location import MEMORY
from analyzer.store.db.tables.schema import LEAVE_OUT_TOLD_TWICE
from analyzer.store.ingest.discover import Paths, named
from analyzer.store.journal import DECISIONS, decide_all, open_journal
from analyzer.store.upkeep.prune import OLD_EVENTS, count_old, horizon_of, move_horizon, nanoseconds
from analyzer.store.verdicts.reclassify import apply_ruleset, compare, trial
from analyzer.store.verdicts.rulesets import add_verdicts, ruleset_at_hand

if TYPE_CHECKING:
    import duckdb

    from analyzer.importers.places import LogPlace
    from analyzer.store import IngestResult, QuarantineRetry, Reclassification, Survey


LARGE = ("event_v1", "facts_v1", "verdict_v1", "quarantine_v1")
"""Tables that grow with what is read. The others hold a row a source, a setting, or a sum."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A lake as one of its batches left it. Of its files only those of large tables are opened later."""

    lake: Lake
    at: State
    rows: Mapping[str, pa.Table]
    """Of each small table."""


def snapshot(lake: Lake, at: State | None = None) -> Snapshot:
    """Read the lake as it is now, or as one of its batches left it.

    Raises:
        StoreError: there is none, it is of another version of the program, a log of it is damaged, or a file is missing
            that it names.
    """
    at = at or current(lake)
    small = {}
    for name in tables():
        if gone := missing(lake, name, at.files[name]):
            hint = f"{GONE} delta:{lake.path}"
            raise StoreError(f"{gone[0]} is missing, which the lake's table {name} names", hint)
        if name not in {*LARGE, JOURNAL}:
            small[name] = rows(lake, name, at.files[name])
    return Snapshot(lake, at, small)


def connected(shown: Snapshot, settings: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
    """Open a connection that shows a lake and reaches no other file; `settings` are DuckDB's.

    Raises:
        StoreError: the database does not open.
    """
    # In memory, the database would spill into the working directory.
    chosen = settings or {"temp_directory": os.path.join(tempfile.gettempdir(), f"analyzer-{os.getpid()}.tmp")}
    connection = connect(MEMORY, read_only=False, settings=chosen)
    run = connection.execute
    try:
        for name, small in shown.rows.items():
            run(f"delete from internal.{name}").fetchall()
            load(connection, name, small)
        for name in LARGE:
            if paths := shown.at.files[name]:
                source = relation(connection, shown.lake, name, paths)
                run(f"drop table internal.{name}")
                run(f"create view internal.{name} as select {columns_of(name)} from {source}")
        run(LEAVE_OUT_TOLD_TWICE)
        named = (f"{shown.lake.table(name)}/{path}" for name in LARGE for path in shown.at.files[name])
        run(f"set global allowed_paths = {listed(named if not shown.lake.remote else ())}")
        # Files of a lake never change: what their ends say is read once, not for each statement.
        run("set global parquet_metadata_cache = true")
        run("set global enable_external_access = false")
        run("set global lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


Counted = Callable[[int, int], None]


def record(lake: Lake, token: str, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None) -> None:
    """Record decisions of one moment (None: now).

    Raises:
        StoreError: the lake does not take them; then it has none of them.
    """
    given = list(decisions)

    def once(now: State) -> None:
        with Beside(lake, now, token) as beside, open_journal(beside.path) as journal:
            decide_all(beside.connection, journal, given, at)
            beside.add(EVENTS, f"from internal.{EVENTS}")
            beside.add_journal()
            # Decisions rest on no row of a table: what others add changes nothing of them.
            beside.batch.commit(lambda _, __: None)

    again(lake, once)


def active_rules(lake: Lake, at: State) -> Ruleset | None:
    """The active ruleset: that which the lake keeps, that of the file that it was read from, or the built-in one; None
    where there is none, or it is nowhere any more.
    """
    known = settings(lake, at)
    digest = known.get("active_ruleset")
    if digest is None:
        return None
    return ruleset_at_hand(digest, (known.get("active_rules"), None), kept_rules(lake, at, digest))


def judge(lake: Lake, token: str, ruleset: Ruleset, progress: Counted | None = None) -> int:
    """Keep the verdicts of rules for the facts of a lake that lack one; how many these were.

    Raises:
        StoreError: the lake cannot be read or written; then none of them is kept.
    """

    def once(now: State) -> int:
        with LakeBatch(lake, now, token) as batch:
            count = _judge_into(batch, ruleset, progress)
            batch.commit()
            return count

    return again(lake, once)


def _judge_into(batch: LakeBatch, ruleset: Ruleset, progress: Counted | None = None) -> int:
    with closing(connected(snapshot(batch.lake, batch.at))) as connection:
        count = add_verdicts(connection, ruleset, trial(connection, ruleset), progress)
        if count:
            batch.add_from(
                connection, VERDICTS, f"from trial_verdict anti join internal.{VERDICTS} using (facts_id, ruleset)"
            )
    return count


def apply_rules(lake: Lake, rules: Rules, ruleset: Ruleset, token: str) -> tuple[str | None, int]:
    """Make a ruleset the active one; which was it before, and how many facts nobody had judged by it yet.

    Raises:
        StoreError: the lake cannot be read or written; then nothing of it is applied.
    """

    def once(now: State) -> tuple[str | None, int]:
        with Beside(lake, now, token) as beside, open_journal(beside.path) as journal:
            count = _judge_into(beside.batch, ruleset)
            apply_ruleset(beside.connection, ruleset, rules, beside.path, journal)
            beside.add(EVENTS, f"from internal.{EVENTS}")
            beside.add_journal()
            beside.put_settings()
            beside.batch.commit(_no_facts)
            return beside.settings.get("active_ruleset"), count

    return again(lake, once)


def _no_facts(came: list[Entry], _: State) -> None:
    if any({FACTS, VERDICTS, SETTINGS} & {*one.adds, *one.removes} for one in came):
        raise Conflict


def prune(lake: Lake, before: datetime, lease: Lease | None) -> Prune:
    """Delete the events of a lake before a moment (naive UTC), with all that rests on them alone; decisions stay.

    Without a lease it is said what would be deleted.

    Raises:
        StoreError: the lake cannot be read or written; then nothing of it is deleted.
    """
    result = Prune(before, done=lease is not None)
    with private_files(), store_errors():
        if lease is None:
            with closing(connected(snapshot(lake))) as connection:
                result.events, result.quarantined = count_old(connection, before)
            return result
        with lease.alone(), closing(connected(shown := snapshot(lake))) as connection:
            result.events, result.quarantined = count_old(connection, before)
            with Beside(lake, shown.at, lease.token) as beside:
                with open_journal(beside.path) as journal, transaction(beside.connection):
                    move_horizon(beside.connection, journal, before)
                beside.add_journal()
                beside.put_settings()
                _drop(beside, connection, horizon_of(beside.connection) or before)
                beside.add(EVENTS, f"from internal.{EVENTS}")
                beside.batch.commit()
    return result


def _drop(beside: Beside, connection: Any, horizon: datetime) -> None:
    """Take out all rows from before a horizon; `connection` shows the lake."""
    moment, own = ds.field("occurred_at"), ds.field("source_path").is_null()
    old = (moment < pa.scalar(horizon, pa.timestamp("us"))) & ~(own & ds.field("type").isin(DECISIONS))
    beside.rewrite_where(EVENTS, old, beside.at)
    left = f"select facts_id from internal.{EVENTS} where facts_id is not null and not ({OLD_EVENTS})"
    gone = connection.execute(
        f"select facts_id from internal.{FACTS} where facts_id not in ({left})", [horizon]
    ).fetchall()
    if gone:
        for name in (FACTS, VERDICTS):
            beside.rewrite(name, "facts_id", [row[0] for row in gone], beside.at)
    changed = ds.field("mtime_ns")
    sources = rows(beside.lake, SOURCES, beside.at.files[SOURCES], (changed >= 0) & (changed < nanoseconds(horizon)))[
        "source_id"
    ].to_pylist()
    if sources:
        beside.rewrite(QUARANTINE, "source_id", sources, beside.at)


class LakeStore(Store):
    """Shows the lake as it was when it was opened, or when this store last wrote to it.

    Raises:
        StoreError: there is no lake, or it is damaged.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot = snapshot(lake)
        super().__init__(connected(self._snapshot), f"{LAKE}{lake.path}")

    @property
    def _lease(self) -> Lease:
        """Return the lease of this writer.

        Raises:
            StoreError: this store is open for reading.
        """
        raise StoreError(f"{self.path} is open for reading", "open it for writing")

    def ingest(self, paths: Paths, progress: Callable[[str, int, int], None] | None = None) -> IngestResult:
        """See `Store`."""
        token = self._lease.token
        try:
            if self._lake.master is None:
                return ingest_into(self._lake, named(paths), progress, token=token)
            from analyzer.lake.spark import ingest_by_executors

            return ingest_by_executors(self._lake, named(paths), progress)
        finally:
            self._look_again()

    def survey(self, places: Iterable[LogPlace]) -> Survey:
        """See `Store`; the sources of this machine are known."""
        own = own_sources(self._snapshot.rows[SOURCES], machine()).select(["path", "size", "mtime_ns"]).to_pylist()
        return survey(places, {row["path"]: (row["size"], row["mtime_ns"]) for row in own})

    def retry_quarantine(self) -> QuarantineRetry:
        """See `Store`; the logs of this machine are read."""
        result = retry_quarantine(self._lake, self._lease.token)
        self._look_again()
        return result

    def prune(self, before: datetime | str, *, files: bool = False, dry_run: bool = False) -> Prune:
        """See `Store`; logs of many machines are not deleted.

        Raises:
            AnalyzerError: `files` is asked for.
        """
        if files:
            raise AnalyzerError(
                "--files is for a store in a file", "leave it out: the logs of a lake stay where they are"
            )
        before = kept_since(before) if isinstance(before, str) else before
        result = prune(self._lake, before, None if dry_run else self._lease)
        self._look_again()
        return result

    def reclassify(
        self, rules: Rules = None, *, apply: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Reclassification:
        """See `Store`."""
        if not apply:
            return super().reclassify(rules, progress=progress)
        ruleset, token = ruleset_for(rules), self._lease.token
        # Most of the work, which changes nothing that anybody sees yet.
        count = judge(self._lake, token, ruleset, progress)
        before, late = apply_rules(self._lake, rules, ruleset, token)
        self._look_again()
        target = f"internal.{VERDICTS}"
        return compare(self._connection, ruleset.digest, target, count + late, active=before, applied=True)

    def judge_history(self, rules: Rules = None) -> str:
        """See `Store`."""
        at = self._snapshot.at
        active = settings(self._lake, at).get("active_ruleset")
        if active is not None and not self.writable:
            return active
        ruleset = ruleset_for(rules) if active is None else active_rules(self._lake, at)
        digest = active or ruleset_for(ruleset).digest
        judged = f"(select facts_id from internal.{VERDICTS} where ruleset = $1)"
        lacking = f"select 1 from internal.{FACTS} anti join {judged} using (facts_id) limit 1"
        if self.writable and ruleset is not None and self._connection.execute(lacking, [digest]).fetchall():
            judge(self._lake, self._lease.token, ruleset)
            self._look_again()
        return digest

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """See `Store`."""
        record(self._lake, self._lease.token, decisions, at)
        self._look_again()

    def _look_again(self) -> None:
        """Show the lake as it is now."""
        self._snapshot = snapshot(self._lake)
        self._connection.close()
        self._connection = connected(self._snapshot)


class WritableLakeStore(LakeStore):
    """Holds the lease for as long as it is open: nobody else decides or changes anything, and others go on adding logs.

    Raises:
        StoreBusyError: another process holds it.
    """

    def __init__(self, lake: Lake, *, create: bool = False) -> None:
        """With `create` an empty lake is made where there is none."""
        if create:
            make_where_none_is(lake)
        brought_up_to_date(lake)
        self._held = ExitStack()
        self._own = self._held.enter_context(Lease(lake).held())
        try:
            super().__init__(lake)
        except BaseException:
            self._held.close()
            raise

    @property
    def _lease(self) -> Lease:
        return self._own

    @property
    def writable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Release the lake."""
        try:
            super().close()
        finally:
            self._held.close()
