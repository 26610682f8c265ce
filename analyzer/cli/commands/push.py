"""`analyzer push`: share what the logs of this machine tell with a fleet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import PathsCommand, result_options, store_path_option
from analyzer.cli.output import Out, report_problems
from analyzer.cli.stores import NamedStore, read_logs, store_to_fill
from analyzer.errors import UNREADABLE, AnalyzerError

if TYPE_CHECKING:
    from analyzer.store import Problem


@click.command("push", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--to", "to", required=True, metavar="delta:PATH", help="The shared table; created if missing.")
@store_path_option(default=None)
@click.option(
    "--master",
    metavar="MASTER",
    help="Spark that reads PATHs: local[*], spark://HOST:PORT, sc://HOST:PORT.",
)
@click.option("--from-lake", "lake", metavar="delta:PATH", help="Push the lake of an earlier release.")
@result_options("table", "json")
def command(
    paths: tuple[str, ...], to: str, store_path: str | None, master: str | None, lake: str | None, out: Out
) -> int:
    """Read new log lines, and add this machine's events to a shared table.

    \b
      analyzer push --to delta:/lake/fleet
      analyzer push ~/.claude/projects --to delta:s3://bucket/fleet --quiet
      analyzer push /logs --to delta:/lake/fleet --master spark://head:7077
      analyzer push --from-lake delta:/lake/old --to delta:/lake/fleet

    Many machines may push to one Delta table at once. Each event gets there once, even if a push is killed.
    Secrets are removed first. Decisions, such as acknowledgements, stay in their store. Any store reads the table
    with analyzer ingest delta:PATH. With --master, Spark's executors read PATHs, which all of them must see under
    the same names.
    """
    from analyzer.report.store_work import push_document

    problems: list[Problem] = []
    if lake is not None and (paths or master):
        raise AnalyzerError("--from-lake works without PATHs and without --master", "move the lake first")
    if lake is not None:
        from analyzer.store.fleet.former import push_lake

        pushed = push_lake(lake, to, store_path)
    elif master is not None:
        if not paths or "-" in paths:
            raise AnalyzerError("--master reads logs that all its workers see", "name the PATHs to read")
        with NamedStore(store_path or store_to_fill(paths)).open_for_logs() as opened:
            pushed, problems = opened.push_by_executors(paths, to, master)
    else:
        store = NamedStore(store_path or store_to_fill(paths))
        if not paths:
            store.announce_logs(quiet=out.quiet)
        with store.open_for_logs() as opened:
            problems = read_logs(opened.ingest, paths, quiet=out.quiet).problems
            pushed = opened.push(to)
    report_problems(problems)
    out.answer({"schema": "analyzer.push/1", **pushed.to_dict()}, partial(push_document, pushed))
    return UNREADABLE if problems else 0
