"""`analyzer quarantine` lists the lines that could not be read, or reads them again."""

from __future__ import annotations

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import master_option, result_options, store_option
from analyzer.cli.output import write, write_rows
from analyzer.cli.stores import asked, judging
from analyzer.errors import AnalyzerError
from analyzer.report import FORMATS


@click.command("quarantine")
@click.argument("act", type=click.Choice(("list", "retry")), default="list", metavar="[list|retry]")
@store_option()
@master_option
@result_options(*FORMATS)
def command(act: str, store_path: str, master: str | None, row_format: str, output: str | None, quiet: bool) -> None:
    """List the lines that could not be read, by reason and file; or retry them.

    After an upgrade that reads more, or a repair of a file that kept every byte in its place, `retry` reads the same
    bytes again. Lines that can be read now leave quarantine and give their events, once. Files that are gone, or hold
    something else now, are left as they are; of a lake, so are those of other machines. The lines themselves:
    analyzer query quarantine-lines

    \b
      analyzer quarantine --store fleet.duckdb
      analyzer quarantine retry --store fleet.duckdb --json
    """
    if act == "list":
        with asked(store_path, master) as store:
            frame = store.query("quarantine-reasons")
        write_rows(frame, row_format, output, schema="analyzer.query/1", quiet=quiet)
        return
    if row_format not in {"table", "json"}:
        raise AnalyzerError(f"retry has no rows to write as {row_format}", "write --format table or --json")
    with judging(store_path, master) as store:
        result = store.retry_quarantine()
    if row_format == "json":
        write(result.to_dict(), output)
    else:
        from analyzer.report.store_work import render_retry

        write(render_retry(result, asking_of(store_path)), output)
