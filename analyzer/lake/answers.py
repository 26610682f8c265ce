"""The views of a lake, and the answers to queries over them.

Invariant: a view is built on what it was built on when it was made: another one that takes a name later changes
nothing of it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

import polars as pl
from sqlglot import exp

from analyzer.errors import QueryError, StoreError
from analyzer.lake.dialect import INTERNAL, WHOLE, Macro, Statement, parsed, spark_sql
from analyzer.lake.files import files, finished
from analyzer.lake.layout import LakeTable, tables
from analyzer.lake.location import Lake
from analyzer.lake.session import CONNECTOR, lacks_connector, spark_said
from analyzer.store.db.arrow import OnlyStream
from analyzer.store.db.pinning import CHAINS, PINNED, WITHIN
from analyzer.store.db.sql_header import Header
from analyzer.store.db.tables.schema import statements, views
from analyzer.store.query.selection import Selection, statements_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BASE = ("event_v1", "facts_v1", "store_v1", "verdict_v1", "source_v1", "quarantine_v1")
"""The tables that views are made of."""
_MADE = re.compile(
    r"create or replace (?:temp )?"
    r"(?:view (?P<view>[\w.]+) as|macro (?P<macro>[\w.]+)\((?P<names>[\w, ]*)\) as)(?P<table> table)?\s(?P<body>.*)",
    re.DOTALL,
)
"""A statement that makes a view or a macro, as the store writes them below lines of comments."""
ASK_A_SLICE = "a slice answers all of DuckDB's SQL: analyzer export --store LAKE --last 30d --to slice.duckdb"
"""What to do where Spark does not answer."""
_SAID = re.compile(r"\[[A-Z_0-9.]+\] [^\n]*")
"""A condition of Spark's with its sentence."""
_TYPES: Mapping[str, Any] = {
    "VARCHAR": pl.String,
    "BIGINT": pl.Int64,
    "INTEGER": pl.Int32,
    "DOUBLE": pl.Float64,
    "BOOLEAN": pl.Boolean,
    "DATE": pl.Date,
    "TIMESTAMP": pl.Datetime("us"),
}
"""The types of headers, as a frame has them."""


_KINDS: Mapping[type, str] = {datetime: "TIMESTAMP", int: "BIGINT"}
"""The types of parameters that are no texts."""


class Answers:
    """A lake's views in a session of Spark's.

    Raises:
        StoreError: a table or one of its files is missing or damaged.
    """

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self._spark = spark
        self._waiting: dict[str, Callable[[], DataFrame]] = {}
        """The views that nothing asked for yet: Spark looks through each as it is made, longer than it takes to answer
        most questions."""
        batch = finished(lake)
        for name in _BASE:
            self._waiting[INTERNAL + name] = partial(stored, spark, tables()[name], files(lake, name, batch))
        definitions, macros = _program()
        self._macros = dict(macros)
        self._define(definitions)

    def query(self, header: Header, values: Mapping[str, object]) -> pl.DataFrame:
        """The rows of a catalogue query, in its own order, with the types that its header names.

        Raises:
            QueryError: Spark refuses it, or one of the values.
            StoreError: a file of the lake cannot be read.
        """
        statement = spark_sql(parsed(header.body), self._macros, {one.name: one.type for one in header.params})
        frame = _collected(lambda: self._sql(statement, values))
        return frame.select(pl.col(column.name).cast(_TYPES[column.type]) for column in header.columns)

    def view(self, name: str) -> pl.DataFrame:
        """All rows of a view, in no order, with the types that its header names."""
        frame = _collected(lambda: self._table(name))
        return frame.select(pl.col(column.name).cast(_TYPES[column.type]) for column in views()[name].columns)

    @property
    def macros(self) -> frozenset[str]:
        """The names of the macros that statements may call."""
        return frozenset(self._macros)

    def asked(self, tree: exp.Expr, names: Sequence[str], limit: int | None) -> pl.DataFrame:
        """The rows of a query over the views, at most so many of them, in its own order, under these names.

        Raises:
            QueryError: Spark refuses it.
            StoreError: as `query`.
        """
        statement = spark_sql(tree, self._macros, {})

        def made() -> DataFrame:
            found = self._sql(statement, {}).toDF(*names)
            return found if limit is None else found.limit(limit)

        return _collected(made)

    def rows(self, statement: str, given: Mapping[str, object], frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The rows of a statement of the program's own over the views and these frames, in its own order.

        Raises:
            QueryError: as `query`.
            StoreError: as `query`.
        """
        return _collected(lambda: self._asked(statement, given, frames, ordered=True))

    def relation(self, statement: str, given: Mapping[str, object], frames: Mapping[str, pl.DataFrame]) -> DataFrame:
        """The same, not asked for yet, and in no order."""
        with _spark_errors():
            return self._asked(statement, given, frames, ordered=False)

    def collected(self, made: Callable[[], DataFrame]) -> pl.DataFrame:
        """The rows of what Spark makes of a relation."""
        return _collected(made)

    def _asked(
        self, statement: str, given: Mapping[str, object], frames: Mapping[str, pl.DataFrame], *, ordered: bool
    ) -> DataFrame:
        for name, frame in frames.items():
            self._spark.createDataFrame(frame.to_arrow()).createOrReplaceTempView(name)
        tree = parsed(statement)
        if not ordered:
            tree.set("order", None)
        kinds = {name: _KINDS.get(type(value), "VARCHAR") for name, value in given.items()}
        return self._sql(spark_sql(tree, self._macros, kinds), given)

    def _sql(self, statement: Statement, given: Mapping[str, object]) -> DataFrame:
        for name in statement.names:
            self._make(name)
        return self._spark.sql(statement.sql, args={name: _text(value) for name, value in given.items()})

    def _table(self, name: str) -> DataFrame:
        self._make(name)
        return self._spark.table(name)

    def _make(self, name: str) -> None:
        """Make a view that waits to be asked for, and before it those that it stands on; one that fails waits on."""
        if definition := self._waiting.pop(name, None):
            try:
                with _spark_errors():
                    definition().createOrReplaceTempView(name)
            except BaseException:
                self._waiting[name] = definition
                raise

    def _make_all(self) -> None:
        for name in list(self._waiting):
            self._make(name)

    @contextlib.contextmanager
    def pinned(self, since: datetime | None, until: datetime | None) -> Iterator[None]:
        """Within the block what a report asks most is worked out once, and kept where Spark has room for it."""
        given: dict[str, object] = {"since": since or datetime.min, "until": until or datetime.max}  # noqa: DTZ901
        whole = since is None and until is None
        if not whole:
            given["first"], given["last"] = self.rows(CHAINS, given, {}).row(0)
        kept: dict[str, tuple[DataFrame, DataFrame]] = {}
        self._make_all()
        try:
            for name, columns in PINNED.items():
                before = self._spark.table(name)
                sql = f"select {columns} from {name}"  # noqa: S608 - names of ours
                asked = {} if whole else {key: value for key, value in given.items() if f"${key}" in WITHIN[name]}
                copy = self.relation(f"{sql} where {WITHIN[name]}" if asked else sql, asked, {}).persist()
                kept[name] = before, copy
                copy.createOrReplaceTempView(name)
            yield
        finally:
            for name, (before, copy) in kept.items():
                before.createOrReplaceTempView(name)
                copy.unpersist()

    @contextlib.contextmanager
    def selecting(self, only: Selection) -> Iterator[None]:
        """Within the block the views show that part alone."""
        if not only:
            yield
            return
        macros, whole = dict(self._macros), [name for name, header in views().items() if not header.params]
        self._make_all()
        for name in whole:
            self._spark.table(name).createOrReplaceTempView(WHOLE + name)
        try:
            every = macros | {WHOLE + name: macro for name, macro in macros.items()}
            definitions, self._macros = _defined(statements_of(only, "main"), every)
            self._define(definitions)
            self._make_all()
            yield
        finally:
            self._macros = macros
            # Who asks next asks the whole, also where a view of the part could not be made.
            self._waiting.clear()
            for name in whole:
                self._spark.table(WHOLE + name).createOrReplaceTempView(name)

    def _define(self, definitions: Mapping[str, Statement]) -> None:
        self._waiting |= {name: partial(self._sql, one, {}) for name, one in definitions.items()}


@cache
def _program() -> tuple[dict[str, Statement], dict[str, Macro]]:
    """The definitions of the store's own views, and its macros."""
    return _defined(statements(), {})


def _defined(made: Iterable[str], macros: Mapping[str, Macro]) -> tuple[dict[str, Statement], dict[str, Macro]]:
    """What statements make: the definitions of views by name, and macros beside those that there are."""
    definitions, known = {}, dict(macros)
    for statement in made:
        found = _MADE.fullmatch("".join(dropwhile(_says_nothing, statement.splitlines(True))))
        if found is None:
            continue
        if view := found["view"]:
            definitions[view.replace("internal.", INTERNAL)] = spark_sql(parsed(found["body"]), known, {})
        elif not found["macro"].startswith("internal."):
            known[found["macro"]] = Macro(tuple(found["names"].split(", ")), parsed(found["body"]))
    return definitions, known


def stored(spark: SparkSession, table: LakeTable, paths: list[str]) -> DataFrame:
    """The rows of a table that stand in these files, with the columns of the store."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(table.columns, prefer_timestamp_ntz=True)
    with _spark_errors():
        return spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)


def _collected(made: Callable[[], DataFrame]) -> pl.DataFrame:
    """The rows of what Spark makes of a statement."""
    with _spark_errors():
        table = made().toArrow()
    return pl.DataFrame(OnlyStream(table))


def _says_nothing(line: str) -> bool:
    """Whether a line is blank or a comment."""
    return line.strip()[:2] in {"", "--"}


def _text(value: object) -> str | None:
    return None if value is None else value.isoformat(" ") if isinstance(value, datetime) else str(value)


@contextlib.contextmanager
def _spark_errors() -> Iterator[None]:
    """What Spark says of a statement as `QueryError`; `StoreError` where a file is to blame."""
    try:
        yield
    except Exception as error:
        # What fails while rows are collected is an error of the bridge to Java, with Spark's own in its text.
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        text = str(error).strip()
        found = _SAID.search(text)
        said = found[0] if found else spark_said(error)
        if lacks_connector(error):
            raise StoreError(f"the lake cannot be read: {said}", CONNECTOR) from None
        if "FAILED_READ_FILE" in said or "PATH_NOT_FOUND" in said:
            hint = "bring the file back, or make the lake again"
            raise StoreError(f"the lake cannot be read: {said}", hint) from None
        raise QueryError(said, ASK_A_SLICE) from None
