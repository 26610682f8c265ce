"""`analyzer sql`: ad-hoc SQL over the views."""

from __future__ import annotations

import sys

import click

from analyzer.cli.options import DEFAULT_STORE, ROW_FORMATS, result_options, store_option
from analyzer.cli.output import write_rows

DEFAULT_LIMIT = 10_000


@click.command("sql")
@click.argument("statement", metavar="SQL")
@click.option(
    "--limit", type=click.IntRange(min=0), default=DEFAULT_LIMIT, help="Rows at most; 0 for all. Default 10000."
)
@store_option()
@result_options(*ROW_FORMATS)
def command(
    statement: str, limit: int, store_path: str | None, row_format: str, as_json: bool, output: str | None, quiet: bool
) -> None:
    """Run one reading SQL statement over a store; - reads it from standard input.

    The store is opened read-only, and nothing outside of it can be reached. The views describe themselves:

    \b
      analyzer sql "show tables"
      analyzer sql "describe errors"
      analyzer sql "select column_name, comment from duckdb_columns()
                    where table_name = 'errors'"
      analyzer sql "select caller, count(*) from errors group by all order by all"
    """
    from analyzer.store import open_store

    text = sys.stdin.read() if statement == "-" else statement
    with open_store(store_path or DEFAULT_STORE) as store:
        answer = store.answer(text, limit or None)
    kind = "json" if as_json else row_format
    write_rows(answer.frame, kind, output, schema="analyzer.sql/1", truncated=answer.truncated, quiet=quiet)
