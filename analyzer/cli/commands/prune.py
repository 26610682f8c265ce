"""`analyzer prune` deletes history that is older than what is to be kept."""

from __future__ import annotations

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import master_option, result_options, store_option
from analyzer.cli.output import narrate, write
from analyzer.cli.stores import asked, judging
from analyzer.command_lines import LAKE

_KEEPS = "The store's file keeps its size; it is made smaller by:"
_VACUUM = "Files of the lake hold what was deleted until its tables are vacuumed: see docs/how-to/fleet.md"


@click.command("prune")
@click.option("--older-than", "older_than", required=True, metavar="SPAN", help="How much to keep: 90d, 26w.")
@click.option(
    "--files",
    is_flag=True,
    help="Delete files too: finished parts of event logs and of the journal that hold nothing newer.",
)
@click.option("--dry-run", "-n", is_flag=True, help="Say what would go, and delete nothing.")
@store_option()
@master_option
@result_options("table", "json")
def command(
    older_than: str,
    files: bool,
    dry_run: bool,
    store_path: str,
    master: str | None,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> None:
    """Delete events older than SPAN, counted from the last midnight UTC, and what quarantine holds of files that old.

    For good: neither a rebuild nor a log that comes late brings them back. What the analyzer decided stays, as do the
    figures of files that were read. With --files, parts of event logs (events-DAY.jsonl) and of the store's journal
    are deleted once their day is over, nobody has them open, all of them was read and none of it is newer; logs of
    other tools are never touched.

    \b
      analyzer prune --older-than 90d --dry-run --store fleet.duckdb
      analyzer prune --older-than 90d --files --store fleet.duckdb
      analyzer prune --older-than 90d --store delta:/lake/fleet
    """
    from analyzer.store import kept_since

    before = kept_since(older_than)
    with (asked if dry_run else judging)(store_path, master) as store:
        result = store.prune(before, files=files, dry_run=dry_run)
    if row_format == "json":
        write(result.to_dict(), output)
    else:
        from analyzer.report.store_work import render_prune

        write(render_prune(result, files=files), output)
        if result.done and result.events:
            kept = _VACUUM if store_path.startswith(LAKE) else f"{_KEEPS} {asking_of(store_path).command('rebuild')}"
            narrate(kept, quiet=quiet)
