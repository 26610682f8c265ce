"""`analyzer sql` runs ad-hoc SQL over the views, in a process of its own under limits."""

from __future__ import annotations

import re
import sys

import click

from analyzer.cli.options import Seconds, master_option, result_options, store_option
from analyzer.cli.output import copy, rows_width, tell_cut
from analyzer.cli.stores import chosen_lake
from analyzer.report import FORMATS

DEFAULT_LIMIT = 10_000
DEFAULT_SECONDS = 60.0
DEFAULT_MEMORY = "2GB"
_SIZE = re.compile(r"(\d{1,6})\s*(MB|GB)", re.IGNORECASE)
_LEAST_MEMORY = 200_000_000


def _size(_: click.Context, __: click.Parameter, text: str) -> int:
    """`512MB`, `2GB` → bytes."""
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * (10**9 if found[2].upper() == "GB" else 10**6) if found else 0
    if size < _LEAST_MEMORY:
        raise click.BadParameter(f"{text!r} is no size from 200MB on; write 512MB or 2GB")
    return size


@click.command("sql")
@click.argument("statement", metavar="SQL")
@click.option(
    "--limit", type=click.IntRange(min=0), default=DEFAULT_LIMIT, help="Rows at most; 0 for all. Default 10000."
)
@click.option(
    "--timeout",
    "seconds",
    type=Seconds(min=0.1, max=86_400),
    default=DEFAULT_SECONDS,
    metavar="SECONDS",
    help="Stop the query after so long. Default 60.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    default=DEFAULT_MEMORY,
    callback=_size,
    help=f"Memory for the query and its answer: 512MB, 2GB. Default {DEFAULT_MEMORY}.",
)
@store_option()
@master_option
@result_options(*FORMATS)
def command(
    statement: str,
    limit: int,
    seconds: float,
    memory: int,
    store_path: str,
    master: str | None,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> None:
    """Run one reading SQL statement over a store; - reads it from standard input.

    The store is opened read-only by a process of its own, which reaches no other file and is ended at its limits. That
    guards against accidents; for SQL of people whom you do not trust, see docs/explanation/security.md. The
    views describe themselves:

    \b
      analyzer sql "show tables"
      analyzer sql "describe errors"
      analyzer sql "select column_name, comment from duckdb_columns()
                    where table_name = 'errors'"
      analyzer sql "select caller, count(*) from errors group by all order by all"

    A lake (delta:PATH) answers the same statements.
    """
    from analyzer.cli.sandbox.parent import Request, answer

    text = sys.stdin.read() if statement == "-" else statement
    chosen_lake(store_path, master)
    request = Request(
        store=store_path,
        sql=text,
        rows=limit or None,
        row_format=row_format,
        width=rows_width(row_format, output),
        seconds=seconds,
        memory=memory,
    )
    with answer(request) as answered:
        copy(answered.content, output)
    if answered.truncated:
        tell_cut(answered.rows, quiet=quiet)
