"""Keep the log of a lake: its batches in one order, and the lease of its writer.

A batch is one entry, written by compare and swap: the files it adds to and removes from each table.
From then on every reader sees the whole batch; the next process brings the tables' own logs up to
it. A process that dies before the entry leaves files that nobody names; one that dies after it
leaves work that anybody can do.

Adding logs needs no lease, as the log orders the batches. Decisions and changes of existing rows
need one; while it is `alone`, nobody else adds either. It lasts while it is renewed, and not longer
than its process where that can be seen: a process is identified by what two machines, containers or
boots cannot share.

Invariant: an entry that is not yet in the log of a table it touches stays in this one.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from analyzer.errors import FREE_SPACE, StoreBusyError, StoreError
from analyzer.events.model import new_id
from analyzer.events.times import format_time, now
from analyzer.lake.layout import DAY, LakeTable, MissingTableError, opened, table_errors, tables
from analyzer.lake.location import Lake, message_of

LOG = "batch_v1"
"""The table of this log: a row per entry, and row 0 for what holds for all."""
APP = "analyzer"
"""The application whose version in a table's own log is the number of its last batch."""
SCHEMA = pa.schema([("number", pa.int64()), ("entry", pa.string())])
_KEPT = 64
"""Entries that stay after every table has them, for readers that began before."""
_STALE = 50
"""Times that a reader looks again when tables change while it reads."""
_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""Reader features of a table that do not change what the rows of its files mean."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a table, below the table's folder."""

    path: str
    size: int
    rows: int | None = None
    low: str | None = None
    """The least and the greatest of the ids in it, if the table has ids and they are recorded."""
    high: str | None = None

    @property
    def day(self) -> str | None:
        """Return the day of its rows, for a table in folders by day."""
        folder, _, _ = self.path.rpartition("/")
        return folder.removeprefix(f"{DAY}=") or None

    def may_hold(self, low: str, high: str) -> bool:
        """Say whether an id between two others can be in the file."""
        return self.low is None or self.high is None or (self.low <= high and low <= self.high)


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch: the files that it adds and removes, by table."""

    number: int
    batch: str
    adds: Mapping[str, list[File]]
    removes: Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class State:
    """A lake after one of its batches."""

    number: int
    files: Mapping[str, Mapping[str, File]]
    """By table and path."""
    entries: tuple[Entry, ...]
    """The last entries; some tables may lack some of them."""
    lease: Mapping[str, Any] | None = None
    """The lease of the writer; None if there is none."""
    missing: tuple[str, ...] = ()
    """Tables of this version that the lake lacks."""

    def after(self, entries: Iterable[Entry]) -> State:
        """Return the lake after further entries, in their order."""
        number, files = self.number, {name: dict(by_path) for name, by_path in self.files.items()}
        for entry in entries:
            number = entry.number
            for name, paths in entry.removes.items():
                for path in paths:
                    files[name].pop(path, None)
            for name, added in entry.adds.items():
                files[name] |= {file.path: file for file in added}
        return State(number, files, self.entries, self.lease)


class Conflict(Exception):  # noqa: N818 - no error: the writer begins again
    """Others changed what a batch rests on."""


def state(lake: Lake) -> State:
    """Read the present state of a lake.

    Raises:
        StoreError: a log of it is damaged, or asks more of its readers than this program knows.
    """
    for _ in range(_STALE):
        delta_tables = _opened(lake)
        rows = Swap(lake)
        behind = {name: table.transaction_version(APP) or 0 for name, table in delta_tables.items()}
        if all(behind[name] >= number for name, number in rows.floor.items() if name in behind):
            break
    else:
        raise StoreError(f"{lake.path} changes faster than it can be read", "run the same command again")
    files: dict[str, dict[str, File]] = {}
    for name, table in delta_tables.items():
        by_path = files_of(lake, name, table)
        for entry in sorted(rows.entries, key=lambda entry: entry.number):
            if entry.number > behind[name]:
                for path in entry.removes.get(name, ()):
                    by_path.pop(path, None)
                by_path |= {file.path: file for file in entry.adds.get(name, ())}
        files[name] = by_path
    missing = tuple(name for name in tables() if name not in delta_tables)
    return State(rows.number, files | {name: {} for name in missing}, tuple(rows.entries), rows.lease, missing)


def _opened(lake: Lake) -> dict[str, DeltaTable]:
    """Open the tables that are there; every lake has some of them."""
    delta_tables = {}
    for name in tables():
        try:
            delta_tables[name] = opened(lake, name)
        except MissingTableError:
            if name in {"source_v1", "store_v1"}:
                raise
    return delta_tables


def files_of(lake: Lake, name: str, table: DeltaTable) -> dict[str, File]:
    """Return the files that a table names, by path.

    Raises:
        StoreError: it asks more of its readers than this program knows.
    """
    unknown = set(table.protocol().reader_features or ()) - _FEATURES
    if unknown:
        message = f"{lake.table(name)} asks its readers for {', '.join(sorted(unknown))}, which this program cannot do"
        raise StoreError(message, "drop the feature from the table, or export it from where it is known")
    key = tables()[name].key
    with table_errors(lake, name):
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return {
        action["path"]: File(
            action["path"],
            action["size_bytes"],
            action.get("num_records"),
            action.get(f"min.{key}"),
            action.get(f"max.{key}"),
        )
        for action in actions
    }


def pauses() -> Iterator[None]:
    """Yield at once, and again after growing, random pauses, for as long as the loop goes on."""
    pause = 0.01
    while True:
        yield
        time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - so that writers do not meet again
        pause = min(pause * 1.5, 1.0)


class Swap:
    """The present content of the log, and one attempt to replace it."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._table = lake, opened(lake, LOG)
        with table_errors(lake, LOG):
            rows = {row["number"]: json.loads(row["entry"]) for row in self._table.to_pyarrow_table().to_pylist()}
        common = rows.pop(0, {})
        self.floor: dict[str, int] = common.get("floor") or {}
        """By table: the last entry that touches it among those that left the log."""
        self.lease: dict[str, Any] | None = common.get("lease")
        self.entries = [_entry(number, row) for number, row in sorted(rows.items())]
        self.number = max((entry.number for entry in self.entries), default=max(self.floor.values(), default=0))

    def has(self, batch: str) -> bool:
        """Say whether a batch is in the log: the answer to its writing may have been lost."""
        return any(entry.batch == batch for entry in self.entries)

    def add(
        self,
        batch: str,
        adds: Mapping[str, list[File]],
        removes: Mapping[str, list[str]],
        number: int | None = None,
    ) -> bool:
        """Add a batch, under the next number or `number`.

        Return False if another writer was faster.
        """
        entry = Entry(self.number + 1 if number is None else number, batch, dict(adds), dict(removes))
        return self._swap([*self._released(), entry], self.lease)

    def hold(self, lease: Mapping[str, Any] | None) -> bool:
        """Record the lease; return False if another writer was faster."""
        return self._swap(self.entries, lease)

    def _released(self) -> list[Entry]:
        """Return the entries without old ones that all their tables have."""
        old, kept = self.entries[:-_KEPT], list(self.entries)
        touched = {name for entry in old for name in (*entry.adds, *entry.removes)}
        behind = {name: opened(self._lake, name).transaction_version(APP) or 0 for name in touched}
        for entry in old:
            if any(behind[name] < entry.number for name in (*entry.adds, *entry.removes)):
                break
            self.floor |= dict.fromkeys((*entry.adds, *entry.removes), entry.number)
            kept.remove(entry)
        return kept

    def _swap(self, entries: Iterable[Entry], lease: Mapping[str, Any] | None) -> bool:
        """Replace the rows that were read; return False if another writer was faster."""
        table = {
            0: {"floor": self.floor, "lease": lease},
            **{
                entry.number: {key: value for key, value in asdict(entry).items() if key != "number"}
                for entry in entries
            },
        }
        columns = {"number": list(table), "entry": [json.dumps(entry) for entry in table.values()]}
        try:
            write_deltalake(
                self._table,
                pa.table(columns, SCHEMA),
                mode="overwrite",
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except CommitFailedError:
            return False
        except (DeltaError, OSError) as error:
            message = f"{self._lake.path} does not take the batch: {message_of(error)}"
            raise StoreError(message, FREE_SPACE) from None
        return True


def _entry(number: int, row: Mapping[str, Any]) -> Entry:
    """Make an entry out of its row."""
    adds = {name: [File(**fields) for fields in files] for name, files in row["adds"].items()}
    return Entry(number, row["batch"], adds, row["removes"])


def create(lake: Lake) -> None:
    """Make the log of a lake that nobody writes to.

    Raises:
        DeltaError: it cannot be made.
    """
    DeltaTable.create(lake.table(LOG), SCHEMA, mode="ignore", storage_options=dict(lake.storage))


def start(lake: Lake, number: int, adds: Mapping[str, list[File]], removes: Mapping[str, list[str]]) -> None:
    """Write the first entry of the log of a lake that has been without one, under a number of no batch before it."""
    swap = Swap(lake)
    if not swap.entries and not swap.floor:
        swap.add("the first entry of this log", adds, removes, number)


def follow(lake: Lake) -> None:
    """Bring the tables' own logs up to this log; a table that another writer changes is left to it.

    Entries may name tables that only an earlier version had.
    """
    entries = Swap(lake).entries
    for name in sorted({name for entry in entries for name in (*entry.adds, *entry.removes)} & tables().keys()):
        with suppress(CommitFailedError, DeltaError, OSError):
            _follow(opened(lake, name), tables()[name], entries)


def _follow(table: DeltaTable, layout: LakeTable, entries: list[Entry]) -> None:
    behind = table.transaction_version(APP) or 0
    adds: dict[str, File] = {}
    removes: set[str] = set()
    number = behind
    for entry in entries:
        if entry.number <= behind or not (layout.name in entry.adds or layout.name in entry.removes):
            continue
        number = entry.number
        for path in entry.removes.get(layout.name, ()):
            if adds.pop(path, None) is None:
                removes.add(path)
        adds |= {file.path: file for file in entry.adds.get(layout.name, ())}
    if number == behind:
        return
    stored = {action["path"]: action for action in pa.table(table.get_add_actions(flatten=True)).to_pylist()}
    moment = int(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [_add(file, layout, moment) for file in adds.values()]
    for path in sorted(removes & stored.keys()):
        gone = File(path, stored[path]["size_bytes"])
        actions.append(RemoveAction(path, True, moment, gone.size, {DAY: gone.day} if layout.day_of else {}))
    table.create_write_transaction(
        actions,
        "append",
        table.schema(),
        partition_by=layout.partition,
        # If two processes bring the same entries, one fails at this version.
        commit_properties=CommitProperties(max_commit_retries=0, app_transactions=[Transaction(APP, number)]),
    )


def _add(file: File, layout: LakeTable, moment: int) -> AddAction:
    stats: dict[str, Any] = {"numRecords": file.rows or 0}
    if layout.key and file.low is not None:
        stats |= {"minValues": {layout.key: file.low}, "maxValues": {layout.key: file.high}}
    return AddAction(file.path, file.size, {DAY: file.day} if layout.day_of else {}, moment, True, json.dumps(stats))


def exists(lake: Lake) -> bool:
    """Say whether a lake has this log; one of an earlier version of the program has none."""
    if not lake.remote:
        return os.path.isdir(f"{lake.table(LOG)}/_delta_log")
    return bool(DeltaTable.is_deltatable(lake.table(LOG), dict(lake.storage)))


RUNS_OUT = timedelta(seconds=120)
"""Time after which a holder that did not renew its lease is gone, wherever it ran."""
_BEAT_SECONDS = 30.0
PATIENCE_SECONDS = 10.0
"""Seconds that a writer of logs waits for one with exclusive access."""
_BUSY = "try again when it has finished"


class Lease:
    """A lease that this process holds."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self.token = new_id()
        self._alone = False
        self._ended = Event()
        self._heart = Thread(target=self._beat, name="lease", daemon=True)

    @contextmanager
    def held(self) -> Iterator[Lease]:
        """Hold it within the block.

        Raises:
            StoreBusyError: another process holds it.
            StoreError: the lake's log cannot be read or written.
        """
        self._write(first=True)
        self._heart.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._heart.join()
            with suppress(StoreError):
                self._give_back()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else add to the lake within the block.

        Raises:
            StoreBusyError: it was lost.
        """
        self._alone = True
        try:
            self._write()
            yield
        finally:
            self._alone = False
            with suppress(StoreError):
                self._write()

    def _write(self, *, first: bool = False) -> None:
        for _ in pauses():
            swap = Swap(self._lake)
            if swap.lease is not None and swap.lease["token"] != self.token and alive(swap.lease):
                raise StoreBusyError(f"{self._lake.path} is being written by {named(swap.lease)}", _BUSY)
            if not first and (swap.lease is None or swap.lease["token"] != self.token):
                raise StoreBusyError(f"another process has taken over {self._lake.path}", _BUSY)
            row = {
                "token": self.token,
                "alone": self._alone,
                "process": os.getpid(),
                "where": _place(),
                "began": _began(os.getpid()),
                "until": (now() + RUNS_OUT).isoformat(),
            }
            if swap.hold(row):
                return

    def _give_back(self) -> None:
        for _ in pauses():
            swap = Swap(self._lake)
            if swap.lease is None or swap.lease["token"] != self.token or swap.hold(None):
                return

    def _beat(self) -> None:
        while not self._ended.wait(_BEAT_SECONDS):
            with suppress(Exception):  # the next commit says what became of it
                self._write()


def refused(lake: Lake, swap: Swap, token: str | None, began: float) -> bool:
    """Say whether a batch, waiting since `began`, must wait for another holder than `token`'s.

    Raises:
        StoreBusyError: the lease of `token` is lost, or the other holder keeps it.
    """
    held = swap.lease
    if token is not None:
        if held is None or held["token"] != token:
            raise StoreBusyError(f"another process has taken over {lake.path}", _BUSY)
        return False
    if held is None or not held["alone"] or not alive(held):
        return False
    if time.monotonic() - began > PATIENCE_SECONDS:
        raise StoreBusyError(f"{lake.path} is being written by {named(held)}", _BUSY)
    return True


def named(lease: Mapping[str, Any]) -> str:
    """Describe the holder of a lease."""
    is_local = lease["where"] == _place()
    return f"process {lease['process']} {'of this machine' if is_local else 'of another machine'}"


def description_of(lease: Mapping[str, Any]) -> str:
    """Describe the holder of a lease and how long it lasts."""
    return f"{named(lease)}, until {format_time(datetime.fromisoformat(lease['until']))}"


def alive(lease: Mapping[str, Any]) -> bool:
    """Say whether the holder of a lease still lives, as far as this machine can see."""
    if (place := _place()) is not None and lease["where"] == place:
        return bool(_began(int(lease["process"])) == lease["began"])
    return datetime.fromisoformat(lease["until"]) > now()


def _place() -> str | None:
    """Identify this boot of the kernel and this process namespace; None if the system hides them."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as handle:
            boot = handle.read().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _began(process: int) -> str | None:
    """Return the start time of a process, which tells it from later ones of its number."""
    try:
        with open(f"/proc/{process}/stat", "rb") as handle:
            return handle.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return None
