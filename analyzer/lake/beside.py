"""A store on this machine's disk beside a lake: the store's own statements write into it, and it becomes one batch.

It holds what these statements ask for, and no more: what the lake knows of itself, and whatever else is put into it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from typing import Any, Self, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from analyzer.lake.batch import SETTINGS, LakeBatch, rest_of
from analyzer.lake.connection import load
from analyzer.lake.former import settings
from analyzer.lake.layout import JOURNAL, dataset, rows, table_errors, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import State
from analyzer.lake.moving import RULESETS, journal_lines
from analyzer.store.db.connection import connect
from analyzer.store.db.frames import ArrowStream
from analyzer.store.journal import journal_of

_ROWS = 50_000
"""Rows that cross from the database to files at a time."""


class Beside:
    """The store, and the batch that it becomes. Use as a context manager."""

    def __init__(self, lake: Lake, at: State, token: str | None = None) -> None:
        """`token` is that of the lease, for who holds it."""
        self.lake, self.at = lake, at
        self.batch = LakeBatch(lake, at, token)
        self.settings = settings(lake, at)

    def __enter__(self) -> Self:
        self._held = ExitStack()
        folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="analyzer-"))
        self.path = os.path.join(folder, "lake.duckdb")
        """Its file; its journal stands beside it."""
        self.connection = connect(self.path, read_only=False)
        self._held.callback(self.connection.close)
        try:
            self.connection.execute(f"delete from internal.{SETTINGS}").fetchall()
            self.load(SETTINGS)
            self._seed()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.batch.discard()
        self._held.close()

    def _seed(self) -> None:
        """Put more into the store, as it is opened."""

    def load(self, name: str, where: ds.Expression | None = None) -> pa.Table:
        """Put the rows of a table into the store; these rows."""
        found = rows(self.lake, name, self.at.files[name], where)
        load(self.connection, name, found)
        return found

    def keep_rules(self) -> None:
        """Put the rules in force beside the journal, where the store looks for them."""
        digest = self.settings.get("active_ruleset")
        if digest is None:
            return
        name = f"{RULESETS}/{digest}.toml"
        path = os.path.join(str(journal_of(self.path)), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for text in kept_rules(self.lake, self.at, digest)[:1]:
            with open(path, "w", encoding="utf-8") as handle:
                handle.write(text)

    def add(self, name: str, statement: str, given: list[object] | None = None) -> None:
        """Add the rows of a statement, from its `from` on, to a table of the lake, where there are any."""
        if self.connection.execute(f"select 1 {statement} limit 1", given).fetchall():
            found = self.connection.sql(f"select * {statement}", params=given).to_arrow_reader(_ROWS)
            self.batch.add(name, tables()[name].stream(cast("Iterable[ArrowStream]", found)))

    def add_journal(self) -> None:
        """Add the lines of the store's journal, with rules that the lake has not."""
        for lines in journal_lines(str(journal_of(self.path))):
            names = pc.fill_null(lines["event_id"], "")
            rules = names.filter(pc.starts_with(names, f"{RULESETS}/")).to_pylist()
            where = ds.field("event_id").isin(rules)
            known = rows(self.lake, JOURNAL, self.at.files[JOURNAL], where) if rules else lines[:0]
            fresh = lines.filter(pc.invert(pc.is_in(names, known["event_id"].combine_chunks())))
            if fresh.num_rows:
                self.batch.add(JOURNAL, fresh)

    def put_settings(self) -> None:
        """Put what the store knows of itself into the place of what the lake does."""
        self.batch.without(SETTINGS)
        found = tables()[SETTINGS].rows(cast("ArrowStream", self.connection.sql(f"from internal.{SETTINGS}")))
        self.batch.replace(SETTINGS, self.at.files[SETTINGS], found)

    def rewrite(self, name: str, key: str, ids: Collection[Any], at: State, new: pa.Table | None = None) -> None:
        """Take the rows with some ids out of the files that hold them, and put new ones there."""
        kind = tables()[name].stored.field(key).type
        self.rewrite_where(name, ds.field(key).isin(pa.array(sorted(ids), kind)), at, new)

    def rewrite_where(self, name: str, gone: ds.Expression, at: State, new: pa.Table | None = None) -> int:
        """Take the rows out for which a condition holds, and put new ones there; how many went."""
        with table_errors(self.lake, name):
            counts = {path: dataset(self.lake, name, [path]).count_rows(filter=gone) for path in at.files[name]}
        if paths := [path for path, count in counts.items() if count]:
            rest = rest_of(self.lake, name, paths, ~gone)
            self.batch.replace(name, paths, rest if new is None else pa.concat_tables([rest.read_all(), new]))
        elif new is not None and new.num_rows:
            self.batch.add(name, new)
        return sum(counts.values())

    def ids(self, statement: str, given: list[object] | None = None) -> list[Any]:
        """The values of a statement's one column."""
        return [row[0] for row in self.connection.execute(statement, given).fetchall()]


def kept_rules(lake: Lake, at: State, digest: str) -> list[str]:
    """The texts of an applied ruleset that the lake's journal keeps."""
    name = ds.field("event_id") == f"{RULESETS}/{digest}.toml"
    found: list[str] = rows(lake, JOURNAL, at.files[JOURNAL], name)["line"].to_pylist()
    return found
