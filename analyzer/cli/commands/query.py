"""`analyzer query` runs a query of the catalogue, or lists the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.completing import queries
from analyzer.cli.options import (
    chosen_window,
    master_option,
    result_options,
    selection_options,
    store_option,
    window_options,
)
from analyzer.cli.output import narrate, write, write_rows
from analyzer.cli.stores import asked
from analyzer.command_lines import command_line
from analyzer.errors import AnalyzerError
from analyzer.report import FORMATS

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords
    from analyzer.store import Selection


@click.command("query")
@click.argument("name", required=False, shell_complete=queries)
@click.option(
    "--param", "-p", "params", multiple=True, metavar="KEY=VALUE", help="A parameter of the query; may be repeated."
)
@click.option("--list", "listing", is_flag=True, help="List the queries, their parameters and columns.")
@click.option("--sql", "show_sql", is_flag=True, help="Print the query's SQL instead of running it.")
@store_option()
@master_option
@window_options
@selection_options
@result_options(*FORMATS)
def command(
    name: str | None,
    params: tuple[str, ...],
    listing: bool,
    show_sql: bool,
    store_path: str,
    master: str | None,
    words: WindowWords,
    only: Selection,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> None:
    """Run a query of the catalogue by NAME, or list the catalogue.

    \b
      analyzer query --list
      analyzer query errors-by-reason --last 7d
      analyzer query tools-by-tool --project shop
      analyzer query unknown-messages -p caller=figma-probe -p limit=5 --json
    """
    from analyzer.store import find, narrows

    if listing or name is None:
        if name is None and not listing:
            raise AnalyzerError("no query named", f"{command_line('query', '--list')} shows them all")
        from analyzer.report.store_work import render_catalogue

        write(render_catalogue(name), output)
        return
    query = find(name)
    if show_sql:
        write(query.header.body + ";", output)
        return
    given: dict[str, object] = {}
    for item in params:
        key, separator, text = item.partition("=")
        if not separator:
            raise AnalyzerError(f"not KEY=VALUE: {item!r}", "write -p caller=figma-probe")
        given[key] = text
    if only and not narrows(query.header.body):
        raise AnalyzerError(f"query {name} is about the whole store", f"leave out {only}")
    known = {param.name for param in query.header.params}
    chosen = chosen_window(**words)
    # Of a query without days the zone says when those of the window begin.
    zone = chosen.timezone if "timezone" in known or not {"since", "until"} & words.keys() else "UTC"
    window = {**chosen.params, "timezone": zone if zone != "UTC" else None}
    for key, value in window.items():
        if value is not None:
            if key not in known:
                raise AnalyzerError(f"query {name} has no {key}", "leave the option out")
            given.setdefault(key, value)
    query.values(given)  # what is wrong with one of them is told before a store is opened
    with asked(store_path, master) as store, store.selecting(only):
        frame = store.query(name, **given) if row_format == "parquet" else store.rows(name, **given)
        if not len(frame) and {"since", "until", "last"} & words.keys():
            ((first, last, *_),) = store.rows("overview-totals").rows
            ends = " to ".join(f"{end:%Y-%m-%d %H:%M}" for end in (first, last) if end)
            narrate(
                f"no row in this window; the logs go from {ends} UTC" if ends else "the logs are empty", quiet=quiet
            )
    write_rows(frame, row_format, output, schema="analyzer.query/1", quiet=quiet)
