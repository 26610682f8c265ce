"""`analyzer export` hands a store's rows to other tools: files of days, or a smaller store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.options import quiet_option, span_options, store_option
from analyzer.cli.output import narrate, write
from analyzer.cli.stores import asked, chosen_lake
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    import polars as pl

    from analyzer.analysis import Window
    from analyzer.lake.location import Lake
    from analyzer.store.export.days import ExportedView

FORMATS = ("parquet", "csv", "jsonl")
SLICE_ENDING = ".duckdb"


@click.command("export")
@click.argument("views", nargs=-1, metavar="[VIEW]...")
@click.option(
    "--to", "to", required=True, metavar="DIR|FILE.duckdb|delta:PATH", help="Where the days go; or a store; or a lake."
)
@click.option("--format", "-f", "row_format", type=click.Choice(FORMATS), help="Of the files in DIR. Default: parquet.")
@store_option()
@span_options
@click.option("--json", "-j", "as_json", is_flag=True, help="What was written, as one JSON object.")
@quiet_option
def command(
    views: tuple[str, ...],
    to: str,
    row_format: str | None,
    store_path: str,
    since: str | None,
    until: str | None,
    last: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write VIEWs of a store for other tools, one file a UTC day, only the days that changed since the last time.

    Without VIEWs: events, errors, retries and relays; sessions, tool_failures, exhaustions and context_recoveries have
    days, too. A day of errors is DIR/errors/day=2026-11-20/errors.parquet, which tools that know hive-like folders read
    as a table with a column "day". A day is written again when late events, another ruleset or the end of a chain of
    retries changed its rows, and is there whole or as it was, whenever the process ends. Of a window each day that it
    touches is written whole. Days that were pruned from the store stay in DIR.

    --to FILE.duckdb makes a slice: a store that holds the window, with the same ids, for every other command.

    --to delta:PATH makes a lake of a whole store, its journal included, and --store delta:PATH --to FILE.duckdb a store
    of a lake, or of a window of it.

    \b
      analyzer export --to lake/ --store fleet.duckdb
      analyzer export errors sessions --last 30d --to lake/ --format csv
      analyzer export --last 30d --to slice.duckdb
      analyzer export --to delta:/lake/fleet --store fleet.duckdb
      analyzer export --store delta:/lake/fleet --last 30d --to slice.duckdb
    """
    from analyzer.cli.options import chosen_window

    window = chosen_window(since, until, last, "UTC")
    lake, target = chosen_lake(store_path, None), chosen_lake(to, None)
    whole = to.endswith(SLICE_ENDING)
    if target is not None or (lake is not None and whole):
        if views or row_format:
            raise AnalyzerError("a lake moves with all views and no format", "leave out VIEWs and --format")
        _move(store_path, lake, to, target, window, as_json=as_json, quiet=quiet)
    elif whole:
        if views or row_format:
            raise AnalyzerError("a slice has all views and no format", "leave out VIEWs and --format, or name a folder")
        _slice(store_path, to, window, as_json=as_json, quiet=quiet)
    else:
        _days(store_path, to, views, row_format or "parquet", window, as_json=as_json, quiet=quiet)


def _move(
    store_path: str,
    lake: Lake | None,
    to: str,
    target: Lake | None,
    window: Window,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from analyzer.lake.moving import down, up
    from analyzer.readable import counted

    if target is not None:
        if lake is not None:
            raise AnalyzerError("a lake is copied by its storage's own tools", "name a store that is a file")
        if window.since or window.until:
            raise AnalyzerError("a lake takes a whole store", "leave out --since, --until and --last")
        rows = up(store_path, target)
    else:
        assert lake is not None
        rows = down(lake, to, window.since, window.until)
    if as_json:
        write({"schema": "analyzer.export/1", "to": to, "tables": rows}, None)
    else:
        narrate(f"{to}: {counted(rows['event_v1'], 'event')}", quiet=quiet)


def _slice(store_path: str, to: str, window: Window, *, as_json: bool, quiet: bool) -> None:
    from analyzer.readable import counted
    from analyzer.store import open_store
    from analyzer.store.export.slices import cut_slice

    open_store(store_path).close()  # says what is wrong with it, and brings an earlier version's up to date
    made = cut_slice(store_path, to, window.since, window.until)
    if as_json:
        write({"schema": "analyzer.export/1", "to": to, "slice": made.said, "events": made.events}, None)
    else:
        narrate(f"{to}: {counted(made.events, 'event')}, {made.said}", quiet=quiet)


def _days(
    store_path: str, to: str, views: tuple[str, ...], row_format: str, window: Window, *, as_json: bool, quiet: bool
) -> None:
    from analyzer.report import render_rows
    from analyzer.store.export.days import DEFAULT_VIEWS, Folder

    if ":" in to.split("/", 1)[0]:
        raise AnalyzerError(f"no target of this kind: {to}", "name a folder (./ before a strange name), or FILE.duckdb")

    def written(frame: pl.DataFrame) -> bytes:
        content = render_rows(frame, row_format)
        return content.encode("utf-8") if isinstance(content, str) else content

    with asked(store_path, None) as store, Folder(to, row_format, written).opened() as folder:
        results = store.export(folder, views or DEFAULT_VIEWS, window.since, window.until)
    if as_json:
        from dataclasses import asdict

        views_of_it = [*map(asdict, results)]
        write({"schema": "analyzer.export/1", "to": to, "format": row_format, "views": views_of_it}, None)
    else:
        for result in results:
            narrate(_summary(result), quiet=quiet)


def _summary(result: ExportedView) -> str:
    """A line for a view: how many days, and which of them where that fits."""
    from analyzer.readable import counted

    if not result.written and not result.removed:
        return f"{result.view}: nothing changed ({counted(result.unchanged, 'day')})"
    parts = []
    if result.written:
        some = ", ".join(result.written) if len(result.written) <= 4 else f"{result.written[0]} to {result.written[-1]}"
        parts.append(f"{counted(len(result.written), 'day')} written, {counted(result.rows, 'row')} ({some})")
    if result.removed:
        parts.append(f"{counted(len(result.removed), 'day')} removed ({', '.join(result.removed)})")
    parts.append(f"{result.unchanged:,} unchanged")
    return f"{result.view}: {', '.join(parts)}"
