"""The tables, macros and views of a store: created, and those of an earlier version brought up to date.

Invariant: a migrated store gives the same rows in all views as before, and whoever dies on the way leaves it as it was.
Every function here runs in a transaction of its caller's.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import duckdb

from analyzer.store.db.sql_header import Header, parse_header
from analyzer.store.db.tables.columns import TYPED, definitions, filled
from analyzer.store.decisions import DECISIONS

SCHEMA_VERSION = "11"
MIGRATED = frozenset({"4", "6", "7", "8", "9", "10"})
"""The earlier versions that a store is brought up to date from: 4 had no typed columns, 6 none of the work, 7 no
confidence; 8 counted what an agent's log and its telemetry both tell twice; 9 showed the second opinion in one view;
10 counted hand-offs that both tell twice."""


def version_of(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The version of the store's tables; None where it says none.

    Raises:
        duckdb.CatalogException: it has no tables of ours.
    """
    rows = connection.execute("select value from internal.store_v1 where key = 'schema_version'").fetchall()
    return str(rows[0][0]) if len(rows) == 1 else None


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create everything, in an empty database."""
    for statement in statements():
        connection.execute(statement)
    connection.execute("insert into internal.store_v1 values ('schema_version', $1)", [SCHEMA_VERSION])


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring a store up to date: its tables get today's typed columns, its macros and views are replaced.

    The tables are written anew: DuckDB would hold an update of all rows in memory.
    """
    for table in TYPED:
        connection.execute(f"alter table internal.{table} rename to former_{table}")
    connection.execute("alter table internal.verdict_v1 add column if not exists confidence varchar")
    for statement in statements():
        connection.execute(statement)
    for table, typed in TYPED.items():
        rows = f"select columns(lambda name: name not in {tuple(typed)}) from internal.former_{table}"  # noqa: S608
        connection.execute(filled(table, rows)).fetchall()
        connection.execute(f"drop table internal.former_{table}")
    connection.execute("update internal.store_v1 set value = $1 where key = 'schema_version'", [SCHEMA_VERSION])


def statements() -> Iterator[str]:
    """The statements that make tables, macros and views, in an order in which each finds what it is made of."""
    yield from _tables()
    yield from _definitions()


def _tables() -> Iterator[str]:
    """The statements of `tables.sql`, with the typed columns."""
    text = resources.files("analyzer.store.db").joinpath("tables.sql").read_text("utf-8")
    for table in TYPED:
        text = text.replace(f"{{typed columns of {table}}}", definitions(table))
    return (statement.strip() for statement in text.split(";\n") if statement.strip())


def _definitions() -> Iterator[str]:
    """The statements that make macros and views, in place of those that are there."""
    from analyzer.store.db.tables.classifier_macros import macros  # and the classifier, which few connections need

    yield from macros()
    decisions = ", ".join(map(_quoted, DECISIONS))
    yield f"create or replace macro is_decision(type) as (type in ({decisions}))"
    for name, header in views().items():
        if header.params:
            arguments = ", ".join(param.name for param in header.params)
            yield f"create or replace macro {name}({arguments}) as table {header.body}"
            yield f"comment on macro table {name} is {_quoted(header.description)}"
            continue
        yield f"create or replace view {name} as {header.body}"
        yield f"comment on view {name} is {_quoted(header.description)}"
        for column in header.columns:
            yield f'comment on column {name}."{column.name}" is {_quoted(column.description)}'


def views() -> dict[str, Header]:
    """The views by name, in the order in which they build on each other; those with parameters are table macros."""
    folder = resources.files("analyzer.store.db").joinpath("views")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    headers = [parse_header(folder.joinpath(name).read_text("utf-8"), name) for name in names]
    return {header.title: header for header in headers}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
