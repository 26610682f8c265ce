"""Open a local store beside a lake: the store's own statements fill it, and it becomes a batch.

It holds only what these statements need: the settings of the lake, and rows that are put into it.
Rows keep their ids and values on the way.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from analyzer.lake.batch import SETTINGS, LakeBatch, rest_of, settings
from analyzer.lake.layout import JOURNAL, MACHINE, LakeTable, dataset, rows, table_errors, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import State
from analyzer.store.db.connection import connect, store_errors, transaction
from analyzer.store.db.frames import ArrowStream, OnlyStream, quoted
from analyzer.store.db.tables.schema import LEAVE_OUT_TOLD_TWICE
from analyzer.store.export.slices import call_slice
from analyzer.store.journal import RULESETS, journal_of, keep_lines, kept_lines
from analyzer.store.upkeep.prune import apply_horizon

if TYPE_CHECKING:
    import duckdb


_ROWS = 50_000
"""Rows that go from one to the other at a time; memory grows with them."""


class LocalStore:
    """A store on the local disk, and the batch of a lake that it becomes. Use as a context manager."""

    def __init__(self, lake: Lake, at: State, token: str | None = None) -> None:
        """Begin at a state of the lake; `token` is that of a lease that the caller holds."""
        self.lake, self.at = lake, at
        self.batch = LakeBatch(lake, at, token)
        self.settings = settings(lake, at)

    def __enter__(self) -> Self:
        self._held = ExitStack()
        self._held.enter_context(self.batch)
        folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="analyzer-"))
        self.path = os.path.join(folder, "lake.duckdb")
        """The file of the store; the journal is beside it."""
        self.connection = connect(self.path, read_only=False)
        self._held.callback(self.connection.close)
        try:
            self.connection.execute(f"delete from internal.{SETTINGS}").fetchall()
            self.load(SETTINGS)
            self.connection.execute(LEAVE_OUT_TOLD_TWICE)
            self._seed()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)

    def _seed(self) -> None:
        """Put further rows into the store as it is opened."""

    def load(self, name: str, where: ds.Expression | None = None) -> None:
        """Put the rows of a table into the store."""
        load(self.connection, name, rows(self.lake, name, self.at.files[name], where))

    def picked(self, name: str, rest: str, paths: Iterable[str] | None = None) -> str:
        """Return a statement for rows in files of a table (None: all of them); `rest` follows `from TABLE as h`."""
        held = relation(self.connection, self.lake, name, self.at.files[name] if paths is None else paths)
        return f"select {columns_of(name, 'h.')} from {held} as h {rest}"

    def hold(self, name: str, rest: str, parameters: Iterable[object] = ()) -> None:
        """Put rows that `picked` would give into the store."""
        statement = f"insert into internal.{name} by name {self.picked(name, rest)}"
        self.connection.execute(statement, list(parameters)).fetchall()

    def keep_rules(self) -> None:
        """Put the rules in force beside the journal, where the store looks for them."""
        digest = self.settings.get("active_ruleset")
        if digest is not None:
            texts = kept_rules(self.lake, self.at, digest)[:1]
            keep_lines(str(journal_of(self.path)), ((f"{RULESETS}/{digest}.toml", text) for text in texts))

    def add(self, name: str, statement: str, parameters: list[object] | None = None) -> None:
        """Add the rows of a statement, which begins with `from`, to a table of the lake, if any."""
        self.batch.add_from(self.connection, name, statement, parameters)

    def add_journal(self) -> None:
        """Add the lines of the store's journal, with rules that the lake lacks."""
        for lines in journal_lines(str(journal_of(self.path))):
            names = pc.fill_null(lines["event_id"], "")
            rules = names.filter(pc.starts_with(names, f"{RULESETS}/")).to_pylist()
            where = ds.field("event_id").isin(rules)
            stored = rows(self.lake, JOURNAL, self.at.files[JOURNAL], where) if rules else lines[:0]
            fresh = lines.filter(pc.invert(pc.is_in(names, stored["event_id"].combine_chunks())))
            if fresh.num_rows:
                self.batch.add(JOURNAL, fresh)

    def put_settings(self) -> None:
        """Replace the lake's settings by the store's."""
        self.batch.without(SETTINGS)
        new = tables()[SETTINGS].rows(cast("ArrowStream", self.connection.sql(f"from internal.{SETTINGS}")))
        self.batch.replace(SETTINGS, self.at.files[SETTINGS], new)

    def rewrite(self, name: str, key: str, ids: Collection[Any], at: State, new: pa.Table | None = None) -> None:
        """Rewrite the files with rows of some ids without these rows, and with new ones."""
        kind = tables()[name].stored.field(key).type
        self.rewrite_where(name, ds.field(key).isin(pa.array(sorted(ids), kind)), at, new)

    def rewrite_where(self, name: str, gone: ds.Expression, at: State, new: pa.Table | None = None) -> None:
        """Rewrite the files with rows that meet a condition without these rows, and with new ones."""
        with table_errors(self.lake, name):
            held = [path for path in at.files[name] if dataset(self.lake, name, [path]).count_rows(filter=gone)]
        if held:
            rest = rest_of(self.lake, name, held, ~gone)
            self.batch.replace(name, held, rest if new is None else pa.concat_tables([rest.read_all(), new]))
        elif new is not None and new.num_rows:
            self.batch.add(name, new)

    def ids(self, statement: str, parameters: list[object] | None = None) -> list[Any]:
        """Return the values of a statement's only column."""
        return [row[0] for row in self.connection.execute(statement, parameters).fetchall()]


def kept_rules(lake: Lake, at: State, digest: str) -> list[str]:
    """Return the texts of an applied ruleset that the lake's journal keeps."""
    name = ds.field("event_id") == f"{RULESETS}/{digest}.toml"
    texts: list[str] = rows(lake, JOURNAL, at.files[JOURNAL], name)["line"].to_pylist()
    return texts


def journal_lines(folder: str) -> Iterator[pa.Table]:
    """Read the lines of a journal as rows of a lake's table."""
    waiting = iter(kept_lines(folder))
    while lines := list(islice(waiting, _ROWS)):
        yield pa.Table.from_pylist(
            [{"event_id": name, "line": line} for name, line in lines], tables()[JOURNAL].columns
        )


def write_journal(lake: Lake, paths: Iterable[str], folder: str) -> int:
    """Write a journal of the lines in some files of a lake's journal; return their number.

    Raises:
        StoreError: a file cannot be read.
    """
    with table_errors(lake, JOURNAL):
        batches = dataset(lake, JOURNAL, paths).to_batches()
        return keep_lines(folder, ((row["event_id"], row["line"]) for batch in batches for row in batch.to_pylist()))


def with_machines(sources: pa.Table, machines: Iterable[str | None]) -> pa.Table:
    """Return rows of sources with the machine of each."""
    return sources.drop([MACHINE]).append_column(MACHINE, pa.array(list(machines), pa.string()))


def fill_batch(batch: LakeBatch, connection: Any, journal: str | None) -> dict[str, int]:
    """Replace all rows of a lake with those of a store, and of its journal if one is named.

    Returns the number of rows of each table.
    """
    counts: dict[str, int] = {}
    sources = rows(batch.lake, "source_v1", batch.at.files["source_v1"]).select(["source_id", MACHINE]).to_pylist()
    machines = {row["source_id"]: row[MACHINE] for row in sources}
    for name, table in tables().items():
        if name == JOURNAL and journal is None:
            continue
        if name == JOURNAL:
            new: Any = table.stream(journal_lines(str(journal)))
        else:
            new = table.stream(connection.sql(f"from internal.{name}").to_arrow_reader(_ROWS))
        if name == "source_v1":
            new = new.read_all()
            new = with_machines(new, map(machines.get, new["source_id"].to_pylist()))
        batch.replace(name, batch.at.files[name], new)
        counts[name] = sum(file.rows or 0 for file in batch.adds.get(name, ()))
    return counts


def fill(
    work: str, lake: Lake, at: State, since: datetime | None = None, until: datetime | None = None
) -> dict[str, int]:
    """Copy a lake, or its rows of a window (naive UTC), into a new store.

    Return the rows of each table.

    Raises:
        StoreError: a file of the lake cannot be read.
    """
    counts = {}
    with connect(work, read_only=False) as connection, store_errors(), transaction(connection):
        connection.execute(f"delete from internal.{SETTINGS}").fetchall()
        for name, table in tables().items():
            if name != JOURNAL:
                with table_errors(lake, name):
                    scanner = dataset(lake, name, at.files[name]).scanner(
                        columns=table.columns.names, filter=_within(table, since, until)
                    )
                    load(connection, name, scanner.to_reader())
        connection.execute(LEAVE_OUT_TOLD_TWICE)
        if since is not None or until is not None:
            call_slice(connection, lake.path, since, until)
        if since is not None:
            apply_horizon(connection)
        for name in tables().keys() - {JOURNAL}:
            ((counts[name],),) = connection.execute(f"select count(*) from internal.{name}").fetchall()
    return counts


def _within(table: LakeTable, since: datetime | None, until: datetime | None) -> ds.Expression | None:
    """Return the condition for rows of a window; decisions belong to every window."""
    wanted = None
    if table.day_of:
        moment, decided = ds.field(table.day_of), ds.field("source_path").is_null()
        for bound, holds in ((since, moment.__ge__), (until, moment.__lt__)):
            if bound is not None:
                within = holds(pa.scalar(bound, pa.timestamp("us"))) | decided
                wanted = within if wanted is None else wanted & within
    return wanted


def load(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
    """Add rows of a lake to a table of the store, whose columns have the same names."""
    connection.register("loaded", OnlyStream(cast("ArrowStream", rows)))
    columns = columns_of(name)
    connection.execute(f"insert into internal.{name} ({columns}) select {columns} from loaded").fetchall()
    connection.unregister("loaded")


def columns_of(name: str, of: str = "") -> str:
    """Return the columns of a table as a statement names them."""
    return ", ".join(f'{of}"{column}"' for column in tables()[name].columns.names)


def relation(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str, paths: Iterable[str]) -> str:
    """Return the text after `from` for files of a table."""
    named = list(paths)
    if not named:
        return f"(from internal.{name} limit 0)"
    if lake.remote:
        connection.register(f"lake_{name}", dataset(lake, name, named))
        return f"lake_{name}"
    return f"read_parquet({listed(f'{lake.table(name)}/{path}' for path in named)}, hive_partitioning = false)"


def listed(names: Iterable[str]) -> str:
    """Return names of files as a list of SQL."""
    return f"[{', '.join(map(quoted, names))}]"
