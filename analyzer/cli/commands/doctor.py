"""`analyzer doctor` checks a store or a lake, its journal and log folders."""

from __future__ import annotations

import click

from analyzer.cli.options import PathsCommand, master_option, result_options, store_option
from analyzer.cli.output import rows_width, write
from analyzer.cli.stores import chosen_lake
from analyzer.errors import FINDINGS


@click.command("doctor", cls=PathsCommand)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...")
@store_option()
@master_option
@result_options("table", "json")
def command(
    folders: tuple[str, ...], store_path: str, master: str | None, row_format: str, output: str | None, quiet: bool
) -> int:
    """Check a store, its journal, and FOLDERs that programs log events to.

    One line a check: ok, note (worth a word) or problem, with what to do about it. It looks for a store that does not
    open, locks and leftovers, torn and damaged lines, gaps in writers' counts, clocks that are wrong, logs that are
    gone, permissions, disk space, and file systems that cannot share a log; in a FOLDER two processes append lines for
    a moment, in a folder of their own, to see that all come out whole. Of a lake it looks at the files of its tables,
    who holds its lease, and what compaction and vacuum would be good for.

    \b
      analyzer doctor --store fleet.duckdb
      analyzer doctor telemetry/ --store fleet.duckdb --json
      analyzer doctor --store delta:/lake/fleet
    """
    chosen_lake(store_path, master)
    from analyzer.store import examine

    checks = examine(store_path, folders)
    problems = sum(check.state == "problem" for check in checks)
    if row_format == "json":
        content = {"schema": "analyzer.doctor/1", "problems": problems, "checks": [check.to_dict() for check in checks]}
        write(content, output)
    else:
        shown = [check for check in checks if not quiet or check.state != "ok"]
        if shown or output or not quiet:
            from analyzer.report.store_work import render_checks

            write(render_checks(shown, problems, rows_width("table", output)), output)
    return FINDINGS if problems else 0
