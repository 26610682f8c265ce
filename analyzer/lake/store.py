"""Hold `LakeStore`: a store whose rows are in a lake, on a connection that shows them.

Decisions, verdicts, another ruleset and retention are one batch each, made by the statements of a
store beside the lake. A writer that changes existing rows holds the lease.

The connection has the large tables as views of their files, and copies of the small ones, so that
all queries of a store work unchanged: no statement is written for a lake.
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
from analyzer.lake.beside import LocalStore, columns_of, kept_rules, listed, load, relation
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
"""Tables that grow with what is read. The others hold a row per source, setting or sum."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A lake after one of its batches. Only files of large tables are opened later."""

    lake: Lake
    at: State
    rows: Mapping[str, pa.Table]
    """The rows of each small table."""


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
        # Files of a lake never change, so their footers are read once, not for each statement.
        run("set global parquet_metadata_cache = true")
        run("set global enable_external_access = false")
        run("set global lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


OnJudged = Callable[[int, int], None]


def record(lake: Lake, token: str, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None) -> None:
    """Record decisions of one moment (None: now).

    Raises:
        StoreError: the lake does not take them; then it has none of them.
    """
    recorded = list(decisions)

    def once(now: State) -> None:
        with LocalStore(lake, now, token) as local, open_journal(local.path) as journal:
            decide_all(local.connection, journal, recorded, at)
            local.add(EVENTS, f"from internal.{EVENTS}")
            local.add_journal()
            # Decisions rest on no row of a table: what others add changes nothing of them.
            local.batch.commit(lambda _, __: None)

    again(lake, once)


def active_rules(lake: Lake, at: State) -> Ruleset | None:
    """Return the active ruleset: the one the lake keeps, that of its file, or the built-in one.

    None if there is none, or its rules are nowhere any more.
    """
    values = settings(lake, at)
    digest = values.get("active_ruleset")
    if digest is None:
        return None
    return ruleset_at_hand(digest, (values.get("active_rules"), None), kept_rules(lake, at, digest))


def judge(lake: Lake, token: str, ruleset: Ruleset, progress: OnJudged | None = None) -> int:
    """Save the verdicts of rules for the facts of a lake that lack one; return their number.

    Raises:
        StoreError: the lake cannot be read or written; then none of them is kept.
    """

    def once(now: State) -> int:
        with LakeBatch(lake, now, token) as batch:
            count = _judge_into(batch, ruleset, progress)
            batch.commit()
            return count

    return again(lake, once)


def _judge_into(batch: LakeBatch, ruleset: Ruleset, progress: OnJudged | None = None) -> int:
    with closing(connected(snapshot(batch.lake, batch.at))) as connection:
        count = add_verdicts(connection, ruleset, trial(connection, ruleset), progress)
        if count:
            batch.add_from(
                connection, VERDICTS, f"from trial_verdict anti join internal.{VERDICTS} using (facts_id, ruleset)"
            )
    return count


def apply_rules(lake: Lake, rules: Rules, ruleset: Ruleset, token: str) -> tuple[str | None, int]:
    """Make a ruleset the active one; return the former one and the number of facts judged.

    Raises:
        StoreError: the lake cannot be read or written; then nothing of it is applied.
    """

    def once(now: State) -> tuple[str | None, int]:
        with LocalStore(lake, now, token) as local, open_journal(local.path) as journal:
            count = _judge_into(local.batch, ruleset)
            apply_ruleset(local.connection, ruleset, rules, local.path, journal)
            local.add(EVENTS, f"from internal.{EVENTS}")
            local.add_journal()
            local.put_settings()
            local.batch.commit(_no_facts)
            return local.settings.get("active_ruleset"), count

    return again(lake, once)


def _no_facts(came: list[Entry], _: State) -> None:
    if any({FACTS, VERDICTS, SETTINGS} & {*entry.adds, *entry.removes} for entry in came):
        raise Conflict


def prune(lake: Lake, before: datetime, lease: Lease | None) -> Prune:
    """Delete the events of a lake before a moment (naive UTC), with rows that only they need.

    Decisions stay. Without a lease this only counts what would be deleted.

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
            with LocalStore(lake, shown.at, lease.token) as local:
                with open_journal(local.path) as journal, transaction(local.connection):
                    move_horizon(local.connection, journal, before)
                local.add_journal()
                local.put_settings()
                _drop(local, connection, horizon_of(local.connection) or before)
                local.add(EVENTS, f"from internal.{EVENTS}")
                local.batch.commit()
    return result


def _drop(local: LocalStore, connection: Any, horizon: datetime) -> None:
    """Delete all rows from before a horizon; `connection` shows the lake."""
    moment, own = ds.field("occurred_at"), ds.field("source_path").is_null()
    old = (moment < pa.scalar(horizon, pa.timestamp("us"))) & ~(own & ds.field("type").isin(DECISIONS))
    local.rewrite_where(EVENTS, old, local.at)
    left = f"select facts_id from internal.{EVENTS} where facts_id is not null and not ({OLD_EVENTS})"
    gone = connection.execute(
        f"select facts_id from internal.{FACTS} where facts_id not in ({left})", [horizon]
    ).fetchall()
    if gone:
        for name in (FACTS, VERDICTS):
            local.rewrite(name, "facts_id", [row[0] for row in gone], local.at)
    changed = ds.field("mtime_ns")
    sources = rows(local.lake, SOURCES, local.at.files[SOURCES], (changed >= 0) & (changed < nanoseconds(horizon)))[
        "source_id"
    ].to_pylist()
    if sources:
        local.rewrite(QUARANTINE, "source_id", sources, local.at)


class LakeStore(Store):
    """A store that shows the lake as it was when it was opened, or last written by this store.

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
    """A store that holds the lease while it is open: others add logs, but decide or change nothing.

    Raises:
        StoreBusyError: another process holds it.
    """

    def __init__(self, lake: Lake, *, create: bool = False) -> None:
        """Open a lake; with `create` make an empty one where there is none."""
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
        """Return True."""
        return True

    def close(self) -> None:
        """Release the lake."""
        try:
            super().close()
        finally:
            self._held.close()
