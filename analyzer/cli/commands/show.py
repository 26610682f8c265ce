"""`analyzer show` tells what happened in one session, one chain of retries, or behind one finding."""

from __future__ import annotations

import click

from analyzer.cli.options import master_option, result_options, store_option
from analyzer.cli.output import text_layout, write
from analyzer.cli.stores import asked


@click.command("show")
@click.argument("name", metavar="SESSION|FINDING|OPERATION")
@store_option()
@master_option
@result_options("table", "json")
def command(name: str, store_path: str, master: str | None, row_format: str, output: str | None, quiet: bool) -> None:
    """Tell what happened in one session, behind one finding, or in one chain of retries, in order.

    Errors, retries with their waits, hand-offs and compactions, failed tools and usage limits, with times (UTC), what
    was said, and the line of the log with secrets taken out, where that file is still there; then the command that
    takes the session up again, for agents that have one. The first four characters of an id are enough, if no other id
    begins so.

    \b
      analyzer show 5e1f0c2a --store fleet.duckdb
      analyzer show 3f9c --format json
      analyzer show 3f9c --json --output incident.json
    """
    from analyzer.analysis.timeline import timeline
    from analyzer.report.timeline import render_timeline

    del quiet
    with asked(store_path, master) as store:
        shown = timeline(store, name)
    width, _ = text_layout(output)
    write(shown.to_dict() if row_format == "json" else render_timeline(shown, width), output)
