"""`analyzer rebuild` makes a store or a lake again from its logs and its journal."""

from __future__ import annotations

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import PathsCommand, master_option, result_options, store_option
from analyzer.cli.output import narrate, progress, report_problems, write
from analyzer.cli.stores import chosen_lake
from analyzer.errors import UNREADABLE

_BEFORE = "Files of the lake hold what it was before until its tables are vacuumed: see docs/how-to/fleet.md"


@click.command("rebuild", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_option()
@master_option
@result_options("table", "json")
def command(
    paths: tuple[str, ...],
    store_path: str,
    master: str | None,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Make the store again from its journal and the logs it was made from, for a new version or a damaged file.

    The logs are those that the store knows; PATHs add logs that were renamed since. A store that cannot be opened knows
    none: name them all. What only the former store still has is carried over, and its sources are marked as vanished.
    The new store appears whole or not at all; the former one is kept beside it as FILE.before-rebuild, or the first
    such name that is free. A file that is no store is left alone. The tables of a lake change as one batch, and what
    they held before stays in files that none of them names until these are vacuumed.

    \b
      analyzer rebuild --store fleet.duckdb
      analyzer rebuild ~/.claude/projects telemetry/ --store fleet.duckdb
      analyzer rebuild --store delta:/lake/fleet
    """
    lake = chosen_lake(store_path, master)
    from analyzer.store import rebuild

    with progress(quiet=quiet) as shown:
        result = rebuild(store_path, paths, shown)
    report_problems(result.problems)
    if row_format == "json":
        write(result.to_dict(), output)
    else:
        from analyzer.report.store_work import render_rebuild

        write(render_rebuild(result, store_path, asking_of(store_path)), output)
        if lake and result.former != "missing":
            narrate(_BEFORE, quiet=quiet)
    return UNREADABLE if result.problems else 0
