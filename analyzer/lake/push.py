"""Read logs into a lake: a store on this machine's disk takes them, and becomes one batch.

That store has the lake's rows of this machine's sources, and the rows that its events meet, so that
the store's own statements decide what is new, repeated or contradicted. At the end, rows that
others brought meanwhile are left out, or everything is read again.
"""

from __future__ import annotations

import io
import os
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from hashlib import sha256
from shutil import copyfileobj
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.events.times import now
from analyzer.importers.places import LogPlace
from analyzer.lake.batch import SETTINGS, make_where_none_is
from analyzer.lake.beside import LocalStore, load, with_machines
from analyzer.lake.former import again
from analyzer.lake.layout import MACHINE, dataset, rows, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import Conflict, Entry, File, State
from analyzer.store.db.connection import transaction
from analyzer.store.db.frames import ArrowStream
from analyzer.store.db.location import on_disk
from analyzer.store.ingest.batch import SealedBatch
from analyzer.store.ingest.discover import STDIN
from analyzer.store.ingest.run import IngestResult, ingest
from analyzer.store.ingest.statements import CLAIMED
from analyzer.store.upkeep import quarantine
from analyzer.store.upkeep.prune import apply_horizon
from analyzer.store.verdicts.rulesets import keep_up

EVENTS, FACTS, VERDICTS = "event_v1", "facts_v1", "verdict_v1"
SOURCES, QUARANTINE = "source_v1", "quarantine_v1"
TORN = "torn_tail"
_NEW_FACTS = f"anti join met_{FACTS} using (facts_id) anti join theirs using (facts_id)"
OnProgress = Callable[[str, int, int], None]


def ingest_into(
    lake: Lake,
    paths: Iterable[str | LogPlace],
    progress: OnProgress | None = None,
    *,
    token: str | None = None,
    shared: bool = False,
    below: Mapping[str, str] | None = None,
) -> IngestResult:
    """Read what is new below the paths into a lake, which is made where there is none.

    `token` is that of a lease that the caller holds. `shared`: all machines see these logs under
    the same paths. `below` has the folder that a path was listed in.

    Raises:
        StoreBusyError: another process holds the lake alone.
        StoreError: the lake cannot be read or written; then nothing of it is kept.
    """
    make_where_none_is(lake)
    named = list(paths)
    began = time.monotonic()

    with _held_input() if STDIN in named else nullcontext() as kept:

        def once(at: State) -> IngestResult:
            if kept is not None:
                kept.seek(0)
            with Push(lake, at, None if shared else machine(), token) as push:
                result = push.read(named, progress, below)
                push.commit()
            return result

        result = again(lake, once)
    result.seconds = time.monotonic() - began
    return result


def retry_quarantine(lake: Lake, token: str) -> quarantine.QuarantineRetry:
    """Read the quarantine of this machine's logs again; `token` is that of the lease.

    Raises:
        StoreError: the lake cannot be read or written; then nothing of it is kept.
    """

    def once(at: State) -> quarantine.QuarantineRetry:
        with Push(lake, at, machine(), token) as push:
            result = push.retry()
            push.commit()
        return result

    return again(lake, once)


@contextmanager
def _held_input() -> Iterator[BinaryIO]:
    """Replace standard input with a file within the block, so that it can be read again."""
    former = sys.stdin
    with io.TextIOWrapper(tempfile.TemporaryFile()) as kept:
        copyfileobj(former.buffer, kept.buffer)
        sys.stdin = kept
        try:
            yield kept.buffer
        finally:
            sys.stdin = former


def machine() -> str:
    """Return the key of this machine in its sources, which hides the machine's own id."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with suppress(OSError), open(path, encoding="ascii") as handle:
            if named := handle.read().strip():
                return sha256(named.encode()).hexdigest()[:16]
    node = uuid.getnode()
    # A made-up number differs between processes.
    return "" if node >> 40 & 1 else sha256(str(node).encode()).hexdigest()[:16]


def own_sources(sources: pa.Table, whose: str | None) -> pa.Table:
    """Select a machine's sources of a lake.

    A source that all machines see counts if its file exists.
    """
    is_own = [
        owner == whose or (owner is None and os.path.lexists(on_disk(path))) for owner, path, *_ in _keys(sources)
    ]
    return sources.filter(pa.array(is_own, pa.bool_()))


class Push(LocalStore):
    """One reading of logs, which becomes a batch of a lake."""

    def __init__(self, lake: Lake, at: State, machine: str | None, token: str | None) -> None:
        super().__init__(lake, at, token)
        self.batch.mended = frozenset({FACTS, VERDICTS, SOURCES, QUARANTINE})
        self._machine = machine
        self._batches: list[str] = []
        self._forgotten: set[int] = set()

    def read(
        self, paths: list[str | LogPlace], progress: OnProgress | None, below: Mapping[str, str] | None
    ) -> IngestResult:
        """Read the logs, and prune and judge new events as a store does."""
        connection = self.connection
        own = [] if self.lake.remote else [self.lake.path]
        result = ingest(
            connection, paths, store_path=self.path, below=below, progress=progress, own=own, meet=self._meet
        )
        self._settle(result)
        return result

    def retry(self) -> quarantine.QuarantineRetry:
        """Read the quarantine of this machine's logs again, and prune and judge new events."""
        own = ds.field("source_id").isin(self.ids("select source_id from seeded"))
        self.load(QUARANTINE, own & (ds.field("why") != TORN))
        run = self.connection.execute
        run(f"create or replace temp table rejected as select source_id, byte_offset from internal.{QUARANTINE}")
        result = quarantine.retry(self.connection, store_path=self.path, meet=self._hold_met)
        held = run("select count(*) from rejected").fetchall()[0][0]
        result.elsewhere = sum(file.rows or 0 for file in self.at.files[QUARANTINE].values()) - held
        result.remaining += result.elsewhere
        changed = run(
            f"select k.source_id, k.batch_id from internal.{SOURCES} as k"
            " inner join seeded as s on k.source_id = s.source_id and k.batch_id <> s.batch_id"
        ).fetchall()
        # All that is in quarantine of a source which has changed is written again.
        self._forgotten.update(number for number, _ in changed)
        self._batches.extend(batch for _, batch in changed)
        run("delete from rejected where source_id in (select unnest($1))", [sorted(self._forgotten)])
        self._settle(result)
        return result

    def _settle(self, result: IngestResult | quarantine.QuarantineRetry) -> None:
        """Delete new events from before the horizon, and judge the others."""
        if self._batches:
            with transaction(self.connection):
                result.pruned = apply_horizon(self.connection)
            self._seed_verdicts()
            result.unjudged = keep_up(self.connection, self.path)

    def commit(self) -> None:
        """Add what was read to the lake.

        Raises:
            Conflict: others have brought, or changed, what it rests on.
        """
        if not self._batches:
            return
        self._number_sources()
        # Events of the lake that have given their id to a record that was read now.
        gone = self.ids(
            f"select event_id from met_{EVENTS} where '{CLAIMED}' || event_id in"
            f" (select event_id from internal.{EVENTS} anti join met_{EVENTS} using (event_id))"
        )
        if gone:
            self.rewrite(EVENTS, "event_id", gone, self.at)
            self.connection.execute(f"delete from met_{EVENTS} where event_id in (select unnest($1))", [gone])
        self.add(EVENTS, f"from internal.{EVENTS} anti join met_{EVENTS} using (event_id)")
        self.add_journal()
        self._stage(self.at, set(self.batch.mended))
        self.batch.commit(self._check)

    def _seed(self) -> None:
        """Put this machine's sources and their torn lines into the store."""
        sources = own_sources(rows(self.lake, SOURCES, self.at.files[SOURCES]), self._machine)
        load(self.connection, SOURCES, sources)
        self.load(
            QUARANTINE, (ds.field("why") == TORN) & ds.field("source_id").isin(sources["source_id"].combine_chunks())
        )
        run = self.connection.execute
        run(f"create temp table seeded as select source_id, batch_id from internal.{SOURCES}")
        run(f"create temp table rejected as select source_id, byte_offset from internal.{QUARANTINE}")
        run(f"create temp table met_{EVENTS} (event_id varchar)")
        for name in (f"met_{FACTS}", "theirs"):
            run(f"create temp table {name} (facts_id varchar)")
        self.keep_rules()

    def _seed_verdicts(self) -> None:
        """Put the active ruleset's verdicts of facts that the lake has into the store."""
        if (digest := self.settings.get("active_ruleset")) is not None:
            self.hold(VERDICTS, f"semi join met_{FACTS} using (facts_id) where ruleset = $1", [digest])

    def _meet(self, batch: SealedBatch) -> None:
        """Load the rows of the lake that a batch meets."""
        self._batches.append(batch.batch_id)
        self._forgotten.update(batch.forgotten)
        if batch.events.height:
            self._hold_met("md5(facts)")

    def _hold_met(self, facts_id: str = "facts_id") -> None:
        """Load the rows of the lake that staged events meet; `facts_id` is the id of their facts."""
        run = self.connection.execute
        low, high = run("select min(event_id), max(event_id) from staged_event").fetchall()[0]
        if low is None:
            return
        run(
            "create or replace temp table asked as select event_id from staged_event"
            f" union select '{CLAIMED}' || event_id from staged_event"
        ).fetchall()
        self._hold(EVENTS, [(low, high), (CLAIMED + low, CLAIMED + high)])
        run(
            "create or replace temp table asked as"
            f" select distinct {facts_id} as facts_id from staged_event where {facts_id} is not null"
        ).fetchall()
        low, high = run("select min(facts_id), max(facts_id) from asked").fetchall()[0]
        if low is not None:
            self._hold(FACTS, [(low, high)])

    def _hold(self, name: str, bounds: list[tuple[str, str]]) -> None:
        """Load the rows of a table with the requested ids, all of which lie between some bounds."""
        files, key = self.at.files[name].values(), tables()[name].key
        paths = [file.path for file in files if any(file.may_hold(low, high) for low, high in bounds)]
        if not paths:
            return
        run = self.connection.execute
        there = self.picked(name, f"semi join asked using ({key}) anti join internal.{name} as k using ({key})", paths)
        run(f"create or replace temp table held as {there}").fetchall()
        run(f"insert into internal.{name} by name from held").fetchall()
        run(f"insert into met_{name} select {key} from held").fetchall()

    def _number_sources(self) -> None:
        """Give new sources ids that follow time, and that no other machine gives."""
        moment = int(now().timestamp() * 1000)
        new = self.ids(f"select source_id from internal.{SOURCES} anti join seeded using (source_id) order by all")
        numbers = [(moment + index << 20) + random.getrandbits(20) for index in range(len(new))]
        for name in (SOURCES, QUARANTINE):
            self.connection.execute(
                f"update internal.{name} as t set source_id = m.new"
                " from (select unnest($1) as old, unnest($2::bigint[]) as new) as m where t.source_id = m.old",
                [new, numbers],
            ).fetchall()

    def _check(self, came: list[Entry], at: State) -> None:
        """Use the facts that others brought meanwhile.

        Raise `Conflict` for anything else in common.
        """
        touched = {name for entry in came for name in (*entry.adds, *entry.removes)}
        if SETTINGS in touched:
            raise Conflict
        brought = [file for entry in came for file in entry.adds.get(EVENTS, ())]
        if self._of_both(EVENTS, brought).num_rows:
            raise Conflict
        theirs = self._of_both(FACTS, [file for entry in came for file in entry.adds.get(FACTS, ())])
        if theirs.num_rows:
            self.connection.register("brought", theirs)
            self.connection.execute("insert into theirs select facts_id from brought").fetchall()
            touched |= {FACTS, VERDICTS}
        self._stage(at, touched & self.batch.mended)

    def _of_both(self, name: str, brought: list[File]) -> pa.Table:
        """Return the ids that files of others and of this batch have in common."""
        own_files, key = self.batch.adds.get(name, []), str(tables()[name].key)
        near = [
            file.path for file in brought if any(file.may_hold(own.low or "", own.high or CLAIMED) for own in own_files)
        ]
        if not near:
            return tables()[name].stored.empty_table().select([key])
        own = rows(self.lake, name, [file.path for file in own_files])[key].combine_chunks()
        return dataset(self.lake, name, near).to_table(columns=[key], filter=ds.field(key).isin(own))

    def _stage(self, at: State, names: set[str]) -> None:
        """Write the batch's files of these tables anew, for a lake in this state."""
        for name in names:
            self.batch.without(name)
        if FACTS in names:
            self.add(FACTS, f"from internal.{FACTS} {_NEW_FACTS}")
        if VERDICTS in names:
            self.add(VERDICTS, f"from internal.{VERDICTS} {_NEW_FACTS}")
        if SOURCES in names:
            self._stage_sources(at)
        if QUARANTINE in names:
            self._stage_quarantine(at)

    def _stage_sources(self, at: State) -> None:
        changed = f"select * from internal.{SOURCES} where batch_id in (select unnest($1))"
        new = tables()[SOURCES].rows(cast("ArrowStream", self.connection.sql(changed, params=[self._batches])))
        new = with_machines(new, [self._machine] * new.num_rows)
        seeded = dict(self.connection.execute("select source_id, batch_id from seeded").fetchall())
        gone = self._forgotten | {number for _, _, number, _ in _keys(new)}
        fresh = {path for _, path, number, _ in _keys(new) if number not in seeded}
        for whose, path, number, batch in _keys(rows(self.lake, SOURCES, at.files[SOURCES])):
            read_too = number not in seeded and whose == self._machine and path in fresh
            if read_too or (number in gone and seeded.get(number) != batch):
                raise Conflict
        self.rewrite(SOURCES, "source_id", gone & seeded.keys(), at, new)

    def _stage_quarantine(self, at: State) -> None:
        gone = ds.field("source_id").isin(pa.array(sorted(self._forgotten), pa.int64()))
        torn = self.connection.execute(
            "select source_id, byte_offset from rejected"
            f" anti join internal.{QUARANTINE} using (source_id, byte_offset)"
        ).fetchall()
        for number, offset in torn:
            at_offset = (ds.field("source_id") == number) & (ds.field("byte_offset") == offset)
            gone |= at_offset & (ds.field("why") == TORN)
        if self._forgotten or torn:
            self.rewrite_where(QUARANTINE, gone, at)
        self.add(QUARANTINE, f"from internal.{QUARANTINE} anti join rejected using (source_id, byte_offset)")


def _keys(sources: pa.Table) -> Iterable[tuple[str | None, str, int, str]]:
    names = (MACHINE, "path", "source_id", "batch_id")
    return zip(*(sources[name].to_pylist() for name in names), strict=True)
