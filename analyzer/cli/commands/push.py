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
@click.option("--to", "to", required=True, metavar="delta:PATH", help="The shared table; it is made if it is missing.")
@store_path_option(default=None)
@click.option(
    "--master",
    metavar="MASTER",
    help="The Spark whose executors read PATHs: local[*], spark://HOST:PORT or sc://HOST:PORT. Default: none.",
)
@click.option("--from-lake", "lake", metavar="delta:PATH", help="Push the events of a lake of an earlier release.")
@result_options("table", "json")
def command(
    paths: tuple[str, ...], to: str, store_path: str | None, master: str | None, lake: str | None, out: Out
) -> int:
    """Read what is new in PATHs into a store, as ingest does, then add the store's new events to a shared table.

    The table is one Delta table of event lines on shared storage, in folders by day. Many machines push to it at once
    and as often as they like: each event is in it once, whenever a push is killed. Texts are redacted before they
    leave the machine. What the analyzer decided (findings, rules, acknowledgements) stays in the store that decides.

    A store anywhere loads what is new in the table with analyzer ingest delta:PATH, and then answers as ever.

    With --master the executors of Spark read PATHs, which all of them see under the same names. The store only
    remembers which files were pushed, and those are read again that have changed.

    \b
      analyzer push --to delta:/lake/fleet
      analyzer push ~/.claude/projects --to delta:s3://bucket/fleet --quiet
      analyzer push /logs --to delta:/lake/fleet --master spark://head:7077
      analyzer push --from-lake delta:/lake/old --to delta:/lake/fleet
    """
    from analyzer.report.store_work import push_document

    problems: list[Problem] = []
    if lake is not None and (paths or master):
        raise AnalyzerError("--from-lake goes with neither PATHs nor --master", "move the lake first")
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
