"""`analyzer rebuild` makes a store again from its logs and its journal."""

from __future__ import annotations

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import result_options, store_option
from analyzer.cli.output import report_problems, write
from analyzer.cli.paths import PathsCommand
from analyzer.cli.progress import progress
from analyzer.errors import UNREADABLE


@click.command("rebuild", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_option()
@result_options("table", "json")
def command(
    paths: tuple[str, ...],
    store_path: str,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Make the store again from its journal and the logs it was made from, for a new version or a damaged file.

    The logs are those that the store knows; PATHs add logs that were renamed since. A store that cannot be opened knows
    none: name them all. What only the former store still has is carried over, and its sources are marked as vanished.
    The new store appears whole or not at all; the former one is kept beside it as FILE.before-rebuild, or the first
    such name that is free. A file that is no store is left alone.

    \b
      analyzer rebuild --store fleet.duckdb
      analyzer rebuild ~/.claude/projects telemetry/ --store fleet.duckdb
    """
    from analyzer.store import rebuild

    with progress(quiet=quiet) as shown:
        result = rebuild(store_path, paths, shown)
    report_problems(result.problems)
    if row_format == "json":
        from analyzer.report.escape import json_text

        write(json_text(result.to_dict()), output)
    else:
        from analyzer.report.terminal.store_work import render_rebuild

        write(render_rebuild(result, store_path, asking_of(store_path)), output)
    return UNREADABLE if result.problems else 0
